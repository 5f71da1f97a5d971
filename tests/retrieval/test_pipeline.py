"""The walk over an index whose answers are known: what each part does, and what happens when one fails."""

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
from tests.retrieval.stubs import BareIndex, Embedder, Index, KnowingIndex, Reranker, ScoringIndex

PLAIN = Preset(name="plain", ladder=LadderRules(on=False))
LITERAL = replace(PLAIN, query=QueryRules(semantics="literal", stopwords_alone=False, max_words=0))


def ids(result: SearchResult) -> list[str]:
    return [hit.id for hit in result]


def retrieval(index: Any, **parts: Any) -> Retrieval:
    return Retrieval(index, **{"preset": PLAIN, **parts})


class TestModes:
    INDEX = Index(words={"tea": ["a", "b"]}, nearest=["b", "c"])

    @pytest.mark.parametrize(
        ("mode", "searched", "found"),
        [
            ("auto", "hybrid", ["b", "a", "c"]),
            ("hybrid", "hybrid", ["b", "a", "c"]),
            ("bm25", "bm25", ["a", "b"]),
            ("semantic", "semantic", ["b", "c"]),
        ],
    )
    def test_with_an_embedder(self, mode: Mode, searched: str, found: list[str]) -> None:
        result = retrieval(self.INDEX, embedder=Embedder()).search("tea", mode=mode)
        assert (ids(result), result.trace.mode, result.trace.fell_back_to_bm25) == (found, searched, False)
        assert result.warnings == []

    @pytest.mark.parametrize(("mode", "fell_back"), [("auto", False), ("hybrid", True), ("semantic", True)])
    def test_without_an_embedder(self, mode: Mode, fell_back: bool) -> None:
        result = retrieval(self.INDEX).search("tea", mode=mode)
        assert (ids(result), result.trace.mode, result.trace.fell_back_to_bm25) == (["a", "b"], "bm25", fell_back)

    def test_an_unknown_mode(self) -> None:
        with pytest.raises(ArgumentError, match="mode: must be one of auto, hybrid, bm25, semantic"):
            retrieval(self.INDEX).search("tea", mode="magic")  # type: ignore[arg-type]

    def test_only_the_source_presets_search_words_where_meaning_alone_counts(self) -> None:
        index = Index(words={"tea": ["a"]}, nearest=["b"])
        assert retrieval(index, embedder=Embedder()).search("tea", mode="semantic").trace.attempts == []
        literal = retrieval(index, embedder=Embedder(), preset=LITERAL).search("tea", mode="semantic")
        assert (ids(literal), literal.trace.bm25_count, len(literal.trace.attempts)) == (["b"], 1, 1)


class TestDepth:
    INDEX = Index(
        words={"tea": [f"w{place:02}" for place in range(30)]}, nearest=[f"v{place:02}" for place in range(30)]
    )

    def test_each_leg_goes_candidate_k_deep(self) -> None:
        trace = retrieval(self.INDEX, embedder=Embedder()).search("tea", candidate_k=7, top_k=3).trace
        assert (trace.bm25_count, trace.vector_count, trace.fused_count, trace.candidate_k) == (7, 7, 14, 7)

    def test_candidate_k_is_the_presets_own_where_a_search_names_none(self) -> None:
        preset = replace(PLAIN, candidate_k=4)
        trace = retrieval(self.INDEX, embedder=Embedder(), preset=preset).search("tea", top_k=3).trace
        assert (trace.bm25_count, trace.vector_count, trace.to_dict()["candidateK"]) == (4, 4, 4)
        own = retrieval(self.INDEX, preset=preset).search("tea", top_k=3, candidate_k=6).trace
        assert (own.bm25_count, own.candidate_k) == (6, 6)
        names = ("default", "jeffs-brain", "trovella", "memini", "weighted-graph")
        used = [retrieval(self.INDEX, preset=name).search("tea").trace.candidate_k for name in names]
        assert used == [200, 60, 60, 60, 60]

    def test_but_at_least_top_k(self) -> None:
        result = retrieval(self.INDEX).search("tea", candidate_k=5, top_k=20)
        assert (len(result), result.trace.bm25_count) == (20, 20)

    def test_fewer_results_are_the_first_of_more(self) -> None:
        walk = retrieval(self.INDEX, embedder=Embedder(), preset="default")
        more = walk.search("tea", top_k=50)
        for top_k in (0, 1, 5, 49):
            assert [(hit.id, hit.score) for hit in walk.search("tea", top_k=top_k)] == [
                (hit.id, hit.score) for hit in more[:top_k]
            ]


class TestFusion:
    INDEX = Index(words={"tea": ["a", "b"]}, nearest=["b", "c", "a"])

    def scores(self, rules: FusionRules) -> dict[str, float]:
        result = retrieval(self.INDEX, embedder=Embedder(), preset=replace(PLAIN, fusion=rules)).search("tea")
        return {hit.id: hit.score for hit in result}

    def test_reciprocal_ranks(self) -> None:
        assert self.scores(FusionRules(k=5, rank_base=0)) == pytest.approx(
            {"a": 1 / 5 + 1 / 7, "b": 1 / 6 + 1 / 5, "c": 1 / 6}
        )

    def test_weights(self) -> None:
        assert self.scores(FusionRules(weights={"vector": 3.0})) == pytest.approx(
            {"a": 1 / 61 + 3 / 63, "b": 1 / 62 + 3 / 61, "c": 3 / 62}
        )

    def test_scores(self) -> None:
        rules = FusionRules(method="convex", weights={"lexical": 0.5, "vector": 0.5})
        assert self.scores(rules) == pytest.approx({"a": 0.5, "b": 0.5, "c": 0.25})

    def test_a_weak_model_counts_less(self) -> None:
        embedder = Embedder()
        embedder.name = "wordllama"  # whose ranking is worth 0.45 of a good one's
        rules = FusionRules(weights={"vector": 2.0}, weight_by_model_quality=True)
        walk = retrieval(self.INDEX, embedder=embedder, preset=replace(PLAIN, fusion=rules))
        result = walk.search("tea")
        assert {hit.id: hit.score for hit in result} == pytest.approx(
            {"a": 1 / 61 + 0.9 / 63, "b": 1 / 62 + 0.9 / 61, "c": 0.9 / 62}
        )
        assert result.trace.to_dict()["fusion"]["weights"] == {"vector": 0.9}
        careless = replace(PLAIN, fusion=replace(rules, weight_by_model_quality=False))
        assert walk.search("tea", preset=careless).trace.to_dict()["fusion"]["weights"] == {"vector": 2.0}

    def test_a_model_of_unknown_strength_counts_in_full(self) -> None:
        rules = FusionRules(weights={"vector": 2.0}, weight_by_model_quality=True)
        result = retrieval(self.INDEX, embedder=Embedder(), preset=replace(PLAIN, fusion=rules)).search("tea")
        assert result.trace.to_dict()["fusion"]["weights"] == {"vector": 2.0}


