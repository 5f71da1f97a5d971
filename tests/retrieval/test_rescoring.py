"""Context rescoring: turns with their neighbours, long notes by passage; and snippets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Candidate, Filters
from recollect.model import Edge
from recollect.model.note import CHUNK_CHARS, MAX_UNSPLIT_CHARS
from recollect.query import expand_aliases, parse
from recollect.retrieval import ContextRules
from recollect.retrieval.confidence import SNIPPET_WIDTH, snippet
from recollect.retrieval.graph import IndexGraph
from recollect.retrieval.request import SearchRequest, SearchScope, TermFrequencies
from recollect.retrieval.rescoring import RescoredLists, rescore_with_context
from recollect.retrieval.trace import Context
from recollect.stores.search_index import IndexAbilities
from tests.retrieval.stubs import Index
from tests.strategies import any_text, query_text

FLAT = ContextRules(on=True, b=0.0, k1=1.0)
"""Rules without length normalisation: a term with frequency c counts 2c / (c + 1) times its weight."""
FREQUENCIES = TermFrequencies(100, {"tea": 4, "kettle": 1, "green": 9})
TEA_IDF, KETTLE_IDF = log(96.5 / 4.5), log(99.5 / 1.5)


def saturation(count: float) -> float:
    return 2 * count / (count + 1)


def turn(identifier: str, content: str, position: int | None = 0, **fields: Any) -> Candidate:
    return Candidate(identifier, **{"content": content, "session": "s", "position": position, **fields})


def conversation(*contents: str) -> tuple[dict[str, Candidate], list[Edge]]:
    """Return turns t0, t1, … of a conversation, and the edges between all of them."""
    turns = {f"t{position}": turn(f"t{position}", content, position) for position, content in enumerate(contents)}
    edges = [
        Edge(
            f"t{source}", f"t{target}", "next" if target > source else "previous", "out", distance=abs(target - source)
        )
        for source in range(len(contents))
        for target in range(len(contents))
        if source != target
    ]
    return turns, edges


def graph_of(notes: Mapping[str, Candidate], edges: Iterable[Any] | Exception, reach: int = 2) -> IndexGraph:
    tree = parse("tea")
    request = SearchRequest("tea", tree, tree, "tea", "tea", None, (), datetime(2026, 4, 18, tzinfo=UTC), (), ())
    index: Any = Index(notes=notes, links=edges if isinstance(edges, Exception) else list(edges))
    return IndexGraph(IndexAbilities(index), request, SearchScope("default", Filters(), 60), reach)


def rescore(
    query: str,
    notes: Mapping[str, Candidate],
    edges: Iterable[Any] = (),
    *,
    lexical: Mapping[str, float] | None = None,
    vector: Sequence[str] = (),
    rules: ContextRules = FLAT,
) -> RescoredLists:
    """Rescore lists given by ids and scores of the lexical leg and ids of the vector leg."""
    lists = {
        "lexical": [with_score(notes[note], score) for note, score in (lexical or {}).items()],
        "vector": [with_score(notes[note], 1.0) for note in vector],
    }
    return rescore_with_context(lists, parse(query), FREQUENCIES, graph_of(notes, edges, rules.reach), rules)


def with_score(note: Candidate, score: float) -> Candidate:
    copied = note.copy()
    copied.score = score
    return copied


def scores(rescored: RescoredLists) -> dict[str, float]:
    assert [note.lexical_rank for note in rescored.lexical] == list(range(1, len(rescored.lexical) + 1))
    assert [note.score for note in rescored.lexical] == sorted((n.score for n in rescored.lexical), reverse=True)
    return {note.id: note.score for note in rescored.lexical}


class TestTurns:
    def test_neighbouring_term_counts_in_part(self) -> None:
        notes, edges = conversation("Which tea?", "The kettle one.")
        rescored = rescore("tea kettle", notes, edges, lexical={"t0": 3.0, "t1": 2.0})
        # t0 has tea and 0.3 of the kettle in the next turn; t1 has kettle and 0.5 of the tea in the previous one.
        assert scores(rescored) == pytest.approx(
            {"t1": KETTLE_IDF + saturation(0.5) * TEA_IDF, "t0": TEA_IDF + saturation(0.3) * KETTLE_IDF}
        )
        assert rescored.contexts == {"t0": Context(3.0, ("t1",)), "t1": Context(2.0, ("t0",))}
        assert rescored.added == []
        assert [note.lexical_score for note in rescored.lexical] == [note.score for note in rescored.lexical]

    def test_term_in_both_turns_saturates(self) -> None:
        notes, edges = conversation("Tea?", "Tea.")
        assert scores(rescore("tea", notes, edges, lexical={"t0": 1.0, "t1": 1.0})) == pytest.approx(
            {"t1": saturation(1.5) * TEA_IDF, "t0": saturation(1.3) * TEA_IDF}
        )

    def test_neighbour_at_distance_2_counts_half(self) -> None:
        notes, edges = conversation("Tea.", "Well.", "Yes.", "No.")
        rescored = rescore("tea", notes, edges, lexical={"t0": 1.0})
        assert scores(rescored) == pytest.approx(
            {"t0": TEA_IDF, "t1": saturation(0.5) * TEA_IDF, "t2": saturation(0.25) * TEA_IDF}
        )
        assert [note.id for note in rescored.added] == ["t1", "t2"]
        assert rescored.contexts["t2"] == Context(None, ("t0", "t1"))

    def test_added_turn_needs_matching_terms(self) -> None:
        notes, edges = conversation("Well.", "Tea.", "Yes.")
        rules = FLAT.changed({"previous": 0.0})
        rescored = rescore("tea", notes, edges, lexical={"t1": 1.0}, rules=rules)
        assert scores(rescored) == pytest.approx({"t1": TEA_IDF, "t0": saturation(0.3) * TEA_IDF})
        assert [note.id for note in rescored.added] == ["t0", "t2"]  # in reach, so their similarities are computed
        assert "t2" not in rescored.contexts

    def test_turns_of_the_vector_leg_are_rescored(self) -> None:
        notes, edges = conversation("Tea.", "Yes.")
        rescored = rescore("tea", notes, edges, vector=["t1"])
        assert scores(rescored) == pytest.approx({"t0": TEA_IDF, "t1": saturation(0.5) * TEA_IDF})
        assert rescored.contexts["t1"] == Context(None, ("t0",))

    def test_seeds_limits_the_rescored_turns(self) -> None:
        notes, edges = conversation("Tea.", "Yes.", "Tea.", "No.")
        rules = FLAT.changed({"seeds": 1, "reach": 1})
        rescored = rescore("tea", notes, edges, lexical={"t2": 9.0, "t0": 1.0}, rules=rules)
        assert scores(rescored) == pytest.approx(
            {"t2": TEA_IDF, "t3": saturation(0.5) * TEA_IDF, "t1": saturation(0.3) * TEA_IDF, "t0": 1.0}
        )

    def test_title_summary_and_path_have_field_weights(self) -> None:
        notes, edges = conversation("Yes.", "No.")
        notes["t0"] = replace(notes["t0"], title="Tea", summary="tea", path="tea.md")
        rescored = rescore("tea", notes, edges, lexical={"t0": 1.0})
        assert scores(rescored)["t0"] == pytest.approx(saturation(10 + 5 + 3) * TEA_IDF)
        assert "t1" not in scores(rescored)  # names count only for their own turn

    def test_long_turns_are_normalised_by_length(self) -> None:
        notes, edges = conversation("tea", "tea and then some more words")
        rules = ContextRules(on=True, b=1.0, k1=1.0, previous=0.0, next=0.0)
        rescored = rescore("tea", notes, edges, lexical={"t0": 1.0, "t1": 1.0}, rules=rules)
        # One word and six, 3.5 on average.
        assert scores(rescored) == pytest.approx({"t0": 2 * TEA_IDF / (1 + 1 / 3.5), "t1": 2 * TEA_IDF / (1 + 6 / 3.5)})

    def test_k1_0_ignores_term_frequency(self) -> None:
        notes, edges = conversation("tea tea tea", "kettle")
        rules = ContextRules(on=True, b=1.0, k1=0.0, previous=0.0, next=0.0)
        rescored = rescore("tea kettle", notes, edges, lexical={"t0": 1.0, "t1": 1.0}, rules=rules)
        assert scores(rescored) == pytest.approx({"t1": KETTLE_IDF, "t0": TEA_IDF})

    def test_match_outside_the_text_keeps_its_score(self) -> None:
        """Rescoring reads no tags and matches fewer word endings than the index."""
        notes, edges = conversation("Yes.", "No.")
        rescored = rescore("tea", notes, edges, lexical={"t0": 1.5})
        assert scores(rescored) == {"t0": 1.5}
        assert rescored.contexts == {}

    @pytest.mark.parametrize("fields", [{"session": ""}, {"position": None}])
    def test_note_outside_a_session_keeps_its_score(self, fields: dict[str, Any]) -> None:
        notes = {"a": turn("a", "Tea.", **fields)}
        rescored = rescore("tea", notes, [Edge("a", "b", "next", "out")], lexical={"a": 1.5})
        assert (scores(rescored), rescored.contexts, rescored.added) == ({"a": 1.5}, {}, [])

    def test_session_of_one_turn_keeps_its_score(self) -> None:
        rescored = rescore("tea", {"a": turn("a", "Tea.")}, lexical={"a": 1.5})
        assert (scores(rescored), rescored.contexts) == ({"a": 1.5}, {})

    def test_first_turn_at_a_position_is_the_neighbour(self) -> None:
        notes = {"a": turn("a", "Yes.", 1), "b": turn("b", "Tea.", 2), "c": turn("c", "Kettle.", 2)}
        edges = [Edge("a", "b", "next", "out"), Edge("a", "c", "next", "out")]
        rescored = rescore("tea kettle", notes, edges, lexical={"a": 1.0})
        assert scores(rescored) == pytest.approx({"b": TEA_IDF, "a": saturation(0.3) * TEA_IDF})

    def test_unrequested_edges_are_ignored(self) -> None:
        class NoisyIndex(Index):
            def edges(self, *_: Any, **__: Any) -> list[Edge]:
                return [Edge("x", "y", "next", "out"), Edge("a", "a", "next", "out"), Edge("a", "b", "next", "out")]

        graph = graph_of({}, ())
        index: Any = NoisyIndex(notes={"b": turn("b", "Tea.")})
        graph._graph = index
        lists = {"lexical": [with_score(turn("a", "Tea."), 1.0)], "vector": []}
        rescored = rescore_with_context(lists, parse("tea"), FREQUENCIES, graph, FLAT)
        assert scores(rescored) == pytest.approx({"a": TEA_IDF})

    def test_rescoring_copies_candidates(self) -> None:
        notes, edges = conversation("Tea.", "Yes.")
        original = with_score(notes["t0"], 1.0)
        lists = {"lexical": [original], "vector": []}
        rescore_with_context(lists, parse("tea"), FREQUENCIES, graph_of(notes, edges), FLAT)
        assert (original.score, original.lexical_rank, original.lexical_score) == (1.0, None, None)

    def test_ties_are_ordered_by_path_and_id(self) -> None:
        notes = {name: Candidate(name, path=path) for name, path in (("b", "x"), ("a", "x"), ("c", "w"))}
        assert list(scores(rescore("tea", notes, lexical={"b": 1.0, "a": 1.0, "c": 1.0}))) == ["c", "a", "b"]


FILLER = "x" * (CHUNK_CHARS - 1) + " "


class TestPassages:
    """A long note has four or more passages of 300 characters."""

    def test_terms_in_one_passage_score_higher(self) -> None:
        notes = {
            "apart": Candidate("apart", content="tea " + FILLER * 6 + "kettle"),
            "together": Candidate("together", content="tea kettle " + FILLER * 6),
        }
        rescored = rescore("tea kettle", notes, lexical={"apart": 2.0, "together": 1.0})
        # 14 passages, two with each term: idf ln(1 + 12.5/2.5) for both. A passage with both terms scores twice as much
        # as one with either, and the best passage is scaled to 2, the best lexical score.
        assert scores(rescored) == pytest.approx({"together": 0.5 * 1.0 + 0.5 * 2.0, "apart": 0.5 * 2.0 + 0.5 * 1.0})
        assert rescored.contexts == {"apart": Context(2.0, ()), "together": Context(1.0, ())}

    def test_neighbouring_passages_count_in_part(self) -> None:
        notes = {
            "near": Candidate("near", content="tea " + FILLER + "kettle " + FILLER * 5),
            "far": Candidate("far", content="tea " + FILLER * 3 + "kettle " + FILLER * 3),
        }
        rescored = rescore("tea kettle", notes, lexical={"near": 1.0, "far": 1.0}, rules=FLAT.changed({"passage": 1.0}))
        best = 1 + saturation(0.5)  # the passage with kettle, where the tea of the previous passage counts half
        assert scores(rescored) == pytest.approx({"near": 1.0, "far": 1 / best})

    def test_short_notes_keep_their_scores(self) -> None:
        notes = {
            "short": Candidate("short", content="tea ".ljust(MAX_UNSPLIT_CHARS, "x")),
            "long": Candidate("long", content="tea ".ljust(MAX_UNSPLIT_CHARS + 1, "x")),
        }
        rescored = rescore("tea", notes, lexical={"short": 3.0, "long": 2.0})
        assert scores(rescored) == {"short": 3.0, "long": 2.0}  # the only long note is its own maximum
        assert rescored.contexts == {"long": Context(2.0, ())}

    def test_passage_0_disables_passages(self) -> None:
        notes = {"long": Candidate("long", content="tea " + FILLER * 6)}
        rescored = rescore("tea", notes, lexical={"long": 2.0}, rules=FLAT.changed({"passage": 0.0}))
        assert (scores(rescored), rescored.contexts) == ({"long": 2.0}, {})

    def test_title_counts_in_every_passage(self) -> None:
        notes = {
            "named": Candidate("named", title="Kettle", content="tea " + FILLER * 6),
            "plain": Candidate("plain", content="tea " + FILLER * 6),
        }
        rescored_scores = scores(rescore("tea kettle", notes, lexical={"named": 1.0, "plain": 1.0}))
        assert rescored_scores["named"] == 1.0 > rescored_scores["plain"]

    def test_tag_match_keeps_its_score(self) -> None:
        notes = {
            "tag": Candidate("tag", content=FILLER * 6),
            "tea": Candidate("tea", content="tea " + FILLER * 6),
        }
        assert scores(rescore("tea", notes, lexical={"tag": 3.0, "tea": 2.0})) == {"tag": 3.0, "tea": 2.0}
        assert scores(rescore("tea", notes, lexical={"tag": 3.0})) == {"tag": 3.0}

    def test_title_counts_without_a_matching_passage(self) -> None:
        notes = {
            "named": Candidate("named", title="Tea", content=FILLER * 6),
            "said": Candidate("said", content="tea " + FILLER * 6),
        }
        rescored_scores = scores(rescore("tea", notes, lexical={"named": 3.0, "said": 2.0}))
        # the title counts ten times, and saturates: the best of both, 3.0, stays 3.0
        assert rescored_scores["named"] == pytest.approx(3.0)
        assert rescored_scores["said"] == pytest.approx(1.825, abs=0.001)

    def test_long_turns_have_no_passages(self) -> None:
        notes, edges = conversation("tea " + FILLER * 6, "Yes.")
        assert scores(rescore("tea", notes, edges, lexical={"t0": 9.0})) == pytest.approx(
            {"t0": TEA_IDF, "t1": saturation(0.5) * TEA_IDF}
        )


IDF = {"tea": log(1 + 96.5 / 4.5), "kettle": log(1 + 99.5 / 1.5)}
IDF_SUM = sum(IDF.values())


class TestCoverage:
    """The lexical score is multiplied by the share of the query's idf that the note covers."""

    RULES = FLAT.changed({"coverage": 1.0})

    def test_coverage_ranks_notes_with_all_terms_first(self) -> None:
        notes = {
            "all": Candidate("all", content="A kettle for tea."),
            "one": Candidate("one", content="Tea, tea and tea."),
        }
        lexical = {"one": 3.0, "all": 2.0}
        assert list(scores(rescore("tea kettle", notes, lexical=lexical))) == ["one", "all"]
        rescored = rescore("tea kettle", notes, lexical=lexical, rules=self.RULES)
        assert scores(rescored) == pytest.approx({"all": 2.0, "one": 3.0 * IDF["tea"] / IDF_SUM})
        assert [note.lexical_score for note in rescored.lexical] == [note.score for note in rescored.lexical]

    def test_max_score_is_before_coverage(self) -> None:
        notes = {"one": Candidate("one", content="Tea."), "other": Candidate("other", content="The tea.")}
        assert rescore("tea kettle", notes, lexical={"one": 3.0, "other": 2.0}, rules=self.RULES).max_score == 3.0
        assert rescore("tea kettle", notes, lexical={"one": 3.0, "other": 2.0}).max_score == 3.0
        assert rescore("tea kettle", {}, rules=self.RULES).max_score == 0.0

    def test_coverage_counts_path_title_and_summary(self) -> None:
        for field in ("path", "title", "summary"):
            notes = {"n": replace(Candidate("n", content="Tea."), **{field: "kettle"})}  # type: ignore[arg-type]
            assert scores(rescore("tea kettle", notes, lexical={"n": 2.0}, rules=self.RULES)) == {"n": 2.0}

    def test_coverage_weighs_neighbouring_terms(self) -> None:
        notes, edges = conversation("Which tea?", "The kettle one.")
        rescored = rescore("tea kettle", notes, edges, lexical={"t0": 3.0, "t1": 2.0}, rules=self.RULES)
        first, second = TEA_IDF + saturation(0.3) * KETTLE_IDF, KETTLE_IDF + saturation(0.5) * TEA_IDF
        assert scores(rescored) == pytest.approx(
            {
                "t0": first * (IDF["tea"] + 0.3 * IDF["kettle"]) / IDF_SUM,
                "t1": second * (IDF["kettle"] + 0.5 * IDF["tea"]) / IDF_SUM,
            }
        )
        assert rescored.max_score == pytest.approx(max(first, second))

    def test_coverage_counts_own_terms_in_full(self) -> None:
        notes, edges = conversation("Tea.", "Tea kettle.")
        rescored = rescore("tea kettle", notes, edges, lexical={"t1": 2.0}, rules=self.RULES)
        assert scores(rescored)["t1"] == pytest.approx(KETTLE_IDF + saturation(1.5) * TEA_IDF)

    def test_coverage_ignores_hidden_neighbours(self) -> None:
        class FilteringIndex(Index):
            def candidates(self, *_: Any, **__: Any) -> list[Candidate]:
                return []

        graph = graph_of({}, ())
        index: Any = FilteringIndex(links=[Edge("a", "b", "next", "out")])
        graph._graph = index
        lists = {"lexical": [with_score(turn("a", "Tea."), 1.0)], "vector": []}
        rescored = rescore_with_context(lists, parse("tea kettle"), FREQUENCIES, graph, self.RULES)
        assert scores(rescored) == pytest.approx({"a": TEA_IDF * IDF["tea"] / IDF_SUM})

    def test_coverage_of_a_tag_match_is_the_lowest_idf(self) -> None:
        notes = {"tagged": Candidate("tagged", content="Yes.", tags=("kettle",))}
        rescored = rescore("tea kettle", notes, lexical={"tagged": 2.0}, rules=self.RULES)
        assert scores(rescored) == pytest.approx({"tagged": 2.0 * IDF["tea"] / IDF_SUM})

    def test_coverage_is_an_exponent(self) -> None:
        notes = {"one": Candidate("one", content="Tea.")}
        rescored = rescore("tea kettle", notes, lexical={"one": 2.0}, rules=FLAT.changed({"coverage": 0.5}))
        assert scores(rescored) == pytest.approx({"one": 2.0 * (IDF["tea"] / IDF_SUM) ** 0.5})

    def test_coverage_is_not_cached_across_searches(self) -> None:
        """Term counts are cached for a single search: the note may change before the next."""
        for content, expected in (("Tea kettle.", 2.0), ("Tea.", 2.0 * IDF["tea"] / IDF_SUM)):
            notes = {"n": Candidate("n", content=content)}
            rescored = rescore("tea kettle", notes, lexical={"n": 2.0}, rules=self.RULES)
            assert scores(rescored) == pytest.approx({"n": expected})


