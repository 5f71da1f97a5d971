"""The search space of tuning: which settings of a preset are tried, with which values.

A setting is named by its path: ``fusion.k``, ``graph.edges.next``, ``stages.temporal_boost.boost``. Settings of
sections that are off and of stages that a preset lacks are not tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from recollect.errors import ArgumentError
from recollect.retrieval.preset import Preset, changed_preset

_TABLE_DEFAULTS = {"weights": 1.0, "edges": 0.0}
"""For each table of a preset, such as ``fusion.weights``, the value of a key that the table does not list."""


class Parameter(NamedTuple):
    """Settings that change together, such as two edge weights, and the values to try."""

    paths: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    """Each item has one value for each path."""
    ordered: bool = True
    """Whether ``values`` is sorted, so that tuning may stop early; if not, all values are tried."""

    def values_in(self, preset: Preset) -> tuple[Any, ...]:
        """Return the values of these settings in a preset."""
        return tuple(get_setting(preset, path) for path in self.paths)

    def apply(self, preset: Preset, values: tuple[Any, ...]) -> Preset:
        """Return the preset with these values."""
        for path, value in zip(self.paths, values, strict=True):
            preset = with_setting(preset, path, value)
        return preset


_VECTOR_SHARES = tuple(tenth / 10 for tenth in range(11))
"""The values to try for the vector leg's share of the sum of both legs' weights."""
_METHODS_AND_K = (("convex", 60.0), ("rrf", 5.0), ("rrf", 10.0), ("rrf", 20.0), ("rrf", 60.0))
"""The fusion methods to try, each with the constant k of reciprocal rank fusion; ``convex`` does not use k."""
_EDGE_WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
_SESSION_WEIGHTS = (0.0, 0.01, 0.03, 0.1)
"""Smaller, because the weight multiplies the summed scores of all seeds (notes that pass scores on) of a session."""
_SUPERSEDING_EDGES = ("supersedes", "superseded-by")  # these edges are not tuned: the stage ``superseded`` handles them
_CONTEXT_VALUES = {
    "context.previous": (0.0, 0.25, 0.5, 0.75),
    "context.next": (0.0, 0.15, 0.3, 0.5),
    "context.passage": (0.0, 0.25, 0.5, 0.75),
}
_MAX_DOCUMENT_FREQUENCIES = (0.3, 0.45, 0.6, 1.0)
_GRAPH_VALUES = {"graph.seeds": (5, 10, 20, 40), "graph.degree_penalty": (0.0, 0.25, 0.5, 1.0)}
_GRAPH_VALUES_BY_USE: dict[str, dict[str, tuple[Any, ...]]] = {
    "source": {"fusion.weights.graph": (0.0, 0.1, 0.2, 0.35, 0.5, 1.0)},
    "addition": {"graph.max_lift": (0.8, 0.9, 0.95, 1.0)},
}
"""Further values to try, by the value of ``graph.use``."""

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
    "speaker_turns.answers": (0.0, 0.5, 1.0, 1.5),
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
    leg_weights = ("fusion.weights.lexical", "fusion.weights.vector")
    total = sum(get_setting(preset, path) for path in leg_weights)
    if total:
        vector_weights = [total * share for share in _VECTOR_SHARES]
        yield Parameter(leg_weights, tuple((round(total - weight, 6), round(weight, 6)) for weight in vector_weights))
    yield Parameter(("fusion.method", "fusion.k"), _METHODS_AND_K, ordered=False)
    if preset.query.max_document_frequency < 1:  # 1 means off
        yield _single("query.max_document_frequency", _MAX_DOCUMENT_FREQUENCIES)
    if preset.context.on:
        for path, context_values in _CONTEXT_VALUES.items():
            yield _single(path, context_values)
    if preset.graph.use != "off":
        edges = [edge for edge in preset.graph.edges if edge not in _SUPERSEDING_EDGES]
        adjacent_edges = tuple(edge for edge in ("previous", "next") if edge in edges)
        if adjacent_edges:  # both get the same weight
            paths = tuple(f"graph.edges.{edge}" for edge in adjacent_edges)
            yield Parameter(paths, tuple((weight,) * len(adjacent_edges) for weight in _EDGE_WEIGHTS))
        for edge in edges:
            if edge not in adjacent_edges:
                yield _single(f"graph.edges.{edge}", _SESSION_WEIGHTS if edge == "session" else _EDGE_WEIGHTS)
        for path, values in (_GRAPH_VALUES | _GRAPH_VALUES_BY_USE.get(preset.graph.use, {})).items():
            yield _single(path, values)
    for stage_name in dict.fromkeys(stage.name for stage in preset.stages):
        for name, values in STAGE_VALUES.items():
            if name.startswith(f"{stage_name}."):
                yield _single(f"stages.{name}", values)


def _single(path: str, values: tuple[Any, ...]) -> Parameter:
    return Parameter((path,), tuple((value,) for value in values))


def get_setting(preset: Preset, path: str) -> Any:
    """Return the value of a setting; if a preset has a stage twice, the value of the first one."""
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
    """Return (section, name, key); the key may contain dots, and is empty if the setting is a single value."""
    section, _, rest = path.partition(".")
    name, _, key = rest.partition(".")
    return section, name, key
