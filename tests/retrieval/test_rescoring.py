"""The best notes of the lexical leg read more closely: turns with those beside them, long notes piece by piece."""

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
"""Length counts for nothing, and a word that stands c times counts 2c / (c + 1) times its weight."""
RARITY = TermFrequencies(100, {"tea": 4, "kettle": 1, "green": 9})
TEA, KETTLE = log(96.5 / 4.5), log(99.5 / 1.5)


def worth(count: float) -> float:
    return 2 * count / (count + 1)


def turn(identifier: str, content: str, position: int | None = 0, **fields: Any) -> Candidate:
    return Candidate(identifier, **{"content": content, "session": "s", "position": position, **fields})


def in_a_row(*contents: str) -> tuple[dict[str, Candidate], list[Edge]]:
    """Return turns t0, t1, … of one conversation, and the edges between any two."""
    turns = {f"t{place}": turn(f"t{place}", content, place) for place, content in enumerate(contents)}
    edges = [
        Edge(f"t{one}", f"t{other}", "next" if other > one else "previous", "out", distance=abs(other - one))
        for one in range(len(contents))
        for other in range(len(contents))
        if one != other
    ]
    return turns, edges


def connected(notes: Mapping[str, Candidate], edges: Iterable[Any] | Exception, reach: int = 2) -> IndexGraph:
    tree = parse("tea")
    request = SearchRequest("tea", tree, tree, "tea", "tea", None, (), datetime(2026, 4, 18, tzinfo=UTC), (), ())
    index: Any = Index(notes=notes, links=edges if isinstance(edges, Exception) else list(edges))
    return IndexGraph(IndexAbilities(index), request, SearchScope("default", Filters(), 60), reach)


def read(
    query: str,
    notes: Mapping[str, Candidate],
    edges: Iterable[Any] = (),
    *,
    lexical: Mapping[str, float] | None = None,
    vector: Sequence[str] = (),
    rules: ContextRules = FLAT,
) -> RescoredLists:
    """Return the reading of lists: ids and scores of the lexical one, ids of the other."""
    lists = {
        "lexical": [scored(notes[note], score) for note, score in (lexical or {}).items()],
        "vector": [scored(notes[note], 1.0) for note in vector],
    }
    return rescore_with_context(lists, parse(query), RARITY, connected(notes, edges, rules.reach), rules)


def scored(note: Candidate, score: float) -> Candidate:
    copied = note.copy()
    copied.score = score
    return copied


def scores(reading: RescoredLists) -> dict[str, float]:
    assert [note.lexical_rank for note in reading.lexical] == list(range(1, len(reading.lexical) + 1))
    assert [note.score for note in reading.lexical] == sorted((n.score for n in reading.lexical), reverse=True)
    return {note.id: note.score for note in reading.lexical}


