"""Temporal: raise notes that were created near the relative time that a query names, such as "three weeks ago".

Recency favours recent notes, but such a query needs notes of that time. The method is that of the system ``memini``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Literal, NamedTuple, Protocol

from recollect import arguments
from recollect.errors import ArgumentTypeError
from recollect.model import Candidate
from recollect.ranking.composite import Composite, CompositeWeights, WeightsSpec, composite_weights
from recollect.ranking.stage import (
    Adjustment,
    Candidates,
    Stage,
    StageContext,
    StageResult,
    apply_result,
    clamp,
    run_stage,
    with_steps,
)
from recollect.settings import number, one_of, setting
from recollect.text import javascript_pattern

DEFAULT_TEMPORAL_BOOST = 0.40
"""The boost of a note that was created within the tolerance of the time that the query names."""

Combine = Literal["add", "multiply"]


class TimeAnchor(NamedTuple):
    """The relative time that a query names: ``days`` days ago, give or take ``tolerance`` days.

    >>> TimeAnchor(days=21, tolerance=5).days
    21
    """

    days: int
    tolerance: int


class AnchorExtractor(Protocol):
    """Extracts the relative time of a query; an implementation may call a language model."""

    def anchor(self, query: str) -> TimeAnchor | None:
        """Return the time that ``query`` names, or ``None`` if it names none."""


@dataclass(frozen=True, slots=True)
class RegexAnchorExtractor:
    """Recognises common English phrases such as "last week" and "3 days ago".

    >>> RegexAnchorExtractor().anchor("what did I do three weeks ago?")
    TimeAnchor(days=21, tolerance=5)
    """

    def anchor(self, query: str) -> TimeAnchor | None:
        """Return the time of the first pattern that matches ``query``, or ``None``."""
        arguments.text("query", query)
        for pattern, days, tolerance in _ANCHOR_PATTERNS:
            match = pattern.search(query)
            if match:
                count = _number(match[1]) if match.groups() else 1
                return TimeAnchor(days * count, tolerance)
        return None


_NUMBER_WORDS = "one two three four five six seven eight nine ten eleven twelve".split()
# The look-behinds keep "1.5 weeks ago" from being read as 5, and "twenty-one" as 1. Six digits suffice for 2,700 years.
_NUMBER = rf"(?<!\d[.,])(?<!-)\b(\d{{1,6}}|{'|'.join(_NUMBER_WORDS)})"

_ANCHOR_PATTERNS = [
    (javascript_pattern(source), days, tolerance)
    for source, days, tolerance in (
        (rf"{_NUMBER}\s+days?\s+ago\b", 1, 2),
        (r"\ba\s+couple\s+(?:of\s+)?days?\s+ago\b", 2, 2),
        (r"\byesterday\b", 1, 1),
        (rf"{_NUMBER}\s+weeks?\s+ago\b", 7, 5),
        (r"\b(?:a\s+week\s+ago|last\s+week)\b", 7, 3),
        (rf"{_NUMBER}\s+months?\s+ago\b", 30, 10),
        (r"\b(?:a\s+month\s+ago|last\s+month)\b", 30, 7),
        (r"\b(?:a\s+year\s+ago|last\s+year)\b", 365, 30),
        (r"\brecently\b", 14, 14),
    )
]
"""Pattern, days, tolerance in days. The first pattern that matches is used; a captured number multiplies the days."""


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBER_WORDS.index(text.lower()) + 1


_REGEX_EXTRACTOR = RegexAnchorExtractor()


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalBoost(Stage):
    """Add ``boost * proximity`` to a score, or multiply it by ``1 + boost * proximity``.

    The proximity is 1 for a note created within the tolerance of the query's time, before or after. It falls linearly
    to 0 at three times the tolerance.

    >>> TemporalBoost().combine
    'multiply'
    """

    name: ClassVar[str] = "temporal_boost"
    boost: float = setting(DEFAULT_TEMPORAL_BOOST, number())
    """The boost at a proximity of 1; 0 or less turns the stage off."""
    combine: Combine = setting("multiply", one_of("add", "multiply"))
    """``add`` can put a note first that is unrelated to the query; with ``multiply``, its low score stays low."""

    def adjust(self, candidates: Sequence[Candidate], context: StageContext) -> StageResult | None:
        """Return the boost of each candidate; ``None`` if the query names no time or the stage is turned off."""
        return self.adjust_by(_REGEX_EXTRACTOR, candidates, context)

    def adjust_by(
        self, extractor: AnchorExtractor | None, candidates: Sequence[Candidate], context: StageContext
    ) -> StageResult | None:
        """Do the same as :meth:`adjust` for the time that ``extractor`` finds in the query."""
        anchor = _anchor(extractor, context.query) if self.boost > 0 else None
        if anchor is None:
            return None
        try:
            target = context.now - timedelta(days=anchor.days)
        except OverflowError:  # before the year 1
            return None
        return StageResult([self._adjustments(candidate, target, anchor) for candidate in candidates])

    def _adjustments(self, candidate: Candidate, target: datetime, anchor: TimeAnchor) -> list[Adjustment]:
        if candidate.created_at is None:
            return []
        created = arguments.instant("created_at", candidate.created_at)
        proximity = _proximity(abs(created - target) / timedelta(days=1), anchor.tolerance)
        if not proximity:
            return []
        gain = self.boost * proximity
        factor, addend = (1.0, gain) if self.combine == "add" else (1 + gain, 0.0)
        day, target_day = created.date(), target.date()
        return [Adjustment(lambda: f"created {day}, proximity {proximity:.2f} to {target_day}", factor, addend)]


def _proximity(days: float, tolerance: float) -> float:
    """Return the proximity for a distance in days; see :class:`TemporalBoost`."""
    if days <= tolerance:
        return 1.0
    return clamp((3 * tolerance - days) / (2 * tolerance)) if tolerance else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Temporal(Composite):
    """The stage ``composite``, followed by the stage ``temporal_boost``, with the settings of both.

    >>> [stage.name for stage in Temporal().parts()]
    ['composite', 'temporal_boost']
    """

    name: ClassVar[str] = "temporal"
    boost: float = setting(DEFAULT_TEMPORAL_BOOST, number())
    combine: Combine = setting("add", one_of("add", "multiply"))

    def parts(self) -> tuple[Stage, ...]:
        """Return the stage ``composite`` and the stage ``temporal_boost``."""
        return (
            Composite(relevance=self.relevance, recency=self.recency, importance=self.importance),
            TemporalBoost(boost=self.boost, combine=self.combine),
        )


def temporal(
    candidates: Candidates,
    *,
    query: str,
    now: datetime,
    weights: WeightsSpec = CompositeWeights(),  # noqa: B008 (immutable)
    extractor: AnchorExtractor | None = _REGEX_EXTRACTOR,
    boost: float = DEFAULT_TEMPORAL_BOOST,
    combine: Combine = "add",
) -> list[Candidate]:
    """Return ``candidates`` ranked by the stage ``composite``, then by ``temporal_boost``.

    If the query names no time, there is no extractor, or the boost is 0 or less, only ``composite`` applies.

    >>> from datetime import datetime
    >>> notes = [{"id": "fresh", "score": 0.5, "created_at": "2026-05-31"},
    ...          {"id": "then", "score": 0.5, "created_at": "2026-05-11"}]
    >>> [note.id for note in temporal(notes, query="what did I decide 3 weeks ago", now=datetime(2026, 6, 1))]
    ['then', 'fresh']
    """
    context = StageContext(arguments.text("query", query), arguments.instant("now", now))
    ranked = run_stage(Composite(**composite_weights(weights)._asdict()), candidates, context)
    stage = TemporalBoost(boost=boost, combine=combine)
    result = stage.adjust_by(extractor, ranked, context)
    return ranked if result is None else with_steps(apply_result(stage.name, ranked, result))


def _anchor(extractor: AnchorExtractor | None, query: str) -> TimeAnchor | None:
    """Return the time that an extractor finds. Check the extractor, because a user may have written it."""
    if extractor is None:
        return None
    if isinstance(extractor, type) or not callable(getattr(extractor, "anchor", None)):
        raise ArgumentTypeError("extractor", f"must be an object with a method anchor(query), got {extractor!r}")
    anchor = extractor.anchor(query)
    if anchor is not None:
        if not isinstance(anchor, TimeAnchor):
            raise ArgumentTypeError("extractor", f"must return None or a TimeAnchor, got {type(anchor).__name__}")
        arguments.number("extractor's days", anchor.days)
        arguments.number("extractor's tolerance", anchor.tolerance, at_least=0)
    return anchor
