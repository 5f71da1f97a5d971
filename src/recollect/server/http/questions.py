"""What searches look like on the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from recollect.retrieval import presets
from recollect.server.http.schemas import Asked, Importance, Line, Moment, Name, Told

__all__ = ["Compared", "Comparison", "Explained", "Found", "Mode", "PresetName", "PresetsTold", "Question", "Words"]

MAX_QUERY = 4096
"""How many characters a query may have."""
MOST = 1000
"""How many hits may be asked for, and how deep a search may look."""


def _known(name: str) -> str:
    if name not in presets():
        raise ValueError(f"must be one of {', '.join(presets())}")
    return name


Mode = Literal["auto", "hybrid", "bm25", "semantic"]
PresetName = Annotated[str, AfterValidator(_known), Field(json_schema_extra={"enum": list(presets())})]
"""A name alone: a path of a file would be a path of the server's."""
Words = Annotated[str, Field(max_length=MAX_QUERY)]


class Conditions(Asked):
    """Conditions that a note must meet, all of them."""

    path_prefix: Line = Field(default="", description="What its path begins with.")
    tags: list[Name] = Field(default=[], max_length=100, description="Tags that it has, all of them.")
    session: Line | None = Field(default=None, description="The session that it belongs to.")
    created_after: Moment | None = Field(default=None, description="It was made then or later.")
    created_before: Moment | None = Field(
        default=None,
        description="It was made before. The search is as of that time: notes made then or later supersede none.",
    )
    updated_after: Moment | None = Field(default=None, description="It was changed then or later.")
    updated_before: Moment | None = Field(default=None, description="It was changed before.")
    metadata: dict[str, Any] = Field(default={}, max_length=100, description="Keys of its metadata with these values.")


class Asking(Asked):
    """What every question may say."""

    query: Words = Field(description="What is looked for, at most 4,096 characters.")
    top_k: int = Field(default=10, ge=0, le=MOST, description="How many hits.")
    mode: Mode = Field(default="auto", description="By words (`bm25`), by meaning (`semantic`), or by both.")
    candidate_k: int | None = Field(
        default=None, ge=0, le=MOST, description="How many notes each leg retrieves; by default as the preset says."
    )
    rerank: bool = Field(default=True, description="Whether a reranker reads the best again, if there is one.")
    rerank_top_n: int = Field(default=20, ge=0, le=MOST, description="How many it reads.")
    skip_retry_ladder: bool = Field(default=False, description="Do not try other words where these find nothing.")
    question_date: Moment | None = Field(
        default=None,
        description="When it was asked; `two weeks ago` counts from it. What is no date is refused with 422; an empty "
        "text counts as not given.",
    )
    now: Moment | None = Field(default=None, description="What recency counts from; by default the present.")
    filters: Conditions | None = Field(default=None, description="Which notes may be found at all.")
    min_confidence: Importance | None = Field(
        default=None, description="Leave out notes with less confidence, from 0 to 1."
    )
    answer_threshold: Importance | None = Field(
        default=None,
        description="The lowest confidence at which the best hit counts as an answer (`has_answer`), from 0 to 1; by "
        "default as the preset says. It drops no hits.",
    )


class Question(Asking):
    """A question."""

    preset: PresetName | None = Field(default=None, description="How to search; by default as the server was started.")
    trace: bool = Field(default=False, description="Whether the answer has the trace and the account.")


class Comparison(Asking):
    """A question under several presets."""

    presets: list[PresetName] | None = Field(
        default=None, min_length=1, max_length=10, description="The names of the presets; by default all there are."
    )
    trace: bool = Field(default=False, description="Whether the answers have their traces and accounts.")


class Contribution(Told):
    """What a leg gave to a hit."""

    leg: str = Field(description="The leg's name.")
    rank: int = Field(description="The place that it gave.")
    score: float = Field(description="Its own score.")
    points: float = Field(description="What that was worth.")


class Step(Told):
    """What a stage did to a hit: `score_after = score_before × factor + addend`."""

    stage: str = Field(description="The stage's name.")
    reason: str = Field(description="Why, in words.")
    factor: float = Field(description="What the score was multiplied by.")
    addend: float = Field(description="What was added to it.")
    score_before: float = Field(description="The score before.")
    score_after: float = Field(description="The score after.")
    rank_before: int | None = Field(description="The place before.")
    rank_after: int | None = Field(description="The place after.")