class TestUnion:
    """Every candidate is scored by both legs, also by the one that did not find it."""

    RULES = FusionRules(method="convex", min_scores={"lexical": 0.0}, score_union=True)
    PRESET = replace(PLAIN, fusion=RULES)

    def index(self, **answers: Any) -> ScoringIndex:
        settings = {"similar": {"a": 0.985}, "texts": {"c": 0.5}, **answers}
        return ScoringIndex(words={"tea": ["a", "b"]}, nearest=["b", "c", "d"], **settings)

    def search(self, index: Any, query: str = "tea", preset: Preset = PRESET, **options: Any) -> SearchResult:
        return retrieval(index, embedder=Embedder(), preset=preset).search(query, **options)

    def test_what_one_leg_found_gets_the_score_of_the_other(self) -> None:
        index = self.index()
        result = self.search(index)
        # Lexical scores are 2, 1 and 0.5 of 2; similarities count from 0.98, the last that was found, to 1.
        assert {hit.id: hit.score for hit in result} == pytest.approx(
            {"b": 0.5 + 1.0, "a": 1.0 + 0.25, "c": 0.25 + 0.5, "d": 0.0}
        )
        by_words, by_vectors = result[1].candidate, result[2].candidate
        assert (by_words.vector_similarity, by_words.vector_rank) == (0.985, 4)
        assert (by_vectors.lexical_score, by_vectors.lexical_rank) == (0.5, 3)
        assert (index.scored, index.asked_about) == ([["c", "d"]], [["a"]])
        assert (result.trace.bm25_count, result.trace.vector_count, result.warnings) == (2, 3, [])
        assert [recomputed_score(each) for each in result.trace.to_dict()["results"]] == [hit.score for hit in result]

    def test_the_candidates_of_the_other_leg_are_not_changed(self) -> None:
        index = self.index(notes={"c": Candidate("c", path="c.md", content="c", score=0.1)})
        self.search(index)
        assert (index.notes["c"].score, index.notes["c"].lexical_score) == (0.1, None)

    def test_a_similarity_below_the_last_that_was_found_counts_for_nothing(self) -> None:
        assert {hit.id: hit.score for hit in self.search(self.index(similar={"a": 0.2}))}["a"] == pytest.approx(1.0)

    def test_a_score_that_counts_as_nothing_and_is_given_is_kept(self) -> None:
        rules = replace(self.RULES, min_scores={"lexical": 0.0, "vector": 0.0})
        found = {hit.id: hit.score for hit in self.search(self.index(), preset=replace(PLAIN, fusion=rules))}
        assert found["d"] == pytest.approx(0.98)

    def test_an_index_without_the_lexical_scores_of_given_notes(self) -> None:
        class Limited(ScoringIndex):
            text_scores = None  # type: ignore[assignment]

        result = self.search(Limited(**vars(self.index())))
        assert ids(result) == ["b", "a", "c", "d"]
        assert (result[2].candidate.lexical_score, result.warnings) == (None, [])

    @pytest.mark.parametrize("texts", [OSError("disk gone"), {"c": float("nan")}, {"c": "much"}, None])
    def test_missing_lexical_scores_give_a_warning(self, texts: Any) -> None:
        result = self.search(self.index(texts=texts))
        assert ids(result) == ["b", "a", "c", "d"]
        assert result[2].candidate.lexical_score is None
        (warning,) = result.warnings
        assert warning.startswith("lexical scores of candidates from the vector leg are missing: ")

    @pytest.mark.parametrize("mode", ["bm25", "semantic"])
    def test_one_leg_alone_needs_no_other(self, mode: Mode) -> None:
        index = self.index()
        self.search(index, mode=mode)
        assert (index.scored, index.asked_about) == ([], [])

    def test_notes_that_both_legs_found_are_not_asked_about(self) -> None:
        index = ScoringIndex(words={"tea": ["a"]}, nearest=["a"])
        self.search(index)
        assert index.scored == []

    def test_names_that_are_spelt_alike_have_no_lexical_scores(self) -> None:
        index = ScoringIndex(names=["a"], nearest=["b"], texts={"b": 1.0})
        result = self.search(index, query="taa", preset=replace(self.PRESET, ladder=LadderRules()))
        assert (set(ids(result)), index.scored) == ({"a", "b"}, [])

    def test_a_query_without_words_has_no_lexical_scores(self) -> None:
        index = ScoringIndex(nearest=["b"], texts={"b": 1.0})
        assert (ids(self.search(index, query="?!", vector=[0.6, 0.8])), index.scored) == (["b"], [])

    def test_a_stem_match_from_the_vector_leg_stays_below_an_exact_match(self) -> None:
        notes = {
            "exact": Candidate("exact", path="exact.md", content="Ines"),
            "stem": Candidate("stem", path="stem.md", content="in town"),
        }
        index = ScoringIndex(words={"ines": ["exact"]}, nearest=["stem"], notes=notes, texts={"stem": 5.0})
        preset = replace(self.PRESET, query=QueryRules(stem_only_weight=0.1))
        found = {hit.id: hit.candidate.lexical_score for hit in self.search(index, query="Ines", preset=preset)}
        assert found == pytest.approx({"exact": 1.0, "stem": 0.1})

    def test_a_long_note_loses_a_part_of_its_similarity(self) -> None:
        notes = {"b": Candidate("b", path="b.md", content="x" * 1500), "d": Candidate("d", path="d.md", content="d")}
        index = ScoringIndex(nearest=["b", "c", "d"], notes=notes)
        rules = replace(self.RULES, chunk_penalty=0.5)
        found = self.search(index, preset=replace(PLAIN, fusion=rules))
        # b loses 0.5 · 0.02 · ln 5 = 0.016 of 1, and falls behind c at 0.99; d is the last.
        assert ids(found) == ["c", "b", "d"]
        assert found[1].candidate.vector_similarity == 1.0


@pytest.mark.parametrize("stage", sorted(STAGES))
def test_every_stage_can_be_a_stage_of_a_preset(stage: str) -> None:
    preset = replace(PLAIN, stages=(STAGES[stage](),))
    result = retrieval(Index(words={"tea": ["a", "b"]}), preset=preset).search("tea")
    assert sorted(ids(result)) == ["a", "b"]
    assert [run.stage for run in result.trace.stages] == [stage]


class TestDepthOfOneWord:
    @pytest.mark.parametrize(
        ("query", "weight", "limit"),
        [("Ines", 0.1, ONE_WORD_DEPTH), ("Ines Costa", 0.1, 60), ("Ines", 1.0, 60)],
    )
    def test_the_exact_form_of_a_single_word_is_looked_for_further_down(
        self, query: str, weight: float, limit: int
    ) -> None:
        index = ScoringIndex(words={"ines": [f"n{n:03}" for n in range(100)]})
        preset = replace(PLAIN, query=QueryRules(stem_only_weight=weight), candidate_k=60)
        result = retrieval(index, preset=preset).search(query)
        assert index.limits == [limit]
        assert result.trace.bm25_count == (60 if query == "Ines" else 0)


class TestFocus:
    """What more than a share of the notes hold is left out of the query's vector."""

    PRESET = replace(PLAIN, query=QueryRules(max_document_frequency=0.45))

    def embedded(self, index: Any, query: str, **options: Any) -> tuple[list[str], str | None]:
        embedder = Embedder()
        result = retrieval(index, embedder=embedder, **{"preset": self.PRESET, **options}).search(query)
        assert result.warnings == []
        return embedder.texts, result.trace.to_dict().get("embeddedQuery")

    def test_a_common_word_is_left_out(self) -> None:
        index = KnowingIndex(counts={"Ada": 90})
        assert self.embedded(index, "When did Ada move?") == (["When did move?"], "When did move?")

    def test_words_alone_are_searched_with_all_of_them(self) -> None:
        index = KnowingIndex(words={"ada OR move": ["a"]}, counts={"Ada": 90})
        assert ids(retrieval(index, embedder=Embedder(), preset=self.PRESET).search("When did Ada move?")) == ["a"]

    @pytest.mark.parametrize(
        "index",
        [
            KnowingIndex(counts={"Ada": 50}),
            KnowingIndex(counts={"Ada": 9}, total=9),
            Index(),
            BareIndex(Index()),
        ],
    )
    def test_where_none_is_known_to_be_common(self, index: Any) -> None:
        assert self.embedded(index, "When did Ada move?") == (["When did Ada move?"], None)

    def test_counts_that_fail_are_done_without_and_told(self) -> None:
        index, embedder = KnowingIndex(counts=OSError("disk gone")), Embedder()
        result = retrieval(index, embedder=embedder, preset=self.PRESET).search("When did Ada move?")
        assert embedder.texts == ["When did Ada move?"]
        assert result.warnings == ["the document frequencies of the query's terms are missing: disk gone"]

    def test_counts_that_fail_cost_a_warning_and_no_hit_where_nothing_is_embedded(self) -> None:
        index = KnowingIndex(words={"ada OR move": ["a"]}, counts=OSError("disk gone"))
        result = retrieval(index, embedder=Embedder(), preset=self.PRESET).search("When did Ada move?", mode="bm25")
        assert (ids(result), result.trace.embedded_query) == (["a"], "")
        assert result.warnings == ["the document frequencies of the query's terms are missing: disk gone"]

    def test_a_preset_may_leave_none_out(self) -> None:
        index = KnowingIndex(counts={"Ada": 90})
        assert self.embedded(index, "When did Ada move?", preset=PLAIN) == (["When did Ada move?"], None)

    def test_what_is_excluded_is_no_word_of_the_meaning(self) -> None:
        assert self.embedded(KnowingIndex(counts={"Ada": 90}), "Ada move NOT Oslo")[0] == ["move"]


