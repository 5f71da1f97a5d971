"""The walk: a person's words go to the legs, and what they find becomes one list that can account for itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Unpack

from recollect import arguments
from recollect.errors import StoreError
from recollect.fusion import convex_combination, reciprocal_rank_fusion
from recollect.model import DEFAULT_NAMESPACE, Candidate, Filters
from recollect.query import AliasTable, Query, Token, compile_fts5
from recollect.ranking import Calibration, calibration_of
from recollect.rerankers import RerankerSpec, reranker_from
from recollect.retrieval.catalogue import PresetSpec, preset_from
from recollect.retrieval.chunks import Chunks, NamedChunks
from recollect.retrieval.confidence import ConfidenceScorer
from recollect.retrieval.connections import IndexConnections
from recollect.retrieval.context import read_closely
from recollect.retrieval.deadlines import Workers
from recollect.retrieval.dense import DenseLeg, Nearest, QueryVector
from recollect.retrieval.failures import told
from recollect.retrieval.focus import focused
from recollect.retrieval.graph import explore, lend
from recollect.retrieval.inheritance import inherit_confidence
from recollect.retrieval.lexical import LexicalLeg, Worded
from recollect.retrieval.matching import sought
from recollect.retrieval.options import SearchKeywords, SearchOptions, takes_search_options
from recollect.retrieval.preset import Preset
from recollect.retrieval.rarity import Rarity, rarity_of
from recollect.retrieval.request import Aliases, Place, Request, read_request
from recollect.retrieval.result import SearchResult
from recollect.retrieval.rules import FusionRules
from recollect.retrieval.second_stage import SecondStage
from recollect.retrieval.stages import Scene, run_stage
from recollect.retrieval.substitution import Substitution, substitute
from recollect.retrieval.trace import StageRun, Trace
from recollect.retrieval.vector_scale import scale_similarities
from recollect.retrieval.wording import retry_in_words

if TYPE_CHECKING:
    from recollect.embedders.base import Embedder
    from recollect.stores.base import SearchIndex

__all__ = ["Retrieval"]

EMBEDDER_SECONDS = 30.0
"""How long a query's vector is waited for: long enough for a model that is loaded for the first time."""
RERANKER_SECONDS = 10.0


