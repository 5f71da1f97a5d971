"""The search space of tuning: which settings of a preset are tried, with which values.

Settings are named by path: ``fusion.k``, ``graph.edges.next``, ``stages.temporal_boost.boost``. Sections that are off
and stages that a preset lacks are not tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from recollect.errors import ArgumentError
from recollect.retrieval.preset import Preset, changed_preset

_TABLE_DEFAULTS = {"weights": 1.0, "edges": 0.0}
"""The value of a key that a table of a preset does not list, by table."""


class Parameter(NamedTuple):
    """Settings that change together, such as two edge weights, and the tuples of values to try."""

    paths: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    ordered: bool = True
    """Whether the values ascend; if not, all of them are tried."""

    def values_in(self, preset: Preset) -> tuple[Any, ...]:
        """Return the values of a preset."""
        return tuple(get_setting(preset, path) for path in self.paths)

    def apply(self, preset: Preset, values: tuple[Any, ...]) -> Preset:
        """Return the preset with these values."""
        for path, value in zip(self.paths, values, strict=True):
            preset = with_setting(preset, path, value)
        return preset


_VECTOR_SHARES = tuple(tenth / 10 for tenth in range(11))
"""The share of the vector leg in the weights of both legs."""
_METHODS = (("convex", 60.0), ("rrf", 5.0), ("rrf", 10.0), ("rrf", 20.0), ("rrf", 60.0))
_EDGE_WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
_SESSION_WEIGHTS = (0.0, 0.01, 0.03, 0.1)
_SUPERSEDING_EDGES = ("supersedes", "superseded-by")
"""These edges are not tuned: the stage ``superseded`` handles them."""
_CONTEXT = {
    "context.previous": (0.0, 0.25, 0.5, 0.75),
    "context.next": (0.0, 0.15, 0.3, 0.5),
    "context.passage": (0.0, 0.25, 0.5, 0.75),
}
_MAX_DOCUMENT_FREQUENCIES = (0.3, 0.45, 0.6, 1.0)
_GRAPH = {"graph.seeds": (5, 10, 20, 40), "graph.degree_penalty": (0.0, 0.25, 0.5, 1.0)}
_GRAPH_BY_USE: dict[str, dict[str, tuple[Any, ...]]] = {
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
    "session.weight": (0.0, 0.25, 0.5, 0.75),
    "speaker_turns.speaker": (0.0, 0.05, 0.1, 0.2),
    "speaker_turns.asks": (0.0, 0.1, 0.2, 0.3),
    "speaker_turns.length": (0.0, 0.05, 0.1, 0.2),
    "superseded.factor": (0.25, 0.5, 0.75, 1.0),
}
"""The values to try for constants of stages, by ``stage.constant``."""


def search_space(preset: Preset) -> tuple[Parameter, ...]:
    """Return the parameters to try for a preset, the most important first.

    >>> from recollect.retrieval import presets
    >>> [parameter.paths for parameter in search_space(presets()["trovella"])]
    [('fusion.weights.lexical', 'fusion.weights.vector'), ('fusion.method', 'fusion.k')]
    """
    return tuple(_parameters(preset))


def _parameters(preset: Preset) -> Iterator[Parameter]:
    legs = ("fusion.weights.lexical", "fusion.weights.vector")
    total = sum(get_setting(preset, leg) for leg in legs)
    if total:
        vector_weights = [total * share for share in _VECTOR_SHARES]
        yield Parameter(legs, tuple((round(total - weight, 6), round(weight, 6)) for weight in vector_weights))
    yield Parameter(("fusion.method", "fusion.k"), _METHODS, ordered=False)
    if preset.query.max_document_frequency < 1:
        yield _single("query.max_document_frequency", _MAX_DOCUMENT_FREQUENCIES)
    if preset.context.on:
        for path, shares in _CONTEXT.items():
            yield _single(path, shares)
    if preset.graph.use != "off":
        kinds = [kind for kind in preset.graph.edges if kind not in _SUPERSEDING_EDGES]
        adjacent = tuple(kind for kind in ("previous", "next") if kind in kinds)
        if adjacent:
            paths = tuple(f"graph.edges.{kind}" for kind in adjacent)
            yield Parameter(paths, tuple((weight,) * len(adjacent) for weight in _EDGE_WEIGHTS))
        for kind in kinds:
            if kind not in adjacent:
                yield _single(f"graph.edges.{kind}", _SESSION_WEIGHTS if kind == "session" else _EDGE_WEIGHTS)
        for path, values in (_GRAPH | _GRAPH_BY_USE.get(preset.graph.use, {})).items():
            yield _single(path, values)
    for stage in dict.fromkeys(stage.name for stage in preset.stages):
        for name, values in STAGE_VALUES.items():
            if name.startswith(f"{stage}."):
                yield _single(f"stages.{name}", values)


def _single(path: str, values: tuple[Any, ...]) -> Parameter:
    return Parameter((path,), tuple((value,) for value in values))


def get_setting(preset: Preset, path: str) -> Any:
    """Return the value of a setting; if a preset has a stage twice, that of the first."""
    section, name, key = _split_path(path)
    if section == "stages":
        for stage in preset.stages:
            if stage.name == name:
                return getattr(stage, key)
        raise ArgumentError("path", f"the preset {preset.name} has no stage {name!r}, got {path!r}")
    value = getattr(getattr(preset, section), name)
    return value.get(key, _TABLE_DEFAULTS[name]) if key else value


def with_setting(preset: Preset, path: str, value: Any) -> Preset:
    """Return the preset with another value of a setting; if it has a stage twice, both change."""
    section, name, key = _split_path(path)
    if section == "stages":
        stages = [{**stage.to_dict(), key: value} if stage.name == name else stage.to_dict() for stage in preset.stages]
        return changed_preset(preset, {"stages": stages})
    if key:
        value = {**getattr(getattr(preset, section), name), key: value}
    return changed_preset(preset, {section: {name: value}})


def _split_path(path: str) -> tuple[str, str, str]:
    """Return section, setting, and the key within a table or stage; the kind of a link may have dots."""
    section, _, rest = path.partition(".")
    name, _, key = rest.partition(".")
    return section, name, key