_contents = st.lists(st.sampled_from(["tea", "kettle", "green", "well", "yes"]), max_size=5).map(" ".join)
_rules = st.builds(
    ContextRules,
    on=st.just(True),
    seeds=st.integers(1, 4),
    reach=st.integers(1, 3),
    previous=st.floats(0, 1),
    next=st.floats(0, 1),
    passage=st.floats(0, 1),
    k1=st.floats(0, 10),
    b=st.floats(0, 1),
)


@given(st.lists(_contents, min_size=1, max_size=6), st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5)), _rules)
def test_rescoring_loses_no_notes_and_records_contexts(
    contents: list[str], lexical_positions: set[int], vector_positions: set[int], rules: ContextRules
) -> None:
    notes, edges = conversation(*contents)
    lexical = {f"t{position}": 1.0 + position for position in lexical_positions if position < len(contents)}
    vector = [f"t{position}" for position in vector_positions if position < len(contents)]
    rescored = rescore("tea kettle green", notes, edges, lexical=lexical, vector=vector, rules=rules)
    rescored_scores = scores(rescored)
    assert rescored_scores.keys() >= lexical.keys()
    assert len(rescored_scores) == len(rescored.lexical)
    assert all(score > 0 for score in rescored_scores.values())
    assert {note: rescored_scores[note] for note in lexical if note not in rescored.contexts} == {
        note: score for note, score in lexical.items() if note not in rescored.contexts
    }
    assert {note for note in rescored_scores if note not in lexical} <= rescored.contexts.keys()
    assert not {note.id for note in rescored.added} & (lexical.keys() | set(vector))


