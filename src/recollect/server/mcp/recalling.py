"""The tools that find: ``recall``, and ``explain``, which tells why."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, Field

from recollect.model import Hit
from recollect.nesting import is_deep
from recollect.query import parse
from recollect.retrieval import SearchResult
from recollect.retrieval.snippets import snippet
from recollect.server.mcp.tool import Call, Tool
from recollect.server.mcp.values import Arguments, Texts
from recollect.server.rights import Right

__all__ = ["EXPLAIN", "RECALL"]

LONGEST_QUERY = 4096
WHOLE_TEXT = 1500
"""How long a note may be to be told as a whole; of a longer one, the piece that fits best."""
MAX_METADATA = 1000
"""How long a note's metadata may be, in characters of JSON, to be part of a hit."""
SURE = 0.3
"""From where on a hit counts as having to do with the question: 95 of 100 notes found for a foreign one are below."""


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
    created_before: str | None = Field(default=None, description="Only notes before this ISO 8601 date or time.")


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
        description="From 0 to 1, how likely the note has to do with the question; below 0.3 it is doubtful.",
    )
    created_at: str | None = None
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = Field(
        default=None, description="The note's metadata; left out where it is longer than 1,000 characters of JSON."
    )
    superseded_by: list[str] | None = Field(default=None, description="The ids of newer notes that replace this one.")


class Recalled(BaseModel):
    """What a search found."""

    answer: str = Field(description="In a sentence, whether something was found and whether to rely on it.")
    sure: bool = Field(description="False if nothing was found, or nothing that surely has to do with the question.")
    hits: list[Found] = Field(description="The best first.")
    namespace: str
    warnings: list[str] | None = Field(default=None, description="What the search had to do without.")


class Explained(Recalled):
    """The same, and why."""

    explanation: str = Field(description="How the query was read, what each part did, and how each hit got its score.")


def _recall(call: Call, asked: Question) -> Recalled:
    return Recalled(**_told(call, _search(call, asked)))


def _explain(call: Call, asked: Question) -> Explained:
    result = _search(call, asked)
    return Explained(**_told(call, result), explanation=result.explain(limit=asked.top_k))


def _search(call: Call, asked: Question) -> SearchResult:
    return call.memory.search(
        asked.query, top_k=asked.top_k, filters=asked.changes("query", "top_k"), namespace=call.namespace
    )


def _told(call: Call, result: SearchResult) -> dict[str, Any]:
    best = max((hit.confidence or 0.0 for hit in result), default=0.0)
    return {
        "answer": _answer(len(result), best),
        "sure": best >= SURE,
        "hits": [_found(hit, result.query) for hit in result],
        "namespace": call.namespace,
        "warnings": result.warnings or None,
    }


def _answer(count: int, best: float) -> str:
    if not count:
        return "Nothing was found. Try other words or fewer filters, or say that the memory holds nothing about it."
    if best < SURE:
        return (
            f"Not sure: the best of these has a confidence of {best:.2f}, so that probably none of them answers the "
            "question. Do not present them as the answer."
        )
    return f"{count} {'note' if count == 1 else 'notes'}, the best first."


def _found(hit: Hit, query: str) -> Found:
    told = hit.to_dict()
    long = len(hit.content) > WHOLE_TEXT
    return Found(
        id=hit.id,
        path=hit.path or None,
        title=hit.title or None,
        text=snippet(hit.content, parse(query), WHOLE_TEXT).text if long else hit.content,
        shortened=True if long else None,
        score=round(hit.score, 4),
        confidence=None if hit.confidence is None else round(hit.confidence, 3),
        created_at=told["created_at"],
        tags=list(hit.tags) or None,
        metadata=_short(hit.metadata),
        superseded_by=list(hit.superseded_by) or None,
    )


def _short(metadata: dict[str, Any]) -> dict[str, Any] | None:
    """Return metadata that does not crowd out the notes; ``None`` where there is none or too much."""
    if not metadata or is_deep(metadata):
        return None
    return metadata if len(json.dumps(metadata, ensure_ascii=False)) <= MAX_METADATA else None


RECALL = Tool(
    name="recall",
    title="Search the memory",
    description=(
        "Search the notes of earlier conversations, by words and by meaning. Call it before you answer anything that "
        "may depend on the user's preferences, people, projects, decisions or past. Returns the best notes with id, "
        "path, text, confidence and date; `sure` is false where nothing was found or nothing that surely fits."
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
