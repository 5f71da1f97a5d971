"""Intent: if a query asks for advice or for a countable fact, raise the kinds of notes that answer it.

Only English queries have an intent. The patterns and the factors are those of the document "Algorithms" of the system
Jeffs Brain; the patterns are written for JavaScript.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from recollect import arguments
from recollect.errors import ArgumentTypeError
from recollect.model import Candidate, as_candidate
from recollect.ranking.stage import Adjustment, Candidates, Stage, StageContext, StageResult, run_stage
from recollect.text import javascript_pattern


@dataclass(frozen=True, slots=True)
class Intent:
    """What a query asks for: advice, a countable fact, both or neither.

    >>> bool(Intent(preference=False, concrete_fact=False))
    False
    """

    preference: bool
    """Whether the query asks for advice, which depends on the user's preferences."""
    concrete_fact: bool
    """Whether the query asks for a count or a list, or for something the user did ("have I booked …")."""

    def __bool__(self) -> bool:
        return self.preference or self.concrete_fact


def detect_intent(query: str) -> Intent:
    """Return the intent of an English query.

    >>> detect_intent("recommend how many to buy")
    Intent(preference=True, concrete_fact=True)
    """
    lowered = arguments.text("query", query).lower()
    return Intent(
        preference=_ASKS_FOR_ADVICE.search(lowered) is not None,
        concrete_fact=_ASKS_FOR_COUNT.search(lowered) is not None
        or (_ASKS_ABOUT_ONESELF.search(lowered) is not None and _ASKS_ABOUT_EVENT.search(lowered) is not None),
    )


def intent_multiplier(intent: Intent, candidate: Candidate | Mapping[str, Any]) -> float:
    """Return the product of the factors by which an intent multiplies a candidate's score.

    >>> intent_multiplier(Intent(True, False), {"path": "memory/global/user-preference-tea.md"})
    2.35
    """
    if not isinstance(intent, Intent):
        raise ArgumentTypeError("intent", f"must be an Intent (see detect_intent), got {type(intent).__name__}")
    product = 1.0
    for adjustment in _adjustments(intent, as_candidate("candidate", candidate)):
        product *= adjustment.factor
    return product


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentWeights(Stage):
    """Multiply each score by the factors of the query's intent.

    >>> IntentWeights().to_dict()
    {'stage': 'intent'}
    """

    name: ClassVar[str] = "intent"

    def adjust(self, candidates: Sequence[Candidate], context: StageContext) -> StageResult | None:
        """Return the factors of each candidate; ``None`` if the query has no intent."""
        intent = detect_intent(context.query)
        if not intent:
            return None
        return StageResult([_adjustments(intent, candidate) for candidate in candidates])


def reweight_by_intent(query: str, candidates: Candidates) -> list[Candidate]:
    """Return ``candidates`` with their scores multiplied by the factors of the query's intent, the best first.

    A query without intent leaves the list as it was, unsorted.

    >>> notes = [{"id": "a", "path": "wiki/tea-guide.md", "content": "A guide.", "score": 1.0},
    ...          {"id": "b", "path": "memory/global/user-preference-tea.md", "score": 0.5}]
    >>> [(note.id, note.score) for note in reweight_by_intent("recommend a tea", notes)]
    [('b', 1.175), ('a', 0.82)]
    """
    return run_stage(IntentWeights(), candidates, StageContext(arguments.text("query", query)))


# What a query asks for. "have I visited" asks for an event: it matches _ASKS_ABOUT_ONESELF and _ASKS_ABOUT_EVENT.
_ASKS_FOR_ADVICE = javascript_pattern(
    r"\b(?:recommend|suggest|recommendation|suggestion|tips?|advice|ideas?|what should i|which should i)\b"
)
_ASKS_FOR_COUNT = javascript_pattern(r"\b(?:how many|count|total|in total|sum|add up|list|what are all)\b")
_ASKS_ABOUT_ONESELF = javascript_pattern(r"\b(?:did i|have i|was i|were i)\b")
_ASKS_ABOUT_EVENT = javascript_pattern(
    r"\b(?:pick(?:ed)? up|bought|ordered|spent|earned|sold|drove|travelled|traveled|watched|visited|completed"
    r"|finished|submitted|booked)\b"
)

# What kind of note a text is. A roll-up is a summary of several facts or events.
_STATES_PREFERENCE = javascript_pattern(
    r"\b(?:prefer(?:s|red)?|like(?:s|d)?|love(?:s|d)?|want(?:s|ed)?|need(?:s|ed)?|avoid(?:s|ed)?|dislike(?:s|d)?"
    r"|hate(?:s|d)?|enjoy(?:s|ed)?|interested in|looking for)\b"
)
_IS_GENERIC = javascript_pattern(
    r"\b(?:tips?|advice|suggest(?:ion|ed)?s?|recommend(?:ation|ed)?s?|ideas?|options?|guide|tracking|tracker"
    r"|checklist)\b"
)
_IS_ROLL_UP = javascript_pattern(
    r"\b(?:roll-?up|summary|recap|overview|aggregate|combined|overall|in total|totalled?|totalling)\b"
)
_TELLS_AN_EVENT = javascript_pattern(
    r"\b(?:i|we)\s+(?:picked up|bought|ordered|spent|earned|sold|drove|travelled|traveled|went|watched|visited"
    r"|completed|finished|started|booked|got|took|submitted)\b"
)
_HAS_DATE_TAG = javascript_pattern(r"\[(?:date|observed on):")


def _adjustments(intent: Intent, candidate: Candidate) -> list[Adjustment]:
    """Return the factors that apply to a candidate, each with its reason."""
    path = candidate.path.lower()
    text = "\n".join((path, candidate.title, candidate.summary, candidate.content)).lower()
    is_global = "memory/global/" in path
    is_roll_up = _IS_ROLL_UP.search(text) is not None
    is_generic = not is_global and _IS_GENERIC.search(text) is not None
    adjustments = []
    if intent.preference:
        if is_global and "user-preference-" in path:
            adjustments.append(Adjustment("asks for advice; a stated preference of the user", 2.35))
        elif is_global and _STATES_PREFERENCE.search(text):
            adjustments.append(Adjustment("asks for advice; a global note that speaks of likes or needs", 2.1))
        if is_generic:
            adjustments.append(Adjustment("asks for advice; generic advice, not the user's own", 0.82))
        if is_roll_up:
            adjustments.append(Adjustment("asks for advice; a roll-up", 0.9))
    if intent.concrete_fact:
        has_fact_path = "user-fact-" in path or "milestone-" in path
        is_fact = has_fact_path or (not is_roll_up and (_HAS_DATE_TAG.search(text) or _TELLS_AN_EVENT.search(text)))
        if is_fact:
            adjustments.append(Adjustment("asks for a fact; a single dated fact or event", 2.2))
        if is_roll_up:
            adjustments.append(Adjustment("asks for a fact; a roll-up", 0.45))
        if is_generic and not is_fact:
            adjustments.append(Adjustment("asks for a fact; generic advice", 0.75))
    return adjustments
