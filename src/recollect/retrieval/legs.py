"""The two legs of a search: lexical (BM25 of the query's terms) and vector (the notes nearest to the query's vector).

The module also scales similarities for fusion, and removes frequent terms from the query text that is embedded.
:class:`Workers` calls an embedder or a reranker with a time limit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextvars import copy_context
from dataclasses import replace
from math import ceil, log, sqrt
from statistics import pstdev
from threading import Thread
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from recollect import arguments
from recollect.embedders.base import unit_rows
from recollect.errors import ArgumentError, EmbedderError
from recollect.inference.catalogue import catalogue
from recollect.model import Candidate, as_candidates
from recollect.model.note import CHUNK_CHARS, MAX_CHUNKS, MAX_UNSPLIT_CHARS
from recollect.query import Query, compile_fts5
from recollect.query.terms import ENGLISH_STOPWORDS
from recollect.retrieval.ladder import GUESSING_STEPS, NAME_STEP, CallerNotes, FallbackLadder
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
    tree: Query  # the query that found the candidates: the user's query or a fallback query
    matched_names: bool = False  # whether the candidates were found by the similarity of note names, not by terms
    is_guess: bool = False  # whether the fallback ladder guessed which terms or names were meant
    stem_only: Mapping[str, StemDiscount] = MappingProxyType({})  # the discounts of stem-only matches, by note id


class LexicalLeg:
    """Searches an index by BM25, by the rules of a preset; one object serves one search."""

    def __init__(
        self,
        index: IndexAbilities,
        preset: Preset,
        aliases: Aliases | None,
        scope: SearchScope,
        chunks: CallerNotes | None,
    ) -> None:
        self._index = index
        self._preset = preset
        self._aliases = aliases
        self._scope = scope
        self._chunks = chunks  # the caller's notes, whose names the last fallback step compares with the query
        self._stem_only: Mapping[str, StemDiscount] = {}  # the discounts of the latest _search(), by note id

    def search(self, request: SearchRequest, attempts: list[Attempt], *, retry: bool) -> LexicalResult:
        """Return the candidates, best first; append each attempt to ``attempts``; ``retry`` allows fallback queries."""
        if self._preset.query.match == "all_then_any" and not request.tree.has_operators:
            # Every word is required, but no date (``terms`` is the tree without dates). The aliases of a word are one
            # group (alternative 1, 2, …): only its first alias gets the AND.
            required = (
                token._replace(operator="AND") if token.alternative <= 1 else token for token in request.terms.tokens
            )
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
        if not results:
            return LexicalResult([], tree)
        if strategy == NAME_STEP:
            return LexicalResult(results, tree, matched_names=True, is_guess=True)
        return LexicalResult(results, tree, is_guess=strategy in GUESSING_STEPS, stem_only=self._stem_only)

    def _search(self, tree: Query) -> list[Candidate]:
        """Return the best notes by BM25 with stem-only matches discounted; set ``_stem_only`` to the discounts."""
        if not tree.tokens:
            return []
        scope, rules = self._scope, self._preset.query
        depth = scope.depth
        if rules.stem_only_weight < 1 and is_one_word(tree):
            depth = max(depth, ONE_WORD_DEPTH)  # many of the best notes may match by the stem only and be discounted
        results = self._index.index.search_text(
            tree, depth, namespace=scope.namespace, filters=scope.filters, semantics=rules.semantics
        )
        candidates = as_candidates("search_text", results)[:depth]
        discounted, self._stem_only = discount_stem_only(candidates, tree, rules.stem_only_weight)
        return discounted[: scope.depth]

    def add_candidates(self, result: LexicalResult, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the result's candidates, then the other ``candidates`` that match the query, best BM25 score first."""
        result_ids = {candidate.id for candidate in result.candidates}
        missing = {candidate.id: candidate for candidate in candidates if candidate.id not in result_ids}
        index = self._index.text_scores
        if index is None or result.matched_names or not missing or not result.tree.tokens:
            return result.candidates
        scores = index.text_scores(
            result.tree, list(missing), namespace=self._scope.namespace, semantics=self._preset.query.semantics
        )
        matching = []
        for note_id, candidate in missing.items():
            if note_id in scores:
                scored = candidate.copy()
                scored.score = scored.lexical_score = arguments.number("text_scores", scores[note_id])
                matching.append(scored)
        weight = self._preset.query.stem_only_weight
        # If the query has one word, notes with another form of the word rank below all undiscounted results.
        undiscounted = [candidate.score for candidate in result.candidates if candidate.id not in result.stem_only]
        max_score = weight * min(undiscounted) if undiscounted and is_one_word(result.tree) else None
        matching, _ = discount_stem_only(matching, result.tree, weight, max_score=max_score)
        matching.sort(key=by_score)
        for rank, candidate in enumerate(matching, start=len(result.candidates) + 1):
            candidate.lexical_rank = rank
        return [*result.candidates, *matching]


