"""JSON of requests and responses. Requests are checked strictly: no type conversion, no unknown fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from recollect.descriptions import IMPORTANCE_USE
from recollect.retrieval import presets

__all__ = [
    "AddNoteRequest",
    "CompareRequest",
    "CompareResponse",
    "CreatedNotes",
    "ExplainResponse",
    "IngestRequest",
    "IngestResponse",
    "LinkCreated",
    "LinkRemoved",
    "LinkRequest",
    "NeighbourList",
    "NewNote",
    "NoteBatch",
    "NoteChanges",
    "NoteList",
    "NoteResponse",
    "PresetList",
    "SearchRequest",
    "SearchResponse",
]

MAX_QUERY_LENGTH = 4096
MAX_TOP_K = 1000

_LINE = r"^[^\x00-\x1f\x7f-\x9f]*$"
_NAME = r"^[^\x00-\x1f\x7f-\x9f]*[^\x00-\x1f\x7f-\x9f\s][^\x00-\x1f\x7f-\x9f]*$"

Line = Annotated[str, Field(pattern=_LINE, max_length=2048)]
"""One line of text."""
Name = Annotated[str, Field(pattern=_NAME, max_length=2048)]
"""One line of text that is not blank."""
Timestamp = Annotated[str, Field(max_length=64, examples=["2026-04-18T07:30:00Z"])]
UnitInterval = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Position = Annotated[int, Field(ge=0, le=2**63 - 1)]
Count = Annotated[int, Field(ge=0, le=MAX_TOP_K)]
QueryText = Annotated[str, Field(max_length=MAX_QUERY_LENGTH)]
Mode = Literal["auto", "hybrid", "bm25", "semantic"]


def _check_preset(name: str) -> str:
    if name not in presets():
        raise ValueError(f"must be one of {', '.join(presets())}")
    return name


PresetName = Annotated[str, AfterValidator(_check_preset), Field(json_schema_extra={"enum": list(presets())})]
"""The name of a preset; never a path, which would name a file of the server."""


class RequestModel(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(strict=True, extra="forbid")


class ResponseModel(BaseModel):
    """The body of a response."""


class NoteLink(RequestModel):
    """A link to another note."""

    kind: Name = Field(default="related", description="The kind of the link; `supersedes` replaces its target.")
    target: Name = Field(description="Id, path or name of the target, which may not exist yet.")


class NoteChanges(RequestModel):
    """Fields of a note; a field that is missing or null keeps its value, or gets its default."""

    content: str | None = Field(default=None, description="The text.")
    path: Line | None = Field(default=None, description="A unique path, such as `memory/tea.md`.")
    title: str | None = Field(default=None, description="The title.")
    summary: str | None = Field(default=None, description="The text in a sentence.")
    tags: list[Name] | None = Field(default=None, max_length=1000, description="Tags to filter by.")
    created_at: Timestamp | None = Field(default=None, description="Creation time in ISO 8601; the default is now.")
    updated_at: Timestamp | None = Field(default=None, description="Time of the last change; the default is now.")
    last_accessed_at: Timestamp | None = Field(default=None, description="Time of the last access.")
    expires_at: Timestamp | None = Field(
        default=None, description="From when on it is not found any more; `never` removes an expiry."
    )
    importance: UnitInterval | None = Field(
        default=None, description=f"From 0 to 1; the default is 0.5. {IMPORTANCE_USE}"
    )
    session: Line | None = Field(default=None, description="The conversation or document that it belongs to.")
    position: Position | None = Field(default=None, description="Its position in the session, from 0.")
    links: list[NoteLink] | None = Field(default=None, max_length=1000, description="Links to other notes.")
    metadata: dict[str, Any] | None = Field(default=None, description="Any other data, as JSON.")


class NewNote(NoteChanges):
    """A note to store. If a note has this `id` or `path`, it is updated; fields that are missing keep their values."""

    id: Line | None = Field(default=None, description="The id; generated if missing.")


class AddNoteRequest(NewNote):
    """A note to store, and the notes that it replaces."""

    supersedes: list[Name] | None = Field(
        default=None, max_length=100, description="Ids or paths of notes that it replaces; searches rank them lower."
    )


class NoteBatch(RequestModel):
    """Notes to store in one transaction."""

    notes: list[NewNote] = Field(min_length=1, max_length=1000, description="The notes, at most 1,000.")


class LinkRequest(NoteLink):
    """A link between two notes."""

    source: Name = Field(description="Id or path of the note that the link starts from.")


class Document(RequestModel):
    """The text of a file."""

    path: Name = Field(description="Its path; the suffix selects the reader: `.md`, `.txt`, `.jsonl`, `.json` …")
    content: str = Field(description="The text.")


class IngestRequest(RequestModel):
    """Texts of files to ingest."""

    documents: list[Document] = Field(min_length=1, max_length=1000, description="The texts, at most 1,000.")
    prefix: Line = Field(default="", description="A prefix for the paths of their notes.")


class NoteResponse(ResponseModel):
    """A stored note."""

    id: str = Field(description="The id.")
    path: str = Field(description="The path; empty if it has none.")
    title: str = Field(description="The title.")
    summary: str = Field(description="The summary.")
    tags: list[str] = Field(description="The tags.")
    content: str = Field(description="The text.")
    created_at: str | None = Field(description="Creation time, in UTC.")
    updated_at: str | None = Field(description="Time of the last change.")
    last_accessed_at: str | None = Field(description="Time of the last access.")
    expires_at: str | None = Field(description="From when on it is not found any more; null if it does not expire.")
    importance: float = Field(description="From 0 to 1.")
    session: str = Field(description="The session; empty if it has none.")
    position: int | None = Field(description="Its position in the session.")
    links: list[NoteLink] = Field(description="Links to other notes.")
    metadata: dict[str, Any] = Field(description="Any other data.")
    namespace: str = Field(description="The namespace.")


class NoteList(ResponseModel):
    """Notes of a namespace."""

    notes: list[NoteResponse] = Field(description="The notes, oldest first by insertion.")
    next_cursor: str | None = Field(description="The `cursor` of the next page; null at the end.")


class CreatedNotes(ResponseModel):
    """Stored notes."""

    ids: list[str] = Field(description="Their ids, in the order of the request.")
    count: int = Field(description="The number of ids.")


class LinkCreated(ResponseModel):
    """Whether a link is new."""

    created: bool = Field(description="False if the link existed.")


class LinkRemoved(ResponseModel):
    """Whether a link was removed."""

    removed: bool = Field(description="False if the link did not exist.")


class Neighbour(ResponseModel):
    """A note one step away."""

    kind: str = Field(description="`previous`, `next`, `mention`, `entity`, or the kind of a link.")
    direction: Literal["in", "out"] = Field(description="`in` if the connection leads to the requested note.")
    note: NoteResponse = Field(description="The note.")


class NeighbourList(ResponseModel):
    """The neighbours of a note."""

    neighbours: list[Neighbour] = Field(description="The notes one step away.")


class FileCounts(ResponseModel):
    """Numbers of ingested texts."""

    read: int = Field(description="Texts whose notes were written.")
    unchanged: int = Field(description="Texts that did not change.")
    removed: int = Field(description="Always 0: texts that are not sent stay.")
    failed: int = Field(description="Texts that could not be read or written; their earlier notes stay.")


class NoteCounts(ResponseModel):
    """Numbers of notes."""

    added: int = Field(description="New notes.")
    updated: int = Field(description="Changed notes.")
    unchanged: int = Field(description="Notes of the texts read that did not change.")
    removed: int = Field(description="Notes that the texts no longer have.")
    failed: int = Field(description="Records that could not be read.")


class IngestProblem(ResponseModel):
    """A text or record that could not be read as intended."""

    name: str = Field(description="The path of the text.")
    line: int | None = Field(description="The line, from 1; null if it concerns the whole text.")
    message: str = Field(description="What is wrong.")
    skipped: bool = Field(description="Whether it was skipped; otherwise it was read in part.")


class IngestResponse(ResponseModel):
    """The result of an ingest."""

    files: FileCounts = Field(description="Numbers of texts.")
    notes: NoteCounts = Field(description="Numbers of notes.")
    problems: list[IngestProblem] = Field(description="What could not be read.")
    skipped: dict[str, int] = Field(description="Always empty: texts of an unknown type are among the problems.")


class SearchFilters(RequestModel):
    """Conditions that a note must meet, all of them."""

    path_prefix: Line = Field(default="", description="What its path begins with.")
    tags: list[Name] = Field(default=[], max_length=100, description="Tags that it has, all of them.")
    session: Line | None = Field(default=None, description="Its session.")
    created_after: Timestamp | None = Field(default=None, description="It was created then or later.")
    created_before: Timestamp | None = Field(
        default=None,
        description="It was created earlier. The search is as of that time: notes created later supersede none.",
    )
    updated_after: Timestamp | None = Field(default=None, description="It was changed then or later.")
    updated_before: Timestamp | None = Field(default=None, description="It was changed earlier.")
    metadata: dict[str, Any] = Field(default={}, max_length=100, description="Keys of its metadata with these values.")


class SearchParameters(RequestModel):
    """Parameters of every search."""

    query: QueryText = Field(description="The query, at most 4,096 characters.")
    top_k: Count = Field(default=10, description="The number of hits.")
    mode: Mode = Field(default="auto", description="Lexical (`bm25`), vector (`semantic`), or both.")
    candidate_k: Count | None = Field(
        default=None, description="The number of notes that each leg retrieves; the default is the preset's."
    )
    rerank: bool = Field(default=True, description="Whether to rerank the best hits, if the server has a reranker.")
    rerank_top_n: Count = Field(default=20, description="The number of hits to rerank.")
    skip_retry_ladder: bool = Field(
        default=False, description="Do not retry with other terms if lexical search finds nothing."
    )
    question_date: Timestamp | None = Field(
        default=None,
        description="The date of the question, which `two weeks ago` counts from. Text that is not a date is an error; "
        "an empty text counts as missing.",
    )
    now: Timestamp | None = Field(default=None, description="The time that recency counts from; the default is now.")
    filters: SearchFilters | None = Field(default=None, description="Conditions for hits.")
    min_confidence: UnitInterval | None = Field(default=None, description="Drop hits with less confidence.")
    answer_threshold: UnitInterval | None = Field(
        default=None,
        description="The lowest confidence at which the best hit counts as an answer (`has_answer`), from 0 to 1; the "
        "default is the preset's. It drops no hits.",
    )
    trace: bool = Field(default=False, description="Whether the response has the trace and the explanation data.")


class SearchRequest(SearchParameters):
    """A search."""

    preset: PresetName | None = Field(default=None, description="The preset; the default is the server's.")


class CompareRequest(SearchParameters):
    """A search with several presets."""

    presets: list[PresetName] | None = Field(
        default=None, min_length=1, max_length=10, description="The names of the presets; the default is all."
    )


class Contribution(ResponseModel):
    """What a leg contributed to a hit."""

    leg: str = Field(description="The leg.")
    rank: int = Field(description="The rank in the leg.")
    score: float = Field(description="The score in the leg.")
    points: float = Field(description="What fusion added for it.")


class Step(ResponseModel):
    """What a stage did to a hit: `score_after = score_before × factor + addend`."""

    stage: str = Field(description="The stage.")
    reason: str = Field(description="The reason.")
    factor: float = Field(description="What the score was multiplied by.")
    addend: float = Field(description="What was added to it.")
    score_before: float = Field(description="The score before.")
    score_after: float = Field(description="The score after.")
    rank_before: int | None = Field(description="The rank before.")
    rank_after: int | None = Field(description="The rank after.")


class Hit(ResponseModel):
    """A note that was found, and how it got its rank."""

    rank: int = Field(description="The rank, from 1.")
    id: str = Field(description="The note's id.")
    path: str = Field(description="Its path; empty if it has none.")
    title: str = Field(description="Its title.")
    summary: str = Field(description="Its summary.")
    snippet: str = Field(description="The part of the text that matches the query best.")
    highlights: list[list[int]] = Field(description="Spans of the snippet that match: start and end.")
    content: str = Field(description="The whole text.")
    created_at: str | None = Field(description="Creation time.")
    importance: float = Field(description="From 0 to 1.")
    session: str = Field(description="Its session; empty if it has none.")
    position: int | None = Field(description="Its position in the session.")
    tags: list[str] = Field(description="Its tags.")
    metadata: dict[str, Any] = Field(description="Its metadata.")
    score: float = Field(description="What hits are sorted by; only comparable within one search.")
    relevance: float | None = Field(description="The fused score as a share of the highest possible one, from 0 to 1.")
    confidence: float | None = Field(description="The probability, from 0 to 1, that the note answers the query.")
    rerank_score: float | None = Field(description="The score of the reranker.")
    superseded_by: list[str] = Field(description="Ids of the notes that replaced it.")
    weak: bool = Field(
        description="Whether it is a weak candidate: every hit if `has_answer` is false, else one whose confidence is "
        "below `answer_threshold` and below a tenth of the best."
    )
    lexical_rank: int | None = Field(description="Its rank in the lexical leg.")
    lexical_score: float | None = Field(description="Its BM25 score.")
    vector_rank: int | None = Field(description="Its rank in the vector leg.")
    vector_similarity: float | None = Field(description="Its cosine similarity.")
    contributions: list[Contribution] = Field(description="What each leg contributed.")
    steps: list[Step] = Field(description="What each stage did.")


class StoryLine(ResponseModel):
    """A line about how a query was parsed."""

    label: str = Field(description="The subject.")
    text: str = Field(description="The text.")


class TimelinePart(ResponseModel):
    """A part of a search."""

    name: str = Field(description="`words`, `meaning`, `context`, `connections`, `fusion`, `rerank`, or `total`.")
    start: float = Field(description="When it started, in milliseconds.")
    elapsed: float = Field(description="How long it took, in milliseconds.")
    told: str = Field(description="The outcome.")


class WaterfallRow(ResponseModel):
    """What a leg or a stage did to a score."""

    kind: str = Field(description="`leg`, `fused`, `stage` or `score`.")
    name: str = Field(description="The name of the leg or stage.")
    start: float = Field(description="The score before.")
    end: float = Field(description="The score after.")
    change: str = Field(description="The change as text; empty for `fused` and `score`.")
    reason: str = Field(description="The reason.")


class Waterfall(ResponseModel):
    """How a hit got its score; steps without an effect are left out."""

    id: str = Field(description="The note's id.")
    sentence: str = Field(description="Why it has its rank, in a sentence.")
    notes: list[str] = Field(description="Which notes replaced it.")
    rows: list[WaterfallRow] = Field(description="What made its score, in order.")


class Account(ResponseModel):
    """Explanation of a search as data for a drawing."""

    story: list[StoryLine] = Field(description="How the query was parsed, and which fallback steps ran.")
    notice: str = Field(description="What the fallback ladder did if lexical search found nothing; else empty.")
    timeline: list[TimelinePart] = Field(description="What each part did, and when; the last is the total.")
    scale: float = Field(description="The highest score of any hit at any time: the scale of all waterfalls.")
    waterfalls: list[Waterfall] = Field(description="The waterfall of each hit, in order.")


class SearchResponse(ResponseModel):
    """The result of a search."""

    query: str = Field(description="The query.")
    has_answer: bool = Field(
        description="Whether the best confidence is at least `answer_threshold`. If not, all hits are weak candidates."
    )
    answer_threshold: float = Field(description="The lowest confidence at which the best hit counts as an answer.")
    excluded: list[str] = Field(description="Terms that the query excludes by NOT; no hit contains one.")
    hits: list[Hit] = Field(description="The hits, best first, weak ones included.")
    warnings: list[str] = Field(description="What the search could not use, and what to do about it.")
    trace: dict[str, Any] | None = Field(default=None, description="The trace, if requested.")
    account: Account | None = Field(default=None, description="Explanation data, if the trace is requested.")


class ExplainResponse(SearchResponse):
    """The result of a search with its explanation."""

    explanation: str = Field(description="The explanation as text, as `recollect explain` prints it.")


class CompareResponse(ResponseModel):
    """The results of several presets."""

    results: dict[str, SearchResponse] = Field(description="The results by preset.")


class PresetInfo(ResponseModel):
    """A preset."""

    name: str = Field(description="Its name.")
    about: str = Field(description="What it does.")
    settings: dict[str, Any] = Field(description="Its settings, as `recollect presets NAME --json` prints them.")


class PresetList(ResponseModel):
    """The presets of the server."""

    presets: list[PresetInfo] = Field(description="The presets.")
    default: str = Field(description="The preset that the server uses if none is named.")
