"""Models of the JSON requests and responses. A request with a value of another type or an unknown field is rejected."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from recollect.model import NOTE_FIELDS
from recollect.retrieval import presets
from recollect.retrieval.options import Mode, search_options
from recollect.server.http.problems import PROBLEM_TYPES

PRESET_HELP = "The name of a preset; by default the server's."

# A line has no control characters. A name is a line with at least one character that is not white space.
_LINE = r"^[^\x00-\x1f\x7f-\x9f]*$"
_NAME = r"^[^\x00-\x1f\x7f-\x9f]*[^\x00-\x1f\x7f-\x9f\s][^\x00-\x1f\x7f-\x9f]*$"

Line = Annotated[str, Field(pattern=_LINE, max_length=2048)]
Name = Annotated[str, Field(pattern=_NAME, max_length=2048)]
Timestamp = Annotated[str, Field(max_length=64, examples=["2026-04-18T07:30:00Z"])]
UnitInterval = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Position = Annotated[int, Field(ge=0, le=2**63 - 1)]
Count = Annotated[int, Field(ge=0, le=1000)]
QueryText = Annotated[str, Field(max_length=4096)]


def _check_preset(name: str) -> str:
    if name not in presets():
        raise ValueError(f"must be one of {', '.join(presets())}")
    return name


PresetName = Annotated[str, AfterValidator(_check_preset), Field(json_schema_extra={"enum": list(presets())})]
"""The name of a built-in preset; a path, which would name a file of the server, is rejected."""


def _note_field(name: str, default: Any = None, **constraints: Any) -> Any:
    """Return a field with the description of ``NOTE_FIELDS``; the default ``...`` makes the field required."""
    return Field(default=default, description=NOTE_FIELDS[name].description, **constraints)


def _search_option(name: str) -> Any:
    """Return a field with the default and the description of a search option."""
    option = search_options()[name]
    return Field(default=option.default, description=option.help)


class RequestModel(BaseModel):
    """The JSON body of a request."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str = Field(
        description="The type of the problem.",
        json_schema_extra={"enum": [f"urn:recollect:{kind}" for kind in PROBLEM_TYPES]},
    )
    title: str = Field(description="What the type means.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What was wrong with this request.")
    request_id: str = Field(description="The id of the request in the server's log.")
    errors: list[dict[str, str]] = Field(default=[], description="The invalid values, each with `field` and `detail`.")


class NoteLink(RequestModel):
    """A link to another note."""

    kind: Name = Field(default="related", description="The kind; with `supersedes`, the note replaces the target.")
    target: Name = Field(description="Id, path or name of the target, which may not exist yet.")


class NoteChanges(RequestModel):
    """Fields of a note; a field that is missing or null keeps its value, or gets its default in a new note."""

    content: str | None = _note_field("content")
    path: Line | None = _note_field("path")
    title: str | None = _note_field("title")
    summary: str | None = _note_field("summary")
    tags: list[Name] | None = _note_field("tags", max_length=1000)
    created_at: Timestamp | None = _note_field("created_at")
    updated_at: Timestamp | None = _note_field("updated_at")
    last_accessed_at: Timestamp | None = _note_field("last_accessed_at")
    expires_at: Timestamp | None = _note_field("expires_at")
    importance: UnitInterval | None = _note_field("importance")
    session: Line | None = _note_field("session")
    position: Position | None = _note_field("position")
    links: list[NoteLink] | None = _note_field("links", max_length=1000)
    metadata: dict[str, Any] | None = _note_field("metadata")


class NewNote(NoteChanges):
    """A note to store. An existing note with this `id` or `path` is updated; missing fields keep their values."""

    id: Line | None = _note_field("id")


class AddNoteRequest(NewNote):
    """A note to store, and the notes that it replaces."""

    supersedes: list[Name] | None = Field(
        default=None, max_length=100, description="Ids or paths of notes that the note replaces; they rank lower."
    )


class NoteBatch(RequestModel):
    """Notes to store in one transaction."""

    notes: list[NewNote] = Field(min_length=1, max_length=1000, description="The notes, at most 1,000.")


class LinkRequest(NoteLink):
    """A link between two notes."""

    source: Name = Field(description="Id or path of the note that the link starts from.")