class TestTurns:
    def test_a_word_of_the_turn_beside_counts_for_a_part(self) -> None:
        notes, edges = in_a_row("Which tea?", "The kettle one.")
        found = read("tea kettle", notes, edges, lexical={"t0": 3.0, "t1": 2.0})
        # t0 holds tea, and 0.3 of the kettle behind it; t1 the kettle, and 0.5 of the tea before it.
        assert scores(found) == pytest.approx({"t1": KETTLE + worth(0.5) * TEA, "t0": TEA + worth(0.3) * KETTLE})
        assert found.contexts == {"t0": Context(3.0, ("t1",)), "t1": Context(2.0, ("t0",))}
        assert found.added == []
        assert [note.lexical_score for note in found.lexical] == [note.score for note in found.lexical]

    def test_what_both_hold_counts_hardly_more_than_once(self) -> None:
        notes, edges = in_a_row("Tea?", "Tea.")
        assert scores(read("tea", notes, edges, lexical={"t0": 1.0, "t1": 1.0})) == pytest.approx(
            {"t1": worth(1.5) * TEA, "t0": worth(1.3) * TEA}
        )

    def test_a_turn_two_places_away_counts_half(self) -> None:
        notes, edges = in_a_row("Tea.", "Well.", "Yes.", "No.")
        found = read("tea", notes, edges, lexical={"t0": 1.0})
        assert scores(found) == pytest.approx({"t0": TEA, "t1": worth(0.5) * TEA, "t2": worth(0.25) * TEA})
        assert [note.id for note in found.added] == ["t1", "t2"]
        assert found.contexts["t2"] == Context(None, ("t0", "t1"))

    def test_a_turn_that_no_leg_found_comes_in_only_with_words(self) -> None:
        notes, edges = in_a_row("Well.", "Tea.", "Yes.")
        nothing_before = FLAT.changed({"previous": 0.0})
        found = read("tea", notes, edges, lexical={"t1": 1.0}, rules=nothing_before)
        assert scores(found) == pytest.approx({"t1": TEA, "t0": worth(0.3) * TEA})
        assert [note.id for note in found.added] == ["t0", "t2"]  # near enough to be asked about their meaning
        assert "t2" not in found.contexts

    def test_turns_that_only_meaning_found_are_read_too(self) -> None:
        notes, edges = in_a_row("Tea.", "Yes.")
        found = read("tea", notes, edges, vector=["t1"])
        assert scores(found) == pytest.approx({"t0": TEA, "t1": worth(0.5) * TEA})
        assert found.contexts["t1"] == Context(None, ("t0",))

    def test_only_the_best_of_each_list_are_read(self) -> None:
        notes, edges = in_a_row("Tea.", "Yes.", "Tea.", "No.")
        one = FLAT.changed({"seeds": 1, "reach": 1})
        found = read("tea", notes, edges, lexical={"t2": 9.0, "t0": 1.0}, rules=one)
        assert scores(found) == pytest.approx({"t2": TEA, "t3": worth(0.5) * TEA, "t1": worth(0.3) * TEA, "t0": 1.0})

    def test_names_count_as_the_index_has_them_and_make_no_note_longer(self) -> None:
        notes, edges = in_a_row("Yes.", "No.")
        notes["t0"] = replace(notes["t0"], title="Tea", summary="tea", path="tea.md")
        found = read("tea", notes, edges, lexical={"t0": 1.0})
        assert scores(found)["t0"] == pytest.approx(worth(10 + 5 + 3) * TEA)
        assert "t1" not in scores(found)  # a name is the turn's own

    def test_long_turns_are_marked_down(self) -> None:
        notes, edges = in_a_row("tea", "tea and then some more words")
        alone = ContextRules(on=True, b=1.0, k1=1.0, previous=0.0, next=0.0)
        found = read("tea", notes, edges, lexical={"t0": 1.0, "t1": 1.0}, rules=alone)
        # One word and six, 3.5 on average.
        assert scores(found) == pytest.approx({"t0": 2 * TEA / (1 + 1 / 3.5), "t1": 2 * TEA / (1 + 6 / 3.5)})

    def test_a_word_counted_without_bounds_or_weights(self) -> None:
        notes, edges = in_a_row("tea tea tea", "kettle")
        flattest = ContextRules(on=True, b=1.0, k1=0.0, previous=0.0, next=0.0)
        found = read("tea kettle", notes, edges, lexical={"t0": 1.0, "t1": 1.0}, rules=flattest)
        assert scores(found) == pytest.approx({"t1": KETTLE, "t0": TEA})

    def test_what_the_index_found_by_other_means_stays_found(self) -> None:
        """A tag is not read here, nor does every ending count that the index lets pass."""
        notes, edges = in_a_row("Yes.", "No.")
        found = read("tea", notes, edges, lexical={"t0": 1.5})
        assert scores(found) == {"t0": 1.5}
        assert found.contexts == {}

    @pytest.mark.parametrize("fields", [{"session": ""}, {"position": None}])
    def test_what_is_no_turn_stays_as_it_was(self, fields: dict[str, Any]) -> None:
        notes = {"a": turn("a", "Tea.", **fields)}
        found = read("tea", notes, [Edge("a", "b", "next", "out")], lexical={"a": 1.5})
        assert (scores(found), found.contexts, found.added) == ({"a": 1.5}, {}, [])

    def test_a_session_of_one_turn_stays_as_it_was(self) -> None:
        found = read("tea", {"a": turn("a", "Tea.")}, lexical={"a": 1.5})
        assert (scores(found), found.contexts) == ({"a": 1.5}, {})

    def test_of_several_turns_at_one_place_the_first_is_beside(self) -> None:
        notes = {"a": turn("a", "Yes.", 1), "b": turn("b", "Tea.", 2), "c": turn("c", "Kettle.", 2)}
        edges = [Edge("a", "b", "next", "out"), Edge("a", "c", "next", "out")]
        found = read("tea kettle", notes, edges, lexical={"a": 1.0})
        assert scores(found) == pytest.approx({"b": TEA, "a": worth(0.3) * TEA})

    def test_edges_that_nobody_asked_for(self) -> None:
        class Talkative(Index):
            def edges(self, *_: Any, **__: Any) -> list[Edge]:
                return [Edge("x", "y", "next", "out"), Edge("a", "a", "next", "out"), Edge("a", "b", "next", "out")]

        connections = connected({}, ())
        index: Any = Talkative(notes={"b": turn("b", "Tea.")})
        connections._graph = index
        lists = {"lexical": [scored(turn("a", "Tea."), 1.0)], "vector": []}
        reading = rescore_with_context(lists, parse("tea"), RARITY, connections, FLAT)
        assert scores(reading) == pytest.approx({"a": TEA})

    def test_candidates_of_the_lists_are_not_changed(self) -> None:
        notes, edges = in_a_row("Tea.", "Yes.")
        given = scored(notes["t0"], 1.0)
        lists = {"lexical": [given], "vector": []}
        rescore_with_context(lists, parse("tea"), RARITY, connected(notes, edges), FLAT)
        assert (given.score, given.lexical_rank, given.lexical_score) == (1.0, None, None)

    def test_ties_are_settled_by_path_and_id(self) -> None:
        notes = {name: Candidate(name, path=path) for name, path in (("b", "x"), ("a", "x"), ("c", "w"))}
        assert list(scores(read("tea", notes, lexical={"b": 1.0, "a": 1.0, "c": 1.0}))) == ["c", "a", "b"]