class TestContext:
    """Turns are read with those beside them, where an index can tell how rare words are."""

    NOTES: ClassVar = {
        "q": Candidate("q", path="q.md", content="Which tea?", session="s", position=1),
        "r": Candidate("r", path="r.md", content="The green one.", session="s", position=2),
        "z": Candidate("z", path="z.md", content="tea"),
    }
    EDGES = (Edge("q", "r", "next", "out"), Edge("r", "q", "previous", "out"))
    PRESET = replace(PLAIN, context=ContextRules(on=True, k1=1.0, b=0.0), fusion=FusionRules(method="convex"))

    def index(self, **answers: Any) -> KnowingIndex:
        return KnowingIndex(words={"tea": ["q", "z"]}, notes=self.NOTES, links=self.EDGES, **answers)

    def test_a_turn_comes_in_by_the_one_beside_it(self) -> None:
        result = retrieval(self.index(), preset=self.PRESET).search("tea")
        assert set(ids(result)) == {"q", "r", "z"}
        told = {each["id"]: each for each in result.trace.to_dict()["results"]}
        assert told["q"]["context"] == {"own": 2.0, "neighbours": ["r"]}
        assert told["r"]["context"] == {"own": None, "neighbours": ["q"]}
        assert "context" not in told["z"]
        assert told["q"]["lexicalScore"] == pytest.approx(2 * told["r"]["lexicalScore"] * 0.75)  # 1 and 2·0.5/1.5
        assert [recomputed_score(each) for each in told.values()] == [hit.score for hit in result]
        assert result.trace.to_dict()["contextElapsed"] > 0
        assert result.trace.bm25_count == 2

    def test_with_meaning_a_newcomer_gets_its_own_similarity(self) -> None:
        index = self.index(nearest=["z"], similar={"r": 0.25, "nobody": 1.0})
        result = retrieval(index, embedder=Embedder(), preset=self.PRESET).search("tea")
        (newcomer,) = [hit.candidate for hit in result if hit.id == "r"]
        assert (newcomer.vector_similarity, newcomer.vector_rank) == (0.25, 2)
        assert index.asked_about == [["r"]]

    def test_an_index_without_similarities(self) -> None:
        class Limited(KnowingIndex):
            similarities = None  # type: ignore[assignment]

        index = Limited(**vars(self.index(nearest=["z"])))
        result = retrieval(index, embedder=Embedder(), preset=self.PRESET).search("tea")
        assert (set(ids(result)), result.warnings) == ({"q", "r", "z"}, [])

    @pytest.mark.parametrize("similar", [OSError("disk gone"), {"r": float("nan")}, {"r": "near"}, None])
    def test_similarities_that_cannot_be_read(self, similar: Any) -> None:
        index = self.index(nearest=["z"], similar=similar)
        result = retrieval(index, embedder=Embedder(), preset=self.PRESET).search("tea")
        assert set(ids(result)) == {"q", "r", "z"}
        assert result.warnings[0].startswith("similarities of candidates from outside the vector leg are missing: ")

    @pytest.mark.parametrize("query", ['"tea"', "tea AND tea", "tea NOT pot"])
    def test_who_writes_operators_says_what_a_note_itself_must_hold(self, query: str) -> None:
        words = {text: ["q"] for text in ('"tea"', "tea AND tea", "tea AND NOT pot")}
        index = KnowingIndex(words=words, notes=self.NOTES, links=self.EDGES)
        result = retrieval(index, preset=self.PRESET).search(query)
        assert (ids(result), result.trace.contexts) == (["q"], {})

    def test_where_meaning_alone_counts_no_words_are_read(self) -> None:
        result = retrieval(self.index(nearest=["q"]), embedder=Embedder(), preset=self.PRESET).search(
            "tea", mode="semantic"
        )
        assert (ids(result), result.trace.contexts) == (["q"], {})

    def test_a_preset_may_leave_it(self) -> None:
        assert ids(retrieval(self.index(), preset=PLAIN).search("tea")) == ["q", "z"]

    @pytest.mark.parametrize(
        "index",
        [
            Index(words={"tea": ["q", "z"]}, notes=NOTES, links=EDGES),
            BareIndex(Index(words={"tea": ["q", "z"]}, notes=NOTES)),
        ],
    )
    def test_an_index_that_cannot_count(self, index: Any) -> None:
        result = retrieval(index, preset=self.PRESET).search("tea")
        assert (ids(result), result.warnings, result.trace.contexts) == (["q", "z"], [], {})

    def test_counts_that_fail_are_told(self) -> None:
        index = KnowingIndex(words={"tea": ["q", "z"]}, notes=self.NOTES, links=self.EDGES, counts=OSError("disk gone"))
        result = retrieval(index, preset=self.PRESET).search("tea")
        assert (ids(result), result.trace.contexts) == (["q", "z"], {})
        assert result.warnings == ["the document frequencies of the query's terms are missing: disk gone"]

    def test_edges_that_cannot_be_read(self) -> None:
        index = KnowingIndex(words={"tea": ["q", "z"]}, notes=self.NOTES, links=OSError("disk gone"))
        result = retrieval(index, preset=self.PRESET).search("tea")
        assert ids(result) == ["q", "z"]
        assert result.warnings == ["turns were not rescored with their neighbours: disk gone"]

    def test_names_that_are_spelt_alike_hold_no_words_to_read(self) -> None:
        index = KnowingIndex(names=["q"], notes=self.NOTES, links=self.EDGES)
        result = retrieval(index, preset=replace(self.PRESET, ladder=LadderRules())).search("taa")
        assert (ids(result), result.trace.contexts) == (["q"], {})

    def test_counts_beyond_the_number_of_notes(self) -> None:
        result = retrieval(self.index(counts={"tea": 10**6}), preset=self.PRESET).search("tea")
        assert set(ids(result)) == {"q", "r", "z"}


class TestExclusion:
    INDEX = Index(words={"deploy AND NOT friday": ["a"]}, nearest=["a"])

    def test_meaning_does_not_think_of_what_is_excluded(self) -> None:
        strict, literal = Embedder(), Embedder()
        retrieval(self.INDEX, embedder=strict).search("deploy NOT friday")
        retrieval(self.INDEX, embedder=literal, preset=LITERAL).search("deploy NOT friday")
        assert (strict.texts, literal.texts) == (["deploy"], ["deploy NOT friday"])

    def test_a_query_that_wants_nothing_is_told_so(self) -> None:
        told = "the query has only excluded terms; add a term to search for"
        assert retrieval(self.INDEX).search("NOT friday").warnings == [told]
        assert retrieval(self.INDEX).search("deploy NOT friday").warnings == []
        assert retrieval(self.INDEX, preset=LITERAL).search("NOT friday").warnings == []

    def test_aliases_of_what_is_excluded_are_excluded(self) -> None:
        embedder = Embedder()
        retrieval(self.INDEX, embedder=embedder, aliases={"friday": ["fri", "eow"], "deploy": ["ship", "roll"]}).search(
            "deploy NOT friday"
        )
        assert embedder.texts == ["deploy"]

    def test_no_rung_looks_for_what_is_excluded(self) -> None:
        index = Index(names=["friday", "monday"])
        preset = replace(PLAIN, ladder=LadderRules())
        result = retrieval(index, preset=preset).search("nothing NOT friday")
        assert all("AND NOT friday" in asked for asked in index.asked)
        assert [attempt.query for attempt in result.trace.attempts] == ["nothing AND NOT friday"] + ["nothing"] * 3
        assert ids(result) == ["monday"]

    def test_the_source_presets_are_literal(self) -> None:
        index = Index(names=["friday"])
        result = retrieval(index, preset="jeffs-brain").search("nothing NOT friday")
        assert result.trace.attempts[1] == ("strongest_term", "nothing", 0)
        assert ids(result) == ["friday"]