class Document(RequestModel):
    """The text of a file."""

    path: Name = Field(description="The path; its suffix selects the reader: `.md`, `.txt`, `.jsonl`, `.json` …")
    content: str = Field(description="The text of the file.")


class IngestRequest(RequestModel):
    """Texts of files to ingest."""

    documents: list[Document] = Field(min_length=1, max_length=1000, description="The texts, at most 1,000.")
    prefix: Line = Field(default="", description="A prefix for the paths of the notes.")


class NoteFields(BaseModel):
    """The fields that notes and hits share; a text field without a value is an empty string."""

    id: str = _note_field("id", ...)
    path: str = _note_field("path", ...)
    title: str = _note_field("title", ...)
    summary: str = _note_field("summary", ...)
    tags: list[str] = _note_field("tags", ...)
    content: str = _note_field("content", ...)
    created_at: str | None = _note_field("created_at", ...)
    importance: float = _note_field("importance", ...)
    session: str = _note_field("session", ...)
    position: int | None = _note_field("position", ...)
    metadata: dict[str, Any] = _note_field("metadata", ...)


class NoteResponse(NoteFields):
    """A stored note; a text field without a value is an empty string."""

    updated_at: str | None = _note_field("updated_at", ...)
    last_accessed_at: str | None = _note_field("last_accessed_at", ...)
    expires_at: str | None = _note_field("expires_at", ...)
    links: list[NoteLink] = _note_field("links", ...)
    namespace: str = _note_field("namespace", ...)


class NoteList(BaseModel):
    """Notes of a namespace."""

    notes: list[NoteResponse] = Field(description="The notes in insertion order.")
    next_cursor: str | None = Field(description="The `cursor` of the next page; null at the end.")


class CreatedNotes(BaseModel):
    """Stored notes."""

    ids: list[str] = Field(description="The ids of the notes, in the order of the request.")
    count: int = Field(description="The number of ids.")


class LinkCreated(BaseModel):
    """Whether a link is new."""

    created: bool = Field(description="False if the link existed.")


class LinkRemoved(BaseModel):
    """Whether a link was removed."""

    removed: bool = Field(description="False if the link did not exist.")


class Neighbour(BaseModel):
    """A note that is connected with the requested note."""

    kind: str = Field(description="`previous`, `next`, `mention`, `entity`, or the kind of a link.")
    direction: Literal["in", "out"] = Field(description="`in` if the connection leads to the requested note.")
    note: NoteResponse = Field(description="The connected note.")


class NeighbourList(BaseModel):
    """The neighbours of a note."""

    neighbours: list[Neighbour] = Field(description="The connected notes.")


class IngestResponse(BaseModel):
    """The result of an ingest."""

    files: dict[str, int] = Field(description="Numbers of texts: `read`, `unchanged`, `removed` (always 0), `failed`.")
    notes: dict[str, int] = Field(description="Numbers of notes: `added`, `updated`, `unchanged`, `removed`, `failed`.")
    problems: list[dict[str, Any]] = Field(
        description="What could not be read: `name` (the path), `line` (null for a whole text), `message`, `skipped` "
        "(false if the rest of the text was read)."
    )
    skipped: dict[str, int] = Field(description="Always empty: texts of an unknown type are among the problems.")


class SearchFilters(RequestModel):
    """Conditions for notes; a note must meet all of them."""

    path_prefix: Line = Field(default="", description="The prefix of the note's path.")
    tags: list[Name] = Field(default=[], max_length=100, description="The note has all these tags.")
    session: Line | None = Field(default=None, description="The note's session.")
    created_after: Timestamp | None = Field(default=None, description="The note was created at this time or later.")
    created_before: Timestamp | None = Field(
        default=None,
        description="Only notes created before this time; later notes are also ignored as successors of these.",
    )
    updated_after: Timestamp | None = Field(default=None, description="The note was changed at this time or later.")
    updated_before: Timestamp | None = Field(default=None, description="The note was changed before this time.")
    metadata: dict[str, Any] = Field(default={}, max_length=100, description="The note's metadata has these values.")