FILLER = "x" * (CHUNK_CHARS - 1) + " "


class TestPassages:
    """Stretches of 300 characters; a note of four or more of them is long."""

    def test_words_that_stand_together_count_more_than_pages_apart(self) -> None:
        notes = {
            "apart": Candidate("apart", content="tea " + FILLER * 6 + "kettle"),
            "together": Candidate("together", content="tea kettle " + FILLER * 6),
        }
        found = read("tea kettle", notes, lexical={"apart": 2.0, "together": 1.0})
        # 14 stretches, two of which hold each word: ln(1 + 12.5/2.5) for each. Together they are worth twice as much as
        # either, and the best of them is worth 2, the best of the notes as they are.
        assert scores(found) == pytest.approx({"together": 0.5 * 1.0 + 0.5 * 2.0, "apart": 0.5 * 2.0 + 0.5 * 1.0})
        assert found.contexts == {"apart": Context(2.0, ()), "together": Context(1.0, ())}

    def test_stretches_beside_count_for_a_part(self) -> None:
        notes = {
            "near": Candidate("near", content="tea " + FILLER + "kettle " + FILLER * 5),
            "far": Candidate("far", content="tea " + FILLER * 3 + "kettle " + FILLER * 3),
        }
        found = read("tea kettle", notes, lexical={"near": 1.0, "far": 1.0}, rules=FLAT.changed({"passage": 1.0}))
        best = 1 + worth(0.5)  # of the stretch with the kettle, in which the tea before it counts half
        assert scores(found) == pytest.approx({"near": 1.0, "far": 1 / best})

    def test_short_notes_stay_as_they_were(self) -> None:
        notes = {
            "short": Candidate("short", content="tea ".ljust(MAX_UNSPLIT_CHARS, "x")),
            "long": Candidate("long", content="tea ".ljust(MAX_UNSPLIT_CHARS + 1, "x")),
        }
        found = read("tea", notes, lexical={"short": 3.0, "long": 2.0})
        assert scores(found) == {"short": 3.0, "long": 2.0}  # the only long note is the best of them
        assert found.contexts == {"long": Context(2.0, ())}

    def test_without_a_share_none_is_read(self) -> None:
        notes = {"long": Candidate("long", content="tea " + FILLER * 6)}
        found = read("tea", notes, lexical={"long": 2.0}, rules=FLAT.changed({"passage": 0.0}))
        assert (scores(found), found.contexts) == ({"long": 2.0}, {})

    def test_names_count_in_every_stretch(self) -> None:
        notes = {
            "named": Candidate("named", title="Kettle", content="tea " + FILLER * 6),
            "plain": Candidate("plain", content="tea " + FILLER * 6),
        }
        found = scores(read("tea kettle", notes, lexical={"named": 1.0, "plain": 1.0}))
        assert found["named"] == 1.0 > found["plain"]

    def test_what_was_found_by_a_tag_alone_keeps_its_score(self) -> None:
        notes = {
            "tag": Candidate("tag", content=FILLER * 6),
            "tea": Candidate("tea", content="tea " + FILLER * 6),
        }
        assert scores(read("tea", notes, lexical={"tag": 3.0, "tea": 2.0})) == {"tag": 3.0, "tea": 2.0}
        assert scores(read("tea", notes, lexical={"tag": 3.0})) == {"tag": 3.0}

    def test_a_title_counts_though_no_stretch_holds_its_words(self) -> None:
        notes = {
            "named": Candidate("named", title="Tea", content=FILLER * 6),
            "said": Candidate("said", content="tea " + FILLER * 6),
        }
        found = scores(read("tea", notes, lexical={"named": 3.0, "said": 2.0}))
        # the title counts ten times, and saturates: the best of both, 3.0, stays 3.0
        assert found["named"] == pytest.approx(3.0)
        assert found["said"] == pytest.approx(1.825, abs=0.001)

    def test_long_turns_are_read_as_turns(self) -> None:
        notes, edges = in_a_row("tea " + FILLER * 6, "Yes.")
        assert scores(read("tea", notes, edges, lexical={"t0": 9.0})) == pytest.approx(
            {"t0": TEA, "t1": worth(0.5) * TEA}
        )