class TestReading:
    @pytest.mark.parametrize("query", ["NOT tea", "", "  ", "?!"])
    def test_what_is_only_unwanted_has_no_meaning(self, query: str) -> None:
        embedder = Embedder()
        result = retrieval(Index(nearest=["a"]), embedder=embedder).search(query)
        assert (ids(result), embedder.texts, result.trace.embedder_used) == ([], [], False)
        assert ids(retrieval(Index(nearest=["a"]), embedder=embedder, preset=LITERAL).search(query)) == ["a"]
        assert ids(retrieval(Index(nearest=["a"])).search(query, vector=[1.0])) == ["a"]

    def test_dates_are_not_required(self) -> None:
        index = Index()
        preset = replace(PLAIN, query=QueryRules(match="all_then_any"))
        retrieval(index, preset=preset).search("tea 2 weeks ago", question_date="2026-04-18")
        assert index.asked == ["tea AND weeks AND ago", 'tea OR weeks OR ago OR "2026 04 04"']

    def test_a_long_text_is_cut_for_words_and_not_for_meaning(self) -> None:
        embedder = Embedder()
        words = [f"w{number}ord" for number in range(200)]
        result = retrieval(Index(), embedder=embedder).search(
            " ".join(words) + " 1 day ago", question_date="2026-04-18"
        )
        assert embedder.texts == [" ".join(words) + " 1 day ago"]
        assert result.trace.compiled_query.count(" OR ") == 129
        assert result.trace.compiled_query.endswith("w127ord OR 20260417 OR 20260417")

    def test_stopwords_alone_are_searched_for(self) -> None:
        index = Index(words={"to OR do OR list": ["a"]})
        assert ids(retrieval(index).search("to do list")) in (["a"], [])
        assert retrieval(index).search("who are we").trace.compiled_query == "who OR are OR we"
        assert retrieval(index, preset=LITERAL).search("who are we").trace.compiled_query == ""

    def test_a_long_text_is_cut_but_its_exclusions_stay(self) -> None:
        preset = replace(PLAIN, query=QueryRules(max_words=3))
        result = retrieval(Index(), preset=preset).search("one OR two OR three OR four OR five NOT six NOT seven")
        assert result.trace.compiled_query == "one OR two OR three AND NOT six AND NOT seven"
        assert result.warnings == [
            "the query has 7 words; lexical search uses the first 3, vector search all of them",
        ]
        short = retrieval(Index(), preset=preset).search("one OR two OR three NOT four")
        assert short.warnings == []

    def test_all_words_and_then_any(self) -> None:
        preset = replace(PLAIN, query=QueryRules(match="all_then_any"))
        both = retrieval(Index(words={"green AND tea": ["a"], "green OR tea": ["a", "b"]}), preset=preset)
        assert (ids(both.search("green tea")), ids(both.search("green OR tea"))) == (["a"], ["a", "b"])
        result = retrieval(Index(words={"green OR tea": ["a", "b"]}), preset=preset).search("green tea")
        assert ids(result) == ["a", "b"]
        assert [tuple(attempt) for attempt in result.trace.attempts] == [
            ("initial", "green AND tea", 0),
            ("any_word", "green OR tea", 2),
        ]

    def test_a_query_too_long_to_read_is_told(self) -> None:
        assert "characters; only the first" in retrieval(Index()).search("tea " * 100_000).warnings[0]


class TestTime:
    ASKED = "what did I watch 2 weeks ago?"

    def test_dates_are_looked_for_as_phrases(self) -> None:
        index = Index(words={'weeks OR ago OR "2026 04 04"': ["a"]})
        result = retrieval(index).search(self.ASKED, question_date="2026-04-18 (Sat)")
        assert ids(result) == ["a"]
        assert result.trace.compiled_query == "weeks OR ago OR 20260404 OR 20260404"
        assert result.trace.to_dict()["dateHints"] == ["2026/04/04"]

    def test_what_is_embedded(self) -> None:
        ours, theirs = Embedder(), Embedder()
        retrieval(Index(), embedder=ours).search(self.ASKED, question_date="2026-04-18")
        retrieval(Index(), embedder=theirs, preset=LITERAL).search(self.ASKED, question_date="2026-04-18")
        assert ours.texts == [self.ASKED]
        assert theirs.texts == [f"{self.ASKED} 2026/04/04 2026-04-04"]

    def test_now_is_the_date_of_the_question_unless_it_is_given(self) -> None:
        then = datetime(2026, 4, 4, tzinfo=UTC)
        notes = {"old": Candidate("old", created_at=then), "new": Candidate("new", created_at=datetime(2026, 9, 1))}  # noqa: DTZ001 (without a zone on purpose)
        index = Index(words={"weeks OR ago": ["new", "old"]}, notes=notes)
        walk = retrieval(index, preset="memini")
        asked = walk.search("2 weeks ago", question_date="2026-04-18", mode="bm25")
        index.words = {"weeks OR ago": ["new", "old"], 'weeks OR ago OR "2026 04 04"': ["new", "old"]}
        asked = walk.search("2 weeks ago", question_date="2026-04-18")
        assert ids(asked) == ["old", "new"]
        assert "created 2026-04-04, proximity 1.00 to 2026-04-04" in [step.reason for step in asked[0].candidate.steps]
        assert ids(walk.search("2 weeks ago", now="2026-09-15")) == ["new", "old"]
        assert ids(walk.search("2 weeks ago", question_date="2026-04-18", now="2026-09-15T00:00:00Z")) == ["new", "old"]


class TestGraph:
    EDGES = (
        Edge("a", "x", "next", "out"),
        Edge("a", "b", "mention", "in"),
        Edge("a", "y", "next", "out", 2),
        Edge("b", "a", "mention", "out"),
    )
    INDEX = Index(words={"tea": ["a", "b", "c"]}, links=EDGES)

    def search(self, index: Index | BareIndex = INDEX, query: str = "tea", **rules: Any) -> SearchResult:
        preset = replace(PLAIN, graph=GraphRules(**{"edges": {"next": 0.5, "mention": 0.5}, **rules}))
        return retrieval(index, preset=preset).search(query)

    def test_score_that_is_lent_brings_notes_in(self) -> None:
        result = self.search(use="addition", weight=0.5)
        expected = {"a": 1 / 61 + 0.25 / 62, "b": 1 / 62 + 0.25 / 61, "c": 1 / 63, "x": 0.25 / 61}
        assert {hit.id: hit.score for hit in result} == pytest.approx(expected)
        assert (result.trace.graph_count, result.trace.fused_count) == (3, 4)
        assert result[3].candidate.contributions == ()
        assert result.trace.to_dict()["results"][3]["transfers"] == [
            {"from": "a", "kind": "next", "direction": "out", "share": 0.5 / 61}
        ]

    @pytest.mark.parametrize("method", ["rrf", "convex"])
    def test_a_note_that_comes_in_has_its_own_similarity_and_comes_once(self, method: Any) -> None:
        index = KnowingIndex(words={"tea": ["a"]}, nearest=["a", "b"], links=self.EDGES, similar={"x": 0.5})
        fusion = FusionRules(method=method, min_scores={"vector": 0.0})
        preset = replace(PLAIN, fusion=fusion, graph=GraphRules(use="addition", edges={"next": 0.25}))
        result = retrieval(index, embedder=Embedder(), preset=preset).search("tea")
        assert ids(result) == ["a", "x", "b"]
        assert (result.trace.fused_count, result.trace.vector_count) == (3, 2)
        x = result[1].candidate
        assert (x.vector_rank, x.vector_similarity) == (3, 0.5)
        own = {"rrf": 1 / 63, "convex": 0.5}[method]
        lent = {"rrf": 2 / 61, "convex": 2.0}[method] * 0.25
        assert x.score == pytest.approx(own + lent)
        assert index.asked_about == [["x"]]

    def test_loans_lift_no_note_above_its_lender(self) -> None:
        free, bounded = (self.search(use="addition", edges={"mention": 5.0}, max_lift=lift) for lift in (0.0, 0.9))
        assert ids(free) == ["b", "a", "c"]
        assert ids(bounded) == ["a", "b", "c"]
        assert {hit.id: hit.score for hit in bounded} == pytest.approx({"a": 1 / 61, "b": 1 / 62, "c": 1 / 63})

    def test_only_so_many_come_in_as_a_leg_may_bring(self) -> None:
        edges = [Edge("a", f"x{n:03}", "next", "out") for n in range(200)] + [Edge("a", "y", "mention", "out")]
        index = Index(words={"tea": ["a"]}, links=edges)
        preset = replace(PLAIN, graph=GraphRules(use="addition", edges={"next": 0.1, "mention": 0.5}))
        result = retrieval(index, preset=preset).search("tea", candidate_k=20, top_k=20)
        assert result.trace.graph_count == 20
        assert ids(result)[:3] == ["a", "y", "x000"]
        assert result[1].relevance == 0.0

    def test_reach(self) -> None:
        assert "y" in ids(self.search(use="addition", reach=2))
        assert "y" not in ids(self.search(use="addition", reach=1))

    def test_a_factor_brings_nothing_in(self) -> None:
        result = self.search(use="multiplier", weight=1.0)
        # a gets 0.5/62, b gets 0.5/61, which is the most.
        expected = {"a": 1 / 61 * (1 + 61 / 62), "b": 2 / 62, "c": 1 / 63}
        assert {hit.id: hit.score for hit in result} == pytest.approx(expected)

    def test_a_third_list_in_which_seeds_keep_what_they_have(self) -> None:
        result = self.search(use="source")
        ranks = {hit.id: [part.rank for part in hit.candidate.contributions if part.leg == "graph"] for hit in result}
        assert ranks == {"a": [1], "b": [2], "c": [3], "x": [4]}
        assert {hit.id: hit.score for hit in result} == pytest.approx(
            {"a": 2 / 61, "b": 2 / 62, "c": 2 / 63, "x": 1 / 64}
        )

    def test_only_the_best_are_seeds(self) -> None:
        assert [part.rank for part in self.search(use="source", seeds=1)[0].candidate.contributions] == [1, 1]
        assert ids(self.search(use="source", seeds=1)) == ["a", "b", "c", "x"]

    def test_what_is_excluded_does_not_come_in_by_the_back_door(self) -> None:
        index = Index(words={"tea AND NOT x": ["a", "b"]}, links=self.EDGES)
        result = self.search(index, query="tea NOT x", use="addition")
        assert ids(result) == ["a", "b"]
        assert result.trace.graph_count == 2

    @pytest.mark.parametrize("query", ['"tea"', "tea AND a"])
    def test_where_operators_say_what_a_note_must_hold_connections_bring_nothing_in(self, query: str) -> None:
        index = Index(words={'"tea"': ["a", "c"], "tea AND a": ["a", "c"]}, links=self.EDGES)
        assert ids(self.search(index, query=query, use="addition")) == ["a", "c"]
        preset = replace(LITERAL, graph=GraphRules(use="addition", edges={"next": 0.5}))
        assert ids(retrieval(index, preset=preset).search(query)) == ["a", "c", "x"]

    def test_an_index_without_edges(self) -> None:
        result = self.search(BareIndex(self.INDEX), use="addition")
        assert ids(result) == ["a", "b", "c"]
        assert result.trace.to_dict()["graphSkippedReason"] == "the index has no methods edges and candidates"

    @pytest.mark.parametrize("use", ["source", "addition"])
    def test_nothing_connected_is_no_list(self, use: str) -> None:
        result = self.search(Index(words={"tea": ["a", "b"]}), use=use)
        assert {hit.id: hit.score for hit in result} == {"a": 1 / 61, "b": 1 / 62}
        assert result.trace.graph_count == 0

    def test_neighbours_that_cannot_be_read(self) -> None:
        class Failing(Index):
            def candidates(self, *_: Any, **__: Any) -> list[Candidate]:
                raise RuntimeError("disk gone")

        index = Failing(words={"tea": ["a"]}, links=self.EDGES)
        result = retrieval(index, preset="default").search("tea")
        assert ids(result) == ["a"]
        assert result.warnings == ["the graph was not followed: disk gone"]

    def test_edges_that_cannot_be_read_for_many(self) -> None:
        index = Index(words={"tea": [f"{n}" for n in range(40)]}, links=OSError("disk gone"))
        assert len(retrieval(index, preset="default").search("tea", top_k=40)) == 40

    def test_edges_that_cannot_be_read(self) -> None:
        result = self.search(Index(words={"tea": ["a"]}, links=OSError("disk gone")), use="source")
        assert ids(result) == ["a"]
        assert result.warnings == ["the graph was not followed: disk gone"]