class SearchParameters(RequestModel):
    """Parameters of every search."""

    query: QueryText = Field(description="The query, at most 4,096 characters.")
    top_k: Count = _search_option("top_k")
    mode: Mode = _search_option("mode")
    candidate_k: Count | None = _search_option("candidate_k")
    rerank: bool = _search_option("rerank")
    rerank_top_n: Count = _search_option("rerank_top_n")
    rerank_budget_ms: Annotated[float, Field(ge=0, le=600_000)] | None = _search_option("rerank_budget_ms")
    skip_retry_ladder: bool = _search_option("skip_retry_ladder")
    question_date: Timestamp | None = _search_option("question_date")
    now: Timestamp | None = _search_option("now")
    filters: SearchFilters | None = _search_option("filters")
    min_confidence: UnitInterval | None = _search_option("min_confidence")
    answer_threshold: UnitInterval | None = _search_option("answer_threshold")
    trace: bool = Field(default=False, description="Whether the response has the trace and the explanation data.")


class SearchRequest(SearchParameters):
    """A search with one preset."""

    preset: PresetName | None = Field(default=None, description=PRESET_HELP)


class CompareRequest(SearchParameters):
    """A search with several presets."""

    presets: list[PresetName] | None = Field(
        default=None, min_length=1, max_length=10, description="The names of the presets; the default is all."
    )


class Hit(NoteFields):
    """A note in the results, with its scores and what changed them."""

    rank: int = Field(description="The rank, from 1.")
    snippet: str = Field(description="The part of the text that matches the query best.")
    highlights: list[list[int]] = Field(description="Start and end of each match in the snippet, in characters.")
    score: float = Field(description="The score by which hits are sorted; only comparable within one search.")
    relevance: float | None = Field(description="The fused score as a share of the highest possible one, from 0 to 1.")
    confidence: float | None = Field(description="The probability, from 0 to 1, that the note answers the query.")
    rerank_score: float | None = Field(description="The score of the reranker.")
    superseded_by: list[str] = Field(description="Ids of the notes that replaced this note.")
    weak: bool = Field(
        description="Whether the hit is a weak candidate. If `has_answer` is false, every hit is weak; otherwise, a "
        "hit is weak if its confidence is below `answer_threshold` and below a tenth of the best confidence."
    )
    lexical_rank: int | None = Field(description="The note's rank in the lexical leg.")
    lexical_score: float | None = Field(description="The note's BM25 score.")
    vector_rank: int | None = Field(description="The note's rank in the vector leg.")
    vector_similarity: float | None = Field(description="The cosine similarity of note and query.")
    contributions: list[dict[str, Any]] = Field(
        description="For each leg that found the note: `leg`, `rank`, `score`, and the `points` that fusion added."
    )
    steps: list[dict[str, Any]] = Field(
        description="For each stage: `stage`, `reason`, `factor`, `addend`, and score and rank before and after; "
        "`score_after = score_before × factor + addend`."
    )


class SearchResponse(BaseModel):
    """The result of a search."""

    query: str = Field(description="The query.")
    has_answer: bool = Field(
        description="Whether the best confidence is at least `answer_threshold`. If not, all hits are weak candidates."
    )
    answer_threshold: float = Field(description="The lowest confidence at which the best hit counts as an answer.")
    excluded: list[str] = Field(description="Terms that the query excludes by NOT; no hit contains one.")
    hits: list[Hit] = Field(description="The hits, best first, weak ones included.")
    warnings: list[str] = Field(description="What was unavailable, how the query was changed, and what to do.")
    trace: dict[str, Any] | None = Field(default=None, description="The trace, if requested.")
    explanation_data: dict[str, Any] | None = Field(
        default=None,
        description="If the trace is requested: the explanation as data (`SearchResult.explanation_data()`).",
    )


class ExplainResponse(SearchResponse):
    """The result of a search with its explanation."""

    explanation: str = Field(description="The explanation as text, as `recollect explain` prints it.")


class CompareResponse(BaseModel):
    """The results of a search with several presets."""

    results: dict[str, SearchResponse] = Field(description="The results by preset.")


class PresetInfo(BaseModel):
    """A preset."""

    name: str = Field(description="The name of the preset.")
    about: str = Field(description="What the preset does.")
    settings: dict[str, Any] = Field(description="The settings, as `recollect presets NAME --json` prints them.")


class PresetList(BaseModel):
    """The presets of the server."""

    presets: list[PresetInfo] = Field(description="The presets.")
    default: str = Field(description="The preset that the server uses if none is named.")