T = TypeVar("T")

MAX_ABANDONED = 32  # no new call starts while this many calls still run after their timeout


class Workers:
    """Calls an embedder or reranker in threads, with a timeout.

    Python cannot stop a thread, so a call that times out continues in the background.
    """

    def __init__(self) -> None:
        # The calls that still run after their timeout, by process id, because a forked child has none of these threads.
        self._abandoned: dict[int, set[Future[Any]]] = {}

    def start(self, call: Callable[[], T]) -> Callable[[float], T]:
        """Start a call in a thread, and return a function that waits for its result.

        The argument of that function is the maximum number of seconds to wait. The function raises the error of the
        call. It raises ``TimeoutError`` if the time is over, too many earlier calls still run, or no thread starts.
        """
        abandoned = self._abandoned.setdefault(os.getpid(), set())
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(call())
            except BaseException as error:  # noqa: BLE001 (raised where the result is read)
                future.set_exception(error)

        def wait_for_result(seconds: float) -> T:
            if not wait([future], seconds).done:
                abandoned.add(future)
                future.add_done_callback(abandoned.discard)
                raise TimeoutError(f"no answer within {seconds:g} seconds")
            return future.result()

        if len(abandoned) >= MAX_ABANDONED:
            future.set_exception(TimeoutError(f"{len(abandoned)} earlier calls have not returned yet"))
            return wait_for_result
        try:
            Thread(target=copy_context().run, args=(run,), daemon=True, name="recollect-task").start()
        except RuntimeError as error:
            future.set_exception(TimeoutError(f"it could not be started: {error}"))
        return wait_for_result


class EmbeddedQuery(NamedTuple):
    """The vector of a query, made by the embedder or passed by the caller."""

    vector: Vector | None  # None if the query has only exclusions
    model: Model | None = None  # the store's model when the query was embedded, if known
    elapsed: float | None = None  # how long embedding took, in milliseconds; None if nothing was embedded
    from_caller: bool = False


_NOT_EMBEDDED = EmbeddedQuery(None)


class VectorResult(NamedTuple):
    """The result of the vector leg."""

    candidates: list[Candidate] | None  # the nearest notes; None if the search failed or did not run
    elapsed: float = 0.0  # the milliseconds of embedding and search
    embedder_used: bool = False
    warning: str = ""  # why the search failed
    query: EmbeddedQuery | None = None  # None if the search failed, or had no vector


VECTOR_LEG_NOT_RUN = VectorResult(None)


