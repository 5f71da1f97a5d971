"""The tools that find: ``recall``, and ``explain``, which tells why."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, Field

from recollect.arguments import exceeds_max_depth
from recollect.model import Hit
from recollect.query import parse
from recollect.retrieval import SearchResult
from recollect.retrieval.snippets import snippet
from recollect.retrieval.wording import no_answer_in_words
from recollect.server.mcp.tool import Call, Tool
from recollect.server.mcp.values import Arguments, Texts
from recollect.server.rights import Right

__all__ = ["EXPLAIN", "RECALL"]

LONGEST_QUERY = 4096
WHOLE_TEXT = 1500
"""How long a note may be to be told as a whole; of a longer one, the piece that fits best."""
MAX_METADATA = 1000
"""How long a note's metadata may be, in characters of JSON, to be part of a hit."""


class Question(Arguments):
    """What is asked, and of which notes."""

    query: Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY)] = Field(
        description="What to look for: a question or key words, in the user's own terms. Quotes, AND, OR and NOT work."
    )
    top_k: Annotated[int, Field(ge=1, le=50)] = Field(default=5, description="How many notes to return at most.")
    tags: Texts | None = Field(default=None, description="Only notes with all of these tags.")
    path_prefix: str | None = Field(default=None, description="Only notes whose path begins so, such as 'projects/'.")
    session: str | None = Field(default=None, description="Only notes of this conversation or document.")
    created_after: str | None = Field(default=None, description="Only notes from this ISO 8601 date or time on.")
    created_before: str | None = Field(
        default=None,
        description="Only notes before this ISO 8601 date or time. The search is as of that time: notes made later do "
        "not supersede older ones, so that no note is marked as replaced by one of them.",
    )
    include_weak: bool = Field(
        default=False,
        description="Also return weak candidates, marked as such: all hits if the memory holds no answer, else those "
        "whose confidence is below the answer threshold and below a tenth of the best. They are not the answer.",
    )


class Found(BaseModel):
    """A note that was found."""

    id: str
    path: str | None = None
    title: str | None = None
    text: str = Field(description="The note; of a long one, the piece that fits the question best.")
    shortened: bool | None = Field(
        default=None, description="True where text is only a piece; list with keys gives it all."
    )
    score: float = Field(description="What the hits are ordered by; it compares hits of one answer only.")
    confidence: float | None = Field(
        default=None,
        description="The probability, from 0 to 1, that the note answers the question.",
    )
    weak: bool | None = Field(default=None, description="True if the hit is a weak candidate: it is not the answer.")
    created_at: str | None = None
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = Field(
        default=None, description="The note's metadata; left out where it is longer than 1,000 characters of JSON."
    )
    superseded_by: list[str] | None = Field(default=None, description="The ids of newer notes that replace this one.")


class Recalled(BaseModel):
    """What a search found."""

    answer: str = Field(description="In a sentence, whether something was found and whether to rely on it.")
    has_answer: bool = Field(description="False if the memory holds nothing that fits the question.")
    answer_threshold: float = Field(description="The lowest confidence at which the best hit counts as an answer.")
    hits: list[Found] = Field(description="The best first; weak candidates only with include_weak.")
    weak_hidden: int | None = Field(default=None, description="How many weak candidates were found and not returned.")
    namespace: str
    excluded: list[str] | None = Field(
        default=None, description="What the query excludes by NOT: notes that hold one of these are not returned."
    )
    warnings: list[str] | None = Field(default=None, description="What the search had to do without.")


class Explained(Recalled):
    """The same, and why."""

    explanation: str = Field(description="How the query was read, what each part did, and how each hit got its score.")


def _recall(call: Call, asked: Question) -> Recalled:
    return Recalled(**_told(call, _search(call, asked), include_weak=asked.include_weak))


def _explain(call: Call, asked: Question) -> Explained:
    result = _search(call, asked)
    fields = _told(call, result, include_weak=asked.include_weak)
    return Explained(**fields, explanation=result.explain(limit=asked.top_k))