INFORMATION = {"tea": log(1 + 96.5 / 4.5), "kettle": log(1 + 99.5 / 1.5)}
ALL = sum(INFORMATION.values())


class TestCoverage:
    """A lexical score is multiplied by the share of the query's term weights that the note holds."""

    RULES = FLAT.changed({"coverage": 1.0})

    def test_a_note_with_all_terms_passes_one_that_repeats_a_single_term(self) -> None:
        notes = {
            "all": Candidate("all", content="A kettle for tea."),
            "one": Candidate("one", content="Tea, tea and tea."),
        }
        lexical = {"one": 3.0, "all": 2.0}
        assert list(scores(read("tea kettle", notes, lexical=lexical))) == ["one", "all"]
        found = read("tea kettle", notes, lexical=lexical, rules=self.RULES)
        assert scores(found) == pytest.approx({"all": 2.0, "one": 3.0 * INFORMATION["tea"] / ALL})
        assert [note.lexical_score for note in found.lexical] == [note.score for note in found.lexical]

    def test_the_best_score_before_coverage_is_kept(self) -> None:
        notes = {"one": Candidate("one", content="Tea."), "other": Candidate("other", content="The tea.")}
        assert read("tea kettle", notes, lexical={"one": 3.0, "other": 2.0}, rules=self.RULES).max_score == 3.0
        assert read("tea kettle", notes, lexical={"one": 3.0, "other": 2.0}).max_score == 3.0
        assert read("tea kettle", {}, rules=self.RULES).max_score == 0.0

    def test_every_field_that_names_a_note_counts(self) -> None:
        for field in ("path", "title", "summary"):
            notes = {"n": replace(Candidate("n", content="Tea."), **{field: "kettle"})}  # type: ignore[arg-type]
            assert scores(read("tea kettle", notes, lexical={"n": 2.0}, rules=self.RULES)) == {"n": 2.0}

    def test_a_term_of_a_turn_beside_counts_as_much_as_that_turn_does(self) -> None:
        notes, edges = in_a_row("Which tea?", "The kettle one.")
        found = read("tea kettle", notes, edges, lexical={"t0": 3.0, "t1": 2.0}, rules=self.RULES)
        first, second = TEA + worth(0.3) * KETTLE, KETTLE + worth(0.5) * TEA
        assert scores(found) == pytest.approx(
            {
                "t0": first * (INFORMATION["tea"] + 0.3 * INFORMATION["kettle"]) / ALL,
                "t1": second * (INFORMATION["kettle"] + 0.5 * INFORMATION["tea"]) / ALL,
            }
        )
        assert found.max_score == pytest.approx(max(first, second))

    def test_a_term_of_its_own_counts_in_full_whatever_the_turns_beside_hold(self) -> None:
        notes, edges = in_a_row("Tea.", "Tea kettle.")
        found = read("tea kettle", notes, edges, lexical={"t1": 2.0}, rules=self.RULES)
        assert scores(found)["t1"] == pytest.approx(KETTLE + worth(1.5) * TEA)

    def test_a_turn_beside_that_may_not_be_read_counts_for_nothing(self) -> None:
        class Hiding(Index):
            def candidates(self, *_: Any, **__: Any) -> list[Candidate]:
                return []

        connections = connected({}, ())
        index: Any = Hiding(links=[Edge("a", "b", "next", "out")])
        connections._graph = index
        lists = {"lexical": [scored(turn("a", "Tea."), 1.0)], "vector": []}
        found = rescore_with_context(lists, parse("tea kettle"), RARITY, connections, self.RULES)
        assert scores(found) == pytest.approx({"a": TEA * INFORMATION["tea"] / ALL})

    def test_a_note_found_only_by_a_tag_counts_the_term_of_the_lowest_weight(self) -> None:
        notes = {"tagged": Candidate("tagged", content="Yes.", tags=("kettle",))}
        found = read("tea kettle", notes, lexical={"tagged": 2.0}, rules=self.RULES)
        assert scores(found) == pytest.approx({"tagged": 2.0 * INFORMATION["tea"] / ALL})

    def test_the_share_is_taken_to_a_power(self) -> None:
        notes = {"one": Candidate("one", content="Tea.")}
        found = read("tea kettle", notes, lexical={"one": 2.0}, rules=FLAT.changed({"coverage": 0.5}))
        assert scores(found) == pytest.approx({"one": 2.0 * (INFORMATION["tea"] / ALL) ** 0.5})

    def test_each_search_reads_its_own_texts(self) -> None:
        """What a search has read of a note is kept for that search only: the note may change before the next."""
        for content, expected in (("Tea kettle.", 2.0), ("Tea.", 2.0 * INFORMATION["tea"] / ALL)):
            notes = {"n": Candidate("n", content=content)}
            found = read("tea kettle", notes, lexical={"n": 2.0}, rules=self.RULES)
            assert scores(found) == pytest.approx({"n": expected})


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
def test_nothing_is_lost_and_all_that_is_read_has_a_record(
    contents: list[str], by_words: set[int], by_meaning: set[int], rules: ContextRules
) -> None:
    notes, edges = in_a_row(*contents)
    lexical = {f"t{place}": 1.0 + place for place in by_words if place < len(contents)}
    vector = [f"t{place}" for place in by_meaning if place < len(contents)]
    found = read("tea kettle green", notes, edges, lexical=lexical, vector=vector, rules=rules)
    told = scores(found)
    assert told.keys() >= lexical.keys()
    assert len(told) == len(found.lexical)
    assert all(score > 0 for score in told.values())
    assert {note: told[note] for note in lexical if note not in found.contexts} == {
        note: score for note, score in lexical.items() if note not in found.contexts
    }
    assert {note for note in told if note not in lexical} <= found.contexts.keys()
    assert not {note.id for note in found.added} & (lexical.keys() | set(vector))


