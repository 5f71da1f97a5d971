"""The vector leg: the notes nearest to the query's embedding, and the scale of their similarities."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextvars import copy_context
from math import log
from statistics import pstdev
from threading import Event, Lock, Thread
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeVar

from recollect import arguments
from recollect.embedders.base import unit_rows
from recollect.errors import ArgumentError, EmbedderError
from recollect.model import Candidate, as_candidates
from recollect.model.note import CHUNK_CHARS, MAX_CHUNKS, MAX_UNSPLIT_CHARS
from recollect.retrieval.request import SearchRequest, SearchScope
from recollect.retrieval.terms import error_summary
from recollect.stores.base import ModelChangedError

if TYPE_CHECKING:
    from recollect.embedders.base import Embedder
    from recollect.stores.base import Model, Vector
    from recollect.stores.search_index import IndexAbilities


Answer = TypeVar("Answer")

MAX_ABANDONED = 32
"""How many calls may run on after their timeout before no new one starts."""


class Workers:
    """Counts the calls of one embedder or reranker that run on after their timeout, for each process."""

    def __init__(self) -> None:
        self._of: dict[int, _Count] = {}

    def count(self) -> _Count:
        """Return the count of this process; setdefault is atomic, so that a fork never inherits a locked lock."""
        return self._of.setdefault(os.getpid(), _Count())


class _Count:
    def __init__(self) -> None:
        self.lock = Lock()
        self.abandoned = 0


class Task(Generic[Answer]):
    """A call in a thread, with a timeout; Python cannot stop a thread, so a late call runs on in the background.

    >>> Task(lambda: 6 * 7, Workers()).result(seconds=5)
    42
    """

    def __init__(self, work: Callable[[], Answer], workers: Workers) -> None:
        """Start, or raise ``TimeoutError`` if too many earlier calls run on, or no thread can start."""
        self._count = workers.count()
        if self._count.abandoned >= MAX_ABANDONED:
            raise TimeoutError(f"{self._count.abandoned} earlier calls have not returned yet")
        self._work = work
        self._answer: list[Answer] = []
        self._error: BaseException | None = None
        self._done = Event()
        self._left = False
        thread = Thread(target=copy_context().run, args=(self._run,), daemon=True, name="recollect-task")
        try:
            thread.start()
        except RuntimeError as error:
            raise TimeoutError(f"it could not be started: {error}") from error

    def result(self, seconds: float) -> Answer:
        """Return the answer, or raise what the work raised, or ``TimeoutError`` after ``seconds``."""
        if not self._done.wait(seconds):
            self._leave()
            raise TimeoutError(f"no answer within {seconds:g} seconds")
        if self._error is not None:
            raise self._error
        return self._answer[0]

    def _run(self) -> None:
        try:
            self._answer.append(self._work())
        except BaseException as error:  # noqa: BLE001 (raised where the answer is asked for)
            self._error = error
        with self._count.lock:
            self._done.set()
            if self._left:
                self._count.abandoned -= 1

    def _leave(self) -> None:
        with self._count.lock:
            if not self._done.is_set():
                self._left = True
                self._count.abandoned += 1


class QueryVector(NamedTuple):
    """The vector that is searched for."""

    vector: Vector | None
    """``None`` if the query has nothing but exclusions."""
    model: Model | None = None
    """The model of the vector; ``None`` if the caller passed the vector."""
    elapsed: float | None = None
    """How long embedding took, in milliseconds; ``None`` if nothing was embedded."""
    is_callers: bool = False
    """Whether the caller passed it."""


_NO_QUERY = QueryVector(None)


class VectorResult(NamedTuple):
    """The result of the vector leg."""

    candidates: list[Candidate] | None
    """The nearest notes; ``None`` if the search failed."""
    elapsed: float = 0.0
    embedder_used: bool = False
    warning: str = ""
    query: QueryVector | None = None


class VectorLeg:
    """Searches an index for the notes nearest to a query's vector."""

    def __init__(self, index: IndexAbilities, embedder: Embedder | None) -> None:
        """Keep the parts; an embedder loads its model when it is first needed."""
        self._index = index
        self._embedder = embedder
        self._workers = Workers()

    @property
    def model_name(self) -> str:
        """The name of the embedder's model; empty without an embedder."""
        return self._embedder.name if self._embedder else ""

    def unavailable_reason(self, vector: Any) -> str | None:
        """Return why vector search is unavailable; empty if no embedder is configured, ``None`` if it is available."""
        if vector is not None:
            return None
        if self._embedder is None:
            return ""
        if self._index.model is None:
            return None
        try:
            model = self._index.model.model
        except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
            return f"only lexical search ran: {error_summary(error)}"
        if model is None:
            return "no note has a vector yet, so only lexical search ran; run reindex to embed them"
        return None if model.name == self._embedder.name else _mismatch(self._embedder.name, model.name)

    def start(self, request: SearchRequest, vector: Any, timeout: float) -> Callable[[], QueryVector]:
        """Start to embed the query in a thread, and return a function that waits for its vector.

        Only embedding runs in a thread: the vector scan uses all processors by itself.
        """
        if vector is not None:
            checked = arguments.vector("vector", vector)
            if checked.ndim > 1:
                raise ArgumentError("vector", f"must be a flat list of numbers, got an array of shape {checked.shape}")
            query = QueryVector(checked, is_callers=True)
            return lambda: query
        if not request.embedded_text and request.excluding is not None:
            return lambda: _NO_QUERY  # only exclusions; the source documents embed even that
        try:
            task = Task(lambda: self._embed(request.embedded_text), self._workers)
        except TimeoutError as error:
            failure = error
            return lambda: _raise(failure)
        return lambda: task.result(timeout)

    def search(
        self, wait_for_query: Callable[[], QueryVector], request: SearchRequest, scope: SearchScope
    ) -> VectorResult:
        """Return the nearest notes, or a warning if anything fails; a wrong vector of the caller raises an error."""
        started = perf_counter()
        query = _NO_QUERY
        try:
            query = wait_for_query()
            if query.vector is None:
                return VectorResult([])
            started = perf_counter()  # the time of embedding was measured in its thread
            answer = self._index.index.search_vectors(
                query.vector,
                scope.depth,
                namespace=scope.namespace,
                filters=scope.filters,
                without=request.excluding,
                model=query.model,
            )
            candidates = as_candidates("search_vectors", answer)
        except ModelChangedError as changed:  # while the query was embedded
            return VectorResult(None, _since(started), warning=_mismatch(self.model_name, changed.model.name))
        except Exception as error:  # an embedder or index may be the caller's own and raise anything
            if query.is_callers and isinstance(error, ArgumentError):
                raise
            warning = f"only lexical search ran: {error_summary(error)}"
            return VectorResult(None, _since(started), query.elapsed is not None, warning)
        elapsed = _since(started) + (query.elapsed or 0.0)
        return VectorResult(candidates[: scope.depth], elapsed, query.elapsed is not None, query=query)

    def add_candidates(
        self, result: VectorResult, candidates: Sequence[Candidate], scope: SearchScope
    ) -> list[Candidate]:
        """Return the results, followed by further candidates by their similarity, if the index can compute it."""
        results = result.candidates or []
        query, index = result.query, self._index.similarities
        if index is None or query is None or query.vector is None or not candidates:
            return results
        present = {candidate.id for candidate in results}
        missing = {candidate.id: candidate for candidate in candidates if candidate.id not in present}
        answer = index.similarities(query.vector, list(missing), namespace=scope.namespace, model=query.model)
        similarities = {note: arguments.number("similarities", answer[note]) for note in answer if note in missing}
        joined = list(results)
        for note in sorted(similarities, key=lambda note: (-similarities[note], missing[note].path, note)):
            added = missing[note].copy()
            added.vector_similarity = added.score = similarities[note]
            added.vector_rank = len(joined) + 1
            joined.append(added)
        return joined

    def _embed(self, text: str) -> QueryVector:
        started = perf_counter()
        embedder = self._embedder
        assert embedder is not None  # noqa: S101 (nothing starts without one)
        # The model is read first: the store may switch to another while the query is embedded.
        model = self._index.model.model if self._index.model else None
        (vector,) = unit_rows(embedder.name, [embedder.embed_query(text)], count=1, dimension=None)
        if model is not None and len(vector) != model.dimension:
            raise EmbedderError(
                f"the vectors of {model.name} have {len(vector)} numbers now and {model.dimension} in the store; "
                "run reindex to embed the notes again"
            )
        return QueryVector(vector, model, _since(started))