class Retrieval:
    """Searches an index that keeps the search part of a store's contract.

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

        ``trigram_chunks`` are the notes whose names the ladder's last rung compares, for an index that cannot do so
        itself. An embedder or reranker that does not answer in time is done without.
        """
        self._index = index
        self._dense = DenseLeg(index, embedder)
        self._reranker = reranker_from(reranker)
        self._aliases = AliasTable(aliases) if aliases else None
        self._preset = preset_from(preset)
        self._chunks = None if trigram_chunks is None else NamedChunks(trigram_chunks)
        self._rerank_workers = Workers()
        self._embedder_timeout = arguments.number("embedder_timeout", embedder_timeout, at_least=0)
        self._reranker_timeout = arguments.number("reranker_timeout", reranker_timeout, at_least=0)

    @property
    def preset(self) -> Preset:
        """The preset of searches that name none."""
        return self._preset

    @takes_search_options
    def search(
        self, query: str, *, options: SearchOptions | None = None, **keywords: Unpack[SearchKeywords]
    ) -> SearchResult:
        """Return the best notes for ``query``, and the trace of how they were found.

        The keywords are the fields of :class:`SearchOptions`; with ``options`` they change it. What cannot be done,
        such as a vector search without a model, is left out, and the trace says so.
        """
        started = perf_counter()
        arguments.text("query", query)
        options = SearchOptions.of(options, keywords)
        chosen = self._preset if options.preset is None else preset_from(options.preset)
        depth = chosen.candidate_k if options.candidate_k is None else options.candidate_k
        place = Place(options.namespace or DEFAULT_NAMESPACE, Filters.of(options.filters), max(options.top_k, depth))
        lowest = chosen.min_confidence if options.min_confidence is None else options.min_confidence
        threshold = chosen.answer_threshold if options.answer_threshold is None else options.answer_threshold
        now = arguments.optional_instant("now", options.now)
        request = read_request(query, chosen, self._aliases, options.question_date, now)
        walk = _Walk(
            chosen,
            request,
            place,
            Trace(
                mode=options.mode,
                original_query=query,
                compiled_query=request.compiled,
                candidate_k=depth,
                rrf_k=chosen.fusion.k,
                answer_threshold=threshold,
                preset=chosen.name,
                embedder=self._dense.name,
                excluded=request.excluded,
                only_stopwords=request.only_stopwords,
                date_hints=request.date_hints,
                times=request.times,
                time_only=request.time_only,
                warnings=list(request.warnings),
            ),
            calibration_of(self._dense.name),
        )
        if chosen.query.other_forms:
            self._substitute(walk)
        lists = self._complete(walk, self._legs(walk, options.vector, retry=not options.skip_retry_ladder))
        self._report_substitutions(walk)
        lists = self._with_notes_of_times(walk, lists) if request.time_only else lists
        lists = self._in_context(walk, lists)
        fused = self._ranked(walk, lists)
        scorer = self._confidence_scorer(walk, fused)
        if lowest > 0:
            confident = scorer.above(lowest, fused, walk.trace)
            walk.trace.below_min_confidence = len(fused) - len(confident)
            fused = confident
        second_stage = SecondStage(self._reranker, chosen.rerank, self._rerank_workers, self._reranker_timeout)
        final = second_stage.run(
            query,
            fused,
            walk.trace,
            wanted=options.rerank,
            top_n=options.rerank_top_n,
            legs=(lists["lexical"], lists["vector"]),
        )
        hits = tuple(scorer.hit(rank, candidate) for rank, candidate in enumerate(final[: options.top_k], start=1))
        superseded = [candidate for candidate in final if candidate.superseded_by]
        hits = inherit_confidence(hits, superseded, scorer.confidence_before_demotion)
        walk.trace.evidence = {hit.id: scorer.evidence(hit.candidate) for hit in hits}
        walk.trace.results = [hit.candidate for hit in hits]
        walk.trace.total_elapsed = (perf_counter() - started) * 1000
        return SearchResult(query, hits, walk.trace)

    def _confidence_scorer(self, walk: _Walk, ranked: Sequence[Candidate]) -> ConfidenceScorer:
        """Return the scorer that computes the confidence of a search's candidates."""
        request = walk.request
        return ConfidenceScorer(
            walk.worded,
            ranked,
            walk.calibration,
            rarity=self._rarity(walk, walk.worded.tree),
            background=walk.background,
            intervals=request.times,
            compares_scores=walk.preset.fusion.method == "convex",
            words=request.tree,
            time_only=request.time_only,
            only_stopwords=request.only_stopwords,
        )

    def _legs(self, walk: _Walk, vector: Any, *, retry: bool) -> dict[str, list[Candidate]]:
        """Run the legs that the mode asks for and return their lists by name; the query is embedded meanwhile."""
        trace, asked = walk.trace, walk.trace.mode
        refusal = "" if asked == "bm25" else self._dense.refusal(vector)
        if refusal == "" and asked in ("hybrid", "semantic"):
            refusal = "there is no embedder, so the search was by words alone; open the memory with one"
        if refusal:
            trace.warnings.append(refusal)
        trace.mode = "bm25" if refusal is not None else "semantic" if asked == "semantic" else "hybrid"
        trace.fell_back_to_bm25 = trace.mode == "bm25" and asked in ("hybrid", "semantic")
        waiting = None
        if trace.mode != "bm25":
            if vector is None:
                self._focus(walk)
            waiting = self._dense.begin(walk.request, vector, self._embedder_timeout)
        # The source documents search by words even where only meaning counts; there it costs time and changes nothing.
        words = trace.mode != "semantic" or walk.preset.query.reading == "literal"
        failure = self._lexical(walk, retry=retry) if words else None
        nearest = self._nearest(waiting, walk) if waiting else None
        if trace.mode == "semantic" and nearest is not None and nearest.found is None:
            trace.mode, trace.fell_back_to_bm25 = "bm25", True
            failure = failure if words else self._lexical(walk, retry=retry)
        if isinstance(failure, StoreError) and not (nearest and nearest.found is not None):
            raise failure  # nothing could be searched at all: an empty answer would be a lie
        trace.bm25_count = len(walk.worded.found)
        walk.nearest = nearest or walk.nearest
        lists = {"lexical": walk.worded.found, "vector": walk.nearest.found or []}
        trace.vector_count = len(lists["vector"])
        return lists

    def _complete(self, walk: _Walk, lists: dict[str, list[Candidate]]) -> dict[str, list[Candidate]]:
        """Add the candidates of each leg to the other leg's list, with that leg's own score."""
        if lists["vector"]:
            walk.background = lists["vector"][-1].score
        if not walk.preset.fusion.score_union or walk.trace.mode != "hybrid":
            return lists
        leg = LexicalLeg(self._index, walk.preset, self._aliases, self._chunks)
        lexical = lists["lexical"]
        try:
            lexical = leg.score(walk.worded, lists["vector"], walk.place)
        except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
            walk.trace.warnings.append(f"lexical scores of candidates from the vector leg are missing: {told(error)}")
        return {"lexical": lexical, "vector": self._joined(walk, lists["vector"], lists["lexical"])}

    def _substitute(self, walk: _Walk) -> None:
        """Look for other forms of numbers, identifiers and names that no note holds as they were written."""
        request = walk.request
        rarity = self._rarity(walk, request.words)
        if rarity is None or not rarity.notes:
            return

        def note_counts(queries: Sequence[Query]) -> Sequence[int]:
            counts: list[int] = self._index.note_counts(queries, namespace=walk.place.namespace)[1]
            return counts

        try:
            words, walk.substitutions = substitute(request.words, rarity, note_counts)
        except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
            walk.trace.warnings.append(f"other forms of the query's words were not looked for: {told(error)}")
            return
        if walk.substitutions:
            tree = replace(words, tokens=(*words.tokens, *request.tree.tokens[len(request.words.tokens) :]))
            compiled = walk.trace.compiled_query = compile_fts5(tree)
            walk.request = replace(request, words=words, tree=tree, compiled=compiled)

    def _report_substitutions(self, walk: _Walk) -> None:
        """Name in the warnings what was searched for in the place of words that no note holds.

        Where filters hide notes, only what was found is named.
        """
        trace, found = walk.trace, walk.worded.found
        trace.substitutions = tuple(
            each for each in walk.substitutions if not walk.place.filters or any(each.is_in(note) for note in found)
        )
        trace.warnings += [each.in_words() for each in trace.substitutions]
        retried = retry_in_words(trace)
        if retried and walk.preset.ladder.strict_guesses:
            trace.warnings.append(retried)

    def _with_notes_of_times(self, walk: _Walk, lists: dict[str, list[Candidate]]) -> dict[str, list[Candidate]]:
        """Add the notes that were created within the times that a query asks for to the list of a leg.

        Without a vector leg they come in the order in which they were stored, with a lexical score of 0.
        """
        leg = "vector" if walk.nearest.query is not None else "lexical"
        known = {candidate.id for candidate in lists[leg]}
        joined = list(lists[leg])
        for time in walk.request.times:
            for candidate in self._notes_of(walk, walk.place.within(time)):
                if candidate.id not in known:
                    known.add(candidate.id)
                    joined.append(candidate)
                    if leg == "vector":
                        candidate.vector_rank = len(joined)
        return {**lists, leg: joined}

    def _notes_of(self, walk: _Walk, place: Place) -> list[Candidate]:
        """Return notes of a place: those nearest to the query, or without a vector the first of them."""
        query = walk.nearest.query
        try:
            if query is not None:
                return self._dense.search(lambda: query, walk.request, place).found or []
            page = getattr(self._index, "page", None)
            if page is None:
                return []
            notes = page(place.depth, namespace=place.namespace, filters=place.filters).notes
            return self._index.candidates(
                [note.id for note in notes],
                namespace=place.namespace,
                filters=place.filters,
                without=walk.request.excluding,
            )
        except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
            walk.trace.warnings.append(f"the notes of the time that was asked for are missing: {told(error)}")
            return []

    def _focus(self, walk: _Walk) -> None:
        """Leave such words out of what stands for the query's meaning as too many notes hold."""
        request, common = walk.request, walk.preset.query.common
        rarity = self._rarity(walk, request.words) if request.meaning and common < 1 else None
        if rarity is not None:
            walk.request = replace(request, meaning=focused(request.meaning, request.words, rarity, common))
        walk.trace.embedded_query = walk.request.meaning if walk.request.meaning != request.query else ""

    def _rarity(self, walk: _Walk, tree: Query) -> Rarity | None:
        """Return how rare the words of a query are, unless the index cannot tell."""
        if tree.tokens not in walk.rarities:
            try:
                walk.rarities[tree.tokens] = rarity_of(tree, self._index, walk.place.namespace)
            except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
                walk.rarities[tree.tokens] = None
                walk.trace.warnings.append(f"the document frequencies of the query's terms are missing: {told(error)}")
        return walk.rarities[tree.tokens]

    def _nearest(self, waiting: Callable[[], QueryVector], walk: _Walk) -> Nearest:
        """Search by meaning, once the query's vector is there."""
        nearest = self._dense.search(waiting, walk.request, walk.place)
        walk.trace.vector_elapsed, walk.trace.embedder_used = nearest.elapsed, nearest.embedder_used
        if nearest.warning:
            walk.trace.warnings.append(nearest.warning)
        return nearest

    def _lexical(self, walk: _Walk, *, retry: bool) -> Exception | None:
        """Search by words, and return what went wrong, if anything did."""
        started = perf_counter()
        leg = LexicalLeg(self._index, walk.preset, self._aliases, self._chunks)
        try:
            walk.worded = leg.search(walk.request, walk.place, walk.trace.attempts, retry=retry)
            walk.trace.stem_only = walk.worded.stem_only
        except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
            walk.trace.error_stage, walk.trace.error_detail = "bm25", told(error)
            walk.trace.warnings.append(f"the search by words failed: {told(error)}")
            return error
        finally:
            walk.trace.bm25_elapsed = (perf_counter() - started) * 1000
        return None

    def _in_context(self, walk: _Walk, lists: dict[str, list[Candidate]]) -> dict[str, list[Candidate]]:
        """Return the lists with the best notes read more closely, and with the turns that come in by their neighbours.

        Who writes operators or quotes says what a note itself must hold.
        """
        rules, worded = walk.preset.context, walk.worded
        if not rules.on or walk.trace.mode == "semantic" or worded.by_name or worded.tree.has_operators:
            return lists
        started = perf_counter()
        rarity = self._rarity(walk, worded.tree)
        if rarity is not None:
            connections = IndexConnections(self._index, walk.request, walk.place, rules.reach)
            reading = read_closely(lists, worded.tree, rarity, connections, rules)
            walk.trace.contexts = reading.contexts
            walk.highest = reading.highest
            lists = {"lexical": reading.lexical, "vector": self._joined(walk, lists["vector"], reading.newcomers)}
            if connections.failure:
                walk.trace.warnings.append(f"turns were not read with those beside them: {connections.failure}")
        walk.trace.context_elapsed = (perf_counter() - started) * 1000
        return lists

    def _joined(self, walk: _Walk, found: list[Candidate], newcomers: list[Candidate]) -> list[Candidate]:
        """Return what was found by meaning with newcomers behind it, if the index can tell how near they are."""
        try:
            return self._dense.join(walk.nearest._replace(found=found), newcomers, walk.place)
        except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
            walk.trace.warnings.append(
                f"similarities of candidates from outside the vector leg are missing: {told(error)}"
            )
            return found

    def _ranked(self, walk: _Walk, lists: dict[str, list[Candidate]]) -> list[Candidate]:
        """Return one list: the legs fused, connections followed, and each stage of the preset applied."""
        started = perf_counter()
        trace, rules = walk.trace, walk.preset.graph
        fusing = {leg: found for leg, found in lists.items() if leg in _LEGS_OF[trace.mode]}
        fused = walk.fuse(fusing)
        if walk.preset.context.on and not walk.request.time_only:
            fused = fused[: walk.place.depth]  # those beside the best made the lists longer than was asked for
        trace.fused_count = len(fused)
        connections = IndexConnections(self._index, walk.request, walk.place, rules.reach)
        if rules.use != "off":
            fused = self._connected(walk, fused, fusing, connections)
        scene = Scene(
            walk.request.query, walk.request.now, connections, walk.forms_of_only_term, walk.request.time_only
        )
        for stage, settings in walk.preset.stages:
            before = perf_counter()
            fused = run_stage(stage, settings, fused, scene)
            trace.stages.append(StageRun(stage, len(fused), (perf_counter() - before) * 1000))
        if connections.failure:
            trace.warnings.append(f"connections were not followed: {connections.failure}")
        trace.fusion_elapsed = (perf_counter() - started) * 1000 - trace.graph_elapsed
        return fused

    def _connected(
        self,
        walk: _Walk,
        fused: list[Candidate],
        lists: dict[str, list[Candidate]],
        connections: IndexConnections,
    ) -> list[Candidate]:
        """Return the fused list with what the graph brings: a third list, a factor, or score that is lent."""
        started = perf_counter()
        trace, rules = walk.trace, walk.preset.graph
        if not connections.known:
            trace.graph_skipped_reason = "the index has no methods edges and candidates"
            return fused
        # Who writes operators or quotes says what a note must hold; one that is only connected need not hold it.
        said = walk.request.excluding is not None and walk.request.words.has_operators
        found = explore(fused, connections, rules, most=0 if said else walk.place.depth)
        trace.graph_elapsed = (perf_counter() - started) * 1000
        if connections.failure:
            trace.graph_skipped_reason = connections.failure
            return fused
        trace.loans, trace.graph_count = found.loans, len(found.loans)
        if rules.use == "source":
            graph = found.as_list(fused[: rules.seeds], fused, walk.place.depth)
            connected = walk.fuse({**lists, "graph": graph})
        else:
            if rules.use == "addition" and found.newcomers and "vector" in lists:
                vector = self._joined(walk, lists["vector"], found.newcomers)
                known = {candidate.id for candidate in (*fused, *found.newcomers)}
                fused = [each for each in walk.fuse({**lists, "vector": vector}) if each.id in known]
            connected = lend(fused, found, rules)
        trace.fused_count = len(connected)
        trace.graph_elapsed = (perf_counter() - started) * 1000
        return connected