class TestOperatorsInQuestions:
    QUESTION = "why do we NOT use MongoDB?"

    def test_they_are_words_in_the_default_preset(self) -> None:
        result = retrieval(Index(words={"use OR mongodb": ["a"]}), preset="default").search(self.QUESTION)
        assert ids(result) == ["a"]
        assert result.trace.excluded == ()
        assert "excluded" not in result.trace.to_dict()
        assert (result.trace.original_query, result.trace.compiled_query) == (self.QUESTION, "use OR mongodb")
        assert result.warnings[0] == (
            "NOT was read as a word, because the query is a question; to use operators, write the search terms alone"
        )

    def test_several_are_told_together(self) -> None:
        result = retrieval(Index(), preset="default").search("is it tea AND milk OR is it NOT so?")
        assert result.warnings[0].startswith("AND and OR and NOT were read as words, because")

    def test_they_are_operators_in_the_source_presets(self) -> None:
        result = retrieval(Index(), preset="jeffs-brain").search(self.QUESTION)
        assert result.trace.compiled_query == "why OR do OR we AND NOT use OR mongodb"
        assert result.warnings == []

    def test_dates_are_appended_to_the_words(self) -> None:
        result = retrieval(Index(), preset="default").search(
            "what did I NOT eat 2 days ago?", question_date="2026-04-18"
        )
        assert result.trace.compiled_query == "eat OR 2 OR days OR ago OR 20260416 OR 20260416"

    def test_excluded_terms_are_in_the_trace_as_written(self) -> None:
        walk = retrieval(Index(), preset="default", aliases={"k8s": ["kubernetes", "kube"]})
        trace = walk.search('Coffee NOT Decaf NOT "Instant  Mix" NOT kub* NOT K8s NOT Decaf').trace
        assert trace.excluded == ("Decaf", '"Instant Mix"', "kub*", "K8s")
        assert trace.to_dict()["excluded"] == list(trace.excluded)
        assert "excluded     Decaf\n" in retrieval(Index(), preset="default").search("coffee NOT Decaf, tea").explain()
        assert retrieval(Index(), preset="memini").search("coffee NOT decaf").trace.excluded == ()