class Hit(Told):
    """A note that was found, and how it got its place."""

    rank: int = Field(description="Its place, from 1.")
    id: str = Field(description="The note's id.")
    path: str = Field(description="Its path; empty if it has none.")
    title: str = Field(description="Its title.")
    summary: str = Field(description="Its summary.")
    snippet: str = Field(description="The piece of the text that fits the query best.")
    highlights: list[list[int]] = Field(description="The spans of the snippet that match, from and to.")
    content: str = Field(description="The whole text.")
    created_at: str | None = Field(description="When it was made.")
    importance: float = Field(description="From 0 to 1.")
    session: str = Field(description="Its session; empty if it has none.")
    position: int | None = Field(description="Its place there.")
    tags: list[str] = Field(description="Its tags.")
    metadata: dict[str, Any] = Field(description="Its metadata.")
    score: float = Field(description="What the hits are ordered by.")
    relevance: float | None = Field(description="The fused score on a scale from 0 to 1.")
    confidence: float | None = Field(description="The probability, from 0 to 1, that the note answers the query.")
    rerank_score: float | None = Field(description="What a reranker thought of it.")
    superseded_by: list[str] = Field(description="The ids of the notes that replaced it.")
    weak: bool = Field(
        description="Whether it is a weak candidate: every hit where `has_answer` is false, else one whose confidence "
        "is below `answer_threshold` and below a tenth of the best."
    )
    lexical_rank: int | None = Field(description="Its place by words.")
    lexical_score: float | None = Field(description="Its score by words.")
    vector_rank: int | None = Field(description="Its place by meaning.")
    vector_similarity: float | None = Field(description="How near its meaning is.")
    contributions: list[Contribution] = Field(description="What each leg gave.")
    steps: list[Step] = Field(description="What each stage did.")


class StoryLine(Told):
    """A line of how a query was read."""

    label: str = Field(description="What it is about.")
    text: str = Field(description="What it says.")


class TimelinePart(Told):
    """A part of a search."""

    name: str = Field(description="`words`, `meaning`, `context`, `connections`, `fusion`, `rerank`, or `total`.")
    start: float = Field(description="When it began, in milliseconds.")
    elapsed: float = Field(description="How long it took, in milliseconds.")
    told: str = Field(description="What came of it.")


class WaterfallRow(Told):
    """What a leg or a stage did to a score."""

    kind: str = Field(description="`leg`, `fused`, `stage` or `score`.")
    name: str = Field(description="The leg's or stage's name.")
    start: float = Field(description="From where.")
    end: float = Field(description="To where.")
    change: str = Field(description="The change in figures; empty for `fused` and `score`.")
    reason: str = Field(description="Why, in words.")


class Waterfall(Told):
    """How a hit came by its score; what did nothing is left out."""

    id: str = Field(description="The note's id.")
    sentence: str = Field(description="Why it stands where it does, in a sentence.")
    notes: list[str] = Field(description="Which notes replaced it, in words.")
    rows: list[WaterfallRow] = Field(description="What made its score, in order.")


class Account(Told):
    """The account of a search as data, to be drawn."""

    story: list[StoryLine] = Field(description="How the query was read, and what was tried.")
    notice: str = Field(description="What was done where the words found nothing; empty otherwise.")
    timeline: list[TimelinePart] = Field(description="What each part did, and when; the last is the whole.")
    scale: float = Field(description="The highest score that any hit ever had: the end of the scale of all waterfalls.")
    waterfalls: list[Waterfall] = Field(description="The waterfall of each hit, in their order.")


class Found(Told):
    """What a search found."""

    query: str = Field(description="The query.")
    has_answer: bool = Field(
        description="Whether the best confidence is at least `answer_threshold`. If not, the hits are weak candidates: "
        "nothing in the memory fits the query."
    )
    answer_threshold: float = Field(description="The lowest confidence at which the best hit counts as an answer.")
    excluded: list[str] = Field(
        description="The terms that the query excludes by NOT: notes that hold one of them are not among the hits."
    )
    hits: list[Hit] = Field(description="The hits, best first, weak ones too.")
    warnings: list[str] = Field(description="What had to be done without.")
    trace: dict[str, Any] | None = Field(default=None, description="The trace, where it was asked for.")
    account: Account | None = Field(default=None, description="With it: what it says, as data to be drawn.")


class Explained(Found):
    """What a search found, with the whole account of it."""

    explanation: str = Field(description="The account for a person, as `recollect explain` draws it.")


class Compared(Told):
    """What several presets found."""

    results: dict[str, Found] = Field(description="The results by the presets' names.")


class PresetAbout(Told):
    """A way to search."""

    name: str = Field(description="Its name.")
    about: str = Field(description="What it does.")
    settings: dict[str, Any] = Field(description="All it says, as `recollect presets NAME --json` prints it.")


class PresetsTold(Told):
    """The ways to search."""

    presets: list[PresetAbout] = Field(description="The presets that can be named.")
    default: str = Field(description="The one that the server was started with.")