def marked(content: str, query: str, width: int = SNIPPET_WIDTH) -> str:
    """Return the snippet with its highlights in brackets."""
    found = snippet(content, parse(query), width)
    text = found.text
    for start, end in reversed(found.highlights):
        text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
    return text


def test_a_short_text_is_shown_whole() -> None:
    assert marked("Prefers green\ntea.", "GREEN teas") == "Prefers [green] [tea]."
    assert marked("Prefers green tea.", "coffee") == "Prefers green tea."
    assert marked("", "tea") == ""


def test_words_match_up_to_their_endings() -> None:
    assert marked("deploying, deployed, deploys", "deployment") == "[deploying], [deployed], [deploys]"
    assert marked("teapot and steam", "tea") == "teapot and steam"
    assert marked("teapot and steam", "tea*") == "[teapot] and steam"
    assert marked("a café au lait", "cafés") == "a [café] au lait"


def test_names_match_as_they_are_written() -> None:
    assert marked("on B-17 and B-22, b17", "B-17") == "on [B-17] and B-22, b17"
    assert marked("calls `parse_config()` twice", "parse_config()") == "calls `[parse_config]()` twice"
    assert marked("node.js or nodejs", "node.js") == "[node.js] or nodejs"


def test_a_phrase_is_one_piece() -> None:
    assert marked("the tea, the green teas and green", '"the green tea"') == "the tea, [the green teas] and green"


