"""A system: a way to search that is judged beside others."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import cast

from recollect import arguments
from recollect.evaluation.calibration import DEFAULT_ANSWER_THRESHOLD
from recollect.retrieval import Preset, PresetSpec, preset_from
from recollect.retrieval.options import MODES, Mode

__all__ = ["MODES", "System"]


@dataclass(frozen=True, slots=True)
class System:
    """A preset and a mode, and what to call them: the preset's name, with the mode where that is not ``auto``.

    >>> System("memini").name, System("default", "bm25").name, System("default", name="ours").name
    ('memini', 'default bm25', 'ours')
    """

    preset: PresetSpec
    mode: Mode = "auto"
    name: str = ""

    def __post_init__(self) -> None:
        """Read the preset, once."""
        arguments.choice("mode", self.mode, MODES)
        arguments.line("name", self.name)
        object.__setattr__(self, "preset", preset_from(self.preset))
        if not self.name:
            named = self.rules.name
            object.__setattr__(self, "name", named if self.mode == "auto" else f"{named} {self.mode}")

    @property
    def rules(self) -> Preset:
        """The preset as it was read."""
        return cast("Preset", self.preset)

    @property
    def answer_threshold(self) -> float:
        """The confidence below which the preset says that nothing fits.

        >>> 0 <= System("memini").answer_threshold <= 1
        True
        """
        return float(getattr(self.rules, "answer_threshold", DEFAULT_ANSWER_THRESHOLD))

    def digest(self) -> str:
        """Return a short text that changes with every setting, but not with the name."""
        told = self.rules.to_dict() | {"name": "", "about": "", "mode": self.mode}
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]
