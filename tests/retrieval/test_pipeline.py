"""The search pipeline over an index with scripted answers: each part, and what happens when it fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event
from typing import Any, ClassVar

import pytest

from recollect import Candidate
from recollect.errors import ArgumentError, EmbedderError, StoreError
from recollect.model import Edge
from recollect.ranking import STAGES, Superseded
from recollect.retrieval import (
    ContextRules,
    FusionRules,
    GraphRules,
    LadderRules,
    Preset,
    QueryRules,
    Retrieval,
    SearchResult,
    presets,
    recomputed_score,
)
from recollect.retrieval.options import Mode
from recollect.retrieval.rescoring import ONE_WORD_DEPTH
from recollect.stores.base import Model
from tests.retrieval.stubs import BareIndex, CountingIndex, Embedder, Index, Reranker, ScoringIndex

PLAIN = Preset(name="plain", ladder=LadderRules(on=False))
LITERAL = replace(PLAIN, query=QueryRules(semantics="literal", stopwords_alone=False, max_words=0))


def ids(result: SearchResult) -> list[str]:
    return [hit.id for hit in result]


def retrieval(index: Any, **parts: Any) -> Retrieval:
    return Retrieval(index, **{"preset": PLAIN, **parts})


class TestModes:
    INDEX = Index(lexical_ids={"tea": ["a", "b"]}, vector_ids=["b", "c"])

    @pytest.mark.parametrize(
        ("mode", "searched", "expected"),
        [
            ("auto", "hybrid", ["b", "a", "c"]),
            ("hybrid", "hybrid", ["b", "a", "c"]),
            ("bm25", "bm25", ["a", "b"]),
            ("semantic", "semantic", ["b", "c"]),
        ],
    )
    def test_modes_with_embedder(self, mode: Mode, searched: str, expected: list[str]) -> None:
        result = retrieval(self.INDEX, embedder=Embedder()).search("tea", mode=mode)
        assert (ids(result), result.trace.mode, result.trace.fell_back_to_bm25) == (expected, searched, False)
        assert result.warnings == []

    @pytest.mark.parametrize(("mode", "fell_back"), [("auto", False), ("hybrid", True), ("semantic", True)])
    def test_modes_without_embedder(self, mode: Mode, fell_back: bool) -> None:
        result = retrieval(self.INDEX).search("tea", mode=mode)
        assert (ids(result), result.trace.mode, result.trace.fell_back_to_bm25) == (["a", "b"], "bm25", fell_back)

    def test_unknown_mode_raises(self) -> None:
        with pytest.raises(ArgumentError, match="mode: must be one of auto, hybrid, bm25, semantic"):
            retrieval(self.INDEX).search("tea", mode="magic")  # type: ignore[arg-type]

    def test_semantic_mode_runs_lexical_leg_only_in_source_presets(self) -> None:
        index = Index(lexical_ids={"tea": ["a"]}, vector_ids=["b"])
        assert retrieval(index, embedder=Embedder()).search("tea", mode="semantic").trace.attempts == []
        literal = retrieval(index, embedder=Embedder(), preset=LITERAL).search("tea", mode="semantic")
        assert (ids(literal), literal.trace.bm25_count, len(literal.trace.attempts)) == (["b"], 1, 1)


class TestDepth:
    INDEX = Index(
        lexical_ids={"tea": [f"w{number:02}" for number in range(30)]},
        vector_ids=[f"v{number:02}" for number in range(30)],
    )

    def test_candidate_k_limits_each_leg(self) -> None:
        trace = retrieval(self.INDEX, embedder=Embedder()).search("tea", candidate_k=7, top_k=3).trace
        assert (trace.bm25_count, trace.vector_count, trace.fused_count, trace.candidate_k) == (7, 7, 14, 7)

    def test_candidate_k_default_comes_from_preset(self) -> None:
        preset = replace(PLAIN, candidate_k=4)
        trace = retrieval(self.INDEX, embedder=Embedder(), preset=preset).search("tea", top_k=3).trace
        assert (trace.bm25_count, trace.vector_count, trace.to_dict()["candidateK"]) == (4, 4, 4)
        override = retrieval(self.INDEX, preset=preset).search("tea", top_k=3, candidate_k=6).trace
        assert (override.bm25_count, override.candidate_k) == (6, 6)
        names = ("default", "jeffs-brain", "trovella", "memini", "weighted-graph")
        defaults = [retrieval(self.INDEX, preset=name).search("tea").trace.candidate_k for name in names]
        assert defaults == [200, 60, 60, 60, 60]

    def test_candidate_k_is_at_least_top_k(self) -> None:
        result = retrieval(self.INDEX).search("tea", candidate_k=5, top_k=20)
        assert (len(result), result.trace.bm25_count) == (20, 20)

    def test_smaller_top_k_returns_a_prefix(self) -> None:
        pipeline = retrieval(self.INDEX, embedder=Embedder(), preset="default")
        longest = pipeline.search("tea", top_k=50)
        for top_k in (0, 1, 5, 49):
            assert [(hit.id, hit.score) for hit in pipeline.search("tea", top_k=top_k)] == [
                (hit.id, hit.score) for hit in longest[:top_k]
            ]


class TestFusion:
    INDEX = Index(lexical_ids={"tea": ["a", "b"]}, vector_ids=["b", "c", "a"])

    def scores(self, rules: FusionRules) -> dict[str, float]:
        result = retrieval(self.INDEX, embedder=Embedder(), preset=replace(PLAIN, fusion=rules)).search("tea")
        return {hit.id: hit.score for hit in result}

    def test_rrf_scores(self) -> None:
        assert self.scores(FusionRules(k=5, rank_base=0)) == pytest.approx(
            {"a": 1 / 5 + 1 / 7, "b": 1 / 6 + 1 / 5, "c": 1 / 6}
        )

    def test_rrf_weights(self) -> None:
        assert self.scores(FusionRules(weights={"vector": 3.0})) == pytest.approx(
            {"a": 1 / 61 + 3 / 63, "b": 1 / 62 + 3 / 61, "c": 3 / 62}
        )

    def test_convex_scores(self) -> None:
        rules = FusionRules(method="convex", weights={"lexical": 0.5, "vector": 0.5})
        assert self.scores(rules) == pytest.approx({"a": 0.5, "b": 0.5, "c": 0.25})

    def test_weak_model_lowers_vector_weight(self) -> None:
        embedder = Embedder()
        embedder.name = "wordllama"  # a weak model: quality 0.45
        rules = FusionRules(weights={"vector": 2.0}, weight_by_model_quality=True)
        pipeline = retrieval(self.INDEX, embedder=embedder, preset=replace(PLAIN, fusion=rules))
        result = pipeline.search("tea")
        assert {hit.id: hit.score for hit in result} == pytest.approx(
            {"a": 1 / 61 + 0.9 / 63, "b": 1 / 62 + 0.9 / 61, "c": 0.9 / 62}
        )
        assert result.trace.to_dict()["fusion"]["weights"] == {"vector": 0.9}
        unweighted = replace(PLAIN, fusion=replace(rules, weight_by_model_quality=False))
        assert pipeline.search("tea", preset=unweighted).trace.to_dict()["fusion"]["weights"] == {"vector": 2.0}

    def test_unknown_model_has_full_vector_weight(self) -> None:
        rules = FusionRules(weights={"vector": 2.0}, weight_by_model_quality=True)
        result = retrieval(self.INDEX, embedder=Embedder(), preset=replace(PLAIN, fusion=rules)).search("tea")
        assert result.trace.to_dict()["fusion"]["weights"] == {"vector": 2.0}


class TestScoreUnion:
    """Both legs score every candidate, including those that only the other leg returned."""

    RULES = FusionRules(method="convex", min_scores={"lexical": 0.0}, score_union=True)
    PRESET = replace(PLAIN, fusion=RULES)

    def index(self, **answers: Any) -> ScoringIndex:
        settings = {"similarity_by_id": {"a": 0.985}, "lexical_scores": {"c": 0.5}, **answers}
        return ScoringIndex(lexical_ids={"tea": ["a", "b"]}, vector_ids=["b", "c", "d"], **settings)

    def search(self, index: Any, query: str = "tea", preset: Preset = PRESET, **options: Any) -> SearchResult:
        return retrieval(index, embedder=Embedder(), preset=preset).search(query, **options)

    def test_union_adds_the_score_of_the_other_leg(self) -> None:
        index = self.index()
        result = self.search(index)
        # Lexical scores are 2, 1 and 0.5 of 2; similarities count from 0.98, the lowest returned, to 1.
        assert {hit.id: hit.score for hit in result} == pytest.approx(
            {"b": 0.5 + 1.0, "a": 1.0 + 0.25, "c": 0.25 + 0.5, "d": 0.0}
        )
        lexical_only, vector_only = result[1].candidate, result[2].candidate
        assert (lexical_only.vector_similarity, lexical_only.vector_rank) == (0.985, 4)
        assert (vector_only.lexical_score, vector_only.lexical_rank) == (0.5, 3)
        assert (index.text_score_calls, index.similarity_calls) == ([["c", "d"]], [["a"]])
        assert (result.trace.bm25_count, result.trace.vector_count, result.warnings) == (2, 3, [])
        assert [recomputed_score(item) for item in result.trace.to_dict()["results"]] == [hit.score for hit in result]

    def test_union_copies_candidates(self) -> None:
        index = self.index(notes={"c": Candidate("c", path="c.md", content="c", score=0.1)})
        self.search(index)
        assert (index.notes["c"].score, index.notes["c"].lexical_score) == (0.1, None)

    def test_union_ignores_similarity_below_the_lowest_returned(self) -> None:
        assert {hit.id: hit.score for hit in self.search(self.index(similarity_by_id={"a": 0.2}))}[
            "a"
        ] == pytest.approx(1.0)

    def test_union_respects_min_scores(self) -> None:
        rules = replace(self.RULES, min_scores={"lexical": 0.0, "vector": 0.0})
        scores = {hit.id: hit.score for hit in self.search(self.index(), preset=replace(PLAIN, fusion=rules))}
        assert scores["d"] == pytest.approx(0.98)

    def test_union_without_text_scores_method(self) -> None:
        class Limited(ScoringIndex):
            text_scores = None  # type: ignore[assignment]

        result = self.search(Limited(**vars(self.index())))
        assert ids(result) == ["b", "a", "c", "d"]
        assert (result[2].candidate.lexical_score, result.warnings) == (None, [])

    @pytest.mark.parametrize("lexical_scores", [OSError("disk gone"), {"c": float("nan")}, {"c": "much"}, None])
    def test_union_warns_of_missing_lexical_scores(self, lexical_scores: Any) -> None:
        result = self.search(self.index(lexical_scores=lexical_scores))
        assert ids(result) == ["b", "a", "c", "d"]
        assert result[2].candidate.lexical_score is None
        (warning,) = result.warnings
        assert warning.startswith("lexical scores of candidates from the vector leg are missing: ")

    @pytest.mark.parametrize("mode", ["bm25", "semantic"])
    def test_union_is_skipped_with_one_leg(self, mode: Mode) -> None:
        index = self.index()
        self.search(index, mode=mode)
        assert (index.text_score_calls, index.similarity_calls) == ([], [])

    def test_union_skips_candidates_of_both_legs(self) -> None:
        index = ScoringIndex(lexical_ids={"tea": ["a"]}, vector_ids=["a"])
        self.search(index)
        assert index.text_score_calls == []

    def test_union_skips_fuzzy_name_matches(self) -> None:
        index = ScoringIndex(names=["a"], vector_ids=["b"], lexical_scores={"b": 1.0})
        result = self.search(index, query="taa", preset=replace(self.PRESET, ladder=LadderRules()))
        assert (set(ids(result)), index.text_score_calls) == ({"a", "b"}, [])

    def test_union_skips_queries_without_terms(self) -> None:
        index = ScoringIndex(vector_ids=["b"], lexical_scores={"b": 1.0})
        assert (ids(self.search(index, query="?!", vector=[0.6, 0.8])), index.text_score_calls) == (["b"], [])

    def test_union_discounts_stem_only_matches(self) -> None:
        notes = {
            "exact": Candidate("exact", path="exact.md", content="Ines"),
            "stem": Candidate("stem", path="stem.md", content="in town"),
        }
        index = ScoringIndex(
            lexical_ids={"ines": ["exact"]}, vector_ids=["stem"], notes=notes, lexical_scores={"stem": 5.0}
        )
        preset = replace(self.PRESET, query=QueryRules(stem_only_weight=0.1))
        scores = {hit.id: hit.candidate.lexical_score for hit in self.search(index, query="Ines", preset=preset)}
        assert scores == pytest.approx({"exact": 1.0, "stem": 0.1})

    def test_chunk_penalty_lowers_long_notes(self) -> None:
        notes = {"b": Candidate("b", path="b.md", content="x" * 1500), "d": Candidate("d", path="d.md", content="d")}
        index = ScoringIndex(vector_ids=["b", "c", "d"], notes=notes)
        rules = replace(self.RULES, chunk_penalty=0.5)
        result = self.search(index, preset=replace(PLAIN, fusion=rules))
        # b loses 0.5 · 0.02 · ln 5 = 0.016 of 1, and falls behind c at 0.99; d is the last.
        assert ids(result) == ["c", "b", "d"]
        assert result[1].candidate.vector_similarity == 1.0


@pytest.mark.parametrize("stage", sorted(STAGES))
def test_preset_accepts_every_stage(stage: str) -> None:
    preset = replace(PLAIN, stages=(STAGES[stage](),))
    result = retrieval(Index(lexical_ids={"tea": ["a", "b"]}), preset=preset).search("tea")
    assert sorted(ids(result)) == ["a", "b"]
    assert [run.stage for run in result.trace.stages] == [stage]


class TestSingleTermDepth:
    @pytest.mark.parametrize(
        ("query", "weight", "limit"),
        [("Ines", 0.1, ONE_WORD_DEPTH), ("Ines Costa", 0.1, 60), ("Ines", 1.0, 60)],
    )
    def test_single_term_query_searches_deeper(self, query: str, weight: float, limit: int) -> None:
        index = ScoringIndex(lexical_ids={"ines": [f"n{n:03}" for n in range(100)]})
        preset = replace(PLAIN, query=QueryRules(stem_only_weight=weight), candidate_k=60)
        result = retrieval(index, preset=preset).search(query)
        assert index.limits == [limit]
        assert result.trace.bm25_count == (60 if query == "Ines" else 0)


class TestFrequentTerms:
    """Terms above max_document_frequency are left out of the embedded query."""

    PRESET = replace(PLAIN, query=QueryRules(max_document_frequency=0.45))

    def embed(self, index: Any, query: str, **options: Any) -> tuple[list[str], str | None]:
        embedder = Embedder()
        result = retrieval(index, embedder=embedder, **{"preset": self.PRESET, **options}).search(query)
        assert result.warnings == []
        return embedder.texts, result.trace.to_dict().get("embeddedQuery")

    def test_frequent_term_is_not_embedded(self) -> None:
        index = CountingIndex(counts={"Ada": 90})
        assert self.embed(index, "When did Ada move?") == (["When did move?"], "When did move?")

    def test_frequent_term_stays_in_the_lexical_query(self) -> None:
        index = CountingIndex(lexical_ids={"ada OR move": ["a"]}, counts={"Ada": 90})
        assert ids(retrieval(index, embedder=Embedder(), preset=self.PRESET).search("When did Ada move?")) == ["a"]

    @pytest.mark.parametrize(
        "index",
        [
            CountingIndex(counts={"Ada": 50}),
            CountingIndex(counts={"Ada": 9}, total=9),
            Index(),
            BareIndex(Index()),
        ],
    )
    def test_all_terms_are_embedded_if_none_is_frequent(self, index: Any) -> None:
        assert self.embed(index, "When did Ada move?") == (["When did Ada move?"], None)

    def test_failing_counts_embed_the_whole_query(self) -> None:
        index, embedder = CountingIndex(counts=OSError("disk gone")), Embedder()
        result = retrieval(index, embedder=embedder, preset=self.PRESET).search("When did Ada move?")
        assert embedder.texts == ["When did Ada move?"]
        assert result.warnings == ["the document frequencies of the query's terms are missing: disk gone"]

    def test_failing_counts_warn_in_lexical_mode(self) -> None:
        index = CountingIndex(lexical_ids={"ada OR move": ["a"]}, counts=OSError("disk gone"))
        result = retrieval(index, embedder=Embedder(), preset=self.PRESET).search("When did Ada move?", mode="bm25")
        assert (ids(result), result.trace.embedded_query) == (["a"], "")
        assert result.warnings == ["the document frequencies of the query's terms are missing: disk gone"]

    def test_frequent_term_is_embedded_without_a_limit(self) -> None:
        index = CountingIndex(counts={"Ada": 90})
        assert self.embed(index, "When did Ada move?", preset=PLAIN) == (["When did Ada move?"], None)

    def test_excluded_term_is_not_embedded(self) -> None:
        assert self.embed(CountingIndex(counts={"Ada": 90}), "Ada move NOT Oslo")[0] == ["move"]


class TestContext:
    """Turns are rescored with their neighbours if the index has document frequencies."""

    NOTES: ClassVar = {
        "q": Candidate("q", path="q.md", content="Which tea?", session="s", position=1),
        "r": Candidate("r", path="r.md", content="The green one.", session="s", position=2),
        "z": Candidate("z", path="z.md", content="tea"),
    }
    EDGES = (Edge("q", "r", "next", "out"), Edge("r", "q", "previous", "out"))
    PRESET = replace(PLAIN, context=ContextRules(on=True, k1=1.0, b=0.0), fusion=FusionRules(method="convex"))

    def index(self, **answers: Any) -> CountingIndex:
        return CountingIndex(lexical_ids={"tea": ["q", "z"]}, notes=self.NOTES, links=self.EDGES, **answers)

    def test_context_adds_the_neighbouring_turn(self) -> None:
        result = retrieval(self.index(), preset=self.PRESET).search("tea")
        assert set(ids(result)) == {"q", "r", "z"}
        results_by_id = {item["id"]: item for item in result.trace.to_dict()["results"]}
        assert results_by_id["q"]["context"] == {"own": 2.0, "neighbours": ["r"]}
        assert results_by_id["r"]["context"] == {"own": None, "neighbours": ["q"]}
        assert "context" not in results_by_id["z"]
        assert results_by_id["q"]["lexicalScore"] == pytest.approx(
            2 * results_by_id["r"]["lexicalScore"] * 0.75
        )  # 1 and 2·0.5/1.5
        assert [recomputed_score(item) for item in results_by_id.values()] == [hit.score for hit in result]
        assert result.trace.to_dict()["contextElapsed"] > 0
        assert result.trace.bm25_count == 2

    def test_context_fetches_similarity_of_expanded_candidates(self) -> None:
        index = self.index(vector_ids=["z"], similarity_by_id={"r": 0.25, "nobody": 1.0})
        result = retrieval(index, embedder=Embedder(), preset=self.PRESET).search("tea")
        (expanded,) = [hit.candidate for hit in result if hit.id == "r"]
        assert (expanded.vector_similarity, expanded.vector_rank) == (0.25, 2)
        assert index.similarity_calls == [["r"]]

    def test_context_without_similarities_method(self) -> None:
        class Limited(CountingIndex):
            similarities = None  # type: ignore[assignment]

        index = Limited(**vars(self.index(vector_ids=["z"])))
        result = retrieval(index, embedder=Embedder(), preset=self.PRESET).search("tea")
        assert (set(ids(result)), result.warnings) == ({"q", "r", "z"}, [])

    @pytest.mark.parametrize("similarities", [OSError("disk gone"), {"r": float("nan")}, {"r": "near"}, None])
    def test_context_warns_of_failing_similarities(self, similarities: Any) -> None:
        index = self.index(vector_ids=["z"], similarity_by_id=similarities)
        result = retrieval(index, embedder=Embedder(), preset=self.PRESET).search("tea")
        assert set(ids(result)) == {"q", "r", "z"}
        assert result.warnings[0].startswith("similarities of candidates from outside the vector leg are missing: ")

    @pytest.mark.parametrize("query", ['"tea"', "tea AND tea", "tea NOT pot"])
    def test_context_is_skipped_for_operator_queries(self, query: str) -> None:
        lexical_ids = {text: ["q"] for text in ('"tea"', "tea AND tea", "tea AND NOT pot")}
        index = CountingIndex(lexical_ids=lexical_ids, notes=self.NOTES, links=self.EDGES)
        result = retrieval(index, preset=self.PRESET).search(query)
        assert (ids(result), result.trace.contexts) == (["q"], {})

    def test_context_is_skipped_in_semantic_mode(self) -> None:
        result = retrieval(self.index(vector_ids=["q"]), embedder=Embedder(), preset=self.PRESET).search(
            "tea", mode="semantic"
        )
        assert (ids(result), result.trace.contexts) == (["q"], {})

    def test_context_is_off_in_other_presets(self) -> None:
        assert ids(retrieval(self.index(), preset=PLAIN).search("tea")) == ["q", "z"]

    @pytest.mark.parametrize(
        "index",
        [
            Index(lexical_ids={"tea": ["q", "z"]}, notes=NOTES, links=EDGES),
            BareIndex(Index(lexical_ids={"tea": ["q", "z"]}, notes=NOTES)),
        ],
    )
    def test_context_is_skipped_without_counts(self, index: Any) -> None:
        result = retrieval(index, preset=self.PRESET).search("tea")
        assert (ids(result), result.warnings, result.trace.contexts) == (["q", "z"], [], {})

    def test_context_warns_of_failing_counts(self) -> None:
        index = CountingIndex(
            lexical_ids={"tea": ["q", "z"]}, notes=self.NOTES, links=self.EDGES, counts=OSError("disk gone")
        )
        result = retrieval(index, preset=self.PRESET).search("tea")
        assert (ids(result), result.trace.contexts) == (["q", "z"], {})
        assert result.warnings == ["the document frequencies of the query's terms are missing: disk gone"]

    def test_context_warns_of_failing_edges(self) -> None:
        index = CountingIndex(lexical_ids={"tea": ["q", "z"]}, notes=self.NOTES, links=OSError("disk gone"))
        result = retrieval(index, preset=self.PRESET).search("tea")
        assert ids(result) == ["q", "z"]
        assert result.warnings == ["turns were not rescored with their neighbours: disk gone"]

    def test_context_is_skipped_for_fuzzy_name_matches(self) -> None:
        index = CountingIndex(names=["q"], notes=self.NOTES, links=self.EDGES)
        result = retrieval(index, preset=replace(self.PRESET, ladder=LadderRules())).search("taa")
        assert (ids(result), result.trace.contexts) == (["q"], {})

    def test_context_accepts_counts_above_the_total(self) -> None:
        result = retrieval(self.index(counts={"tea": 10**6}), preset=self.PRESET).search("tea")
        assert set(ids(result)) == {"q", "r", "z"}


class TestExclusion:
    INDEX = Index(lexical_ids={"deploy AND NOT friday": ["a"]}, vector_ids=["a"])

    def test_excluded_terms_are_not_embedded(self) -> None:
        strict, literal = Embedder(), Embedder()
        retrieval(self.INDEX, embedder=strict).search("deploy NOT friday")
        retrieval(self.INDEX, embedder=literal, preset=LITERAL).search("deploy NOT friday")
        assert (strict.texts, literal.texts) == (["deploy"], ["deploy NOT friday"])

    def test_query_of_only_excluded_terms_warns(self) -> None:
        warning = "the query has only excluded terms; add a term to search for"
        assert retrieval(self.INDEX).search("NOT friday").warnings == [warning]
        assert retrieval(self.INDEX).search("deploy NOT friday").warnings == []
        assert retrieval(self.INDEX, preset=LITERAL).search("NOT friday").warnings == []

    def test_aliases_of_excluded_terms_are_not_embedded(self) -> None:
        embedder = Embedder()
        retrieval(self.INDEX, embedder=embedder, aliases={"friday": ["fri", "eow"], "deploy": ["ship", "roll"]}).search(
            "deploy NOT friday"
        )
        assert embedder.texts == ["deploy"]

    def test_fallback_steps_keep_exclusions(self) -> None:
        index = Index(names=["friday", "monday"])
        preset = replace(PLAIN, ladder=LadderRules())
        result = retrieval(index, preset=preset).search("nothing NOT friday")
        assert all("AND NOT friday" in query for query in index.queries)
        assert [attempt.query for attempt in result.trace.attempts] == ["nothing AND NOT friday"] + ["nothing"] * 3
        assert ids(result) == ["monday"]

    def test_source_presets_ignore_exclusions_in_fallback_steps(self) -> None:
        index = Index(names=["friday"])
        result = retrieval(index, preset="jeffs-brain").search("nothing NOT friday")
        assert result.trace.attempts[1] == ("strongest_term", "nothing", 0)
        assert ids(result) == ["friday"]


class TestQueryParsing:
    @pytest.mark.parametrize("query", ["NOT tea", "", "  ", "?!"])
    def test_query_without_positive_terms_is_not_embedded(self, query: str) -> None:
        embedder = Embedder()
        result = retrieval(Index(vector_ids=["a"]), embedder=embedder).search(query)
        assert (ids(result), embedder.texts, result.trace.embedder_used) == ([], [], False)
        assert ids(retrieval(Index(vector_ids=["a"]), embedder=embedder, preset=LITERAL).search(query)) == ["a"]
        assert ids(retrieval(Index(vector_ids=["a"])).search(query, vector=[1.0])) == ["a"]

    def test_dates_are_optional_terms(self) -> None:
        index = Index()
        preset = replace(PLAIN, query=QueryRules(match="all_then_any"))
        retrieval(index, preset=preset).search("tea 2 weeks ago", question_date="2026-04-18")
        assert index.queries == ["tea AND weeks AND ago", 'tea OR weeks OR ago OR "2026 04 04"']

    def test_long_query_is_truncated_only_for_lexical_search(self) -> None:
        embedder = Embedder()
        words = [f"w{number}ord" for number in range(200)]
        result = retrieval(Index(), embedder=embedder).search(
            " ".join(words) + " 1 day ago", question_date="2026-04-18"
        )
        assert embedder.texts == [" ".join(words) + " 1 day ago"]
        assert result.trace.compiled_query.count(" OR ") == 129
        assert result.trace.compiled_query.endswith("w127ord OR 20260417 OR 20260417")

    def test_stopwords_alone_are_searched(self) -> None:
        index = Index(lexical_ids={"to OR do OR list": ["a"]})
        assert ids(retrieval(index).search("to do list")) == ["a"]
        assert retrieval(index).search("who are we").trace.compiled_query == "who OR are OR we"
        assert retrieval(index, preset=LITERAL).search("who are we").trace.compiled_query == ""

    def test_truncated_query_keeps_exclusions(self) -> None:
        preset = replace(PLAIN, query=QueryRules(max_words=3))
        result = retrieval(Index(), preset=preset).search("one OR two OR three OR four OR five NOT six NOT seven")
        assert result.trace.compiled_query == "one OR two OR three AND NOT six AND NOT seven"
        assert result.warnings == [
            "the query has 7 words; lexical search uses the first 3, vector search all of them",
        ]
        short = retrieval(Index(), preset=preset).search("one OR two OR three NOT four")
        assert short.warnings == []

    def test_match_all_then_any(self) -> None:
        preset = replace(PLAIN, query=QueryRules(match="all_then_any"))
        pipeline = retrieval(Index(lexical_ids={"green AND tea": ["a"], "green OR tea": ["a", "b"]}), preset=preset)
        assert (ids(pipeline.search("green tea")), ids(pipeline.search("green OR tea"))) == (["a"], ["a", "b"])
        result = retrieval(Index(lexical_ids={"green OR tea": ["a", "b"]}), preset=preset).search("green tea")
        assert ids(result) == ["a", "b"]
        assert [tuple(attempt) for attempt in result.trace.attempts] == [
            ("initial", "green AND tea", 0),
            ("any_word", "green OR tea", 2),
        ]

    def test_query_over_the_length_limit_warns(self) -> None:
        assert "characters; only the first" in retrieval(Index()).search("tea " * 100_000).warnings[0]


class TestTime:
    QUERY = "what did I watch 2 weeks ago?"

    def test_dates_are_searched_as_phrases(self) -> None:
        index = Index(lexical_ids={'weeks OR ago OR "2026 04 04"': ["a"]})
        result = retrieval(index).search(self.QUERY, question_date="2026-04-18 (Sat)")
        assert ids(result) == ["a"]
        assert result.trace.compiled_query == "weeks OR ago OR 20260404 OR 20260404"
        assert result.trace.to_dict()["dateHints"] == ["2026/04/04"]

    def test_dates_are_embedded_only_in_literal_presets(self) -> None:
        embedder, literal_embedder = Embedder(), Embedder()
        retrieval(Index(), embedder=embedder).search(self.QUERY, question_date="2026-04-18")
        retrieval(Index(), embedder=literal_embedder, preset=LITERAL).search(self.QUERY, question_date="2026-04-18")
        assert embedder.texts == [self.QUERY]
        assert literal_embedder.texts == [f"{self.QUERY} 2026/04/04 2026-04-04"]

    def test_now_defaults_to_the_question_date(self) -> None:
        two_weeks_ago = datetime(2026, 4, 4, tzinfo=UTC)
        notes = {
            "old": Candidate("old", created_at=two_weeks_ago),
            "new": Candidate("new", created_at=datetime(2026, 9, 1)),  # noqa: DTZ001 (without a zone on purpose)
        }
        lexical_ids = {"weeks OR ago": ["new", "old"], 'weeks OR ago OR "2026 04 04"': ["new", "old"]}
        pipeline = retrieval(Index(lexical_ids=lexical_ids, notes=notes), preset="memini")
        result = pipeline.search("2 weeks ago", question_date="2026-04-18")
        assert ids(result) == ["old", "new"]
        assert "created 2026-04-04, proximity 1.00 to 2026-04-04" in [step.reason for step in result[0].candidate.steps]
        assert ids(pipeline.search("2 weeks ago", now="2026-09-15")) == ["new", "old"]
        assert ids(pipeline.search("2 weeks ago", question_date="2026-04-18", now="2026-09-15T00:00:00Z")) == [
            "new",
            "old",
        ]


class TestGraph:
    EDGES = (
        Edge("a", "x", "next", "out"),
        Edge("a", "b", "mention", "in"),
        Edge("a", "y", "next", "out", 2),
        Edge("b", "a", "mention", "out"),
    )
    INDEX = Index(lexical_ids={"tea": ["a", "b", "c"]}, links=EDGES)

    def search(self, index: Index | BareIndex = INDEX, query: str = "tea", **rules: Any) -> SearchResult:
        preset = replace(PLAIN, graph=GraphRules(**{"edges": {"next": 0.5, "mention": 0.5}, **rules}))
        return retrieval(index, preset=preset).search(query)

    def test_addition_transfers_scores_to_neighbours(self) -> None:
        result = self.search(use="addition", weight=0.5)
        expected = {"a": 1 / 61 + 0.25 / 62, "b": 1 / 62 + 0.25 / 61, "c": 1 / 63, "x": 0.25 / 61}
        assert {hit.id: hit.score for hit in result} == pytest.approx(expected)
        assert (result.trace.graph_count, result.trace.fused_count) == (3, 4)
        assert result[3].candidate.contributions == ()
        assert result.trace.to_dict()["results"][3]["transfers"] == [
            {"from": "a", "kind": "next", "direction": "out", "score": 0.5 / 61}
        ]

    @pytest.mark.parametrize("method", ["rrf", "convex"])
    def test_expanded_note_has_its_similarity_and_no_duplicate(self, method: Any) -> None:
        index = CountingIndex(
            lexical_ids={"tea": ["a"]}, vector_ids=["a", "b"], links=self.EDGES, similarity_by_id={"x": 0.5}
        )
        fusion = FusionRules(method=method, min_scores={"vector": 0.0})
        preset = replace(PLAIN, fusion=fusion, graph=GraphRules(use="addition", edges={"next": 0.25}))
        result = retrieval(index, embedder=Embedder(), preset=preset).search("tea")
        assert ids(result) == ["a", "x", "b"]
        assert (result.trace.fused_count, result.trace.vector_count) == (3, 2)
        expanded = result[1].candidate
        assert (expanded.vector_rank, expanded.vector_similarity) == (3, 0.5)
        own_score = {"rrf": 1 / 63, "convex": 0.5}[method]
        transfer = {"rrf": 2 / 61, "convex": 2.0}[method] * 0.25
        assert expanded.score == pytest.approx(own_score + transfer)
        assert index.similarity_calls == [["x"]]

    def test_max_lift_keeps_notes_below_their_source(self) -> None:
        unlimited, bounded = (self.search(use="addition", edges={"mention": 5.0}, max_lift=lift) for lift in (0.0, 0.9))
        assert ids(unlimited) == ["b", "a", "c"]
        assert ids(bounded) == ["a", "b", "c"]
        assert {hit.id: hit.score for hit in bounded} == pytest.approx({"a": 1 / 61, "b": 1 / 62, "c": 1 / 63})

    def test_candidate_k_limits_expanded_candidates(self) -> None:
        edges = [Edge("a", f"x{n:03}", "next", "out") for n in range(200)] + [Edge("a", "y", "mention", "out")]
        index = Index(lexical_ids={"tea": ["a"]}, links=edges)
        preset = replace(PLAIN, graph=GraphRules(use="addition", edges={"next": 0.1, "mention": 0.5}))
        result = retrieval(index, preset=preset).search("tea", candidate_k=20, top_k=20)
        assert result.trace.graph_count == 20
        assert ids(result)[:3] == ["a", "y", "x000"]
        assert result[1].relevance == 0.0

    def test_reach_limits_the_distance(self) -> None:
        assert "y" in ids(self.search(use="addition", reach=2))
        assert "y" not in ids(self.search(use="addition", reach=1))

    def test_multiplier_adds_no_candidates(self) -> None:
        result = self.search(use="multiplier", weight=1.0)
        # a gets 0.5/62, b gets 0.5/61, which is the most.
        expected = {"a": 1 / 61 * (1 + 61 / 62), "b": 2 / 62, "c": 1 / 63}
        assert {hit.id: hit.score for hit in result} == pytest.approx(expected)

    def test_source_is_a_third_ranked_list(self) -> None:
        result = self.search(use="source")
        ranks = {hit.id: [part.rank for part in hit.candidate.contributions if part.leg == "graph"] for hit in result}
        assert ranks == {"a": [1], "b": [2], "c": [3], "x": [4]}
        assert {hit.id: hit.score for hit in result} == pytest.approx(
            {"a": 2 / 61, "b": 2 / 62, "c": 2 / 63, "x": 1 / 64}
        )

    def test_seeds_limits_the_sources(self) -> None:
        assert [part.rank for part in self.search(use="source", seeds=1)[0].candidate.contributions] == [1, 1]
        assert ids(self.search(use="source", seeds=1)) == ["a", "b", "c", "x"]

    def test_excluded_notes_are_not_expanded(self) -> None:
        index = Index(lexical_ids={"tea AND NOT x": ["a", "b"]}, links=self.EDGES)
        result = self.search(index, query="tea NOT x", use="addition")
        assert ids(result) == ["a", "b"]
        assert result.trace.graph_count == 2

    @pytest.mark.parametrize("query", ['"tea"', "tea AND a"])
    def test_operator_queries_are_not_expanded(self, query: str) -> None:
        index = Index(lexical_ids={'"tea"': ["a", "c"], "tea AND a": ["a", "c"]}, links=self.EDGES)
        assert ids(self.search(index, query=query, use="addition")) == ["a", "c"]
        preset = replace(LITERAL, graph=GraphRules(use="addition", edges={"next": 0.5}))
        assert ids(retrieval(index, preset=preset).search(query)) == ["a", "c", "x"]

    def test_graph_is_skipped_without_edges(self) -> None:
        result = self.search(BareIndex(self.INDEX), use="addition")
        assert ids(result) == ["a", "b", "c"]
        assert result.trace.to_dict()["graphSkippedReason"] == "the index has no methods edges and candidates"

    @pytest.mark.parametrize("use", ["source", "addition"])
    def test_graph_without_neighbours_adds_no_list(self, use: str) -> None:
        result = self.search(Index(lexical_ids={"tea": ["a", "b"]}), use=use)
        assert {hit.id: hit.score for hit in result} == {"a": 1 / 61, "b": 1 / 62}
        assert result.trace.graph_count == 0

    def test_graph_warns_of_failing_candidates(self) -> None:
        class Failing(Index):
            def candidates(self, *_: Any, **__: Any) -> list[Candidate]:
                raise RuntimeError("disk gone")

        index = Failing(lexical_ids={"tea": ["a"]}, links=self.EDGES)
        result = retrieval(index, preset="default").search("tea")
        assert ids(result) == ["a"]
        assert result.warnings == ["the graph was not followed: disk gone"]

    def test_failing_edges_keep_all_hits(self) -> None:
        index = Index(lexical_ids={"tea": [f"{n}" for n in range(40)]}, links=OSError("disk gone"))
        assert len(retrieval(index, preset="default").search("tea", top_k=40)) == 40

    def test_graph_warns_of_failing_edges(self) -> None:
        result = self.search(Index(lexical_ids={"tea": ["a"]}, links=OSError("disk gone")), use="source")
        assert ids(result) == ["a"]
        assert result.warnings == ["the graph was not followed: disk gone"]


class TestOperatorsInQuestions:
    QUESTION = "why do we NOT use MongoDB?"

    def test_default_preset_treats_operators_as_words(self) -> None:
        result = retrieval(Index(lexical_ids={"use OR mongodb": ["a"]}), preset="default").search(self.QUESTION)
        assert ids(result) == ["a"]
        assert result.trace.excluded == ()
        assert "excluded" not in result.trace.to_dict()
        assert (result.trace.original_query, result.trace.compiled_query) == (self.QUESTION, "use OR mongodb")
        assert result.warnings[0] == (
            "NOT was read as a word, because the query is a question; to use operators, write the search terms alone"
        )

    def test_warning_lists_all_operators(self) -> None:
        result = retrieval(Index(), preset="default").search("is it tea AND milk OR is it NOT so?")
        assert result.warnings[0].startswith("AND and OR and NOT were read as words, because")

    def test_source_presets_treat_operators_as_operators(self) -> None:
        result = retrieval(Index(), preset="jeffs-brain").search(self.QUESTION)
        assert result.trace.compiled_query == "why OR do OR we AND NOT use OR mongodb"
        assert result.warnings == []

    def test_dates_are_appended_to_a_question(self) -> None:
        result = retrieval(Index(), preset="default").search(
            "what did I NOT eat 2 days ago?", question_date="2026-04-18"
        )
        assert result.trace.compiled_query == "eat OR 2 OR days OR ago OR 20260416 OR 20260416"

    def test_trace_lists_excluded_terms_as_written(self) -> None:
        pipeline = retrieval(Index(), preset="default", aliases={"k8s": ["kubernetes", "kube"]})
        trace = pipeline.search('Coffee NOT Decaf NOT "Instant  Mix" NOT kub* NOT K8s NOT Decaf').trace
        assert trace.excluded == ("Decaf", '"Instant Mix"', "kub*", "K8s")
        assert trace.to_dict()["excluded"] == list(trace.excluded)
        assert "excluded     Decaf\n" in retrieval(Index(), preset="default").search("coffee NOT Decaf, tea").explain()
        assert retrieval(Index(), preset="memini").search("coffee NOT decaf").trace.excluded == ()


class TestSuperseded:
    def test_newest_note_takes_the_rank_of_the_superseded(self) -> None:
        edges = (
            Edge("old", "new", "supersedes", "in"),
            Edge("new", "old", "supersedes", "out"),
            Edge("new", "newest", "superseded-by", "out"),
        )
        index = Index(lexical_ids={"phone": ["old", "other"]}, links=edges)
        preset = replace(PLAIN, stages=[{"stage": "superseded"}])  # type: ignore[arg-type]
        result = retrieval(index, preset=preset).search("phone")
        assert ids(result) == ["newest", "other", "old"]
        assert [hit.superseded_by for hit in result] == [(), (), ("newest",)]
        assert result[0].score == pytest.approx(1 / 61)
        assert result.to_dict()["hits"][2]["superseded_by"] == ["newest"]

    def test_filtered_out_note_still_supersedes(self) -> None:
        class FilteringIndex(Index):
            def candidates(self, ids: Any, *, filters: Any = None, **options: Any) -> list[Candidate]:
                return [] if filters else super().candidates(ids, filters=filters, **options)

        links = [Edge("a", "b", "supersedes", "in"), Edge("b", "c", "supersedes", "in")]
        pipeline = retrieval(
            FilteringIndex(lexical_ids={"tea": ["a"]}, links=links), preset=replace(PLAIN, stages=(Superseded(),))
        )
        (hit,) = pipeline.search("tea", filters={"tags": ["x"]})
        assert (hit.id, hit.score, hit.superseded_by) == ("a", 0.5 / 61, ("c",))
        (hit,) = pipeline.search("tea", filters={"created_before": "2020-01-01"})  # before it was superseded
        assert (hit.id, hit.score, hit.superseded_by) == ("a", 1 / 61, ())

    def test_cycle_supersedes_nothing(self) -> None:
        edges = (Edge("a", "b", "supersedes", "in"), Edge("b", "a", "supersedes", "in"))
        preset = replace(PLAIN, stages=[{"stage": "superseded"}])  # type: ignore[arg-type]
        result = retrieval(Index(lexical_ids={"phone": ["a", "b"]}, links=edges), preset=preset).search("phone")
        assert {hit.id: hit.superseded_by for hit in result} == {"a": (), "b": ()}
        assert [hit.score for hit in result] == [1 / 61, 1 / 62]

    def test_superseded_note_transfers_no_score(self) -> None:
        edges = (Edge("old", "new", "supersedes", "in"), Edge("old", "fig", "mention", "out"))
        preset = replace(PLAIN, graph=GraphRules(use="addition", edges={"mention": 0.5}))
        result = retrieval(Index(lexical_ids={"wifi": ["old"]}, links=edges), preset=preset).search("wifi")
        assert ids(result) == ["old"]

    def test_long_chain_is_followed_by_edges(self) -> None:
        edges = tuple(Edge(f"n{number}", f"n{number + 1}", "superseded-by", "out") for number in range(50))
        preset = replace(PLAIN, stages=[{"stage": "superseded"}])  # type: ignore[arg-type]
        result = retrieval(Index(lexical_ids={"phone": ["n0", "n7"]}, links=edges), preset=preset).search(
            "phone", top_k=50
        )
        assert {hit.id: hit.superseded_by for hit in result} == {"n50": (), "n0": ("n50",), "n7": ("n50",)}

    def test_endless_chain_stops_at_the_limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Endless(Index):
            def edges(self, ids: Sequence[str], **_: Any) -> list[Edge]:
                return [Edge(identifier, f"n{int(identifier[1:]) + 1}", "superseded-by", "out") for identifier in ids]

        monkeypatch.setattr("recollect.retrieval.graph.MAX_SUPERSESSIONS", 40)
        preset = replace(PLAIN, stages=[{"stage": "superseded"}])  # type: ignore[arg-type]
        result = retrieval(Endless(lexical_ids={"phone": ["n0"]}), preset=preset).search("phone")
        assert {hit.id: hit.superseded_by for hit in result} == {"n40": (), "n0": ("n40",)}

    def test_several_successors_and_a_cycle(self) -> None:
        ends = [("a", "b"), ("b", "d"), ("a", "d"), ("a", "c"), ("c", "e"), ("e", "c"), ("b", "f")]
        edges = tuple(Edge(old, new, "superseded-by", "out") for old, new in ends)
        preset = replace(PLAIN, stages=[{"stage": "superseded"}])  # type: ignore[arg-type]
        result = retrieval(Index(lexical_ids={"phone": ["a", "c"]}, links=edges), preset=preset).search("phone")
        assert {hit.id: hit.superseded_by for hit in result} == {
            "a": ("c", "d", "f"),
            "c": (),
            "d": (),
            "f": (),
        }

    def test_failing_successors_warn(self) -> None:
        class Failing(Index):
            def successors(self, *_: Any, **__: Any) -> Any:
                raise OSError("disk gone")

        preset = replace(PLAIN, stages=[{"stage": "superseded"}])  # type: ignore[arg-type]
        result = retrieval(Failing(lexical_ids={"phone": ["a"]}), preset=preset).search("phone")
        assert ids(result) == ["a"]
        assert result.warnings == ["the graph was not followed: disk gone"]

    def test_supersession_is_skipped_without_edges(self) -> None:
        index = BareIndex(Index(lexical_ids={"phone": ["old"]}))
        preset = replace(PLAIN, stages=[{"stage": "superseded"}])  # type: ignore[arg-type]
        assert ids(retrieval(index, preset=preset).search("phone")) == ["old"]


class TestRerank:
    INDEX = Index(lexical_ids={"tea": ["a", "b", "c", "d"]}, vector_ids=["a", "b", "c", "d"])

    def test_rerank_top_n_reorders_only_the_head(self) -> None:
        result = retrieval(self.INDEX, reranker=Reranker()).search("tea", rerank_top_n=2)
        assert ids(result) == ["b", "a", "c", "d"]
        assert (result.trace.reranked, result.trace.rerank_provider) == (True, "reversing")
        assert [hit.rerank_score for hit in result] == [1.0, 0.0, None, None]

    def test_rerank_precedes_top_k(self) -> None:
        assert ids(retrieval(self.INDEX, reranker=Reranker()).search("tea", top_k=1)) == ["d"]

    def test_rerank_is_skipped_if_legs_agree(self) -> None:
        pipeline = retrieval(self.INDEX, embedder=Embedder(), reranker=Reranker())
        trace = pipeline.search("tea").trace.to_dict()
        assert (trace["rerankSkippedReason"], trace["unanimity"]) == ("unanimity", {"agreements": 3})
        eager = Preset(name="eager", rerank=replace(PLAIN.rerank, agree_min=0))
        assert pipeline.search("tea", preset=eager).trace.reranked

    @pytest.mark.parametrize(
        ("query", "options", "parts", "reason"),
        [
            ("coffee", {"rerank": False}, {}, "empty_candidates"),
            ("tea", {"rerank": False}, {}, "mode_off"),
            ("tea", {"rerank_top_n": 0}, {"reranker": Reranker()}, "mode_off"),
            ("tea", {"preset": "trovella"}, {"reranker": Reranker()}, "mode_off"),
            ("tea", {}, {}, "no_reranker"),
        ],
    )
    def test_rerank_skipped_reason(
        self, query: str, options: dict[str, Any], parts: dict[str, Any], reason: str
    ) -> None:
        trace = retrieval(self.INDEX, **parts).search(query, **options).trace
        assert (trace.rerank_skipped_reason, trace.reranked) == (reason, False)

    def test_reranker_reads_title_and_summary(self) -> None:
        notes = {"a": Candidate("a", title="Tea", summary="Green", content="long"), "b": Candidate("b", content="b")}
        reranker = Reranker()
        pipeline = retrieval(Index(lexical_ids={"tea": ["a", "b"]}, notes=notes), reranker=reranker)
        pipeline.search("tea")
        default = presets()["default"]
        pipeline.search("tea", preset=replace(default, rerank=replace(default.rerank, max_margin=0)))
        assert reranker.documents == [["Tea\nGreen", "b"], ["Tea\nGreen\nlong", "b"]]

    def test_reranker_reads_the_previous_turns(self) -> None:
        notes = {name: Candidate(name, content=f"turn {name}?", session="s") for name in "abcd"}
        edges = [Edge("c", "b", "previous", "out"), Edge("c", "a", "previous", "out", 2), Edge("d", "x", "next", "out")]
        reranker = Reranker()
        pipeline = retrieval(Index(lexical_ids={"tea": ["c", "d"]}, notes=notes, links=edges), reranker=reranker)
        pipeline.search("tea", preset=replace(PLAIN, rerank=replace(PLAIN.rerank, characters=100, previous=2)))
        assert reranker.documents == [["turn a? turn b?\nturn c?", "turn d?"]]

    def test_reranker_reads_no_excluded_turn(self) -> None:
        notes = {"b": Candidate("b", content="secret"), "c": Candidate("c", content="c", session="s")}
        lexical_ids = {"tea AND NOT secret": ["c", "d"]}
        index = Index(lexical_ids=lexical_ids, notes=notes, links=[Edge("c", "b", "previous", "out")])
        reranker = Reranker()
        preset = replace(PLAIN, rerank=replace(PLAIN.rerank, characters=100, previous=1))
        retrieval(index, reranker=reranker, preset=preset).search("tea NOT secret")
        assert reranker.documents == [["c", "d"]]

    def test_rerank_blends_scores(self) -> None:
        preset = replace(PLAIN, rerank=replace(PLAIN.rerank, blend=0.5))
        index = Index(lexical_ids={"tea": ["a", "b", "c"]})
        before = {hit.id: hit.score for hit in retrieval(index).search("tea")}
        result = retrieval(index, reranker=Reranker([(1, 1.0), (0, 0.0)]), preset=preset).search("tea", rerank_top_n=2)
        assert ids(result) == ["b", "a", "c"]
        best = max(before.values())
        for hit, reranker_score in zip(result, (1.0, 0.0, 0.0), strict=True):
            assert hit.score == pytest.approx(0.5 * before[hit.id] + 0.5 * best * reranker_score)
        assert [hit.rerank_score for hit in result] == [1.0, 0.0, None]

    def test_rerank_is_skipped_if_the_best_note_leads(self) -> None:
        index = Index(lexical_ids={"tea": ["a", "b"]})
        for max_margin, reason in ((0.001, "margin"), (0.9, "")):
            preset = replace(PLAIN, rerank=replace(PLAIN.rerank, max_margin=max_margin))
            trace = retrieval(index, reranker=Reranker(), preset=preset).search("tea").trace
            assert (trace.rerank_skipped_reason, trace.reranked) == (reason, not reason)

    def test_rerank_is_skipped_if_most_notes_are_long(self) -> None:
        for length, reason in ((11, "long_notes"), (10, "")):
            notes = {name: Candidate(name, content="x" * length) for name in "ab"} | {"c": Candidate("c", content="c")}
            index = Index(lexical_ids={"tea": ["a", "b", "c"]}, notes=notes)
            preset = replace(PLAIN, rerank=replace(PLAIN.rerank, characters=10))
            trace = retrieval(index, reranker=Reranker(), preset=preset).search("tea").trace
            assert (trace.rerank_skipped_reason, trace.reranked) == (reason, not reason)

    def test_rerank_reads_the_passages_with_the_most_terms(self) -> None:
        sentences = {
            "Tea was on offer in the old market hall, next to bread.": 0,
            "We drank green tea by the harbour and stayed until the lamps were lit.": 1,
            "A green door, and nobody came to open it.": 2,
        }
        filler = "The weather was fine and nothing else happened on that long day in the country. " * 4
        content = filler.join(["", *sentences, ""])
        notes = {"a": Candidate("a", title="Trip", content=content), "b": Candidate("b", content="tea")}
        index = CountingIndex(lexical_ids={"green OR tea": ["a", "b"]}, notes=notes, counts={"tea": 9, "green": 2})
        reranker = Reranker([(0, 0.1), (1, 0.9), (2, 0.8)])
        rules = replace(PLAIN.rerank, characters=400, passages=2, blend=0.5, passage_blend=0.25)
        result = retrieval(index, reranker=reranker, preset=replace(PLAIN, rerank=rules)).search("green tea")
        ((first, second, third),) = reranker.documents
        assert first.startswith("Trip\n")
        assert "green tea" in first
        assert "green door" in second  # green is rarer than tea
        assert third == "tea"
        assert {hit.id: hit.rerank_score for hit in result} == {"a": 0.9, "b": 0.8}
        # One of two notes is long, which is not most of them, so that blend applies.
        (step,) = [step for step in result[0].candidate.steps if step.stage == "rerank"]
        assert step.factor == 0.5

    def test_rerank_has_another_weight_if_most_notes_are_long(self) -> None:
        content = "Green tea in the morning, and again in the afternoon. " * 20
        notes = {name: Candidate(name, content=content) for name in "abc"}
        index = Index(lexical_ids={"tea": ["a", "b", "c"]}, notes=notes)
        rules = replace(PLAIN.rerank, characters=100, passages=2, blend=0.5, passage_blend=0.25)
        reranker = Reranker([(0, 0.2), (2, 0.9), (9, 1.0), (1, 0.3)])
        result = retrieval(index, reranker=reranker, preset=replace(PLAIN, rerank=rules)).search("tea", rerank_top_n=3)
        # Three texts: two passages of a, and the first of b.
        assert len(reranker.documents[0]) == 3
        assert {hit.id: hit.rerank_score for hit in result} == {"a": 0.3, "b": 0.9, "c": None}
        steps = [step for hit in result for step in hit.candidate.steps if step.stage == "rerank"]
        assert {step.factor for step in steps} == {0.75}

    def test_rerank_budget_of_a_search(self) -> None:
        preset = replace(PLAIN, rerank=replace(PLAIN.rerank, budget_ms=1))
        pipeline = retrieval(self.INDEX, reranker=Reranker(delay=0.05), preset=preset)
        reasons = [pipeline.search("tea").trace.rerank_skipped_reason for _ in range(3)]
        assert reasons == ["", "", "budget"]
        assert pipeline.search("tea", rerank_budget_ms=0).trace.reranked

    def test_rerank_budget_limits_the_documents(self) -> None:
        preset = replace(PLAIN, rerank=replace(PLAIN.rerank, budget_ms=400))
        reranker = Reranker(delay=0.5)  # for four documents; a busy machine may take longer
        pipeline = retrieval(self.INDEX, reranker=reranker, preset=preset)
        for _ in range(3):
            assert pipeline.search("tea").trace.reranked
        # The first run is not measured, because it also loads the model. The second takes more than the budget.
        first, second, third = map(len, reranker.documents)
        assert (first, second) == (4, 4)
        assert third in (2, 3)
        pipeline = retrieval(
            self.INDEX, reranker=reranker, preset=replace(preset, rerank=replace(preset.rerank, budget_ms=1))
        )
        reasons = [pipeline.search("tea").trace.rerank_skipped_reason for _ in range(3)]
        assert reasons == ["", "", "budget"]
        generous = replace(preset, rerank=replace(preset.rerank, budget_ms=100_000))
        pipeline = retrieval(self.INDEX, reranker=reranker, preset=generous)
        assert all(pipeline.search("tea").trace.reranked for _ in range(3))
        assert list(map(len, reranker.documents[-3:])) == [4, 4, 4]

    def test_reranker_without_name(self) -> None:
        reranker = Reranker()
        reranker.name = None  # type: ignore[assignment]
        assert retrieval(self.INDEX, reranker=reranker).search("tea").explain()


class TestMinConfidence:
    NOTES: ClassVar = {
        "a": Candidate("a", content="green tea"),
        "b": Candidate("b", content="something else"),
    }

    def test_min_confidence_drops_weak_hits(self) -> None:
        pipeline = retrieval(Index(lexical_ids={"green OR tea": ["a", "b"]}, notes=self.NOTES))
        assert ids(pipeline.search("green tea")) == ["a", "b"]
        result = pipeline.search("green tea", min_confidence=0.5)
        assert (ids(result), result.trace.to_dict()["belowMinConfidence"]) == (["a"], 1)
        assert (result[0].confidence or 0) > 0.5

    def test_min_confidence_default_comes_from_preset(self) -> None:
        index = Index(lexical_ids={"green OR tea": ["b"]}, notes=self.NOTES)
        result = retrieval(index, preset=replace(PLAIN, min_confidence=0.5)).search("green tea")
        assert (ids(result), result.trace.rerank_skipped_reason) == ([], "empty_candidates")
        assert ids(
            retrieval(index, preset=replace(PLAIN, min_confidence=0.5)).search("green tea", min_confidence=0)
        ) == ["b"]

    def test_lexical_only_note_has_lower_confidence(self) -> None:
        index = Index(lexical_ids={"green OR tea": ["b"]}, vector_ids=["a"], notes=self.NOTES)
        lexical, vector = retrieval(index, embedder=Embedder()).search("green tea")
        assert (vector.id, lexical.id) == ("a", "b")
        assert (vector.confidence or 0) > (lexical.confidence or 0)

    def test_confidence_ignores_white_space(self) -> None:
        index = Index(
            lexical_ids={'"green tea"': ["a"]}, notes={"a": Candidate("a", content="the green \n\n\n\n - tea")}
        )
        (hit,) = retrieval(index).search('"green tea"', min_confidence=0.5)
        assert (hit.confidence or 0) > 0.5

    def test_min_confidence_keeps_neighbours_of_confident_notes(self) -> None:
        index = Index(lexical_ids={"green OR tea": ["a"]}, links=[Edge("a", "b", "next", "out")], notes=self.NOTES)
        preset = replace(PLAIN, graph=GraphRules(use="addition", edges={"next": 0.5}))
        assert ids(retrieval(index, preset=preset).search("green tea", min_confidence=0.5)) == ["a", "b"]

    def test_min_confidence_drops_session_mates(self) -> None:
        notes = {"a": Candidate("a", content="green tea", session="s"), "s": Candidate("s", content="x", session="s")}
        index = Index(lexical_ids={"green OR tea": ["a", "s"]}, notes=notes)
        preset = replace(PLAIN, graph=GraphRules(use="addition", edges={"session": 0.5}))
        assert ids(retrieval(index, preset=preset).search("green tea", min_confidence=0.5)) == ["a"]

    def test_min_confidence_keeps_successors_of_confident_notes(self) -> None:
        edges = [Edge("a", "b", "next", "out"), Edge("e", "new", "supersedes", "in"), Edge("c", "d", "next", "out")]
        edges.append(Edge("new", "newest", "supersedes", "in"))
        notes = self.NOTES | {"e": Candidate("e", content="green teas")}
        index = Index(lexical_ids={"green OR tea": ["a", "c", "e"]}, links=edges, notes=notes)
        preset = replace(PLAIN, graph=GraphRules(use="addition", edges={"next": 0.5}), stages=[{"stage": "superseded"}])  # type: ignore[arg-type]
        assert set(ids(retrieval(index, preset=preset).search("green tea"))) == set("abcde") | {"newest"}
        assert set(ids(retrieval(index, preset=preset).search("green tea", min_confidence=0.5))) == {
            "a",
            "b",
            "e",
            "newest",
        }

    def test_min_confidence_above_1_raises(self) -> None:
        with pytest.raises(ArgumentError, match="min_confidence: must be at most 1, got 2"):
            retrieval(Index()).search("tea", min_confidence=2)

    def test_answer_threshold_is_compared_with_the_best_confidence(self) -> None:
        notes = {"a": Candidate("a", content="green tea"), "b": Candidate("b", content="green")}
        index = Index(lexical_ids={"green OR tea": ["a", "b"]}, notes=notes)
        pipeline = retrieval(index)
        result = pipeline.search("green tea")
        best = max(hit.confidence or 0.0 for hit in result)
        assert (result.answer_threshold, result.best_confidence, result.has_answer) == (0.0, best, True)
        assert "answerThreshold" not in result.trace.to_dict()
        at_threshold = pipeline.search("green tea", answer_threshold=best)
        assert (ids(at_threshold), at_threshold.has_answer, at_threshold.trace.to_dict()["answerThreshold"]) == (
            ["a", "b"],
            True,
            best,
        )
        above = pipeline.search("green tea", answer_threshold=(best + 1) / 2)
        assert (ids(above), above.has_answer) == (["a", "b"], False)
        data = above.to_dict()
        assert (data["has_answer"], data["answer_threshold"], len(data["hits"])) == (False, (best + 1) / 2, 2)

    def test_no_hits_have_no_answer(self) -> None:
        result = retrieval(Index()).search("tea")
        assert (result.answer_threshold, result.best_confidence, result.has_answer) == (0.0, 0.0, False)

    def test_answer_threshold_default_comes_from_preset(self) -> None:
        index = Index(lexical_ids={"green OR tea": ["b"]}, notes={"b": Candidate("b", content="green")})
        names = ("default", "jeffs-brain", "trovella", "memini", "weighted-graph")
        defaults = [retrieval(index, preset=name).search("green tea").answer_threshold for name in names]
        assert defaults == [0.25, 0.0, 0.0, 0.0, 0.0]
        assert not retrieval(index, preset=replace(PLAIN, answer_threshold=0.99)).search("green tea").has_answer
        with pytest.raises(ArgumentError, match="answer_threshold: must be at most 1, got 2"):
            retrieval(index).search("tea", answer_threshold=2)


class TestArguments:
    def test_nested_vector_raises(self) -> None:
        with pytest.raises(ArgumentError, match=r"^vector: must be a flat list of numbers, got .* shape \(2, 2\)"):
            retrieval(Index()).search("tea", vector=[[1, 0], [0, 1]])  # type: ignore[list-item]

    def test_preset_by_name(self) -> None:
        assert retrieval(Index(), preset="memini").preset.name == "memini"

    def test_fusion_k_0_means_60(self) -> None:
        assert FusionRules(k=0).k == 60


class TestFailures:
    def test_lexical_leg_failure(self) -> None:
        index = Index(lexical_ids=RuntimeError("no such\n table"), vector_ids=["a"])
        result = retrieval(index, embedder=Embedder(), preset="default").search("tea")
        assert ids(result) == ["a"]
        assert (result.trace.error_stage, result.trace.error_detail) == ("bm25", "no such table")
        assert (result.trace.attempts, result.trace.mode) == ([], "hybrid")
        assert result.warnings == ["lexical search failed: no such table"]

    def test_fallback_step_failure(self) -> None:
        class Failing(Index):
            def search_names(self, *_: Any, **__: Any) -> Any:
                raise RuntimeError

        result = retrieval(Failing(vector_ids=["a"]), embedder=Embedder(), preset="default").search("kubernets")
        assert ids(result) == ["a"]
        assert (result.trace.error_stage, result.trace.error_detail) == ("bm25", "RuntimeError")
        assert result.trace.attempts[0].strategy == "initial"

    @pytest.mark.parametrize(
        ("answer", "reason"),
        [
            (EmbedderError("the model is asleep"), "the model is asleep"),
            (ValueError(), "ValueError"),
            ((), "stub returned vectors of 0 dimensions instead of at least 1"),
            ((float("nan"), 1.0), "stub returned numbers that are not finite"),
        ],
    )
    def test_embedder_failure(self, answer: Any, reason: str) -> None:
        index = Index(lexical_ids={"tea": ["a"]}, vector_ids=["b"])
        pipeline = retrieval(index, embedder=Embedder(answer))
        result = pipeline.search("tea")
        assert (ids(result), result.trace.embedder_used, result.trace.mode) == (["a"], False, "hybrid")
        assert result.warnings == [f"only lexical search ran: {reason}"]
        assert "errorStage" not in result.trace.to_dict()
        semantic = pipeline.search("tea", mode="semantic")
        assert (ids(semantic), semantic.trace.mode, semantic.trace.fell_back_to_bm25) == (["a"], "bm25", True)

    def test_embedding_runs_parallel_to_lexical_search(self) -> None:
        searching, embedding = Event(), Event()

        class WaitingIndex(Index):
            def search_text(self, *arguments: Any, **options: Any) -> list[Candidate]:
                searching.set()
                assert embedding.wait(30), "the query is not embedded in parallel"
                return super().search_text(*arguments, **options)

        class WaitingEmbedder(Embedder):
            def embed_query(self, text: str) -> Any:
                assert searching.wait(30), "lexical search does not run in parallel"
                embedding.set()
                return super().embed_query(text)

        result = retrieval(
            WaitingIndex(lexical_ids={"tea": ["a"]}, vector_ids=["b"]), embedder=WaitingEmbedder()
        ).search("tea")
        assert (ids(result), result.warnings) == (["a", "b"], [])

    def test_embedder_timeout(self) -> None:
        index = Index(lexical_ids={"tea": ["a"]}, vector_ids=["b"])
        result = retrieval(index, embedder=Embedder(delay=0.5), embedder_timeout=0.01).search("tea")
        assert (ids(result), result.trace.embedder_used) == (["a"], False)
        assert result.warnings == ["only lexical search ran: no answer within 0.01 seconds"]

    def test_too_many_abandoned_embedder_calls(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("recollect.retrieval.legs.MAX_ABANDONED", 0)
        result = retrieval(Index(lexical_ids={"tea": ["a"]}), embedder=Embedder()).search("tea")
        assert ids(result) == ["a"]
        assert "earlier calls have not returned yet" in result.warnings[0]

    def test_vector_index_failure(self) -> None:
        index = Index(lexical_ids={"tea": ["a"]}, vector_ids=RuntimeError("vectors gone"))
        result = retrieval(index, embedder=Embedder()).search("tea")
        assert (ids(result), result.trace.embedder_used) == (["a"], True)
        assert result.warnings == ["only lexical search ran: vectors gone"]

    def test_failure_of_both_legs(self) -> None:
        pipeline = retrieval(Index(lexical_ids=RuntimeError("down")), embedder=Embedder(RuntimeError("down, too")))
        result = pipeline.search("tea")
        assert (ids(result), result.trace.error_stage) == ([], "bm25")
        assert result.trace.rerank_skipped_reason == "empty_candidates"

    @pytest.mark.parametrize("embedder", [None, Embedder(RuntimeError("down"))])
    def test_store_error_is_raised_if_no_leg_answers(self, embedder: Embedder | None) -> None:
        with pytest.raises(StoreError, match="closed"):
            retrieval(Index(lexical_ids=StoreError("closed")), embedder=embedder).search("tea")
        index = Index(lexical_ids=StoreError("closed"), vector_ids=["a"])
        assert ids(retrieval(index, embedder=Embedder()).search("tea")) == ["a"]

    @pytest.mark.parametrize("answer", [RuntimeError("over quota"), [("first", "second")]])
    def test_reranker_failure(self, answer: Any) -> None:
        index = Index(lexical_ids={"tea": ["a", "b"]})
        result = retrieval(index, reranker=Reranker(answer)).search("tea")
        assert (ids(result), result.trace.error_stage, result.trace.reranked) == (["a", "b"], "rerank", False)
        assert "rerankProvider" not in result.trace.to_dict()
        assert result.warnings[0].startswith("the results were not reranked: ")

    def test_reranker_timeout(self) -> None:
        index = Index(lexical_ids={"tea": ["a", "b"]})
        result = retrieval(index, reranker=Reranker(delay=0.5), reranker_timeout=0.01).search("tea")
        assert (ids(result), result.trace.error_detail) == (["a", "b"], "no answer within 0.01 seconds")

    def test_trace_has_the_first_of_two_errors(self) -> None:
        index = Index(lexical_ids=RuntimeError("down"), vector_ids=["a", "b"])
        trace = retrieval(index, embedder=Embedder(), reranker=Reranker(RuntimeError("as well"))).search("tea").trace
        assert (trace.error_stage, trace.error_detail) == ("bm25", "down")
        assert trace.warnings[1] == "the results were not reranked: as well"


class TestCustomIndexes:
    """A custom index may return mappings; a wrong answer costs a warning."""

    class MappingIndex(Index):
        def search_text(self, *_: Any, **__: Any) -> Any:
            return ({"id": identifier, "path": identifier, "content": f"tea {identifier}"} for identifier in "abc")

        def search_vectors(self, *_: Any, **__: Any) -> Any:
            return (
                {"id": identifier, "path": identifier, "content": f"tea {identifier}", "score": 0.5}
                for identifier in "cbd"
            )

        def edges(self, *_: Any, **__: Any) -> Any:
            return [("a", "x", "next", "out")]

        def candidates(self, ids: Any, **_: Any) -> Any:
            return [{"id": identifier, "content": identifier} for identifier in ids]

    @pytest.mark.parametrize("preset", presets())
    def test_index_may_return_mappings(self, preset: str) -> None:
        pipeline = retrieval(self.MappingIndex(), embedder=Embedder(), reranker=Reranker(), preset=preset)
        result = pipeline.search("tea")
        assert set(ids(result)) >= {"a", "b", "c", "d"}
        assert (result.trace.error_stage, result.warnings) == ("", [])

    @pytest.mark.parametrize("leg", ["search_text", "search_vectors"])
    def test_wrong_candidates_warn(self, leg: str) -> None:
        index = self.MappingIndex()
        setattr(index, leg, lambda *_, **__: [{"id": "a"}, 3])
        result = retrieval(index, embedder=Embedder()).search("tea")
        assert len(result) == 3
        assert f"{leg}[1]: must be a Candidate or a mapping" in result.warnings[0]

    def test_wrong_edges_warn(self) -> None:
        index = self.MappingIndex()
        index.edges = lambda *_, **__: [("a",)]  # type: ignore[method-assign]
        result = retrieval(index, preset="default").search("tea")
        assert len(result) == 3
        assert "the graph was not followed" in result.warnings[0]

    def test_failing_model_property_warns(self) -> None:
        class Broken(Index):
            @property
            def model(self) -> Model:
                raise OSError("disk gone")

        result = retrieval(Broken(lexical_ids={"tea": ["a"]}), embedder=Embedder()).search("tea", mode="hybrid")
        assert (ids(result), result.trace.fell_back_to_bm25) == (["a"], True)
        assert result.warnings == ["only lexical search ran: disk gone"]

    def test_embedder_argument_error_warns(self) -> None:
        embedder = Embedder(ArgumentError("text", "is too long"))
        result = retrieval(Index(lexical_ids={"tea": ["a"]}), embedder=embedder).search("tea")
        assert (ids(result), result.warnings) == (["a"], ["only lexical search ran: text: is too long"])

    def test_wrong_aliases_raise(self) -> None:
        with pytest.raises(ArgumentError, match="aliases"):
            retrieval(Index(), aliases={"tea": 3})

    def test_arguments_are_checked_before_the_search(self) -> None:
        index = Index()
        with pytest.raises(ArgumentError, match="min_confidence"):
            retrieval(index).search("tea", min_confidence=2)
        with pytest.raises(ArgumentError, match="rerank_top_n"):
            retrieval(index).search("tea", rerank_top_n=-1)
        assert index.queries == []


class TestModels:
    """An index may name the model of its vectors."""

    def search(self, model: Model | None) -> SearchResult:
        index = Index(lexical_ids={"tea": ["a"]}, vector_ids=["b"])
        index.model = model  # type: ignore[attr-defined]
        return retrieval(index, embedder=Embedder()).search("tea", mode="hybrid")

    def test_same_model(self) -> None:
        assert ids(self.search(Model("stub", 2))) == ["a", "b"]

    def test_no_vectors_yet(self) -> None:
        result = self.search(None)
        assert (ids(result), result.trace.fell_back_to_bm25) == (["a"], True)
        assert result.warnings == [
            "no note has a vector yet, so only lexical search ran; reindex the memory to embed them"
        ]

    def test_other_model(self) -> None:
        assert "vectors are of other, not of stub" in self.search(Model("other", 2)).warnings[0]
        catalogue_warning = self.search(Model("arctic-embed-s/int8", 2)).warnings[0]
        assert "install their model (recollect models download arctic-embed-s), or reindex" in catalogue_warning

    def test_other_dimension(self) -> None:
        assert "have 2 numbers now and 3 in the store" in self.search(Model("stub", 3)).warnings[0]


class TestTrace:
    @pytest.mark.parametrize("preset", presets())
    def test_scores_are_recomputed_from_the_trace(self, preset: str) -> None:
        edges = (Edge("a", "x", "next", "out"), Edge("b", "c", "supersedes", "in"))
        notes = {"a": Candidate("a", content="a", session="s", importance=0.9, last_accessed_at=datetime.now(UTC))}
        index = Index(lexical_ids={"tea": ["a", "b"]}, vector_ids=["b", "c", "a"], links=edges, notes=notes)
        pipeline = retrieval(index, embedder=Embedder(), reranker=Reranker(), preset=preset)
        result = pipeline.search("tea")
        results = result.trace.to_dict()["results"]
        assert [item["id"] for item in results] == ids(result)
        assert [recomputed_score(item) for item in results] == [hit.score for hit in result]
        assert all(0 <= item["confidence"] <= 1 for item in results)

    def test_snippet_of_the_index_is_kept(self) -> None:
        notes = {"a": Candidate("a", content="Prefers green tea.", snippet="[tea]"), "b": Candidate("b", content="tea")}
        first, second = retrieval(Index(lexical_ids={"tea": ["a", "b"]}, notes=notes)).search("tea")
        assert (first.snippet, first.highlights) == ("[tea]", ())
        assert (second.snippet, second.highlights) == ("tea", ((0, 3),))

    def test_snippet_shows_the_matching_summary(self) -> None:
        notes = {
            "a": Candidate("a", content="Prefers sencha.", summary="About tea."),
            "b": Candidate("b", content="Prefers sencha.", summary="About cups."),
        }
        first, second = retrieval(Index(lexical_ids={"tea": ["a", "b"]}, notes=notes)).search("tea")
        assert (first.snippet, first.highlights) == ("About tea.", ((6, 9),))
        assert (second.snippet, second.highlights) == ("Prefers sencha.", ())

    def test_search_copies_candidates(self) -> None:
        stored = Candidate("a", content="tea")

        class Same(Index):
            def note(self, _: str) -> Candidate:
                return stored

        retrieval(Same(lexical_ids={"tea": ["a"]})).search("tea")
        assert (stored.snippet, stored.confidence, stored.steps) == ("", None, ())

    def test_trace_has_timings(self) -> None:
        trace = retrieval(Index(lexical_ids={"tea": ["a"]}, delay=0.01), preset="default").search("tea").trace
        assert trace.total_elapsed >= trace.bm25_elapsed >= 10
        assert [run.stage for run in trace.stages] == [stage.name for stage in presets()["default"].stages]


class TestFuzzyMatching:
    CHUNKS = ({"id": "k", "path": "wiki/kubernetes.md", "title": "K"}, {"id": "t", "path": "tea.md"})

    def test_trigram_chunks_of_the_caller(self) -> None:
        result = retrieval(BareIndex(Index()), preset="jeffs-brain", trigram_chunks=iter(self.CHUNKS)).search(
            "kubernets"
        )
        assert [(hit.id, hit.title) for hit in result] == [("k", "K")]
        assert result.trace.attempts[-1] == ("trigram_fuzzy", "kubernets", 1)

    def test_fuzzy_step_without_search_names(self) -> None:
        result = retrieval(BareIndex(Index()), preset="default").search("kubernets")
        assert result.trace.attempts[-1] == ("trigram_fuzzy", "kubernets", 0)

    def test_did_you_mean_uses_spellings_of_the_index(self) -> None:
        index = Index(
            lexical_ids={"kubernetes OR cluster": ["a"]}, spellings={"kubernets": ["kubernetes"], "x": ["cluster"]}
        )
        result = retrieval(index, preset="default").search("kubernets x clustr")
        assert [attempt.strategy for attempt in result.trace.attempts][-2:] == ["did_you_mean", "trigram_fuzzy"]
        index.lexical_ids = {"kubernetes": ["a"]}
        index.notes = {"a": Candidate("a", content="about kubernetes")}
        (hit,) = retrieval(index, preset="default").search("kubernets x clustr", min_confidence=0.5)
        assert hit.snippet[slice(*hit.highlights[0])] == "kubernetes"

    def test_fuzzy_names_respect_exclusions_and_filters(self) -> None:
        chunks = [{"id": "k", "path": "kubernetes.md", "content": "secret"}, {"id": "t", "path": "kubernetic.md"}]
        for index, expected in (
            (Index(notes={"k": Candidate("k", content="secret")}), ["t"]),
            (BareIndex(Index()), []),
        ):
            pipeline = retrieval(index, preset="default", trigram_chunks=chunks)
            assert ids(pipeline.search("kubernets NOT secret")) == expected
            assert set(ids(pipeline.search("kubernets"))) == {"k", "t"}
        bare = retrieval(BareIndex(Index()), preset="default", trigram_chunks=chunks)
        assert ids(bare.search("kubernets", filters={"tags": ["x"]})) == []

    def test_did_you_mean_is_skipped_under_filters(self) -> None:
        index = Index(spellings={"fabrikanto": ["fabrikantos"]})
        pipeline = retrieval(index, preset="default")
        strategies = [
            attempt.strategy for attempt in pipeline.search("fabrikanto", filters={"tags": ["staff"]}).trace.attempts
        ]
        assert "did_you_mean" not in strategies
        assert "did_you_mean" in [attempt.strategy for attempt in pipeline.search("fabrikanto").trace.attempts]

    def test_fallback_steps_truncate_long_queries(self) -> None:
        index = Index()
        words = " ".join(f"w{number}ord" for number in range(500))
        retrieval(index, preset="default").search(words)
        assert max(query.count(" OR ") for query in index.queries) == 127

    def test_stopwords_are_not_spell_checked(self) -> None:
        class SpellingIndex(Index):
            def similar_words(self, words: Any, **_: Any) -> dict[str, list[str]]:
                return {word: [f"{word}s"] for word in words}

        index = SpellingIndex()
        for query, expected in (
            ("what does she like to drink?", "drinks"),
            ('"senhca nwo" kettel.js', "senhcas OR kettels"),
        ):
            retrieval(index, preset="default").search(query)
            assert index.queries[-1].startswith(expected)

    def test_guess_weight_lowers_the_lexical_weight(self) -> None:
        index = Index(lexical_ids={"kubernetes": ["a"]}, vector_ids=["b"], spellings={"kubernets": ["kubernetes"]})
        preset = replace(PLAIN, ladder=LadderRules(guess_weight=0.25))
        result = retrieval(index, preset=preset, embedder=Embedder()).search("kubernets")
        assert [(hit.id, hit.score) for hit in result] == [("b", 1 / 61), ("a", 0.25 / 61)]
        assert result.trace.to_dict()["fusion"]["weights"] == {"lexical": 0.25}

    def test_fuzzy_match_confidence_rises_with_similarity(self) -> None:
        (hit,) = retrieval(BareIndex(Index()), preset="jeffs-brain", trigram_chunks=self.CHUNKS).search("kubernetes")
        (typo,) = retrieval(BareIndex(Index()), preset="jeffs-brain", trigram_chunks=self.CHUNKS).search("kubarnetes")
        assert (hit.confidence or 0) > (typo.confidence or 0) > 0.25