def highlight(content: str, query: str, width: int = SNIPPET_WIDTH) -> str:
    """Return the snippet with its highlights in brackets."""
    result = snippet(content, parse(query), width)
    text = result.text
    for start, end in reversed(result.highlights):
        text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
    return text


def test_snippet_of_a_short_text() -> None:
    assert highlight("Prefers green\ntea.", "GREEN teas") == "Prefers [green] [tea]."
    assert highlight("Prefers green tea.", "coffee") == "Prefers green tea."
    assert highlight("", "tea") == ""


def test_snippet_highlights_inflected_forms() -> None:
    assert highlight("deploying, deployed, deploys", "deployment") == "[deploying], [deployed], [deploys]"
    assert highlight("teapot and steam", "tea") == "teapot and steam"
    assert highlight("teapot and steam", "tea*") == "[teapot] and steam"
    assert highlight("a café au lait", "cafés") == "a [café] au lait"


def test_snippet_highlights_identifiers_exactly() -> None:
    assert highlight("on B-17 and B-22, b17", "B-17") == "on [B-17] and B-22, b17"
    assert highlight("calls `parse_config()` twice", "parse_config()") == "calls `[parse_config]()` twice"
    assert highlight("node.js or nodejs", "node.js") == "[node.js] or nodejs"


