"""Which constants are tried when a preset is tuned, and which values of each. All of it is data.

What the preset does not have is not tried: no edges where connections are off, no constants of sections that are off,
or of stages that it lacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from recollect.evaluation.tuning.settings import setting, with_setting
from recollect.retrieval import Preset

__all__ = ["LEFT_ALONE", "STAGE_VALUES", "Parameter", "search_space"]


class Parameter(NamedTuple):
    """Settings that change together, and the values that they are tried with, one for each.

    >>> Parameter(("graph.edges.previous", "graph.edges.next"), ((0.0, 0.0), (0.1, 0.1))).paths[1]
    'graph.edges.next'
    """

    paths: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    ordered: bool = True
    """Whether the values have an order, from less to more; if not, all of them are tried."""

    def of(self, preset: Preset) -> tuple[Any, ...]:
        """Return the values that a preset has."""
        return tuple(setting(preset, path) for path in self.paths)

    def applied(self, preset: Preset, values: tuple[Any, ...]) -> Preset:
        """Return the preset with these values."""
        for path, value in zip(self.paths, values, strict=True):
            preset = with_setting(preset, path, value)
        return preset


_SHARES = tuple(tenth / 10 for tenth in range(11))
"""What meaning counts, of what words and meaning count together."""
_METHODS = (("convex", 60.0), ("rrf", 5.0), ("rrf", 10.0), ("rrf", 20.0), ("rrf", 60.0))
_EDGE = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
_SESSION = (0.0, 0.01, 0.03, 0.1)
_REPLACED = ("supersedes", "superseded-by")
"""Edges that are the affair of a stage."""
_CONTEXT = {
    "context.previous": (0.0, 0.25, 0.5, 0.75),
    "context.next": (0.0, 0.15, 0.3, 0.5),
    "context.passage": (0.0, 0.25, 0.5, 0.75),
}
_COMMON = (0.3, 0.45, 0.6, 1.0)
_GRAPH = {"graph.seeds": (5, 10, 20, 40), "graph.degree_penalty": (0.0, 0.25, 0.5, 1.0)}
_BY_USE: dict[str, dict[str, tuple[Any, ...]]] = {
    "source": {"fusion.weights.graph": (0.0, 0.1, 0.2, 0.35, 0.5, 1.0)},
    "addition": {"graph.max_lift": (0.8, 0.9, 0.95, 1.0)},
}

STAGE_VALUES = {
    "composite.recency": (0.0, 0.05, 0.1, 0.2),
    "composite.importance": (0.0, 0.05, 0.15, 0.3),
    "temporal.recency": (0.0, 0.05, 0.1, 0.2),
    "temporal.importance": (0.0, 0.05, 0.15, 0.3),
    "temporal.boost": (0.0, 0.1, 0.2, 0.4, 0.8),
    "temporal_boost.boost": (0.0, 0.1, 0.2, 0.4, 0.8, 1.6),
    "time_match.boost": (0.0, 0.25, 0.5, 0.75, 1.0),
    "importance.slope": (0.0, 0.1, 0.3, 0.6),
    "exact_match.bonus": (0.0, 0.1, 0.2, 0.5, 1.0),
    "session.weight": (0.0, 0.25, 0.5, 0.75),
    "speaker_turns.speaker": (0.0, 0.05, 0.1, 0.2),
    "speaker_turns.asks": (0.0, 0.1, 0.2, 0.3),
    "speaker_turns.length": (0.0, 0.05, 0.1, 0.2),
    "superseded.factor": (0.25, 0.5, 0.75, 1.0),
}
"""The values that constants of stages are tried with, where a preset has the stage."""

LEFT_ALONE = frozenset(
    (
        "intent.characters",
        "composite.relevance",
        "temporal.relevance",
        "time_match.events",
        "importance.base",
        "exact_term.max_notes",
        "exact_term.lead",
    )
)
"""Constants that would change only speed, the scale of all scores, or few questions."""


def search_space(preset: Preset) -> tuple[Parameter, ...]:
    """Return what is tried when this preset is tuned, what matters most first.

    >>> from recollect.retrieval import presets
    >>> [parameter.paths for parameter in search_space(presets()["trovella"])]
    [('fusion.weights.lexical', 'fusion.weights.vector'), ('fusion.method', 'fusion.k')]
    """
    return tuple(_parameters(preset))


def _parameters(preset: Preset) -> Iterator[Parameter]:
    legs = ("fusion.weights.lexical", "fusion.weights.vector")
    both = sum(setting(preset, leg) for leg in legs)
    if both:
        yield Parameter(legs, tuple((round(both * (1 - share), 6), round(both * share, 6)) for share in _SHARES))
    yield Parameter(("fusion.method", "fusion.k"), _METHODS, ordered=False)
    if preset.query.max_document_frequency < 1:
        yield _single("query.max_document_frequency", _COMMON)
    if preset.context.on:
        for path, shares in _CONTEXT.items():
            yield _single(path, shares)
    if preset.graph.use != "off":
        yield from _connections(preset)
    for stage in dict.fromkeys(stage.name for stage in preset.stages):
        for name, values in STAGE_VALUES.items():
            if name.startswith(f"{stage}."):
                yield _single(f"stages.{name}", values)


def _connections(preset: Preset) -> Iterator[Parameter]:
    kinds = [kind for kind in preset.graph.edges if kind not in _REPLACED]
    beside = tuple(kind for kind in ("previous", "next") if kind in kinds)
    if beside:
        yield Parameter(
            tuple(f"graph.edges.{kind}" for kind in beside), tuple((value,) * len(beside) for value in _EDGE)
        )
    for kind in kinds:
        if kind not in beside:
            yield _single(f"graph.edges.{kind}", _SESSION if kind == "session" else _EDGE)
    for path, values in (_GRAPH | _BY_USE.get(preset.graph.use, {})).items():
        yield _single(path, values)


def _single(path: str, values: tuple[Any, ...]) -> Parameter:
    return Parameter((path,), tuple((value,) for value in values))
