"""What came of tuning: which constants would change, and what that gains on questions that had no say in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from recollect.evaluation.report.text import format_interval, format_p, format_signed
from recollect.evaluation.significance import SIGNIFICANT, Difference
from recollect.retrieval import Preset

__all__ = ["SettingChange", "TuningResult"]


class SettingChange(NamedTuple):
    """A setting that would change.

    >>> SettingChange("fusion.k", 60.0, 5.0, agreeing=4).to_dict()
    {'setting': 'fusion.k', 'before': 60.0, 'after': 5.0, 'agreeing': 4}
    """

    path: str
    before: Any
    after: Any
    agreeing: int
    """In how many folds, chosen without the questions held out there, the same value came out."""

    def to_dict(self) -> dict[str, Any]:
        """Return the change as JSON-ready data."""
        return {"setting": self.path, "before": self.before, "after": self.after, "agreeing": self.agreeing}


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningResult:
    """Constants chosen on all questions, and what choosing so is worth, measured on questions held out.

    >>> from recollect.retrieval import presets
    >>> start = presets()["default"]
    >>> found = TuningResult(start=start, chosen=start, by_fold=(start,) * 5,
    ...     gain=Difference(0.01, -0.02, 0.04, p=0.5), before=0.5, questions=40, settings=9,
    ...     changes=(SettingChange("fusion.k", 60.0, 5.0, 2),))
    >>> found.recommended, replace(found, gain=Difference(0.08, 0.02, 0.16, p=0.125)).recommended
    (False, False)
    >>> print(found.verdict)
    not significant: held out, it gained +0.010 (−0.020 to +0.040, p 0.500); keep the preset default
    """

    start: Preset
    chosen: Preset
    """The start with the constants that are best on all questions; what it gains on these flatters it."""
    by_fold: tuple[Preset, ...]
    """The same for each fold, chosen without the questions held out there."""
    changes: tuple[SettingChange, ...]
    """Where the chosen preset differs from the start."""
    gain: Difference
    """Over the start, on held-out questions: each was answered with constants chosen without it."""
    before: float
    """The mean of the start on all questions."""
    questions: int
    settings: int
    """How many settings were tried on all questions."""

    @property
    def folds(self) -> int:
        """How many folds there were."""
        return len(self.by_fold)

    @property
    def recommended(self) -> bool:
        """Whether the change is worth recommending.

        The 95 % interval of the held-out gain lies above zero, and its p-value below 0.05: of few questions that differ
        an interval alone says too much.
        """
        return bool(self.changes) and self.gain.verdict == "better" and self.gain.p < SIGNIFICANT

    @property
    def verdict(self) -> str:
        """The outcome in one line for a person."""
        gain = self.gain
        chance = format_p(gain.p)
        held_out = f"{format_signed(gain.mean)} ({format_interval(gain.low, gain.high)}, p {chance})"
        if self.recommended:
            return f"significant: held out, it gained {held_out}"
        why = f"held out, it gained {held_out}" if self.changes else "nothing that was tried is better on all questions"
        return f"not significant: {why}; keep the preset {self.start.name}"

    def preset(self, name: str, about: str = "") -> Preset:
        """Return the chosen preset under a name of its own."""
        return replace(self.chosen, name=name, about=about)

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as JSON-ready data."""
        gain = self.gain
        return {
            "start": self.start.name,
            "questions": self.questions,
            "folds": self.folds,
            "settings": self.settings,
            "before": self.before,
            "gain": {"mean": gain.mean, "low": gain.low, "high": gain.high, "p": gain.p},
            "changes": [change.to_dict() for change in self.changes],
            "recommended": self.recommended,
            "verdict": self.verdict,
        }