def _raise(error: Exception) -> NoReturn:
    raise error


def _since(started: float) -> float:
    return (perf_counter() - started) * 1000


def _mismatch(embedder: str, model: str) -> str:
    return (
        f"the store's vectors are of {model}, not of {embedder}, so only lexical search ran; "
        "run reindex to embed the notes again"
    )


class ScaledSimilarities(NamedTuple):
    """The candidates of the vector leg, best first, with the score that counts as 0 and the one that counts as 1."""

    candidates: list[Candidate]
    zero: float
    one: float


def scale_similarities(
    candidates: Sequence[Candidate], background: float, *, penalty: float, deviations: float
) -> ScaledSimilarities:
    """Return candidates with the chunk penalty subtracted from their scores, and the scale of these scores.

    In most models even unrelated texts have similarities far above 0. So a similarity is measured from the background
    of the query, and counts in full only if it is an outlier among the candidates.

    A note of several chunks loses ``penalty * span * ln(chunks)``, where ``span`` is the distance from ``background``
    to the best score: a note's similarity is that of its nearest chunk, and the largest of many similarities that have
    nothing to do with the query grows with about the logarithm of their number.

    The lowest score that is left of a candidate at or above ``background`` counts as 0. The score that lies
    ``deviations`` standard deviations above it counts as 1, or the best, if that is higher.

    >>> long = Candidate("long", content="Green tea, mostly sencha. " * 60, score=0.9)
    >>> short = Candidate("short", content="Prefers sencha.", score=0.8)
    >>> far = Candidate("far", content="The bike.", score=0.4)
    >>> scaled = scale_similarities([long, short, far], 0.4, penalty=0.2, deviations=6)
    >>> [(note.id, round(note.score, 2)) for note in scaled.candidates], scaled.zero, round(scaled.one, 2)
    ([('short', 0.8), ('long', 0.72), ('far', 0.4)], 0.4, 1.44)
    """
    best = max((candidate.score for candidate in candidates), default=background)
    span = max(0.0, best - background)
    discounted = [(_discounted(candidate, penalty * span), candidate.score >= background) for candidate in candidates]
    own = [candidate.score for candidate, is_own in discounted if is_own]
    ranked = sorted((candidate for candidate, _ in discounted), key=lambda candidate: -candidate.score)
    if not own:
        return ScaledSimilarities(ranked, background, background)
    zero = min(own)
    deviation = pstdev([candidate.score for candidate in ranked]) if deviations else 0.0
    return ScaledSimilarities(ranked, zero, max(ranked[0].score, zero + deviations * deviation))


def _discounted(candidate: Candidate, penalty: float) -> Candidate:
    """Return a candidate whose score is lower by ``penalty`` times the natural logarithm of its number of chunks."""
    length = len(candidate.title) + len(candidate.summary) + len(candidate.content)
    if length <= MAX_UNSPLIT_CHARS or not penalty:
        return candidate
    discounted = candidate.copy()  # the caller's candidate is not changed
    discounted.score -= penalty * log(min(MAX_CHUNKS, -(-length // CHUNK_CHARS)))
    return discounted
