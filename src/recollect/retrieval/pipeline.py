"""The search pipeline: legs, context rescoring, fusion, graph, stages, confidence and reranking.

:class:`Retrieval` runs the parts in this order and records each in the trace. The rules are those of a preset.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Unpack

from recollect import arguments
from recollect.errors import StoreError
from recollect.model import DEFAULT_NAMESPACE, Candidate, Filters
from recollect.query import AliasTable, Query, compile_fts5
from recollect.ranking.stage import StageContext
from recollect.rerankers import RerankerSpec, reranker_from
from recollect.retrieval.builtin_presets import PresetSpec, preset_from
from recollect.retrieval.confidence import ConfidenceScorer, calibration_of, inherit_confidence
from recollect.retrieval.context import rescore_with_context
from recollect.retrieval.graph import IndexGraph, expand_graph, graph_list, propagate_scores
from recollect.retrieval.lexical import Chunks, LexicalLeg, NamedChunks
from recollect.retrieval.messages import retry_message
from recollect.retrieval.options import SearchKeywords, SearchOptions, takes_search_options
from recollect.retrieval.preset import Preset
from recollect.retrieval.request import Aliases, SearchScope, parse_request
from recollect.retrieval.result import SearchResult
from recollect.retrieval.second_stage import SecondStage
from recollect.retrieval.state import SearchState
from recollect.retrieval.terms import (
    TermFrequencies,
    document_frequencies,
    drop_frequent_terms,
    error_summary,
)
from recollect.retrieval.trace import StageRun, Trace
from recollect.retrieval.vector import QueryVector, VectorLeg, VectorResult
from recollect.retrieval.word_forms import substitute
from recollect.stores.search_index import IndexAbilities

if TYPE_CHECKING:
    from recollect.embedders.base import Embedder
    from recollect.stores.search_index import SearchIndex

EMBEDDER_SECONDS = 30.0
"""The time limit for embedding a query: long enough for a model that is loaded for the first time."""
RERANKER_SECONDS = 10.0

Lists = dict[str, list[Candidate]]
"""The results of each leg, by its name."""


class Retrieval:
    """Searches an index that implements the search part of a store's contract.

    >>> class Index:
    ...     def search_text(self, query, limit, **_):
    ...         return [Candidate("n1", path="tea.md", content="Prefers green tea.", score=2.0)]
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
        reranker: RerankerSpec = None,
        aliases: Aliases | None = None,
        preset: PresetSpec = "default",
        trigram_chunks: Chunks | None = None,
        embedder_timeout: float = EMBEDDER_SECONDS,
        reranker_timeout: float = RERANKER_SECONDS,
    ) -> None:
        """Keep the parts; an embedder or reranker loads its model when it is first needed.

        ``trigram_chunks`` are the notes whose names the last step of the fallback ladder compares, for an index that
        cannot compare names. An embedder or reranker that does not answer within its timeout, in seconds, is skipped.
        """
        self._index = IndexAbilities(index)
        self._vector_leg = VectorLeg(self._index, embedder)
        second_stage = reranker_from(reranker)
        timeout = arguments.number("reranker_timeout", reranker_timeout, at_least=0)
        self._second_stage = None if second_stage is None else SecondStage(second_stage, timeout)
        self._aliases = AliasTable(aliases) if aliases else None
        self._preset = preset_from(preset)
        self._chunks = None if trigram_chunks is None else NamedChunks(trigram_chunks)
        self._embedder_timeout = arguments.number("embedder_timeout", embedder_timeout, at_least=0)

    @property
    def preset(self) -> Preset:
        """The preset of searches that name none."""
        return self._preset

    @takes_search_options
    def search(
        self, query: str, *, options: SearchOptions | None = None, **keywords: Unpack[SearchKeywords]
    ) -> SearchResult:
        """Return the best notes for ``query``, and the trace of the search.

        The keywords are the fields of :class:`SearchOptions`; with ``options`` they change it. What is unavailable,
        such as vector search without a model, is left out, and the trace says so.
        """
        started = perf_counter()
        arguments.text("query", query)
        options = SearchOptions.of(options, keywords)
        state = self._start(query, options)
        preset, trace = state.preset, state.trace
        if preset.query.other_forms:
            self._substitute(state)
        lists = self._score_union(state, self._run_legs(state, options))
        self._report_substitutions(state)
        lists = self._add_notes_of_times(state, lists) if state.request.time_only else lists
        lists = self._rescore_with_context(state, lists)
        ranked = self._rank(state, lists)
        scorer = self._confidence_scorer(state, ranked)
        min_confidence = preset.min_confidence if options.min_confidence is None else options.min_confidence
        if min_confidence > 0:
            confident = scorer.above(min_confidence, ranked, trace)
            trace.below_min_confidence = len(ranked) - len(confident)
            ranked = confident
        ranked = self._rerank(state, ranked, options, lists)
        hits = tuple(scorer.hit(rank, candidate) for rank, candidate in enumerate(ranked[: options.top_k], start=1))
        superseded = [candidate for candidate in ranked if candidate.superseded_by]
        hits = inherit_confidence(
            hits, superseded, lambda note: scorer.confidence_at(note, state.score_before_demotion(note))
        )
        trace.evidence = {hit.id: scorer.evidence(hit.candidate) for hit in hits}
        trace.results = [hit.candidate for hit in hits]
        trace.total_elapsed = _since(started)
        return SearchResult(query, hits, trace)

    def _start(self, query: str, options: SearchOptions) -> SearchState:
        """Return the state of a new search."""
        preset = self._preset if options.preset is None else preset_from(options.preset)
        depth = preset.candidate_k if options.candidate_k is None else options.candidate_k
        scope = SearchScope(
            options.namespace or DEFAULT_NAMESPACE, Filters.of(options.filters), max(options.top_k, depth)
        )
        now = arguments.optional_instant("now", options.now)
        request = parse_request(query, preset, self._aliases, options.question_date, now)
        threshold = preset.answer_threshold if options.answer_threshold is None else options.answer_threshold
        model = self._vector_leg.model_name
        trace = Trace(
            mode=options.mode,
            original_query=query,
            compiled_query=request.compiled,
            candidate_k=depth,
            rrf_k=preset.fusion.k,
            answer_threshold=threshold,
            preset=preset.name,
            embedder=model,
            excluded=request.excluded,
            only_stopwords=request.only_stopwords,
            date_hints=request.date_hints,
            times=request.times,
            time_only=request.time_only,
            warnings=list(request.warnings),
        )
        return SearchState(preset, request, scope, trace, calibration_of(model))

    def _run_legs(self, state: SearchState, options: SearchOptions) -> Lists:
        """Run the legs of the mode and return their lists; the query is embedded during the lexical search."""
        trace, mode = state.trace, state.trace.mode
        unavailable = "" if mode == "bm25" else self._vector_leg.unavailable_reason(options.vector)
        if unavailable == "" and mode in ("hybrid", "semantic"):
            unavailable = "there is no embedder, so only lexical search ran; open the memory with one"
        if unavailable:
            trace.warnings.append(unavailable)
        trace.mode = "bm25" if unavailable is not None else "semantic" if mode == "semantic" else "hybrid"
        trace.fell_back_to_bm25 = trace.mode == "bm25" and mode in ("hybrid", "semantic")
        wait_for_query = None
        if trace.mode != "bm25":
            if options.vector is None:
                self._drop_frequent_terms(state)
            wait_for_query = self._vector_leg.start(state.request, options.vector, self._embedder_timeout)
        retry = not options.skip_retry_ladder
        # The source documents run the lexical leg in mode semantic, too; elsewhere it would only cost time.
        runs_lexical = trace.mode != "semantic" or state.preset.query.semantics == "literal"
        failure = self._search_lexical(state, retry=retry) if runs_lexical else None
        vector = self._search_vectors(wait_for_query, state) if wait_for_query else None
        if trace.mode == "semantic" and vector is not None and vector.candidates is None:
            trace.mode, trace.fell_back_to_bm25 = "bm25", True
            failure = failure if runs_lexical else self._search_lexical(state, retry=retry)
        if isinstance(failure, StoreError) and not (vector and vector.candidates is not None):
            raise failure  # neither leg could search: an empty result would be wrong
        trace.bm25_count = len(state.lexical.candidates)
        state.vector = vector or state.vector
        lists = {"lexical": state.lexical.candidates, "vector": state.vector.candidates or []}
        trace.vector_count = len(lists["vector"])
        if lists["vector"]:
            state.background = lists["vector"][-1].score
        return lists

    def _search_lexical(self, state: SearchState, *, retry: bool) -> Exception | None:
        """Run the lexical leg, and return its error, if there is one."""
        started = perf_counter()
        trace = state.trace
        try:
            state.lexical = self._lexical_leg(state).search(state.request, trace.attempts, retry=retry)
            trace.stem_only = state.lexical.stem_only
        except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
            trace.error_stage, trace.error_detail = "bm25", error_summary(error)
            trace.warnings.append(f"lexical search failed: {error_summary(error)}")
            return error
        finally:
            trace.bm25_elapsed = _since(started)
        return None

    def _lexical_leg(self, state: SearchState) -> LexicalLeg:
        return LexicalLeg(self._index, state.preset, self._aliases, state.scope, self._chunks)

    def _search_vectors(self, wait_for_query: Callable[[], QueryVector], state: SearchState) -> VectorResult:
        """Run the vector leg, once the query is embedded."""
        result = self._vector_leg.search(wait_for_query, state.request, state.scope)
        state.trace.vector_elapsed, state.trace.embedder_used = result.elapsed, result.embedder_used
        if result.warning:
            state.trace.warnings.append(result.warning)
        return result

    def _drop_frequent_terms(self, state: SearchState) -> None:
        """Leave terms that too many notes contain out of the text that is embedded."""
        request, max_share = state.request, state.preset.query.max_document_frequency
        frequencies = self._frequencies(state, request.terms) if request.embedded_text and max_share < 1 else None
        if frequencies is not None:
            text = drop_frequent_terms(request.embedded_text, request.terms, frequencies, max_share)
            state.request = replace(request, embedded_text=text)
        state.trace.embedded_query = "" if state.request.embedded_text == request.query else state.request.embedded_text

    def _frequencies(self, state: SearchState, tree: Query) -> TermFrequencies | None:
        """Return the document frequencies of a query's terms, unless the index cannot count them."""
        if tree.tokens not in state.frequencies:
            index = self._index.term_counts
            try:
                found = None if index is None else document_frequencies(tree, index, state.scope.namespace)
                state.frequencies[tree.tokens] = found
            except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
                state.frequencies[tree.tokens] = None
                message = f"the document frequencies of the query's terms are missing: {error_summary(error)}"
                state.trace.warnings.append(message)
        return state.frequencies[tree.tokens]

    def _substitute(self, state: SearchState) -> None:
        """Add other forms of numbers, identifiers and names that no note contains as written."""
        request, index = state.request, self._index.term_counts
        frequencies = self._frequencies(state, request.terms)
        if index is None or frequencies is None or not frequencies.notes:
            return

        def note_counts(queries: Sequence[Query]) -> Sequence[int]:
            return index.note_counts(queries, namespace=state.scope.namespace)[1]

        try:
            terms, state.substitutions = substitute(request.terms, frequencies, note_counts)
        except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
            message = f"other forms of the query's words were not searched: {error_summary(error)}"
            state.trace.warnings.append(message)
            return
        if state.substitutions:
            tree = replace(terms, tokens=(*terms.tokens, *request.tree.tokens[len(request.terms.tokens) :]))
            compiled = state.trace.compiled_query = compile_fts5(tree)
            state.request = replace(request, terms=terms, tree=tree, compiled=compiled)

    def _report_substitutions(self, state: SearchState) -> None:
        """Add warnings that name substitutions and the fallback query.

        With filters, only the substitutions in results are named: the others could be terms of hidden notes.
        """
        trace = state.trace
        trace.substitutions = tuple(
            substitution
            for substitution in state.substitutions
            if not state.scope.filters or any(substitution.is_in(note) for note in state.lexical.candidates)
        )
        trace.warnings += [substitution.message() for substitution in trace.substitutions]
        if state.preset.ladder.strict_guesses and len(trace.attempts) > 1 and (message := retry_message(trace)):
            trace.warnings.append(message)

    def _score_union(self, state: SearchState, lists: Lists) -> Lists:
        """Add the candidates of each leg to the other leg's list, with that leg's own score."""
        if not state.preset.fusion.score_union or state.trace.mode != "hybrid":
            return lists
        lexical = lists["lexical"]
        try:
            lexical = self._lexical_leg(state).add_candidates(state.lexical, lists["vector"])
        except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
            message = f"lexical scores of candidates from the vector leg are missing: {error_summary(error)}"
            state.trace.warnings.append(message)
        return {"lexical": lexical, "vector": self._with_similarities(state, lists["vector"], lists["lexical"])}

    def _with_similarities(
        self, state: SearchState, results: list[Candidate], candidates: list[Candidate]
    ) -> list[Candidate]:
        """Return the results of the vector leg with further candidates, if the index can compare them."""
        try:
            return self._vector_leg.add_candidates(state.vector._replace(candidates=results), candidates, state.scope)
        except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
            message = f"similarities of candidates from outside the vector leg are missing: {error_summary(error)}"
            state.trace.warnings.append(message)
            return results

    def _add_notes_of_times(self, state: SearchState, lists: Lists) -> Lists:
        """Add the notes that were created within the times that a query names to the list of a leg.

        Without a vector leg they come in the order in which they were stored, with a lexical score of 0.
        """
        leg = "vector" if state.vector.query is not None else "lexical"
        present = {candidate.id for candidate in lists[leg]}
        results = list(lists[leg])
        for time in state.request.times:
            for candidate in self._notes_in(state, state.scope.within(time)):
                if candidate.id not in present:
                    present.add(candidate.id)
                    results.append(candidate)
                    if leg == "vector":
                        candidate.vector_rank = len(results)
        return {**lists, leg: results}

    def _notes_in(self, state: SearchState, scope: SearchScope) -> list[Candidate]:
        """Return the notes of a scope that are nearest to the query, or without a vector the first of them."""
        query = state.vector.query
        try:
            if query is not None:
                return self._vector_leg.search(lambda: query, state.request, scope).candidates or []
            if self._index.pages is None or self._index.candidates is None:
                return []
            notes = self._index.pages.page(scope.depth, namespace=scope.namespace, filters=scope.filters).notes
            return self._index.candidates.candidates(
                [note.id for note in notes],
                namespace=scope.namespace,
                filters=scope.filters,
                without=state.request.excluding,
            )
        except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
            state.trace.warnings.append(f"the notes of the query's time are missing: {error_summary(error)}")
            return []

    def _rescore_with_context(self, state: SearchState, lists: Lists) -> Lists:
        """Return the lists with turns and long notes rescored, and with the turns that come in by their neighbours.

        A query with operators or quotes says what a note itself must contain, so it is left alone.
        """
        rules, lexical, trace = state.preset.context, state.lexical, state.trace
        if not rules.on or trace.mode == "semantic" or lexical.by_name or lexical.tree.has_operators:
            return lists
        started = perf_counter()
        frequencies = self._frequencies(state, lexical.tree)
        if frequencies is not None:
            graph = IndexGraph(self._index, state.request, state.scope, rules.reach)
            rescored = rescore_with_context(lists, lexical.tree, frequencies, graph, rules)
            trace.contexts = rescored.contexts
            state.max_lexical_score = rescored.max_score
            vector = self._with_similarities(state, lists["vector"], rescored.added)
            lists = {"lexical": rescored.lexical, "vector": vector}
            if graph.failure:
                trace.warnings.append(f"turns were not rescored with their neighbours: {graph.failure}")
        trace.context_elapsed = _since(started)
        return lists

    def _rank(self, state: SearchState, lists: Lists) -> list[Candidate]:
        """Return one list: fuse the legs, follow the graph, and apply each stage of the preset."""
        started = perf_counter()
        trace, request, rules = state.trace, state.request, state.preset.graph
        lists = {leg: results for leg, results in lists.items() if leg in _LEGS_OF[trace.mode]}
        candidates = state.fuse(lists)
        if state.preset.context.on and not request.time_only:
            candidates = candidates[: state.scope.depth]  # neighbours made the lists longer
        trace.fused_count = len(candidates)
        graph = IndexGraph(self._index, request, state.scope, rules.reach)
        if rules.use != "off":
            candidates = self._follow_graph(state, candidates, lists, graph)
        context = StageContext(request.query, request.now, graph, state.forms_of_only_term, request.time_only)
        for stage in state.preset.stages:
            before = perf_counter()
            for part in stage.parts():
                result = part.adjust(candidates, context)
                candidates = candidates if result is None else state.apply(part.name, candidates, result)
            trace.stages.append(StageRun(stage.name, len(candidates), _since(before)))
        if graph.failure:
            trace.warnings.append(f"the graph was not followed: {graph.failure}")
        trace.fusion_elapsed = _since(started) - trace.graph_elapsed
        return candidates

    def _follow_graph(
        self, state: SearchState, fused: list[Candidate], lists: Lists, graph: IndexGraph
    ) -> list[Candidate]:
        """Return the fused list with the graph as a third list, as a factor, or as propagated score."""
        started = perf_counter()
        trace, rules, request = state.trace, state.preset.graph, state.request
        if not graph.is_available:
            trace.graph_skipped_reason = "the index has no methods edges and candidates"
            return fused
        # Operators and quotes say what a note must contain; a note that is only connected need not contain it.
        is_bound = request.excluding is not None and request.terms.has_operators
        expansion = expand_graph(fused, graph, rules, max_added=0 if is_bound else state.scope.depth)
        trace.graph_elapsed = _since(started)
        if graph.failure:
            trace.graph_skipped_reason = graph.failure
            return fused
        trace.transfers, trace.graph_count = expansion.transfers, len(expansion.transfers)
        if rules.use == "source":
            leg = graph_list(expansion, fused[: rules.seeds], fused, state.scope.depth)
            candidates = state.fuse({**lists, "graph": leg})
        else:
            if rules.use == "addition" and expansion.candidates and "vector" in lists:
                vector = self._with_similarities(state, lists["vector"], expansion.candidates)
                present = {candidate.id for candidate in (*fused, *expansion.candidates)}
                refused = state.fuse({**lists, "vector": vector})
                fused = [candidate for candidate in refused if candidate.id in present]
            candidates, result = propagate_scores(fused, expansion, rules)
            candidates = state.apply("graph", candidates, result)
        trace.fused_count = len(candidates)
        trace.graph_elapsed = _since(started)
        return candidates

    def _confidence_scorer(self, state: SearchState, ranked: Sequence[Candidate]) -> ConfidenceScorer:
        """Return the scorer that computes the confidence of a search's candidates."""
        request = state.request
        return ConfidenceScorer(
            state.lexical,
            ranked,
            state.calibration,
            frequencies=self._frequencies(state, state.lexical.tree),
            background=state.background,
            intervals=request.times,
            compares_scores=state.preset.fusion.method == "convex",
            terms=request.tree,
            time_only=request.time_only,
            only_stopwords=request.only_stopwords,
        )

    def _rerank(
        self, state: SearchState, ranked: list[Candidate], options: SearchOptions, lists: Lists
    ) -> list[Candidate]:
        """Return the candidates in their final order; those that may be shown get the steps of their record."""
        rules, trace = state.preset.rerank, state.trace
        for candidate in ranked[: max(options.top_k, options.rerank_top_n if self._second_stage else 0)]:
            candidate.steps = state.steps(candidate)
        if not ranked:
            trace.rerank_skipped_reason = "empty_candidates"
        elif not options.rerank or not options.rerank_top_n or not rules.on:
            trace.rerank_skipped_reason = "mode_off"
        elif self._second_stage is None:
            trace.rerank_skipped_reason = "no_reranker"
        else:
            legs = lists["lexical"], lists["vector"]
            return self._second_stage.run(
                state.request.query, ranked, trace, rules, top_n=options.rerank_top_n, legs=legs
            )
        return ranked


_LEGS_OF = {"hybrid": ("lexical", "vector"), "bm25": ("lexical",), "semantic": ("vector",)}


def _since(started: float) -> float:
    """Return the milliseconds since a time."""
    return (perf_counter() - started) * 1000
