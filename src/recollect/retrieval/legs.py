"""The two legs of a search: BM25 over the query's terms, and the notes nearest to the query's embedding."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextvars import copy_context
from dataclasses import replace
from math import log, sqrt
from statistics import pstdev
from threading import Thread
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from recollect import arguments
from recollect.embedders.base import unit_rows
from recollect.errors import ArgumentError, EmbedderError
from recollect.model import Candidate, as_candidates
from recollect.model.note import CHUNK_CHARS, MAX_CHUNKS, MAX_UNSPLIT_CHARS
from recollect.query import Query, compile_fts5
from recollect.query.terms import ENGLISH_STOPWORDS
from recollect.retrieval.ladder import BY_NAME, GUESSES, CallerChunks, FallbackLadder
from recollect.retrieval.messages import error_summary
from recollect.retrieval.request import Aliases, SearchRequest, SearchScope, TermFrequencies
from recollect.retrieval.rescoring import ONE_WORD_DEPTH, StemDiscount, by_score, discount_stem_only, is_one_word
from recollect.retrieval.trace import Attempt
from recollect.stores.base import ModelChangedError

if TYPE_CHECKING:
    from recollect.embedders.base import Embedder
    from recollect.retrieval.preset import Preset
    from recollect.stores.base import Model, Vector
    from recollect.stores.search_index import IndexAbilities


class LexicalResult(NamedTuple):
    """The result of the lexical leg."""

    candidates: list[Candidate]
    tree: Query
    """The query that found them: the request's or a fallback query."""
    matched_names: bool = False
    """Whether they were found by the similarity of note names, not by terms."""
    is_guess: bool = False
    """Whether the fallback ladder guessed which terms or names were meant."""
    stem_only: Mapping[str, StemDiscount] = MappingProxyType({})
    """The discounts of notes that contain words of the query only in another form, by note id."""