def test_snippet_highlights_phrases() -> None:
    assert highlight("the tea, the green teas and green", '"the green tea"') == "the tea, [the green teas] and green"


def test_snippet_highlights_aliases() -> None:
    result = snippet("a bike and a cycle", expand_aliases(parse("bicycle"), {"bicycle": ["bike"]}))
    assert [result.text[start:end] for start, end in result.highlights] == ["bike"]


def test_snippet_ignores_excluded_terms() -> None:
    assert highlight("deploy on friday", "deploy NOT friday") == "[deploy] on friday"


def test_snippet_is_the_best_passage() -> None:
    text = "filler words here " * 40 + "the tea is here, green tea from Uji " + "more words there " * 40
    shown = highlight(text, "green tea uji", width=80)
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert "[green] [tea] from [Uji]" in shown


def test_snippet_at_the_end_of_a_text() -> None:
    assert highlight("x " * 200 + "tea", "tea", width=40).endswith("x [tea]")


def test_snippet_truncates_text_without_spaces() -> None:
    result = snippet("x" * 1000, parse("tea"), 50)
    assert result.text == "x" * 50 + "…"
    assert len(snippet("y" * 500 + " tea " + "z" * 500, parse("tea"), 50).text) <= 52


@given(any_text, query_text, st.integers(10, 300))
def test_snippet_highlights_are_in_range(content: str, query: str, width: int) -> None:
    result = snippet(content, parse(query), width)
    assert len(result.text) <= width + 2
    assert "\n" not in result.text
    last = 0
    for start, end in result.highlights:
        assert last <= start < end <= len(result.text)
        last = end
