"""The dense leg: the query's meaning as a vector, and the notes that lie nearest to it."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect import arguments
from recollect.characters import collapse_whitespace
from recollect.embedders.rows import unit_rows
from recollect.errors import ArgumentError
from recollect.model import Candidate
from recollect.retrieval.request import Place, Request
from recollect.stores.base import ModelChangedError

if TYPE_CHECKING:
    from recollect.embedders.base import Embedder
    from recollect.stores.base import Model, SearchIndex, Vector

__all__ = ["DenseLeg", "Nearest"]


class Nearest(NamedTuple):
    """What the dense leg came to."""

    found: list[Candidate] | None
    """The nearest notes; ``None`` where there was no answer."""
    elapsed: float = 0.0
    embedder_used: bool = False
    warning: str = ""
    error: Exception | None = None


class DenseLeg:
    """Searches an index by meaning."""

    def __init__(self, index: SearchIndex, embedder: Embedder | None) -> None:
        """Keep the parts; an embedder loads its model when it is first needed."""
        self._index = index
        self._embedder = embedder

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
        model: Model | None = getattr(self._index, "model", _ANY)
        if model is _ANY:
            return None
        if model is None:
            return "no note has a vector yet, so the search was by words alone; reindex makes them"
        return None if model.name == self._embedder.name else _mismatch(self._embedder.name, model.name)

    def search(self, request: Request, vector: Any, place: Place) -> Nearest:
        """Return the nearest notes; whatever goes wrong is told in the answer, not raised, unless the caller erred."""
        started = perf_counter()
        used = False
        if vector is None and not request.meaning and request.excluding is not None:
            return Nearest([])  # nothing is wanted; the source documents embed even that
        try:
            numbers, model = self._vector(request, vector)
            used = vector is None
            found = self._index.search_vectors(
                numbers,
                place.depth,
                namespace=place.namespace,
                filters=place.filters,
                without=request.excluding,
                model=model,
            )
        except ModelChangedError as changed:  # while the query was embedded
            return Nearest(None, _since(started), warning=_mismatch(self.name, changed.model.name))
        except Exception as error:  # an embedder or index may be the caller's own and raise anything
            if vector is not None and isinstance(error, ArgumentError):
                raise
            warning = f"the search was by words alone: {collapse_whitespace(str(error)) or type(error).__name__}"
            return Nearest(None, _since(started), used, warning, error)
        return Nearest(list(found[: place.depth]), _since(started), used)

    def _vector(self, request: Request, given: Any) -> tuple[Vector, Model | None]:
        """Return what to look for, and the model that made it; ``None`` for a vector of the caller's own."""
        if given is not None or self._embedder is None:
            return arguments.vector("vector", given), None
        model: Model | None = getattr(self._index, "model", None)  # another may take over while the query is embedded
        answer = self._embedder.embed_query(request.meaning)
        (vector,) = unit_rows(self._embedder.name, [answer], count=1, dimension=None)
        if model is not None and len(vector) != model.dimension:
            raise ArgumentError(
                "embedder",
                f"the vectors of {model.name} have {len(vector)} numbers now and {model.dimension} in the store; "
                "reindex re-embeds",
            )
        return vector, model


_ANY: Any = object()
"""The model of an index that does not say which it has: it takes any vector."""


def _since(started: float) -> float:
    return (perf_counter() - started) * 1000


def _mismatch(embedder: str, model: str) -> str:
    return f"the store's vectors are of {model}, not of {embedder}, so the search was by words alone; reindex re-embeds"