class LexicalLeg:
    """Searches an index by BM25, by the rules of a preset; one object serves one search."""

    def __init__(
        self,
        index: IndexAbilities,
        preset: Preset,
        aliases: Aliases | None,
        scope: SearchScope,
        trigram_chunks: CallerChunks | None = None,
    ) -> None:
        self._index = index
        self._preset = preset
        self._aliases = aliases
        self._scope = scope
        self._chunks = trigram_chunks
        self._stem_only: Mapping[str, StemDiscount] = {}

    def search(self, request: SearchRequest, attempts: list[Attempt], *, retry: bool) -> LexicalResult:
        """Return the results, best first, and append each attempt to ``attempts``."""
        if self._preset.query.match == "all_then_any" and not request.tree.has_operators:
            required = [
                token._replace(operator="AND") if token.alternative <= 1 else token for token in request.terms.tokens
            ]
            conjunction = replace(request.terms, tokens=tuple(required))
            results = self._search(conjunction)
            attempts.append(Attempt("initial", compile_fts5(conjunction), len(results)))
            if not results:
                results = self._search(request.tree)
                attempts.append(Attempt("any_word", request.compiled, len(results)))
        else:
            results = self._search(request.tree)
            attempts.append(Attempt("initial", request.compiled, len(results)))
        if results or not retry or not self._preset.ladder.on:
            return LexicalResult(results, request.tree, stem_only=self._stem_only)
        ladder = FallbackLadder(self._index, self._preset, self._aliases, self._scope, self._chunks)
        results, tree = ladder.run(request, attempts, self._search)
        strategy = attempts[-1].strategy
        if not results or strategy == BY_NAME:
            return LexicalResult(results, tree, matched_names=bool(results), is_guess=bool(results))
        return LexicalResult(results, tree, is_guess=strategy in GUESSES, stem_only=self._stem_only)

    def _search(self, tree: Query) -> list[Candidate]:
        if not tree.tokens:
            return []
        scope, rules = self._scope, self._preset.query
        depth = max(scope.depth, ONE_WORD_DEPTH) if rules.stem_only_weight < 1 and is_one_word(tree) else scope.depth
        answer = self._index.index.search_text(
            tree, depth, namespace=scope.namespace, filters=scope.filters, semantics=rules.semantics
        )
        results, self._stem_only = discount_stem_only(
            as_candidates("search_text", answer)[:depth], tree, rules.stem_only_weight
        )
        return results[: scope.depth]

    def add_candidates(self, result: LexicalResult, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the results, followed by further candidates that match, with the BM25 score that they would have."""
        present = {candidate.id for candidate in result.candidates}
        missing = {candidate.id: candidate for candidate in candidates if candidate.id not in present}
        index = self._index.text_scores
        if index is None or result.matched_names or not missing or not result.tree.tokens:
            return result.candidates
        scores = index.text_scores(
            result.tree, list(missing), namespace=self._scope.namespace, semantics=self._preset.query.semantics
        )
        matching = []
        for note, candidate in missing.items():
            if note in scores:
                scored = candidate.copy()
                scored.score = scored.lexical_score = arguments.number("text_scores", scores[note])
                matching.append(scored)
        weight = self._preset.query.stem_only_weight
        exact = [candidate.score for candidate in result.candidates if candidate.id not in result.stem_only]
        max_score = weight * min(exact) if exact and is_one_word(result.tree) else None
        matching, _ = discount_stem_only(matching, result.tree, weight, max_score=max_score)
        matching.sort(key=by_score)
        for rank, candidate in enumerate(matching, start=len(result.candidates) + 1):
            candidate.lexical_rank = rank
        return [*result.candidates, *matching]


T = TypeVar("T")

MAX_ABANDONED = 32
"""How many calls may still run after their timeout; with more, no new call starts."""


class Workers:
    """Calls an embedder or reranker in threads, with a timeout.

    Python cannot stop a thread, so a call that times out continues in the background.
    """

    def __init__(self) -> None:
        self._abandoned: dict[int, set[Future[Any]]] = {}
        """The calls that still run after their timeout, by process: a forked child has no threads of its parent."""

    def start(self, work: Callable[[], T]) -> Callable[[float], T]:
        """Start a call, and return a function that waits a given number of seconds for its result.

        It raises the call's error, or ``TimeoutError``: also if too many earlier calls still run or no thread starts.
        """
        abandoned = self._abandoned.setdefault(os.getpid(), set())
        call: Future[T] = Future()

        def run() -> None:
            try:
                call.set_result(work())
            except BaseException as error:  # noqa: BLE001 (raised where the result is read)
                call.set_exception(error)

        def result(seconds: float) -> T:
            if not wait([call], seconds).done:
                abandoned.add(call)
                call.add_done_callback(abandoned.discard)
                raise TimeoutError(f"no answer within {seconds:g} seconds")
            return call.result()

        if len(abandoned) >= MAX_ABANDONED:
            call.set_exception(TimeoutError(f"{len(abandoned)} earlier calls have not returned yet"))
            return result
        try:
            Thread(target=copy_context().run, args=(run,), daemon=True, name="recollect-task").start()
        except RuntimeError as error:
            call.set_exception(TimeoutError(f"it could not be started: {error}"))
        return result


class QueryVector(NamedTuple):
    """The vector that is searched for, its model, and how long embedding took, in milliseconds.

    The vector is ``None`` if the query has only exclusions. Model and time are ``None`` for a vector of the caller.
    """

    vector: Vector | None
    model: Model | None = None
    elapsed: float | None = None
    from_caller: bool = False


_NO_QUERY = QueryVector(None)


class VectorResult(NamedTuple):
    """The result of the vector leg."""

    candidates: list[Candidate] | None
    """The nearest notes; ``None`` if the search failed."""
    elapsed: float = 0.0
    embedder_used: bool = False
    warning: str = ""
    query: QueryVector | None = None


NO_VECTORS = VectorResult(None)


class VectorLeg:
    """Searches an index for the notes nearest to a query's vector."""

    def __init__(self, index: IndexAbilities, embedder: Embedder | None) -> None:
        self._index = index
        self._embedder = embedder
        self._workers = Workers()

    @property
    def model_name(self) -> str:
        """The name of the embedder's model; empty without an embedder."""
        return self._embedder.name if self._embedder else ""

    def unavailable_reason(self, vector: Any) -> str | None:
        """Return why vector search is unavailable; "" if no embedder is configured, ``None`` if it is available."""
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
            query = QueryVector(checked, from_caller=True)
            return lambda: query
        if not request.embedded_text and request.exclusions is not None:
            return lambda: _NO_QUERY  # only exclusions; with literal semantics even these are embedded
        result = self._workers.start(lambda: self._embed(request.embedded_text))
        return lambda: result(timeout)

    def search(
        self, wait_for_vector: Callable[[], QueryVector], request: SearchRequest, scope: SearchScope
    ) -> VectorResult:
        """Return the nearest notes, or a warning if anything fails; an invalid vector of the caller raises an error."""
        started = perf_counter()
        query = _NO_QUERY
        try:
            query = wait_for_vector()
            if query.vector is None:
                return VectorResult([])
            started = perf_counter()  # the time of embedding was measured in its thread
            answer = self._index.index.search_vectors(
                query.vector,
                scope.depth,
                namespace=scope.namespace,
                filters=scope.filters,
                without=request.exclusions,
                model=query.model,
            )
            candidates = as_candidates("search_vectors", answer)
        except ModelChangedError as changed:  # while the query was embedded
            warning = _mismatch(self.model_name, changed.model.name)
            return VectorResult(None, milliseconds_since(started), warning=warning)
        except Exception as error:  # an embedder or index may be the caller's own and raise anything
            if query.from_caller and isinstance(error, ArgumentError):
                raise
            warning = f"only lexical search ran: {error_summary(error)}"
            return VectorResult(None, milliseconds_since(started), query.elapsed is not None, warning)
        elapsed = milliseconds_since(started) + (query.elapsed or 0.0)
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
        return QueryVector(vector, model, milliseconds_since(started))


def milliseconds_since(started: float) -> float:
    """Return the milliseconds since a time."""
    return (perf_counter() - started) * 1000


def _mismatch(embedder: str, model: str) -> str:
    """Return the warning that the store's vectors are those of another model."""
    return (
        f"the store's vectors are of {model}, not of {embedder}, so only lexical search ran; "
        "run reindex to embed the notes again"
    )


class ScaledSimilarities(NamedTuple):
    """The candidates of the vector leg, best first, and the scores that fusion scales to 0 and to 1."""

    candidates: list[Candidate]
    min_score: float
    max_score: float


def scale_similarities(
    candidates: Sequence[Candidate], background: float, *, penalty: float, deviations: float
) -> ScaledSimilarities:
    """Return candidates with the chunk penalty subtracted from their scores, and the scale of these scores.

    In most models even unrelated texts have similarities far above 0. So a similarity is measured relative to
    ``background``, and only an outlier among the candidates reaches the full score.

    A note of several chunks loses ``penalty * span * ln(chunks)``, where ``span`` is the distance from ``background``
    to the best score. The reason: a note's similarity is that of its nearest chunk, and the maximum of n similarities
    of unrelated chunks grows roughly with ln n.

    0 is the lowest score, after the penalty, of the candidates that were at or above ``background``. 1 is the score
    that is ``deviations`` standard deviations higher, or the best score, if that is higher.
    """
    best = max((candidate.score for candidate in candidates), default=background)
    span = max(0.0, best - background)
    ranked, above_background = [], []
    for candidate in candidates:
        length = len(candidate.title) + len(candidate.summary) + len(candidate.content)
        discounted = candidate
        if length > MAX_UNSPLIT_CHARS and penalty * span:
            discounted = candidate.copy()  # the caller's candidate is not changed
            discounted.score -= penalty * span * log(min(MAX_CHUNKS, -(-length // CHUNK_CHARS)))
        ranked.append(discounted)
        if candidate.score >= background:
            above_background.append(discounted.score)
    ranked.sort(key=lambda candidate: -candidate.score)
    if not above_background:
        return ScaledSimilarities(ranked, background, background)
    zero = min(above_background)
    deviation = pstdev([candidate.score for candidate in ranked]) if deviations else 0.0
    return ScaledSimilarities(ranked, zero, max(ranked[0].score, zero + deviations * deviation))


MIN_NOTES = 10
"""The minimum number of notes: among fewer, a term that most of them contain may still be the topic of the query."""


def drop_frequent_terms(text: str, query: Query, frequencies: TermFrequencies, max_share: float) -> str:
    """Return ``text`` without the query's terms that more than ``max_share`` of the notes contain.

    A name that most notes contain, such as a speaker's in a conversation, makes the query's vector similar to every
    note with that name and does not distinguish them. To allow for chance, the share must exceed ``max_share`` by 1 /
    sqrt(number of notes). If no other term would remain, nothing is dropped. Phrases, prefixes and aliases are kept.
    """
    if frequencies.notes < MIN_NOTES:
        return text
    limit = max_share + 1 / sqrt(frequencies.notes)
    words = {token.source or token.text for token in query.tokens if token.kind == "term" and not token.alternative}
    # Excluded terms are not counted, nor are those without a letter.
    frequent = {
        term
        for term in words & frequencies.counts.keys()
        if frequencies.counts[term] / frequencies.notes > limit and not _resembles_stopword(term)
    }
    if not frequent or len(frequent) == len(frequencies.counts):
        return text
    return " ".join(word for word in text.split() if word not in frequent) or text


def _resembles_stopword(word: str) -> bool:
    """Return whether the index may stem a word to a stopword, such as *Ines* to *in*."""
    letters = "".join(letter for letter in word.lower() if letter.isalpha())
    return any(letters.removesuffix(ending) in ENGLISH_STOPWORDS for ending in ("s", "es", "e", "ed", "ing"))
