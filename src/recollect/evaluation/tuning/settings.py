"""One setting of a preset by its path: ``fusion.k``, ``graph.edges.next``, ``stages.temporal_boost.boost``."""

from __future__ import annotations

from typing import Any

from recollect.errors import ArgumentError
from recollect.retrieval.preset import Preset, changed_preset

__all__ = ["setting", "with_setting"]

_ABSENT = {"weights": 1.0, "edges": 0.0}
"""What counts where a table does not name something."""


def setting(preset: Preset, path: str) -> Any:
    """Return the value of a setting; of a stage that is there twice, the first's.

    >>> from recollect.retrieval import presets
    >>> setting(presets()["memini"], "stages.temporal.boost"), setting(presets()["memini"], "fusion.weights.vector")
    (0.4, 1.0)
    """
    section, name, key = _parts(path)
    if section == "stages":
        for stage in preset.stages:
            if stage.name == name:
                return getattr(stage, key)
        raise ArgumentError("path", f"the preset {preset.name} has no stage {name!r}, got {path!r}")
    held = getattr(getattr(preset, section), name)
    return held.get(key, _ABSENT[name]) if key else held


def with_setting(preset: Preset, path: str, value: Any) -> Preset:
    """Return the preset with another value of a setting; of a stage that is there twice, both change.

    >>> from recollect.retrieval import presets
    >>> with_setting(presets()["default"], "graph.edges.next", 0.1).graph.edges["next"]
    0.1
    """
    section, name, key = _parts(path)
    if section == "stages":
        stages = [{**stage.to_dict(), key: value} if stage.name == name else stage.to_dict() for stage in preset.stages]
        return changed_preset(preset, {"stages": stages})
    if key:
        value = {**getattr(getattr(preset, section), name), key: value}
    return changed_preset(preset, {section: {name: value}})


def _parts(path: str) -> tuple[str, str, str]:
    """Return section, setting and, within a table or a stage, key; the kind of a link may have dots."""
    section, _, rest = path.partition(".")
    name, _, key = rest.partition(".")
    return section, name, key