class VectorLeg:
    """Searches an index for the notes nearest to a query's vector; one object serves one search."""

    def __init__(self, index: IndexAbilities, embedder: Embedder | None, workers: Workers) -> None:
        self._index = index
        self._embedder = embedder
        self._workers = workers

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
            return "no note has a vector yet, so only lexical search ran; reindex the memory to embed them"
        return None if model.name == self._embedder.name else _mismatch_warning(self._embedder.name, model.name)

    def start(self, request: SearchRequest, vector: Any, timeout: float) -> Callable[[], EmbeddedQuery]:
        """Start to embed the query in a thread, and return a function that waits for its vector.

        If the caller passes a ``vector``, it is used, and nothing is embedded. ``timeout`` is in seconds. The vector
        search does not run in this thread, because it uses all processors anyway.
        """
        if vector is not None:
            array = arguments.vector("vector", vector)
            if array.ndim > 1:
                raise ArgumentError("vector", f"must be a flat list of numbers, got an array of shape {array.shape}")
            query = EmbeddedQuery(array, from_caller=True)
            return lambda: query
        if not request.embedded_text and request.query_with_exclusions is not None:
            return lambda: _NOT_EMBEDDED  # strict semantics, and only exclusions: nothing to embed
        wait_for_vector = self._workers.start(lambda: self._embed(request.embedded_text))
        return lambda: wait_for_vector(timeout)

    def search(
        self, wait_for_vector: Callable[[], EmbeddedQuery], request: SearchRequest, scope: SearchScope
    ) -> VectorResult:
        """Return the nearest notes, or a warning if anything fails; an invalid vector of the caller raises an error."""
        started = perf_counter()
        query = _NOT_EMBEDDED
        try:
            query = wait_for_vector()
            if query.vector is None:
                return VectorResult([])
            started = perf_counter()  # of the search alone; query.elapsed has the time of embedding
            results = self._index.index.search_vectors(
                query.vector,
                scope.depth,
                namespace=scope.namespace,
                filters=scope.filters,
                exclusions=request.query_with_exclusions,
                model=query.model,
            )
            candidates = as_candidates("search_vectors", results)
        except ModelChangedError as changed:  # the store got another model while the query was embedded
            warning = _mismatch_warning(self.model_name, changed.model.name)
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
        """Return the result's candidates, then those other ``candidates`` that have a vector, nearest first."""
        results = result.candidates or []
        query, index = result.query, self._index.similarities
        if index is None or query is None or query.vector is None or not candidates:
            return results
        result_ids = {candidate.id for candidate in results}
        missing = {candidate.id: candidate for candidate in candidates if candidate.id not in result_ids}
        similarities = index.similarities(query.vector, list(missing), namespace=scope.namespace, model=query.model)
        added = []
        for note_id, similarity in similarities.items():
            if note_id in missing:
                candidate = missing[note_id].copy()
                candidate.vector_similarity = candidate.score = arguments.number("similarities", similarity)
                added.append(candidate)
        added.sort(key=by_score)
        for rank, candidate in enumerate(added, start=len(results) + 1):
            candidate.vector_rank = rank
        return [*results, *added]

    def _embed(self, text: str) -> EmbeddedQuery:
        started = perf_counter()
        embedder = self._embedder
        assert embedder is not None  # noqa: S101 (unavailable_reason was checked before)
        # Read the model before embedding, so that the search notices if the store's model changes meanwhile.
        model = self._index.model.model if self._index.model else None
        (vector,) = unit_rows(embedder.name, [embedder.embed_query(text)], count=1, dimension=None)
        if model is not None and len(vector) != model.dimension:
            raise EmbedderError(
                f"the vectors of {model.name} have {len(vector)} numbers now and {model.dimension} in the store; "
                "reindex the memory to embed its notes again"
            )
        return EmbeddedQuery(vector, model, milliseconds_since(started))


def milliseconds_since(started: float) -> float:
    """Return the milliseconds since ``started``, a value of ``perf_counter``."""
    return (perf_counter() - started) * 1000


def _mismatch_warning(embedder: str, model: str) -> str:
    """Return the warning that the store's vectors were made by another model than the embedder's."""
    entry = next((entry for entry in catalogue().values() if entry.model_name == model), None)
    install = f"install their model (recollect models download {entry.name}), or " if entry else ""
    return (
        f"the store's vectors are of {model}, not of {embedder}, so only lexical search ran; "
        f"{install}reindex the memory to embed its notes again"
    )


