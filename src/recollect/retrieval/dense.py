"""The dense leg: the query's meaning as a vector, and the notes that lie nearest to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from recollect import arguments
from recollect.embedders.base import unit_rows
from recollect.errors import ArgumentError, EmbedderError
from recollect.model import Candidate, as_candidates
from recollect.retrieval.deadlines import Task, Workers
from recollect.retrieval.failures import told
from recollect.retrieval.request import Place, Request
from recollect.stores.base import ModelChangedError

if TYPE_CHECKING:
    from recollect.embedders.base import Embedder
    from recollect.stores.base import Model, SearchIndex, Vector

__all__ = ["DenseLeg", "Nearest", "QueryVector"]


class Nearest(NamedTuple):
    """What the dense leg came to."""

    found: list[Candidate] | None
    """The nearest notes; ``None`` where there was no answer."""
    elapsed: float = 0.0
    embedder_used: bool = False
    warning: str = ""
    query: QueryVector | None = None
    """What was looked for."""


class DenseLeg:
    """Searches an index by meaning."""

    def __init__(self, index: SearchIndex, embedder: Embedder | None) -> None:
        """Keep the parts; an embedder loads its model when it is first needed."""
        self._index = index
        self._embedder = embedder
        self._workers = Workers()

    @property
    def name(self) -> str:
        """The name of the model, if there is one."""
        return self._embedder.name if self._embedder else ""

    def refusal(self, vector: Any) -> str | None:
        """Return why there can be no search by meaning: in words, or empty where nobody expects one; else ``None``."""
        if vector is not None:
            return None
        if self._embedder is None:
            return ""
        try:
            model: Model | None = getattr(self._index, "model", _ANY)
        except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
            return f"the search was by words alone: {told(error)}"
        if model is _ANY:
            return None
        if model is None:
            return "no note has a vector yet, so the search was by words alone; reindex makes them"
        return None if model.name == self._embedder.name else _mismatch(self._embedder.name, model.name)

    def begin(self, request: Request, given: Any, seconds: float) -> Callable[[], QueryVector]:
        """Begin to embed the query, beside whatever else goes on, and return what waits for its vector.

        Only embedding runs in a thread of its own: to look at vectors uses all processors by itself, and would only
        slow down a leg beside it.
        """
        if given is not None:
            vector = arguments.vector("vector", given)
            if vector.ndim > 1:
                raise ArgumentError("vector", f"must be a flat list of numbers, got an array of shape {vector.shape}")
            own = QueryVector(vector, own=True)
            return lambda: own
        if not request.meaning and request.excluding is not None:
            return lambda: _NOTHING  # nothing is wanted; the source documents embed even that
        try:
            task = Task(lambda: self._embedded(request.meaning), self._workers)
        except TimeoutError as error:
            refusal = error
            return lambda: _raised(refusal)
        return lambda: task.result(seconds)

    def search(self, waiting: Callable[[], QueryVector], request: Request, place: Place) -> Nearest:
        """Return the nearest notes; whatever goes wrong is told in the answer, not raised, unless the caller erred."""
        started = perf_counter()
        query = _NOTHING
        try:
            query = waiting()
            if query.vector is None:
                return Nearest([])
            started = perf_counter()  # what was waited for is counted where it was done
            answer = self._index.search_vectors(
                query.vector,
                place.depth,
                namespace=place.namespace,
                filters=place.filters,
                without=request.excluding,
                model=query.model,
            )
            found = as_candidates("search_vectors", answer)
        except ModelChangedError as changed:  # while the query was embedded
            return Nearest(None, _since(started), warning=_mismatch(self.name, changed.model.name))
        except Exception as error:  # an embedder or index may be the caller's own and raise anything
            if query.own and isinstance(error, ArgumentError):
                raise
            warning = f"the search was by words alone: {told(error)}"
            return Nearest(None, _since(started), query.elapsed is not None, warning)
        elapsed = _since(started) + (query.elapsed or 0.0)
        return Nearest(found[: place.depth], elapsed, query.elapsed is not None, query=query)

    def join(self, nearest: Nearest, newcomers: Sequence[Candidate], place: Place) -> list[Candidate]:
        """Return what was found with newcomers behind it, by how near they are; an index that cannot tell has none."""
        found = nearest.found or []
        similarities = getattr(self._index, "similarities", None)
        if similarities is None or nearest.query is None or nearest.query.vector is None or not newcomers:
            return found
        vector, model = nearest.query.vector, nearest.query.model
        known = {each.id for each in found}
        asked = {each.id: each for each in newcomers if each.id not in known}
        told_of = similarities(vector, list(asked), namespace=place.namespace, model=model)
        similar = {note: arguments.number("similarities", told_of[note]) for note in told_of if note in asked}
        joined = list(found)
        for note in sorted(similar, key=lambda note: (-similar[note], asked[note].path, note)):
            newcomer = asked[note].copy()
            newcomer.vector_similarity = newcomer.score = similar[note]
            newcomer.vector_rank = len(joined) + 1
            joined.append(newcomer)
        return joined

    def _embedded(self, text: str) -> QueryVector:
        started = perf_counter()
        embedder = self._embedder
        assert embedder is not None  # noqa: S101 (nobody begins without one)
        model: Model | None = getattr(self._index, "model", None)  # another may take over while the query is embedded
        (vector,) = unit_rows(embedder.name, [embedder.embed_query(text)], count=1, dimension=None)
        if model is not None and len(vector) != model.dimension:
            raise EmbedderError(
                f"the vectors of {model.name} have {len(vector)} numbers now and {model.dimension} in the store; "
                "reindex re-embeds"
            )
        return QueryVector(vector, model, _since(started))


class QueryVector(NamedTuple):
    """What the dense leg looks for."""

    vector: Vector | None
    """``None`` where nothing is wanted."""
    model: Model | None = None
    """What made it; ``None`` for a vector of the caller's own."""
    elapsed: float | None = None
    """How long it took to embed; ``None`` where nothing was embedded."""
    own: bool = False
    """Whether the caller gave it."""


_NOTHING = QueryVector(None)


def _raised(error: Exception) -> NoReturn:
    raise error


_ANY: Any = object()
"""The model of an index that does not say which it has: it takes any vector."""


def _since(started: float) -> float:
    return (perf_counter() - started) * 1000


def _mismatch(embedder: str, model: str) -> str:
    return f"the store's vectors are of {model}, not of {embedder}, so the search was by words alone; reindex re-embeds"