class _Walk:
    """One search on its way: what was asked, under which rules, and what is written down of it."""

    __slots__ = (
        "background",
        "calibration",
        "highest",
        "nearest",
        "place",
        "preset",
        "rarities",
        "request",
        "substitutions",
        "trace",
        "worded",
    )

    def __init__(self, preset: Preset, request: Request, place: Place, trace: Trace, calibration: Calibration) -> None:
        self.preset = preset
        self.request = request
        self.place = place
        self.trace = trace
        self.calibration = calibration
        self.worded = Worded([], request.tree)
        self.nearest = Nearest(None)
        self.background: float | None = None
        """The score of the last note that the vector leg itself retrieved: the similarity that fusion scales to 0."""
        self.rarities: dict[tuple[Token, ...], Rarity | None] = {}
        """The document frequencies of the terms of each query that was looked up; ``None`` if the index failed."""
        self.substitutions: tuple[Substitution, ...] = ()
        """The words that are searched for in other forms, too."""
        self.highest: float | None = None
        """The best lexical score before coverage, which fusion scales to 1; a poor match stays below it."""

    def fuse(self, lists: Mapping[str, Sequence[Candidate]]) -> list[Candidate]:
        """Fuse the lists of several legs by the rules of the preset."""
        rules = self.fusion
        highest = {"lexical": self.highest}
        if rules.scales_similarities and self.background is not None and lists.get("vector"):
            deviations = rules.deviations if len(lists) > 1 else 0.0  # a leg alone has no other to leave influence to
            scaled = scale_similarities(
                lists["vector"], self.background, penalty=rules.chunk_penalty, deviations=deviations
            )
            lists = {**lists, "vector": scaled.found}
            highest["vector"] = scaled.one
            if rules.score_union:
                rules = rules.changed({"least": {"vector": scaled.zero, **rules.least}})
        self.trace.fusion = rules.to_dict()
        if rules.method == "convex":
            self.trace.fusion["highest"] = {leg: one for leg, one in highest.items() if one is not None}
        return fuse(lists, rules, highest)

    @property
    def forms_of_only_term(self) -> tuple[str, ...]:
        """The other forms of the query's only term."""
        return self.substitutions[0].forms if len(sought(self.request.words)) == len(self.substitutions) == 1 else ()

    @property
    def fusion(self) -> FusionRules:
        """The rules of the fusion, in which a guess of the lexical leg counts less, and a weak model."""
        rules = self.preset.fusion
        shares = {
            "lexical": self.preset.ladder.trust if self.worded.guessed else 1.0,
            "vector": self.calibration.strength if rules.by_strength else 1.0,
        }
        weighed = {leg: rules.weights.get(leg, 1.0) * share for leg, share in shares.items() if share != 1}
        return rules.changed({"weights": {**rules.weights, **weighed}}) if weighed else rules


_LEGS_OF = {"hybrid": ("lexical", "vector"), "bm25": ("lexical",), "semantic": ("vector",)}


def fuse(
    lists: Mapping[str, Sequence[Candidate]], rules: FusionRules, highest: Mapping[str, float | None]
) -> list[Candidate]:
    """Fuse the lists of several legs by the rules of a preset; ``highest`` has the score that becomes 1, by leg."""
    legs, found = list(lists), list(lists.values())
    weights = [rules.weights.get(leg, 1.0) for leg in legs]
    if rules.method == "convex":
        least = [rules.least.get(leg) for leg in legs]
        ones = [highest.get(leg) for leg in legs]
        return convex_combination(found, weights=weights, legs=legs, least=least, highest=ones)
    return reciprocal_rank_fusion(
        found, k=rules.k, weights=weights, rank_base=rules.rank_base, ties=rules.ties, legs=legs
    )