class TestReplaced:
    def test_what_replaced_a_note_takes_its_place(self) -> None:
        edges = (
            Edge("old", "new", "supersedes", "in"),
            Edge("new", "old", "supersedes", "out"),
            Edge("new", "newest", "superseded-by", "out"),
        )
        index = Index(words={"phone": ["old", "other"]}, links=edges)
        preset = replace(PLAIN, stages=[{"stage": "superseded"}])  # type: ignore[arg-type]
        result = retrieval(index, preset=preset).search("phone")
        assert ids(result) == ["newest", "other", "old"]
        assert [hit.superseded_by for hit in result] == [(), (), ("newest",)]
        assert result[0].score == pytest.approx(1 / 61)
        assert result.to_dict()["hits"][2]["superseded_by"] == ["newest"]

    def test_what_replaced_a_note_and_may_not_be_found_replaces_it_all_the_same(self) -> None:
        class Walled(Index):
            def candidates(self, ids: Any, *, filters: Any = None, **options: Any) -> list[Candidate]:
                return [] if filters else super().candidates(ids, filters=filters, **options)

        links = [Edge("a", "b", "supersedes", "in"), Edge("b", "c", "supersedes", "in")]
        walk = retrieval(Walled(words={"tea": ["a"]}, links=links), preset=replace(PLAIN, stages=(Superseded(),)))
        (hit,) = walk.search("tea", filters={"tags": ["x"]})
        assert (hit.id, hit.score, hit.superseded_by) == ("a", 0.5 / 61, ("c",))
        (hit,) = walk.search("tea", filters={"created_before": "2020-01-01"})  # when nothing had replaced it yet
        assert (hit.id, hit.score, hit.superseded_by) == ("a", 1 / 61, ())

    def test_notes_of_a_circle_do_not_supersede_each_other(self) -> None:
        edges = (Edge("a", "b", "supersedes", "in"), Edge("b", "a", "supersedes", "in"))
        preset = replace(PLAIN, stages=[{"stage": "superseded"}])  # type: ignore[arg-type]
        result = retrieval(Index(words={"phone": ["a", "b"]}, links=edges), preset=preset).search("phone")
        assert {hit.id: hit.superseded_by for hit in result} == {"a": (), "b": ()}
        assert [hit.score for hit in result] == [1 / 61, 1 / 62]

    def test_superseded_note_passes_no_score_on(self) -> None:
        edges = (Edge("old", "new", "supersedes", "in"), Edge("old", "fig", "mention", "out"))
        preset = replace(PLAIN, graph=GraphRules(use="addition", edges={"mention": 0.5}))
        result = retrieval(Index(words={"wifi": ["old"]}, links=edges), preset=preset).search("wifi")
        assert ids(result) == ["old"]

    def test_a_long_chain_of_an_index_with_edges_alone_is_followed_to_its_end(self) -> None:
        edges = tuple(Edge(f"n{place}", f"n{place + 1}", "superseded-by", "out") for place in range(50))
        preset = replace(PLAIN, stages=[{"stage": "superseded"}])  # type: ignore[arg-type]
        result = retrieval(Index(words={"phone": ["n0", "n7"]}, links=edges), preset=preset).search("phone", top_k=50)
        assert {hit.id: hit.superseded_by for hit in result} == {"n50": (), "n0": ("n50",), "n7": ("n50",)}

    def test_a_chain_without_end_is_followed_so_far(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Endless(Index):
            def edges(self, ids: Sequence[str], **_: Any) -> list[Edge]:
                return [Edge(each, f"n{int(each[1:]) + 1}", "superseded-by", "out") for each in ids]

        monkeypatch.setattr("recollect.retrieval.graph.MAX_SUPERSESSIONS", 40)
        preset = replace(PLAIN, stages=[{"stage": "superseded"}])  # type: ignore[arg-type]
        result = retrieval(Endless(words={"phone": ["n0"]}), preset=preset).search("phone")
        assert {hit.id: hit.superseded_by for hit in result} == {"n40": (), "n0": ("n40",)}

    def test_several_current_notes_and_a_branch_that_ends_in_a_cycle(self) -> None:
        ends = [("a", "b"), ("b", "d"), ("a", "d"), ("a", "c"), ("c", "e"), ("e", "c"), ("b", "f")]
        edges = tuple(Edge(old, new, "superseded-by", "out") for old, new in ends)
        preset = replace(PLAIN, stages=[{"stage": "superseded"}])  # type: ignore[arg-type]
        result = retrieval(Index(words={"phone": ["a", "c"]}, links=edges), preset=preset).search("phone")
        assert {hit.id: hit.superseded_by for hit in result} == {
            "a": ("c", "d", "f"),
            "c": (),
            "d": (),
            "f": (),
        }

    def test_an_index_whose_successors_fail(self) -> None:
        class Failing(Index):
            def successors(self, *_: Any, **__: Any) -> Any:
                raise OSError("disk gone")

        preset = replace(PLAIN, stages=[{"stage": "superseded"}])  # type: ignore[arg-type]
        result = retrieval(Failing(words={"phone": ["a"]}), preset=preset).search("phone")
        assert ids(result) == ["a"]
        assert result.warnings == ["the graph was not followed: disk gone"]

    def test_an_index_without_edges(self) -> None:
        index = BareIndex(Index(words={"phone": ["old"]}))
        preset = replace(PLAIN, stages=[{"stage": "superseded"}])  # type: ignore[arg-type]
        assert ids(retrieval(index, preset=preset).search("phone")) == ["old"]


class TestRerank:
    INDEX = Index(words={"tea": ["a", "b", "c", "d"]}, nearest=["a", "b", "c", "d"])

    def test_the_head_is_turned_and_the_tail_stays(self) -> None:
        result = retrieval(self.INDEX, reranker=Reranker()).search("tea", rerank_top_n=2)
        assert ids(result) == ["b", "a", "c", "d"]
        assert (result.trace.reranked, result.trace.rerank_provider) == (True, "turner")
        assert [hit.rerank_score for hit in result] == [1.0, 0.0, None, None]

    def test_before_the_cut(self) -> None:
        assert ids(retrieval(self.INDEX, reranker=Reranker()).search("tea", top_k=1)) == ["d"]

    def test_it_is_spared_where_both_legs_agree(self) -> None:
        walk = retrieval(self.INDEX, embedder=Embedder(), reranker=Reranker())
        trace = walk.search("tea").trace.to_dict()
        assert (trace["rerankSkippedReason"], trace["unanimity"]) == ("unanimity", {"agreements": 3})
        eager = Preset(name="eager", rerank=replace(PLAIN.rerank, agree_min=0))
        assert walk.search("tea", preset=eager).trace.reranked

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
    def test_why_it_is_skipped(self, query: str, options: dict[str, Any], parts: dict[str, Any], reason: str) -> None:
        trace = retrieval(self.INDEX, **parts).search(query, **options).trace
        assert (trace.rerank_skipped_reason, trace.reranked) == (reason, False)

    def test_it_reads_title_and_summary(self) -> None:
        notes = {"a": Candidate("a", title="Tea", summary="Green", content="long"), "b": Candidate("b", content="b")}
        reranker = Reranker()
        walk = retrieval(Index(words={"tea": ["a", "b"]}, notes=notes), reranker=reranker)
        walk.search("tea")
        walk.search("tea", preset="default")
        assert reranker.documents == [["Tea\nGreen", "b"], ["Tea\nGreen\nlong", "b"]]

    def test_a_reranker_without_a_name(self) -> None:
        reranker = Reranker()
        reranker.name = None  # type: ignore[assignment]
        assert retrieval(self.INDEX, reranker=reranker).search("tea").explain()


class TestMinConfidence:
    NOTES: ClassVar = {
        "a": Candidate("a", content="green tea"),
        "b": Candidate("b", content="something else"),
    }

    def test_what_has_nothing_to_do_with_the_query_is_left_out(self) -> None:
        walk = retrieval(Index(words={"green OR tea": ["a", "b"]}, notes=self.NOTES))
        assert ids(walk.search("green tea")) == ["a", "b"]
        result = walk.search("green tea", min_confidence=0.5)
        assert (ids(result), result.trace.to_dict()["belowMinConfidence"]) == (["a"], 1)
        assert (result[0].confidence or 0) > 0.5

    def test_a_preset_may_have_one(self) -> None:
        index = Index(words={"green OR tea": ["b"]}, notes=self.NOTES)
        result = retrieval(index, preset=replace(PLAIN, min_confidence=0.5)).search("green tea")
        assert (ids(result), result.trace.rerank_skipped_reason) == ([], "empty_candidates")
        assert ids(
            retrieval(index, preset=replace(PLAIN, min_confidence=0.5)).search("green tea", min_confidence=0)
        ) == ["b"]

    def test_notes_found_by_words_alone_are_no_nearer_than_the_farthest(self) -> None:
        index = Index(words={"green OR tea": ["b"]}, nearest=["a"], notes=self.NOTES)
        far, near = retrieval(index, embedder=Embedder()).search("green tea")
        assert (near.id, far.id) == ("a", "b")
        assert (near.confidence or 0) > (far.confidence or 0)

    def test_white_space_changes_nothing(self) -> None:
        index = Index(words={'"green tea"': ["a"]}, notes={"a": Candidate("a", content="the green \n\n\n\n - tea")})
        (hit,) = retrieval(index).search('"green tea"', min_confidence=0.5)
        assert (hit.confidence or 0) > 0.5

    def test_min_confidence_keeps_what_a_confident_note_leads_to(self) -> None:
        index = Index(words={"green OR tea": ["a"]}, links=[Edge("a", "b", "next", "out")], notes=self.NOTES)
        preset = replace(PLAIN, graph=GraphRules(use="addition", edges={"next": 0.5}))
        assert ids(retrieval(index, preset=preset).search("green tea", min_confidence=0.5)) == ["a", "b"]

    def test_a_session_leads_nowhere(self) -> None:
        notes = {"a": Candidate("a", content="green tea", session="s"), "s": Candidate("s", content="x", session="s")}
        index = Index(words={"green OR tea": ["a", "s"]}, notes=notes)
        preset = replace(PLAIN, graph=GraphRules(use="addition", edges={"session": 0.5}))
        assert ids(retrieval(index, preset=preset).search("green tea", min_confidence=0.5)) == ["a"]

    def test_what_a_sure_note_leads_to_stays(self) -> None:
        edges = [Edge("a", "b", "next", "out"), Edge("e", "new", "supersedes", "in"), Edge("c", "d", "next", "out")]
        edges.append(Edge("new", "newest", "supersedes", "in"))
        notes = self.NOTES | {"e": Candidate("e", content="green teas")}
        index = Index(words={"green OR tea": ["a", "c", "e"]}, links=edges, notes=notes)
        preset = replace(PLAIN, graph=GraphRules(use="addition", edges={"next": 0.5}), stages=[{"stage": "superseded"}])  # type: ignore[arg-type]
        assert set(ids(retrieval(index, preset=preset).search("green tea"))) == set("abcde") | {"newest"}
        assert set(ids(retrieval(index, preset=preset).search("green tea", min_confidence=0.5))) == {
            "a",
            "b",
            "e",
            "newest",
        }

    def test_a_wrong_floor(self) -> None:
        with pytest.raises(ArgumentError, match="min_confidence: must be at most 1, got 2"):
            retrieval(Index()).search("tea", min_confidence=2)

    def test_a_search_has_an_answer_if_its_best_confidence_reaches_the_threshold(self) -> None:
        notes = {"a": Candidate("a", content="green tea"), "b": Candidate("b", content="green")}
        index = Index(words={"green OR tea": ["a", "b"]}, notes=notes)
        walk = retrieval(index)
        result = walk.search("green tea")
        best = max(hit.confidence or 0.0 for hit in result)
        assert (result.answer_threshold, result.best_confidence, result.has_answer) == (0.0, best, True)
        assert "answerThreshold" not in result.trace.to_dict()
        at_it = walk.search("green tea", answer_threshold=best)
        assert (ids(at_it), at_it.has_answer, at_it.trace.to_dict()["answerThreshold"]) == (["a", "b"], True, best)
        above = walk.search("green tea", answer_threshold=(best + 1) / 2)
        assert (ids(above), above.has_answer) == (["a", "b"], False)
        told = above.to_dict()
        assert (told["has_answer"], told["answer_threshold"], len(told["hits"])) == (False, (best + 1) / 2, 2)

    def test_no_hit_is_no_answer_whatever_the_threshold(self) -> None:
        result = retrieval(Index()).search("tea")
        assert (result.answer_threshold, result.best_confidence, result.has_answer) == (0.0, 0.0, False)

    def test_the_threshold_is_the_presets_own_where_a_search_names_none(self) -> None:
        index = Index(words={"green OR tea": ["b"]}, notes={"b": Candidate("b", content="green")})
        names = ("default", "jeffs-brain", "trovella", "memini", "weighted-graph")
        used = [retrieval(index, preset=name).search("green tea").answer_threshold for name in names]
        assert used == [0.25, 0.0, 0.0, 0.0, 0.0]
        assert not retrieval(index, preset=replace(PLAIN, answer_threshold=0.99)).search("green tea").has_answer
        with pytest.raises(ArgumentError, match="answer_threshold: must be at most 1, got 2"):
            retrieval(index).search("tea", answer_threshold=2)


class TestOnesOwn:
    def test_a_vector_of_ones_own_is_flat(self) -> None:
        with pytest.raises(ArgumentError, match=r"^vector: must be a flat list of numbers, got .* shape \(2, 2\)"):
            retrieval(Index()).search("tea", vector=[[1, 0], [0, 1]])  # type: ignore[list-item]

    def test_the_preset_it_was_made_with(self) -> None:
        assert retrieval(Index(), preset="memini").preset.name == "memini"

    def test_k_of_0_is_the_papers(self) -> None:
        assert FusionRules(k=0).k == 60


class TestFaults:
    def test_the_lexical_leg(self) -> None:
        index = Index(words=RuntimeError("no such\n table"), nearest=["a"])
        result = retrieval(index, embedder=Embedder(), preset="default").search("tea")
        assert ids(result) == ["a"]
        assert (result.trace.error_stage, result.trace.error_detail) == ("bm25", "no such table")
        assert (result.trace.attempts, result.trace.mode) == ([], "hybrid")
        assert result.warnings == ["lexical search failed: no such table"]

    def test_a_rung(self) -> None:
        class Failing(Index):
            def search_names(self, *_: Any, **__: Any) -> Any:
                raise RuntimeError

        result = retrieval(Failing(nearest=["a"]), embedder=Embedder(), preset="default").search("kubernets")
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
    def test_the_embedder(self, answer: Any, reason: str) -> None:
        index = Index(words={"tea": ["a"]}, nearest=["b"])
        walk = retrieval(index, embedder=Embedder(answer))
        result = walk.search("tea")
        assert (ids(result), result.trace.embedder_used, result.trace.mode) == (["a"], False, "hybrid")
        assert result.warnings == [f"only lexical search ran: {reason}"]
        assert "errorStage" not in result.trace.to_dict()
        alone = walk.search("tea", mode="semantic")
        assert (ids(alone), alone.trace.mode, alone.trace.fell_back_to_bm25) == (["a"], "bm25", True)

    def test_the_query_is_embedded_while_the_words_are_looked_for(self) -> None:
        looking, embedding = Event(), Event()

        class Meeting(Index):
            def search_text(self, *arguments: Any, **options: Any) -> list[Candidate]:
                looking.set()
                assert embedding.wait(30), "nobody embeds meanwhile"
                return super().search_text(*arguments, **options)

        class Patient(Embedder):
            def embed_query(self, text: str) -> Any:
                assert looking.wait(30), "nobody looks for words meanwhile"
                embedding.set()
                return super().embed_query(text)

        result = retrieval(Meeting(words={"tea": ["a"]}, nearest=["b"]), embedder=Patient()).search("tea")
        assert (ids(result), result.warnings) == (["a", "b"], [])

    def test_a_slow_embedder(self) -> None:
        index = Index(words={"tea": ["a"]}, nearest=["b"])
        result = retrieval(index, embedder=Embedder(delay=0.5), embedder_timeout=0.01).search("tea")
        assert (ids(result), result.trace.embedder_used) == (["a"], False)
        assert result.warnings == ["only lexical search ran: no answer within 0.01 seconds"]

    def test_too_many_slow_embedders(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("recollect.retrieval.legs.MAX_ABANDONED", 0)
        result = retrieval(Index(words={"tea": ["a"]}), embedder=Embedder()).search("tea")
        assert ids(result) == ["a"]
        assert "earlier calls have not returned yet" in result.warnings[0]

    def test_the_vector_index(self) -> None:
        index = Index(words={"tea": ["a"]}, nearest=RuntimeError("vectors gone"))
        result = retrieval(index, embedder=Embedder()).search("tea")
        assert (ids(result), result.trace.embedder_used) == (["a"], True)
        assert result.warnings == ["only lexical search ran: vectors gone"]

    def test_both_legs(self) -> None:
        walk = retrieval(Index(words=RuntimeError("down")), embedder=Embedder(RuntimeError("down, too")))
        result = walk.search("tea")
        assert (ids(result), result.trace.error_stage) == ([], "bm25")
        assert result.trace.rerank_skipped_reason == "empty_candidates"

    @pytest.mark.parametrize("embedder", [None, Embedder(RuntimeError("down"))])
    def test_a_store_that_cannot_be_searched_at_all_is_no_empty_answer(self, embedder: Embedder | None) -> None:
        with pytest.raises(StoreError, match="closed"):
            retrieval(Index(words=StoreError("closed")), embedder=embedder).search("tea")
        index = Index(words=StoreError("closed"), nearest=["a"])
        assert ids(retrieval(index, embedder=Embedder()).search("tea")) == ["a"]

    @pytest.mark.parametrize("verdict", [RuntimeError("over quota"), [("first", "second")]])
    def test_the_reranker(self, verdict: Any) -> None:
        index = Index(words={"tea": ["a", "b"]})
        result = retrieval(index, reranker=Reranker(verdict)).search("tea")
        assert (ids(result), result.trace.error_stage, result.trace.reranked) == (["a", "b"], "rerank", False)
        assert "rerankProvider" not in result.trace.to_dict()
        assert result.warnings[0].startswith("the results were not reranked: ")

    def test_a_slow_reranker(self) -> None:
        index = Index(words={"tea": ["a", "b"]})
        result = retrieval(index, reranker=Reranker(delay=0.5), reranker_timeout=0.01).search("tea")
        assert (ids(result), result.trace.error_detail) == (["a", "b"], "no answer within 0.01 seconds")

    def test_the_first_of_two_errors_is_kept(self) -> None:
        index = Index(words=RuntimeError("down"), nearest=["a", "b"])
        trace = retrieval(index, embedder=Embedder(), reranker=Reranker(RuntimeError("as well"))).search("tea").trace
        assert (trace.error_stage, trace.error_detail) == ("bm25", "down")
        assert trace.warnings[1] == "the results were not reranked: as well"


class TestOddIndexes:
    """An index may be anybody's own: mappings do, and what is no answer is done without."""

    class Mappings(Index):
        def search_text(self, *_: Any, **__: Any) -> Any:
            return ({"id": each, "path": each, "content": f"tea {each}"} for each in "abc")

        def search_vectors(self, *_: Any, **__: Any) -> Any:
            return ({"id": each, "path": each, "content": f"tea {each}", "score": 0.5} for each in "cbd")

        def edges(self, *_: Any, **__: Any) -> Any:
            return [("a", "x", "next", "out")]

        def candidates(self, ids: Any, **_: Any) -> Any:
            return [{"id": each, "content": each} for each in ids]

    @pytest.mark.parametrize("preset", presets())
    def test_mappings(self, preset: str) -> None:
        walk = retrieval(self.Mappings(), embedder=Embedder(), reranker=Reranker(), preset=preset)
        result = walk.search("tea")
        assert set(ids(result)) >= {"a", "b", "c", "d"}
        assert (result.trace.error_stage, result.warnings) == ("", [])

    @pytest.mark.parametrize("leg", ["search_text", "search_vectors"])
    def test_what_is_no_list_of_candidates(self, leg: str) -> None:
        index = self.Mappings()
        setattr(index, leg, lambda *_, **__: [{"id": "a"}, 3])
        result = retrieval(index, embedder=Embedder()).search("tea")
        assert len(result) == 3
        assert f"{leg}[1]: must be a Candidate or a mapping" in result.warnings[0]

    def test_what_is_no_edge(self) -> None:
        index = self.Mappings()
        index.edges = lambda *_, **__: [("a",)]  # type: ignore[method-assign]
        result = retrieval(index, preset="default").search("tea")
        assert len(result) == 3
        assert "the graph was not followed" in result.warnings[0]

    def test_a_model_that_cannot_be_told(self) -> None:
        class Broken(Index):
            @property
            def model(self) -> Model:
                raise OSError("disk gone")

        result = retrieval(Broken(words={"tea": ["a"]}), embedder=Embedder()).search("tea", mode="hybrid")
        assert (ids(result), result.trace.fell_back_to_bm25) == (["a"], True)
        assert result.warnings == ["only lexical search ran: disk gone"]

    def test_an_embedder_that_refuses_the_text(self) -> None:
        embedder = Embedder(ArgumentError("text", "is too long"))
        result = retrieval(Index(words={"tea": ["a"]}), embedder=embedder).search("tea")
        assert (ids(result), result.warnings) == (["a"], ["only lexical search ran: text: is too long"])

    def test_aliases_are_checked_at_the_door(self) -> None:
        with pytest.raises(ArgumentError, match="aliases"):
            retrieval(Index(), aliases={"tea": 3})

    def test_arguments_are_checked_before_anything_is_asked(self) -> None:
        index = Index()
        with pytest.raises(ArgumentError, match="min_confidence"):
            retrieval(index).search("tea", min_confidence=2)
        with pytest.raises(ArgumentError, match="rerank_top_n"):
            retrieval(index).search("tea", rerank_top_n=-1)
        assert index.asked == []


class TestModels:
    """An index may say which model its vectors are of."""

    def search(self, model: Model | None) -> SearchResult:
        index = Index(words={"tea": ["a"]}, nearest=["b"])
        index.model = model  # type: ignore[attr-defined]
        return retrieval(index, embedder=Embedder()).search("tea", mode="hybrid")

    def test_the_same(self) -> None:
        assert ids(self.search(Model("stub", 2))) == ["a", "b"]

    def test_none_yet(self) -> None:
        result = self.search(None)
        assert (ids(result), result.trace.fell_back_to_bm25) == (["a"], True)
        assert result.warnings == ["no note has a vector yet, so only lexical search ran; run reindex to embed them"]

    def test_another(self) -> None:
        assert "vectors are of other, not of stub" in self.search(Model("other", 2)).warnings[0]

    def test_another_dimension(self) -> None:
        assert "have 2 numbers now and 3 in the store" in self.search(Model("stub", 3)).warnings[0]


class TestRecord:
    @pytest.mark.parametrize("preset", presets())
    def test_the_trace_alone_accounts_for_each_score(self, preset: str) -> None:
        edges = (Edge("a", "x", "next", "out"), Edge("b", "c", "supersedes", "in"))
        notes = {"a": Candidate("a", content="a", session="s", importance=0.9, last_accessed_at=datetime.now(UTC))}
        index = Index(words={"tea": ["a", "b"]}, nearest=["b", "c", "a"], links=edges, notes=notes)
        walk = retrieval(index, embedder=Embedder(), reranker=Reranker(), preset=preset)
        result = walk.search("tea")
        told = result.trace.to_dict()["results"]
        assert [each["id"] for each in told] == ids(result)
        assert [recomputed_score(each) for each in told] == [hit.score for hit in result]
        assert all(0 <= each["confidence"] <= 1 for each in told)

    def test_a_legs_own_snippet_is_kept(self) -> None:
        notes = {"a": Candidate("a", content="Prefers green tea.", snippet="[tea]"), "b": Candidate("b", content="tea")}
        one, other = retrieval(Index(words={"tea": ["a", "b"]}, notes=notes)).search("tea")
        assert (one.snippet, one.highlights) == ("[tea]", ())
        assert (other.snippet, other.highlights) == ("tea", ((0, 3),))

    def test_where_only_the_summary_holds_the_words_it_is_shown(self) -> None:
        notes = {
            "a": Candidate("a", content="Prefers sencha.", summary="About tea."),
            "b": Candidate("b", content="Prefers sencha.", summary="About cups."),
        }
        one, other = retrieval(Index(words={"tea": ["a", "b"]}, notes=notes)).search("tea")
        assert (one.snippet, one.highlights) == ("About tea.", ((6, 9),))
        assert (other.snippet, other.highlights) == ("Prefers sencha.", ())

    def test_candidates_of_the_index_are_not_changed(self) -> None:
        kept = Candidate("a", content="tea")

        class Same(Index):
            def note(self, _: str) -> Candidate:
                return kept

        retrieval(Same(words={"tea": ["a"]})).search("tea")
        assert (kept.snippet, kept.confidence, kept.steps) == ("", None, ())

    def test_the_parts_are_timed(self) -> None:
        trace = retrieval(Index(words={"tea": ["a"]}, delay=0.01), preset="default").search("tea").trace
        assert trace.total_elapsed >= trace.bm25_elapsed >= 10
        assert [run.stage for run in trace.stages] == [stage.name for stage in presets()["default"].stages]


class TestTrigramChunks:
    CHUNKS = ({"id": "k", "path": "wiki/kubernetes.md", "title": "K"}, {"id": "t", "path": "tea.md"})

    def test_names_that_the_caller_gives(self) -> None:
        result = retrieval(BareIndex(Index()), preset="jeffs-brain", trigram_chunks=iter(self.CHUNKS)).search(
            "kubernets"
        )
        assert [(hit.id, hit.title) for hit in result] == [("k", "K")]
        assert result.trace.attempts[-1] == ("trigram_fuzzy", "kubernets", 1)

    def test_an_index_that_compares_no_names(self) -> None:
        result = retrieval(BareIndex(Index()), preset="default").search("kubernets")
        assert result.trace.attempts[-1] == ("trigram_fuzzy", "kubernets", 0)

    def test_words_as_the_index_spells_them(self) -> None:
        index = Index(words={"kubernetes OR cluster": ["a"]}, spellings={"kubernets": ["kubernetes"], "x": ["cluster"]})
        result = retrieval(index, preset="default").search("kubernets x clustr")
        assert [attempt.strategy for attempt in result.trace.attempts][-2:] == ["did_you_mean", "trigram_fuzzy"]
        index.words = {"kubernetes": ["a"]}
        index.notes = {"a": Candidate("a", content="about kubernetes")}
        (hit,) = retrieval(index, preset="default").search("kubernets x clustr", min_confidence=0.5)
        assert hit.snippet[slice(*hit.highlights[0])] == "kubernetes"

    def test_what_is_excluded_or_filtered_is_no_name(self) -> None:
        chunks = [{"id": "k", "path": "kubernetes.md", "content": "secret"}, {"id": "t", "path": "kubernetic.md"}]
        for index, found in ((Index(notes={"k": Candidate("k", content="secret")}), ["t"]), (BareIndex(Index()), [])):
            walk = retrieval(index, preset="default", trigram_chunks=chunks)
            assert ids(walk.search("kubernets NOT secret")) == found
            assert set(ids(walk.search("kubernets"))) == {"k", "t"}
        alone = retrieval(BareIndex(Index()), preset="default", trigram_chunks=chunks)
        assert ids(alone.search("kubernets", filters={"tags": ["x"]})) == []

    def test_words_of_hidden_notes_are_not_told(self) -> None:
        index = Index(spellings={"fabrikanto": ["fabrikantos"]})
        walk = retrieval(index, preset="default")
        told = [attempt.strategy for attempt in walk.search("fabrikanto", filters={"tags": ["staff"]}).trace.attempts]
        assert "did_you_mean" not in told
        assert "did_you_mean" in [attempt.strategy for attempt in walk.search("fabrikanto").trace.attempts]

    def test_a_long_text_is_cut_on_every_rung(self) -> None:
        index = Index()
        words = " ".join(f"w{number}ord" for number in range(500))
        retrieval(index, preset="default").search(words)
        assert max(asked.count(" OR ") for asked in index.asked) == 127

    def test_stopwords_are_never_misspelt(self) -> None:
        class Asked(Index):
            def similar_words(self, words: Any, **_: Any) -> dict[str, list[str]]:
                return {word: [f"{word}s"] for word in words}

        index = Asked()
        for query, asked in (
            ("what does she like to drink?", "drinks"),
            ('"senhca nwo" kettel.js', "senhcas OR kettels"),
        ):
            retrieval(index, preset="default").search(query)
            assert index.asked[-1].startswith(asked)

    def test_a_guess_counts_less_beside_meaning(self) -> None:
        index = Index(words={"kubernetes": ["a"]}, nearest=["b"], spellings={"kubernets": ["kubernetes"]})
        preset = replace(PLAIN, ladder=LadderRules(guess_weight=0.25))
        result = retrieval(index, preset=preset, embedder=Embedder()).search("kubernets")
        assert [(hit.id, hit.score) for hit in result] == [("b", 1 / 61), ("a", 0.25 / 61)]
        assert result.trace.to_dict()["fusion"]["weights"] == {"lexical": 0.25}

    def test_names_that_are_spelt_alike_are_as_sure_as_they_are_alike(self) -> None:
        (hit,) = retrieval(BareIndex(Index()), preset="jeffs-brain", trigram_chunks=self.CHUNKS).search("kubernetes")
        (typo,) = retrieval(BareIndex(Index()), preset="jeffs-brain", trigram_chunks=self.CHUNKS).search("kubarnetes")
        assert (hit.confidence or 0) > (typo.confidence or 0) > 0.25
