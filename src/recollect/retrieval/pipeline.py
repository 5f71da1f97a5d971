"""The walk: a person's words go to the legs, and what they find becomes one list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect import arguments
from recollect.characters import collapse_whitespace
from recollect.embedders.rows import unit_rows
from recollect.errors import EmbedderError
from recollect.fusion import DEFAULT_K, reciprocal_rank_fusion
from recollect.model import DEFAULT_NAMESPACE, Candidate, Filters, Hit
from recollect.query import Query, compile_fts5, expand_aliases, parse
from recollect.retrieval.result import SearchResult
from recollect.retrieval.snippets import snippet
from recollect.retrieval.trace import Attempt, Trace
from recollect.stores.base import ModelChangedError

if TYPE_CHECKING:
    from recollect.embedders.base import Embedder
    from recollect.stores.base import Model, SearchIndex, Vector

__all__ = ["MODES", "Retrieval"]

MODES = ("auto", "hybrid", "bm25", "semantic")


class Retrieval:
    """Searches an index that keeps the search part of a store's contract.

    >>> class Index:
    ...     model = None
    ...     def search_text(self, query, limit, **_):
    ...         return [Candidate("n1", path="tea.md", content="Prefers green tea.", lexical_rank=1, lexical_score=2.0)]
    ...     def search_vectors(self, vector, limit, **_):
    ...         return []
    >>> [hit.path for hit in Retrieval(Index()).search("green tea")]
    ['tea.md']
    """

    def __init__(
        self,
        index: SearchIndex,
        *,
        embedder: Embedder | None = None,
        aliases: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Keep the parts; an embedder loads its model when it is first needed."""
        self._index = index
        self._embedder = embedder
        self._aliases = aliases

    def search(
        self,
        query: str,
        *,
        top_k: int = 10,
        mode: str = "auto",
        candidate_k: int = 60,
        filters: Filters | Mapping[str, Any] | None = None,
        namespace: str | None = None,
        vector: Any = None,
    ) -> SearchResult:
        """Return the best notes for ``query``: both legs, fused by reciprocal rank.

        ``vector`` is the query's own vector, for those who embed by themselves. What cannot be done, such as a search
        by meaning without a model, is done without, and the trace says so.
        """
        started = perf_counter()
        arguments.text("query", query)
        wanted = arguments.count("top_k", top_k)
        depth = max(wanted, arguments.count("candidate_k", candidate_k))
        tree = parse(query)
        if not tree.tokens:
            tree = parse(query, drop_stopwords=False)  # nothing but stopwords: then they are what is meant
        if self._aliases:
            tree = expand_aliases(tree, self._aliases)
        trace = Trace(
            mode=arguments.choice("mode", mode, MODES),
            original_query=query,
            compiled_query=compile_fts5(tree),
            candidate_k=candidate_k,
            rrf_k=DEFAULT_K,
            embedder=self._embedder.name if self._embedder else "",
        )
        place = _Place(
            namespace=DEFAULT_NAMESPACE if namespace is None else arguments.name("namespace", namespace),
            filters=Filters.of(filters),
            depth=depth,
        )
        numbers = None if mode == "bm25" else self._query_vector(_wanted(tree), vector, trace)
        nearest = None if numbers is None else self._dense(numbers, tree, place, trace)
        if nearest is not None:
            trace.mode = "semantic" if mode == "semantic" else "hybrid"
        else:
            trace.mode, trace.fell_back_to_bm25 = "bm25", mode in ("hybrid", "semantic")
        worded = [] if trace.mode == "semantic" else self._lexical(tree, place, trace)
        fusing = perf_counter()
        fused = reciprocal_rank_fusion([worded, nearest or []], k=DEFAULT_K)
        trace.fused_count = len(fused)
        hits = tuple(_hit(rank, candidate, tree) for rank, candidate in enumerate(fused[:wanted], start=1))
        finished = perf_counter()
        trace.fusion_elapsed = (finished - fusing) * 1000
        trace.total_elapsed = (finished - started) * 1000
        return SearchResult(query, hits, trace)

    def _lexical(self, tree: Query, place: _Place, trace: Trace) -> list[Candidate]:
        started = perf_counter()
        found = self._index.search_text(tree, place.depth, namespace=place.namespace, filters=place.filters)
        trace.bm25_elapsed = (perf_counter() - started) * 1000
        trace.bm25_count = len(found)
        trace.attempts.append(Attempt("initial", trace.compiled_query, len(found)))
        return found

    def _dense(self, query: _QueryVector, tree: Query, place: _Place, trace: Trace) -> list[Candidate] | None:
        """Return the nearest notes, or ``None`` if another model took over while the query was embedded."""
        started = perf_counter()
        try:
            found = self._index.search_vectors(
                query.vector,
                place.depth,
                namespace=place.namespace,
                filters=place.filters,
                without=tree,
                model=query.model,
            )
        except ModelChangedError as changed:
            trace.embedder_used = False
            trace.warnings.append(_mismatch(trace.embedder, changed.model.name))
            return None
        trace.vector_elapsed += (perf_counter() - started) * 1000
        trace.vector_count = len(found)
        return found

    def _query_vector(self, query: str, given: Any, trace: Trace) -> _QueryVector | None:
        """Return the query's vector, or ``None`` where there is none to be had; a surprise is told in the trace."""
        if given is not None:
            return _QueryVector(arguments.vector("vector", given), None)
        if self._embedder is None:
            return None
        model = self._index.model
        if model is None:
            trace.warnings.append("no note has a vector yet, so the search was by words alone; reindex makes them")
            return None
        if self._embedder.name != model.name:
            trace.warnings.append(_mismatch(self._embedder.name, model.name))
            return None
        started = perf_counter()
        try:
            answer = self._embedder.embed_query(query)
            (vector,) = unit_rows(self._embedder.name, [answer], count=1, dimension=None)
        except EmbedderError as error:
            trace.error_stage, trace.error_detail = "embed", str(error)
            trace.warnings.append(f"the search was by words alone: {collapse_whitespace(str(error))}")
            return None
        trace.vector_elapsed = (perf_counter() - started) * 1000
        if len(vector) != model.dimension:
            trace.warnings.append(
                f"the vectors of {model.name} have {len(vector)} numbers now and {model.dimension} in the store, "
                "so the search was by words alone; reindex re-embeds"
            )
            return None
        trace.embedder_used = True
        return _QueryVector(vector, model)


class _QueryVector(NamedTuple):
    """What the dense leg looks for, and the model that made it; ``None`` for a vector of the caller's own."""

    vector: Vector
    model: Model | None


class _Place(NamedTuple):
    """Where to search, and how deep."""

    namespace: str
    filters: Filters
    depth: int


def _wanted(tree: Query) -> str:
    """Return the query's text without what it excludes, of which the meaning leg must not think."""
    if all(token.operator != "NOT" for token in tree.tokens):
        return tree.raw
    return " ".join(token.source or token.text for token in tree.tokens if token.operator != "NOT")


def _mismatch(embedder: str, model: str) -> str:
    return f"the store's vectors are of {model}, not of {embedder}, so the search was by words alone; reindex re-embeds"


def _hit(rank: int, candidate: Candidate, tree: Query) -> Hit:
    shown = snippet(candidate.content, tree)
    candidate.snippet = shown.text
    return Hit(rank, candidate, shown.highlights)