def test_aliases_match_by_their_own_words() -> None:
    found = snippet("a bike and a cycle", expand_aliases(parse("bicycle"), {"bicycle": ["bike"]}))
    assert [found.text[start:end] for start, end in found.highlights] == ["bike"]


def test_what_is_excluded_is_not_highlighted() -> None:
    assert marked("deploy on friday", "deploy NOT friday") == "[deploy] on friday"


def test_the_best_stretch_of_a_long_text() -> None:
    text = "filler words here " * 40 + "the tea is here, green tea from Uji " + "more words there " * 40
    shown = marked(text, "green tea uji", width=80)
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert "[green] [tea] from [Uji]" in shown


def test_the_end_of_a_long_text() -> None:
    assert marked("x " * 200 + "tea", "tea", width=40).endswith("x [tea]")


def test_a_text_without_spaces_is_cut_anyway() -> None:
    found = snippet("x" * 1000, parse("tea"), 50)
    assert found.text == "x" * 50 + "…"
    assert len(snippet("y" * 500 + " tea " + "z" * 500, parse("tea"), 50).text) <= 52


@given(any_text, query_text, st.integers(10, 300))
def test_highlights_lie_inside(content: str, query: str, width: int) -> None:
    found = snippet(content, parse(query), width)
    assert len(found.text) <= width + 2
    assert "\n" not in found.text
    last = 0
    for start, end in found.highlights:
        assert last <= start < end <= len(found.text)
        last = end
