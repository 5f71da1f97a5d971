"""Tools that search: ``recall`` returns the best notes, ``explain`` also explains the ranking."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, Field

from recollect.arguments import exceeds_max_depth
from recollect.model import Hit
from recollect.query import parse
from recollect.retrieval import SearchResult
from recollect.retrieval.confidence import snippet
from recollect.retrieval.messages import no_answer_message
from recollect.server.auth import Right
from recollect.server.mcp.tools import FilterRequest, ToolCall, tool

MAX_QUERY_LENGTH = 4096
MAX_TEXT_LENGTH = 1500  # how many characters of a note are returned; of a longer note, the part that matches best
MAX_METADATA_LENGTH = 1000  # metadata with more characters of JSON is left out of a hit


class SearchRequest(FilterRequest):
    """Arguments of ``recall`` and ``explain``."""

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_LENGTH)] = Field(
        description="A question or key words, in the user's own terms. Quotes, AND, OR and NOT work."
    )
    top_k: Annotated[int, Field(ge=1, le=50)] = Field(default=5, description="The maximum number of notes.")
    created_after: str | None = Field(default=None, description="Only notes from this ISO 8601 date or time on.")
    created_before: str | None = Field(
        default=None,
        description="Only notes before this ISO 8601 date or time. The search is as of that time: notes created later "
        "do not supersede older ones.",
    )
    include_weak: bool = Field(
        default=False,
        description="Also return weak candidates, marked as weak; they are not the answer. If the memory has no "
        "answer, all hits are weak. Otherwise, a hit is weak if its confidence is below the answer threshold and also "
        "below a tenth of the best hit's confidence.",
    )


class RecalledNote(BaseModel):
    """A note in the results."""

    id: str
    path: str | None = None
    title: str | None = None
    text: str = Field(description="The text of the note; of a long note, the part that matches the query best.")
    truncated: bool | None = Field(
        default=None, description="True if text is only a part; the tool `list` with `keys` returns the whole note."
    )
    score: float = Field(description="The score by which hits are sorted; only comparable within one response.")
    confidence: float | None = Field(
        default=None, description="The probability, from 0 to 1, that the note answers the query."
    )
    weak: bool | None = Field(default=None, description="True if the hit is a weak candidate: it is not the answer.")
    created_at: str | None = None
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = Field(
        default=None, description="The note's metadata; omitted if longer than 1,000 characters of JSON."
    )
    superseded_by: list[str] | None = Field(default=None, description="Ids of newer notes that replace this one.")


class RecallResponse(BaseModel):
    """The result of a search."""

    answer: str = Field(description="A sentence: whether something was found and whether to rely on it.")
    has_answer: bool = Field(description="False if nothing in the memory answers the query.")
    answer_threshold: float = Field(description="The lowest confidence at which the best hit counts as an answer.")
    hits: list[RecalledNote] = Field(description="The hits, best first; weak candidates only with include_weak.")
    weak_hidden: int | None = Field(default=None, description="How many weak candidates were not returned.")
    namespace: str
    excluded: list[str] | None = Field(
        default=None, description="Terms that the query excludes by NOT; no hit contains one."
    )
    warnings: list[str] | None = Field(default=None, description="What was unavailable, and how the query was changed.")


class ExplainResponse(RecallResponse):
    """The result of a search with its explanation."""

    explanation: str = Field(description="How the query was parsed, what each part did, and how each hit was scored.")


@tool("Search the memory", Right.READ)
def recall(call: ToolCall, request: SearchRequest) -> RecallResponse:
    """Search the notes of earlier conversations by lexical and vector search.

    Call it before you answer anything that may depend on the user's preferences, people, projects, decisions or
    past. Returns the best notes with id, path, text, confidence and date; `has_answer` is false if nothing in the
    memory answers the query.
    """
    return RecallResponse(**_search(call, request)[1])


@tool("Explain a search", Right.READ)
def explain(call: ToolCall, request: SearchRequest) -> ExplainResponse:
    """Search as recall does, and explain each note's rank by its lexical, vector and graph scores and its date.

    Call it when the user asks why something was found or not found; otherwise use recall, which is shorter.
    """
    result, fields = _search(call, request)
    return ExplainResponse(**fields, explanation=result.explain(limit=request.top_k))


def _search(call: ToolCall, request: SearchRequest) -> tuple[SearchResult, dict[str, Any]]:
    """Search; return the result and the fields of the response."""
    filters = request.given_arguments("query", "top_k", "include_weak")
    result = call.memory.search(request.query, top_k=request.top_k, filters=filters, namespace=call.namespace)
    hits = result.hits if request.include_weak else result.strong_hits
    weak_ids = {hit.id for hit in result.weak_hits}
    return result, {
        "answer": _answer_sentence(result, len(hits), include_weak=request.include_weak),
        "has_answer": result.has_answer,
        "answer_threshold": result.answer_threshold,
        "hits": [_recalled_note(hit, result, weak=hit.id in weak_ids) for hit in hits],
        "weak_hidden": len(result) - len(hits) or None,
        "namespace": call.namespace,
        "excluded": list(result.excluded) or None,
        "warnings": result.warnings or None,
    }


def _answer_sentence(result: SearchResult, shown: int, *, include_weak: bool) -> str:
    if result.has_answer:
        hidden = len(result) - shown
        not_shown = f" {_count(hidden, 'weak candidate')} not shown; include_weak returns them." if hidden else ""
        return f"{_count(shown, 'note')}, the best first.{not_shown}"
    if result:
        reason = no_answer_message(result.best_confidence, result.answer_threshold)
        advice = (
            "The hits are weak candidates: do not present them as the answer."
            if include_weak
            else "Say so, or try other words; include_weak returns the weak candidates."
        )
    else:
        dropped = result.trace.below_min_confidence
        reason = f"{_count(dropped, 'candidate')} found, all below min_confidence" if dropped else "nothing was found"
        advice = "Try other words or fewer filters, or say that the memory has nothing about it."
    exclusion = f" Notes with {', '.join(result.excluded)} were excluded by NOT." if result.excluded else ""
    return f"The memory has no answer: {reason}. {advice}{exclusion}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _recalled_note(hit: Hit, result: SearchResult, *, weak: bool) -> RecalledNote:
    truncated = len(hit.content) > MAX_TEXT_LENGTH
    text = snippet(hit.content, parse(result.query), MAX_TEXT_LENGTH).text if truncated else hit.content
    return RecalledNote(
        id=hit.id,
        path=hit.path or None,
        title=hit.title or None,
        text=result.text_with_superseded_notice(hit, text),
        truncated=truncated or None,
        score=round(hit.score, 4),
        confidence=None if hit.confidence is None else round(hit.confidence, 3),
        weak=weak or None,
        created_at=hit.to_dict()["created_at"],
        tags=list(hit.tags) or None,
        metadata=_short_metadata(hit.metadata),
        superseded_by=list(hit.superseded_by) or None,
    )


def _short_metadata(metadata: dict[str, Any]) -> dict[str, Any] | None:
    if not metadata or exceeds_max_depth(metadata):
        return None  # there is none, or it is nested too deep for JSON
    return metadata if len(json.dumps(metadata, ensure_ascii=False)) <= MAX_METADATA_LENGTH else None
