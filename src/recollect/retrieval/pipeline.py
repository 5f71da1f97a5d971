"""The search pipeline: legs, context rescoring, fusion, graph, stages, confidence and reranking.

:class:`Retrieval` runs these steps in this order, by the rules of a preset, and records each step in the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar, Unpack

from recollect import arguments
from recollect.errors import StoreError
from recollect.fusion import FUSION_METHODS, FusionScale
from recollect.fusion.base import FusionRules
from recollect.model import DEFAULT_NAMESPACE, Candidate, Filters
from recollect.query import AliasTable, Query, Token, compile_fts5
from recollect.ranking.stage import Change, StageContext, StageResult, apply_result
from recollect.rerankers import RerankerSpec, reranker_from
from recollect.retrieval.confidence import Calibration, ConfidenceScorer, calibration_of, inherit_confidence
from recollect.retrieval.graph import IndexGraph, expand_graph, graph_list, propagate_scores
from recollect.retrieval.ladder import CallerNotes, Chunks
from recollect.retrieval.legs import (
    VECTOR_LEG_NOT_RUN,
    LexicalLeg,
    LexicalResult,
    VectorLeg,
    VectorResult,
    Workers,
    drop_frequent_terms,
    milliseconds_since,
    scale_similarities,
)
from recollect.retrieval.messages import error_summary, retry_message
from recollect.retrieval.options import SearchKeywords, SearchOptions, option_or_default, takes_search_options
from recollect.retrieval.preset import Preset, PresetSpec, preset_from
from recollect.retrieval.request import (
    Aliases,
    SearchRequest,
    SearchScope,
    Substitution,
    TermFrequencies,
    document_frequencies,
    parse_request,
    positive_terms,
    substitute,
)
from recollect.retrieval.rescoring import rescore_with_context
from recollect.retrieval.second_stage import RerankInput, SecondStage
from recollect.retrieval.trace import SearchResult, StageRun, Trace
from recollect.stores.search_index import IndexAbilities

if TYPE_CHECKING:
    from recollect.embedders.base import Embedder
    from recollect.stores.search_index import SearchIndex

EMBEDDER_SECONDS, RERANKER_SECONDS = 30.0, 10.0  # timeouts; the embedder's is longer, as it may load a model
T = TypeVar("T")
Ranking = list[Candidate]
LegLists = dict[str, Ranking]  # the candidates of each leg, best first, by the name of the leg
_LEGS_BY_MODE = {"hybrid": ("lexical", "vector"), "bm25": ("lexical",), "semantic": ("vector",)}


@dataclass(slots=True)
class SearchState:
    """The state of one search: its request, its rules, and the results of the steps so far."""

    preset: Preset
    request: SearchRequest
    scope: SearchScope
    trace: Trace
    calibration: Calibration
    lexical_leg: LexicalLeg
    vector_leg: VectorLeg
    lexical: LexicalResult
    vector: VectorResult = VECTOR_LEG_NOT_RUN
    background: float | None = None  # the similarity of the last note that the vector leg retrieved
    frequencies: dict[tuple[Token, ...], TermFrequencies | None] = field(default_factory=dict)  # by a query's tokens
    substitutions: tuple[Substitution, ...] = ()
    max_lexical_score: float | None = None  # the best score before multiplication by coverage; fusion scales it to 1
    changes: dict[str, list[Change]] = field(default_factory=dict)  # the changes of scores by stages, by note id

    def call_index(self, failure: str, call: Callable[[], T], default: T) -> T:
        """Return the result of a call; if it raises an error, add a warning with ``failure`` and return ``default``."""
        try:
            return call()
        except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
            self.trace.warnings.append(f"{failure}: {error_summary(error)}")
            return default

    def fuse(self, lists: LegLists) -> Ranking:
        """Return the lists of the legs fused into one by the rules of the preset; record the settings in the trace."""
        rules, min_scores = self.preset.fusion, dict(self.preset.fusion.min_scores)
        max_scores = {} if self.max_lexical_score is None else {"lexical": self.max_lexical_score}
        if rules.scales_similarities and self.background is not None and lists.get("vector"):
            deviations = rules.deviations if len(lists) > 1 else 0.0  # it weighs this leg against others
            scaled = scale_similarities(
                lists["vector"], self.background, penalty=rules.chunk_penalty, deviations=deviations
            )
            lists = {**lists, "vector": scaled.candidates}
            max_scores["vector"] = scaled.max_score
            if rules.score_union:  # the other leg's candidates may be below the background: fusion counts them as 0
                min_scores = {"vector": scaled.min_score, **min_scores}
        factors = {  # guesses of the lexical leg have less weight, and so have similarities of a weak model
            "lexical": self.preset.ladder.guess_weight if self.lexical.is_guess else 1.0,
            "vector": self.calibration.model_quality if rules.weight_by_model_quality else 1.0,
        }
        reduced_weights = {leg: rules.weights.get(leg, 1.0) * factor for leg, factor in factors.items() if factor != 1}
        scale = FusionScale({**rules.weights, **reduced_weights}, min_scores, max_scores)
        settings = {name: getattr(rules, name) for name in FusionRules.__slots__}
        self.trace.fusion = settings | {"weights": scale.weights, "min_scores": min_scores}
        if rules.method == "convex":
            self.trace.fusion["max_scores"] = max_scores
        return FUSION_METHODS[rules.method](lists, rules, scale)

    def apply_stage(self, stage: str, candidates: Ranking, result: StageResult) -> Ranking:
        """Return the candidates with the adjustments of a stage, best first, and record the changes."""
        ranked = apply_result(stage, candidates, result)
        for candidate, changes in ranked:
            self.changes.setdefault(candidate.id, []).extend(changes)
        return [candidate for candidate, _ in ranked]

    def score_before_demotion(self, candidate: Candidate) -> float:
        """Return the score of a candidate before the stage ``superseded`` lowered it."""
        changes = self.changes.get(candidate.id, ())
        scores = (change.score_before for change in changes if change.stage == "superseded")
        return next(scores, candidate.score)


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
        """Set up the search; an embedder or reranker loads its model on first use.

        ``trigram_chunks`` are the notes whose names the last step of the fallback ladder compares, for an index that
        cannot compare names. The timeouts are in seconds; an embedder or reranker that takes longer is skipped.
        """
        self._index = IndexAbilities(index)
        self.embedder = embedder
        """The embedder of queries; a search that is running when it is replaced uses the previous one."""
        self._workers = Workers()
        resolved_reranker = reranker_from(reranker)
        timeout = arguments.number("reranker_timeout", reranker_timeout, at_least=0)
        self._second_stage = None if resolved_reranker is None else SecondStage(resolved_reranker, timeout)
        self._aliases = AliasTable(aliases) if aliases else None
        self.preset = preset_from(preset)
        """The preset of searches without the option ``preset``."""
        self._chunks = None if trigram_chunks is None else CallerNotes(trigram_chunks)
        self._embedder_timeout = arguments.number("embedder_timeout", embedder_timeout, at_least=0)

    @takes_search_options
    def search(
        self, query: str, *, options: SearchOptions | None = None, **keywords: Unpack[SearchKeywords]
    ) -> SearchResult:
        """Return the best notes for ``query``, and the trace of the search.

        The keywords are the fields of :class:`SearchOptions`, and override the fields of ``options``. Steps that are
        unavailable, such as vector search without a model, are skipped, and the trace says why.
        """
        started = perf_counter()
        arguments.text("query", query)
        options = SearchOptions.of(options, keywords)
        state = self._start_search(query, options)
        preset, trace = state.preset, state.trace
        if preset.query.other_forms:
            self._substitute(state)
        lists = self._score_union(state, self._run_legs(state, options))
        self._report_substitutions(state)
        if state.request.time_only:
            lists = self._add_notes_of_times(state, lists)
        lists = self._rescore_with_context(state, lists)
        ranked = self._rank(state, lists)
        scorer = ConfidenceScorer(
            state.request,
            state.lexical,
            ranked,
            state.calibration,
            frequencies=self._frequencies(state, state.lexical.tree),
            background=state.background,
            has_margins=preset.fusion.method == "convex",
        )
        min_confidence = option_or_default(options.min_confidence, preset.min_confidence)
        if min_confidence > 0:
            confident = scorer.drop_below(min_confidence, ranked, trace)
            trace.below_min_confidence = len(ranked) - len(confident)
            ranked = confident
        ranked = self._rerank(state, ranked, options, lists)
        hits = tuple(scorer.hit(rank, candidate) for rank, candidate in enumerate(ranked[: options.top_k], start=1))
        superseded = [candidate for candidate in ranked if candidate.superseded_by]
        inherit_confidence(hits, superseded, lambda note: scorer.confidence_at(note, state.score_before_demotion(note)))
        trace.evidence = {hit.id: scorer.evidence(hit.candidate) for hit in hits}
        trace.results = [hit.candidate for hit in hits]
        trace.total_elapsed = milliseconds_since(started)
        return SearchResult(query, hits, trace)

    def _start_search(self, query: str, options: SearchOptions) -> SearchState:
        """Parse the query, and return the state of a new search."""
        preset = self.preset if options.preset is None else preset_from(options.preset)
        candidate_k = option_or_default(options.candidate_k, preset.candidate_k)
        namespace = options.namespace or DEFAULT_NAMESPACE
        scope = SearchScope(namespace, Filters.of(options.filters), max(options.top_k, candidate_k))
        now = arguments.optional_instant("now", options.now)
        request = parse_request(query, preset, self._aliases, options.question_date, now)
        vector_leg = VectorLeg(self._index, self.embedder, self._workers)
        trace = Trace(
            mode=options.mode,
            original_query=query,
            compiled_query=request.compiled,
            candidate_k=candidate_k,
            rrf_k=preset.fusion.k,
            answer_threshold=option_or_default(options.answer_threshold, preset.answer_threshold),
            preset=preset.name,
            embedder=vector_leg.model_name,
            excluded=request.excluded,
            only_stopwords=request.only_stopwords,
            date_hints=request.date_hints,
            times=request.times,
            time_only=request.time_only,
            warnings=list(request.warnings),
        )
        lexical_leg = LexicalLeg(self._index, preset, self._aliases, scope, self._chunks)
        calibration, lexical = calibration_of(trace.embedder), LexicalResult([], request.tree)
        return SearchState(preset, request, scope, trace, calibration, lexical_leg, vector_leg, lexical)

    def _run_legs(self, state: SearchState, options: SearchOptions) -> LegLists:
        """Run the legs of the mode and return their lists; the query is embedded during the lexical search."""
        trace, requested_mode = state.trace, options.mode
        needs_vectors = requested_mode in ("hybrid", "semantic")
        # None if vector search is available, "" if it is not requested or not configured, else a message.
        unavailable_reason = "" if requested_mode == "bm25" else state.vector_leg.unavailable_reason(options.vector)
        if unavailable_reason == "" and needs_vectors:
            unavailable_reason = "there is no embedder, so only lexical search ran; choose an embedder"
        if unavailable_reason:
            trace.warnings.append(unavailable_reason)
        if unavailable_reason is None:
            trace.mode = "semantic" if requested_mode == "semantic" else "hybrid"
        else:
            trace.mode, trace.fell_back_to_bm25 = "bm25", needs_vectors
        wait_for_vector = None
        if trace.mode != "bm25":
            if options.vector is None:
                self._drop_frequent_terms(state)
            wait_for_vector = state.vector_leg.start(state.request, options.vector, self._embedder_timeout)
        retry = not options.skip_retry_ladder
        # Presets with literal semantics imitate other systems, which run the lexical leg even in mode semantic.
        runs_lexical = trace.mode != "semantic" or state.preset.query.semantics == "literal"
        lexical_error = self._search_lexical(state, retry=retry) if runs_lexical else None
        if wait_for_vector:
            state.vector = state.vector_leg.search(wait_for_vector, state.request, state.scope)
            trace.vector_elapsed, trace.embedder_used = state.vector.elapsed, state.vector.embedder_used
            if state.vector.warning:
                trace.warnings.append(state.vector.warning)
        if trace.mode == "semantic" and state.vector.candidates is None:  # vector search failed
            trace.mode, trace.fell_back_to_bm25 = "bm25", True
            lexical_error = lexical_error if runs_lexical else self._search_lexical(state, retry=retry)
        if isinstance(lexical_error, StoreError) and state.vector.candidates is None:
            raise lexical_error  # neither leg could search: an empty result would be wrong
        trace.bm25_count = len(state.lexical.candidates)
        lists = {"lexical": state.lexical.candidates, "vector": state.vector.candidates or []}
        trace.vector_count = len(lists["vector"])
        if lists["vector"]:
            state.background = lists["vector"][-1].score
        return lists

    def _search_lexical(self, state: SearchState, *, retry: bool) -> Exception | None:
        """Run the lexical leg and set ``state.lexical``; return the error if it failed."""
        started = perf_counter()
        trace = state.trace
        try:
            state.lexical = state.lexical_leg.search(state.request, trace.attempts, retry=retry)
            trace.stem_only = state.lexical.stem_only
        except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
            trace.error_stage, trace.error_detail = "bm25", error_summary(error)
            trace.warnings.append(f"lexical search failed: {error_summary(error)}")
            return error
        finally:
            trace.bm25_elapsed = milliseconds_since(started)
        return None

    def _drop_frequent_terms(self, state: SearchState) -> None:
        """Remove the terms that too many notes contain from the text that is embedded; record the text in the trace."""
        request, max_share = state.request, state.preset.query.max_document_frequency
        frequencies = self._frequencies(state, request.terms) if request.embedded_text and max_share < 1 else None
        if frequencies is not None:
            text = drop_frequent_terms(request.embedded_text, request.terms, frequencies, max_share)
            state.request = replace(request, embedded_text=text)
        state.trace.embedded_query = "" if state.request.embedded_text == request.query else state.request.embedded_text

    def _frequencies(self, state: SearchState, tree: Query) -> TermFrequencies | None:
        """Return the document frequencies of a query's terms; ``None`` if they are not known."""
        index, namespace = self._index.term_counts, state.scope.namespace
        if index is not None and tree.tokens not in state.frequencies:
            failure = "the document frequencies of the query's terms are missing"
            call = partial(document_frequencies, tree, index, namespace)
            state.frequencies[tree.tokens] = state.call_index(failure, call, None)
        return state.frequencies.get(tree.tokens)

    def _substitute(self, state: SearchState) -> None:
        """Add to the query the other forms of each number, identifier and name that no note contains as written."""
        request, index = state.request, self._index.term_counts
        frequencies = self._frequencies(state, request.terms)
        if index is None or frequencies is None or not frequencies.notes:
            return

        def note_counts(queries: Sequence[Query]) -> Sequence[int]:
            return index.note_counts(queries, namespace=state.scope.namespace)[1]

        failure = "other forms of the query's words were not searched"
        call = partial(substitute, request.terms, frequencies, note_counts)
        unchanged: tuple[Query, tuple[Substitution, ...]] = request.terms, ()
        terms, state.substitutions = state.call_index(failure, call, unchanged)
        if state.substitutions:
            date_tokens = request.tree.tokens[len(request.terms.tokens) :]
            tree = replace(terms, tokens=(*terms.tokens, *date_tokens))
            compiled = state.trace.compiled_query = compile_fts5(tree)
            state.request = replace(request, terms=terms, tree=tree, compiled=compiled)

    def _report_substitutions(self, state: SearchState) -> None:
        """Add warnings that name the substitutions and the fallback query.

        With filters, only forms that a result contains are named. Other forms may come from notes that filters hide.
        """
        trace = state.trace
        trace.substitutions = tuple(
            substitution
            for substitution in state.substitutions
            if not state.scope.filters or any(substitution.is_in(note) for note in state.lexical.candidates)
        )
        trace.warnings += [substitution.message() for substitution in trace.substitutions]
        has_retried = len(trace.attempts) > 1
        message = retry_message(trace) if state.preset.ladder.strict_guesses and has_retried else ""
        if message:
            trace.warnings.append(message)

    def _score_union(self, state: SearchState, lists: LegLists) -> LegLists:
        """Return the lists of both legs, each extended by those candidates of the other leg that it can score."""
        if not state.preset.fusion.score_union or state.trace.mode != "hybrid":
            return lists
        failure = "lexical scores of candidates from the vector leg are missing"
        call = partial(state.lexical_leg.add_candidates, state.lexical, lists["vector"])
        lexical = state.call_index(failure, call, lists["lexical"])
        return {"lexical": lexical, "vector": self._with_similarities(state, lists["vector"], lists["lexical"])}

    def _with_similarities(self, state: SearchState, results: Ranking, candidates: Ranking) -> Ranking:
        """Return the results of the vector leg, then those other ``candidates`` that have a vector, nearest first."""
        vector_result = state.vector._replace(candidates=results)
        call = partial(state.vector_leg.add_candidates, vector_result, candidates, state.scope)
        return state.call_index("similarities of candidates from outside the vector leg are missing", call, results)

    def _add_notes_of_times(self, state: SearchState, lists: LegLists) -> LegLists:
        """Return the lists with further notes: those that were created within the times that the query names.

        These notes follow in the vector list, nearest first. Without a query vector they follow in the lexical list, in
        the order in which they were stored, with a score of 0.
        """
        leg = "vector" if state.vector.query is not None else "lexical"
        results_by_id, no_notes = {candidate.id: candidate for candidate in lists[leg]}, Ranking()
        for time in state.request.times:
            call = partial(self._notes_in, state, state.scope.within(time))
            for candidate in state.call_index("the notes of the query's time are missing", call, no_notes):
                if candidate.id not in results_by_id:
                    results_by_id[candidate.id] = candidate
                    if leg == "vector":
                        candidate.vector_rank = len(results_by_id)
        return {**lists, leg: list(results_by_id.values())}

    def _notes_in(self, state: SearchState, scope: SearchScope) -> Ranking:
        """Return the nearest notes of a scope, or, without a query vector, the notes that were stored first."""
        query = state.vector.query
        if query is not None:
            return state.vector_leg.search(lambda: query, state.request, scope).candidates or []
        if self._index.pages is None or self._index.candidates is None:
            return []
        namespace, filters, depth = scope
        ids = [note.id for note in self._index.pages.page(depth, namespace=namespace, filters=filters).notes]
        exclusions = state.request.query_with_exclusions
        return self._index.candidates.candidates(ids, namespace=namespace, filters=filters, exclusions=exclusions)

    def _rescore_with_context(self, state: SearchState, lists: LegLists) -> LegLists:
        """Return the lists with turns and long notes rescored, and with matching neighbours of the best turns added.

        If the query has operators or quotes, they state what a note itself must contain. Then nothing is rescored.
        """
        rules, lexical, trace = state.preset.context, state.lexical, state.trace
        if not rules.on or trace.mode == "semantic" or lexical.matched_names or lexical.tree.has_operators:
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
        trace.context_elapsed = milliseconds_since(started)
        return lists

    def _rank(self, state: SearchState, lists: LegLists) -> Ranking:
        """Fuse the lists of the legs, follow the graph, and apply each stage of the preset; return one list."""
        started = perf_counter()
        trace, request, rules = state.trace, state.request, state.preset.graph
        lists = {leg: results for leg, results in lists.items() if leg in _LEGS_BY_MODE[trace.mode]}
        candidates = state.fuse(lists)
        if state.preset.context.on and not request.time_only:  # a search for a time keeps all notes of that time
            candidates = candidates[: state.scope.depth]  # context rescoring may have added notes to the lists
        trace.fused_count = len(candidates)
        graph = IndexGraph(self._index, request, state.scope, rules.reach)
        if rules.use != "off":
            candidates = self._follow_graph(state, candidates, lists, graph)
        has_one_term = len(positive_terms(request.terms)) == 1  # then exact_term also accepts the term's other forms
        term_forms = state.substitutions[0].forms if has_one_term and len(state.substitutions) == 1 else ()
        context = StageContext(request.query, request.now, graph.current_notes, term_forms, request.time_only)
        for stage in state.preset.stages:
            stage_started = perf_counter()
            for part in stage.parts():
                result = part.adjust(candidates, context)
                if result is not None:
                    candidates = state.apply_stage(part.name, candidates, result)
            trace.stages.append(StageRun(stage.name, len(candidates), milliseconds_since(stage_started)))
        if graph.failure:
            trace.warnings.append(f"the graph was not followed: {graph.failure}")
        trace.fusion_elapsed = milliseconds_since(started) - trace.graph_elapsed
        return candidates

    def _follow_graph(self, state: SearchState, fused: Ranking, lists: LegLists, graph: IndexGraph) -> Ranking:
        """Return the fused list with score transfers applied: as a third list to fuse, as factors, or as addends."""
        started = perf_counter()
        trace, rules, request = state.trace, state.preset.graph, state.request
        if not graph.is_available:
            trace.graph_skipped_reason = "the index has no methods edges and candidates"
            return fused
        # With strict semantics, operators and quotes state what a note itself must contain. So add no linked notes.
        must_match = request.query_with_exclusions is not None and request.terms.has_operators
        expansion = expand_graph(fused, graph, rules, max_added=0 if must_match else state.scope.depth)
        trace.graph_elapsed = milliseconds_since(started)
        if graph.failure:
            trace.graph_skipped_reason = graph.failure
            return fused
        trace.transfers, trace.graph_count = expansion.transfers, len(expansion.transfers)
        if rules.use == "source":
            graph_results = graph_list(expansion, fused[: rules.seeds], fused, state.scope.depth)
            candidates = state.fuse({**lists, "graph": graph_results})
        else:
            if rules.use == "addition" and expansion.candidates and "vector" in lists:
                vector = self._with_similarities(state, lists["vector"], expansion.candidates)
                # Fuse again, so that the linked notes get points for their similarity. Add no other notes.
                expanded_ids = {candidate.id for candidate in (*fused, *expansion.candidates)}
                fused_again = state.fuse({**lists, "vector": vector})
                fused = [candidate for candidate in fused_again if candidate.id in expanded_ids]
            candidates, result = propagate_scores(fused, expansion, rules)
            candidates = state.apply_stage("graph", candidates, result)
        trace.fused_count = len(candidates)
        trace.graph_elapsed = milliseconds_since(started)
        return candidates

    def _rerank(self, state: SearchState, ranked: Ranking, options: SearchOptions, lists: LegLists) -> Ranking:
        """Return the candidates, reranked if possible; set the ``steps`` of the candidates that may become hits."""
        rules, trace = state.preset.rerank, state.trace
        for candidate in ranked[: max(options.top_k, options.rerank_top_n if self._second_stage else 0)]:
            candidate.steps = tuple(change.step() for change in state.changes.get(candidate.id, ()))
        if not ranked:
            trace.rerank_skipped_reason = "empty_candidates"
        elif not options.rerank or not options.rerank_top_n or not rules.on:
            trace.rerank_skipped_reason = "mode_off"
        elif self._second_stage is None:
            trace.rerank_skipped_reason = "no_reranker"
        else:
            top_n, legs = options.rerank_top_n, (lists["lexical"], lists["vector"])
            rules = replace(rules, budget_ms=option_or_default(options.rerank_budget_ms, rules.budget_ms))
            graph = IndexGraph(self._index, state.request, state.scope, max(1, rules.previous))
            frequencies = self._frequencies(state, state.request.terms) if rules.passages else None
            texts = RerankInput(state.request, frequencies, graph)
            return self._second_stage.run(ranked, texts, trace, rules, top_n=top_n, legs=legs)
        return ranked
