"""The result of a search and its trace: which steps ran, their results, their times, and what was unavailable.

A trace accounts for every score: :func:`recomputed_score` computes a score again from the points of each leg and the
factors and addends of each stage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.model import Candidate, Hit, RankedHits
from recollect.query import TimeInterval
from recollect.retrieval.explanation import WIDTH, explain_search, explanation_data

if TYPE_CHECKING:
    from recollect.retrieval.confidence import ConfidenceEvidence
    from recollect.retrieval.graph import ScoreTransfer
    from recollect.retrieval.request import Substitution
    from recollect.retrieval.rescoring import StemDiscount


class Attempt(NamedTuple):
    """One attempt of the lexical leg: its strategy (``initial``, ``any_word`` or a fallback step), query and hit count.

    >>> Attempt("initial", "green OR tea", 3).to_dict()
    {'strategy': 'initial', 'query': 'green OR tea', 'hits': 3}
    """

    strategy: str
    query: str
    hits: int

    def to_dict(self) -> dict[str, Any]:
        """Return the attempt as JSON-ready data."""
        return self._asdict()


class Context(NamedTuple):
    """The context with which a note was rescored.

    >>> Context(3.5, ("n2",)).to_dict()
    {'own': 3.5, 'neighbours': ['n2']}
    """

    own: float | None
    """The lexical score before rescoring; ``None`` if the lexical leg had not retrieved the note."""
    neighbours: tuple[str, ...]
    """The ids of the neighbouring turns, if any; empty for a long note, which was rescored with its best chunk."""

    def to_dict(self) -> dict[str, Any]:
        """Return the context as JSON-ready data."""
        return {"own": self.own, "neighbours": list(self.neighbours)}


class StageRun(NamedTuple):
    """One run of a stage: the number of candidates after it, and its duration in milliseconds.

    >>> StageRun("intent", 12, 0.05).to_dict()
    {'stage': 'intent', 'candidates': 12, 'elapsed': 0.05}
    """

    stage: str
    candidates: int
    elapsed: float

    def to_dict(self) -> dict[str, Any]:
        """Return the run as JSON-ready data."""
        return self._asdict()


@dataclass(slots=True, kw_only=True)
class Trace:
    """The record of one search; durations (``*_elapsed``) are in milliseconds.

    The JSON of a trace has the fields in this order, with camelCase names. The fields up to ``attempts`` are the
    fields of a trace of Jeffs Brain and always present. The others are only present if they are not empty.

    >>> Trace(mode="bm25", original_query="tea", compiled_query="tea").to_dict()["compiledQuery"]
    'tea'
    """

    mode: str
    """The mode that was finally used: ``hybrid``, ``bm25`` or ``semantic``."""
    original_query: str
    compiled_query: str = ""  # the query of the lexical leg, in FTS5 syntax
    candidate_k: int = 60  # how many notes each leg was to retrieve
    rrf_k: float = 60  # the constant k of reciprocal rank fusion
    bm25_elapsed: float = 0.0
    vector_elapsed: float = 0.0
    fusion_elapsed: float = 0.0  # includes the stages
    rerank_elapsed: float = 0.0
    total_elapsed: float = 0.0
    bm25_count: int = 0
    vector_count: int = 0
    fused_count: int = 0  # how many candidates the fused list had before the stages
    fell_back_to_bm25: bool = False  # whether mode bm25 replaced the requested hybrid or semantic
    embedder_used: bool = False
    reranked: bool = False
    attempts: list[Attempt] = field(default_factory=list)
    rerank_skipped_reason: str = ""
    """Why no reranker ran: empty_candidates, mode_off, no_reranker, unanimity, margin, long_notes or budget."""
    rerank_provider: str = ""
    unanimity: int | None = None
    """On how many of the first three ranks the legs agree; ``None`` unless the reranker was skipped because of this."""
    error_stage: str = ""
    """The step that failed: ``bm25`` or ``rerank``."""
    error_detail: str = ""
    preset: str = ""
    embedder: str = ""
    """The name of the configured embedder's model, whether the embedder was used or not."""
    embedded_query: str = ""
    """The text that was embedded, if it differs from the query."""
    fusion: Mapping[str, Any] = field(default_factory=dict)
    """The settings of the fusion, as they were used."""
    excluded: tuple[str, ...] = ()
    """The terms that the query excludes, as written; no leg returns a note with an excluded term."""
    only_stopwords: bool = False
    """Whether the query has only stopwords; if so, the stopwords were searched for."""
    substitutions: tuple[Substitution, ...] = ()
    """The words that no note contains as written, with the other forms that were searched for as well."""
    date_hints: tuple[str, ...] = ()
    """The dates that relative times in the query refer to, such as "two weeks ago"."""
    times: tuple[TimeInterval, ...] = ()
    """The times that the query names."""
    time_only: bool = False
    """Whether the query names a time and nothing else."""
    context_elapsed: float = 0.0
    graph_elapsed: float = 0.0
    graph_count: int = 0
    """How many notes received a score transfer."""
    graph_skipped_reason: str = ""  # why no score was transferred
    stages: list[StageRun] = field(default_factory=list)
    below_min_confidence: int = 0
    """How many candidates ``min_confidence`` dropped."""
    answer_threshold: float = 0.0
    """The lowest confidence at which the best hit counts as an answer."""
    warnings: list[str] = field(default_factory=list)
    """Messages that say what was unavailable, what to do about it, and how the query was changed."""
    results: Sequence[Candidate] = ()
    """The candidates of the hits, with the records that explain their scores."""
    contexts: Mapping[str, Context] = field(default_factory=dict)
    """The context with which each note was rescored, by note id."""
    stem_only: Mapping[str, StemDiscount] = field(default_factory=dict)
    """The discounts of notes that contain words of the query only in another form, by note id."""
    evidence: Mapping[str, ConfidenceEvidence] = field(default_factory=dict)
    """The evidence from which the confidence of each result was computed, by note id."""
    transfers: Mapping[str, Sequence[ScoreTransfer]] = field(default_factory=dict)
    """The score transfers to each note, by note id."""

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as JSON-ready data with the documented camelCase names."""
        data: dict[str, Any] = {}
        for index, (name, json_name) in enumerate(_JSON_NAMES.items()):
            value = getattr(self, name)
            if name == "results":
                value = [self._result_data(rank, candidate) for rank, candidate in enumerate(value, start=1)]
            elif name == "unanimity":
                value = {} if value is None else {"agreements": value}
            elif isinstance(value, Mapping):
                value = dict(value)
            elif isinstance(value, (list, tuple)):
                value = [item if isinstance(item, str) else item.to_dict() for item in value]
            if value or index < _REQUIRED_COUNT:
                data[json_name] = value
        return data

    def _result_data(self, rank: int, candidate: Candidate) -> dict[str, Any]:
        """Return one result as JSON-ready data; optional values that are ``None`` are left out."""
        data = {
            "rank": rank,
            "id": candidate.id,
            "path": candidate.path,
            "score": candidate.score,
            "relevance": candidate.relevance,
            "confidence": candidate.confidence,
            "lexicalRank": candidate.lexical_rank,
            "lexicalScore": candidate.lexical_score,
            "vectorRank": candidate.vector_rank,
            "vectorSimilarity": candidate.vector_similarity,
            "contributions": [contribution.to_dict() for contribution in candidate.contributions],
            "steps": [step.to_trace() for step in candidate.steps],
        }
        optional = {
            "rerankScore": candidate.rerank_score,
            "context": self.contexts[candidate.id].to_dict() if candidate.id in self.contexts else None,
            "evidence": self.evidence[candidate.id].to_dict() if candidate.id in self.evidence else None,
            "stemOnly": self.stem_only[candidate.id].to_dict() if candidate.id in self.stem_only else None,
            "supersededBy": list(candidate.superseded_by) or None,
            "inheritedRelevance": candidate.inherited_relevance,
            "inheritedConfidence": candidate.inherited_confidence,
            "transfers": [transfer.to_dict() for transfer in self.transfers.get(candidate.id, ())] or None,
        }
        return data | {name: value for name, value in optional.items() if value is not None}


def _camel_case(name: str) -> str:
    first, *others = name.replace("to_bm25", "to_BM25").split("_")  # fell_back_to_bm25 becomes fellBackToBM25
    return first + "".join(part if part.isupper() else part.title() for part in others)


_FIELD_NAMES = list(Trace.__slots__)
_REQUIRED_COUNT = _FIELD_NAMES.index("attempts") + 1  # the fields up to attempts are always written
_JSON_NAMES = {name: _camel_case(name) for name in _FIELD_NAMES[: _FIELD_NAMES.index("results") + 1]}
"""The JSON names of the fields up to ``results``; the fields after it are written as parts of each result."""


def recomputed_score(result: Mapping[str, Any]) -> float:
    """Return the score of one of the ``results`` in a trace's JSON, recomputed from its contributions and steps.

    The score is the sum of the legs' points. Each step then multiplies the score by a factor and adds an addend.

    >>> recomputed_score({"contributions": [{"points": 0.5}, {"points": 0.25}],
    ...                   "steps": [{"factor": 2.0, "addend": 0.1}]})
    1.6
    """
    score = fsum(contribution["points"] for contribution in result["contributions"])
    for step in result["steps"]:
        score = score * step["factor"] + step["addend"]
    return score


@dataclass(frozen=True, slots=True, repr=False)
class SearchResult(RankedHits):
    """The hits of a search, best first, and its trace.

    >>> result = SearchResult("tea", (), Trace(mode="bm25", original_query="tea"))
    >>> len(result), list(result), result.trace.mode
    (0, [], 'bm25')
    >>> result
    <SearchResult 'tea': 0 hits, has_answer=False, []>
    """

    query: str
    hits: tuple[Hit, ...]
    trace: Trace

    @property
    def answer_threshold(self) -> float:
        """The lowest confidence at which the best hit counts as an answer, from 0 to 1."""
        return self.trace.answer_threshold

    @property
    def excluded(self) -> tuple[str, ...]:
        """The terms that the query excludes by NOT, as written: no hit contains an excluded term."""
        return self.trace.excluded

    @property
    def warnings(self) -> list[str]:
        """Messages that say what was unavailable, what to do about it, and how the query was changed."""
        return self.trace.warnings

    def explain(self, *, limit: int | None = 10, width: int = WIDTH) -> str:
        """Return a drawing of the search for a terminal: what each step did, and how each hit got its score.

        ``limit`` is how many hits are drawn; ``None`` or 0 draws all. ``width`` is the number of columns.
        """
        return explain_search(self.trace, limit=limit, width=width)

    def explanation_data(self, *, limit: int | None = 10) -> dict[str, Any]:
        """Return what :meth:`explain` draws as JSON-ready data."""
        return explanation_data(self.trace, limit=limit)

    def to_dict(self) -> dict[str, Any]:
        """Return hits and trace as JSON-ready data."""
        return {
            "query": self.query,
            "has_answer": self.has_answer,
            "answer_threshold": self.answer_threshold,
            "excluded": list(self.excluded),
            "hits": [{**hit.to_dict(), "weak": weak} for hit, weak in zip(self.hits, self.weak_flags, strict=True)],
            "trace": self.trace.to_dict(),
        }