def _search(call: Call, asked: Question) -> SearchResult:
    return call.memory.search(
        asked.query,
        top_k=asked.top_k,
        filters=asked.changes("query", "top_k", "include_weak"),
        namespace=call.namespace,
    )


def _told(call: Call, result: SearchResult, *, include_weak: bool) -> dict[str, Any]:
    weak = {hit.id for hit in result.weak_hits}
    shown = result.hits if include_weak else result.strong_hits
    return {
        "answer": _answer(result, include_weak=include_weak),
        "has_answer": result.has_answer,
        "answer_threshold": result.answer_threshold,
        "hits": [_found(hit, result, weak=hit.id in weak) for hit in shown],
        "weak_hidden": len(result) - len(shown) or None,
        "namespace": call.namespace,
        "excluded": list(result.excluded) or None,
        "warnings": result.warnings or None,
    }


def _answer(result: SearchResult, *, include_weak: bool) -> str:
    shown = result.hits if include_weak else result.strong_hits
    if result.has_answer:
        hidden = len(result) - len(shown)
        not_shown = f" {_count(hidden, 'weak candidate')} not shown; include_weak returns them." if hidden else ""
        return f"{_count(len(shown), 'note')}, the best first.{not_shown}"
    if not result:
        why = "nothing was found"
        if result.trace.below_min_confidence:
            why = f"{_count(result.trace.below_min_confidence, 'candidate')} found, all below min_confidence"
        return (
            f"The memory holds no answer: {why}. Try other words or fewer filters, or say that the memory holds "
            f"nothing about it.{_exclusion(result)}"
        )
    why = no_answer_in_words(result.best_confidence, result.answer_threshold)
    weak = (
        "The hits are weak candidates: do not present them as the answer."
        if include_weak
        else "Say so, or try other words; include_weak returns the weak candidates."
    )
    return f"The memory holds no answer: {why}. {weak}{_exclusion(result)}"


def _exclusion(result: SearchResult) -> str:
    """Return that NOT may have excluded the answer, if the query has one."""
    return f" Notes with {', '.join(result.excluded)} were excluded by NOT." if result.excluded else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _found(hit: Hit, result: SearchResult, *, weak: bool) -> Found:
    told = hit.to_dict()
    long = len(hit.content) > WHOLE_TEXT
    text = snippet(hit.content, parse(result.query), WHOLE_TEXT).text if long else hit.content
    return Found(
        id=hit.id,
        path=hit.path or None,
        title=hit.title or None,
        text=result.marked_text(hit, text),
        shortened=True if long else None,
        score=round(hit.score, 4),
        confidence=None if hit.confidence is None else round(hit.confidence, 3),
        weak=weak or None,
        created_at=told["created_at"],
        tags=list(hit.tags) or None,
        metadata=_short(hit.metadata),
        superseded_by=list(hit.superseded_by) or None,
    )


def _short(metadata: dict[str, Any]) -> dict[str, Any] | None:
    """Return metadata of at most ``MAX_METADATA`` characters; ``None`` if there is none or too much."""
    if not metadata or exceeds_max_depth(metadata):
        return None
    return metadata if len(json.dumps(metadata, ensure_ascii=False)) <= MAX_METADATA else None


RECALL = Tool(
    name="recall",
    title="Search the memory",
    description=(
        "Search the notes of earlier conversations, by words and by meaning. Call it before you answer anything that "
        "may depend on the user's preferences, people, projects, decisions or past. Returns the best notes with id, "
        "path, text, confidence and date; `has_answer` is false if the memory holds nothing that fits."
    ),
    right=Right.READ,
    arguments=Question,
    answer=Recalled,
    run=_recall,
)

EXPLAIN = Tool(
    name="explain",
    title="Explain a search",
    description=(
        "The same search as recall, with a drawing of why each note got its place: words, meaning, connections, dates. "
        "Call it when the user asks why something was found or not found; otherwise use recall, which is shorter."
    ),
    right=Right.READ,
    arguments=Question,
    answer=Explained,
    run=_explain,
)