class ScaledSimilarities(NamedTuple):
    """The candidates of the vector leg, best first, and the scale of their scores."""

    candidates: list[Candidate]
    min_score: float  # the score that fusion scales to 0
    max_score: float  # the score that fusion scales to 1


def scale_similarities(
    candidates: Sequence[Candidate], background: float, *, penalty: float, deviations: float
) -> ScaledSimilarities:
    """Return candidates with the chunk penalty subtracted from their scores, and the scale of these scores.

    In most models even unrelated texts have similarities far above 0. So a similarity is measured relative to
    ``background``, the similarity of the last note that the vector leg retrieved.

    A note of several chunks loses ``penalty * span * ln(chunks)``, where ``span`` is the distance from ``background``
    to the best score. The reason: a note's similarity is that of its nearest chunk, and the maximum of n similarities
    of unrelated chunks grows roughly with ln n. The number of chunks is estimated from the length of the note.

    ``min_score`` is the lowest score, after the penalty, of the candidates that were at or above ``background``.
    ``max_score`` is ``deviations`` standard deviations above ``min_score``, and at least the best score. So with
    ``deviations`` above 0, only a candidate that stands out gets the full score.
    """
    best = max((candidate.score for candidate in candidates), default=background)
    span = max(0.0, best - background)
    ranked, scores_above_background = [], []
    for candidate in candidates:
        length = len(candidate.title) + len(candidate.summary) + len(candidate.content)
        discounted = candidate
        if length > MAX_UNSPLIT_CHARS and penalty * span:
            discounted = candidate.copy()  # the caller's candidate is not changed
            discounted.score -= penalty * span * log(min(MAX_CHUNKS, ceil(length / CHUNK_CHARS)))
        ranked.append(discounted)
        if candidate.score >= background:
            scores_above_background.append(discounted.score)
    ranked.sort(key=lambda candidate: -candidate.score)
    if not scores_above_background:
        return ScaledSimilarities(ranked, background, background)
    min_score = min(scores_above_background)
    deviation = pstdev([candidate.score for candidate in ranked]) if deviations else 0.0
    return ScaledSimilarities(ranked, min_score, max(ranked[0].score, min_score + deviations * deviation))


MIN_NOTES = 10  # with fewer notes, no term is dropped: a term in most of them may be the topic of the query


def drop_frequent_terms(text: str, query: Query, frequencies: TermFrequencies, max_share: float) -> str:
    """Return ``text`` without frequent terms: the query's terms that clearly more than ``max_share`` of notes contain.

    A name that most notes contain, such as the name of a speaker, makes the query's vector similar to all these notes
    and does not distinguish them. To allow for chance, a term is frequent only if its share exceeds ``max_share`` by
    ``1 / sqrt(number of notes)``. If all terms are frequent, the text is unchanged. Phrases, prefixes and aliases stay.
    """
    if frequencies.notes < MIN_NOTES:
        return text
    threshold = max_share + 1 / sqrt(frequencies.notes)
    words = {token.source or token.text for token in query.tokens if token.kind == "term" and not token.alternative}
    # Terms without a count stay: excluded terms, and terms without a letter or digit.
    frequent = {
        term
        for term in words & frequencies.counts.keys()
        if frequencies.counts[term] / frequencies.notes > threshold and not _resembles_stopword(term)
    }
    if not frequent or len(frequent) == len(frequencies.counts):
        return text
    return " ".join(word for word in text.split() if word not in frequent) or text


def _resembles_stopword(word: str) -> bool:
    """Return whether the stem of a word may be a stopword. Its count is then too high: *Ines* also counts *in*."""
    letters = "".join(letter for letter in word.lower() if letter.isalpha())
    return any(letters.removesuffix(ending) in ENGLISH_STOPWORDS for ending in ("s", "es", "e", "ed", "ing"))
