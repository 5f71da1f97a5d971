from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentError, Candidate, Step
from recollect.fusion import reciprocal_rank_fusion
from recollect.ranking import exact_match, importance_prior, merge_reranked, reweight_by_intent, step_back
from recollect.retrieval import Attempt, SearchResult, Trace, explain
from recollect.retrieval.explanation import explain_search
from recollect.retrieval.trace import Context
from tests.strategies import any_text, ranked_list


def test_the_drawing_shows_legs_stages_and_moves_on_one_scale() -> None:
    lexical = [Candidate("guide", path="wiki/tea-guide.md", title="Tea guide", content="tips", score=7.5)]
    vector = [
        Candidate("pref", path="memory/global/user-preference-tea.md", score=0.83),
        Candidate("guide", score=0.5),
    ]
    fused = reciprocal_rank_fusion([lexical, vector])
    drawing = explain(reweight_by_intent("recommend a tea", fused))
    assert drawing.splitlines() == [
        " 1  memory/global/user-preference-tea.md  (pref)",
        "    vector   +0.016393            █████████▍              rank 1 · raw 0.83",
        "    fused               0.016393  █████████▍              0.50 of the most possible",
        "    intent      × 2.35  0.038525  █████████▓▓▓▓▓▓▓▓▓▓▓▓▓  rank 2 → 1 · asks for advice; a stated preference of",  # noqa: E501 (as wide as it is drawn)
        "                                                          the user",
        "    score               0.038525  ██████████████████████",
        "",
        " 2  Tea guide  (wiki/tea-guide.md)",
        "    lexical  +0.016393            █████████▍              rank 1 · raw 7.5",
        "    vector   +0.016129                     █████████▋     rank 2 · raw 0.5",
        "    fused               0.032522  ██████████████████▋     0.99 of the most possible",
        "    intent      × 0.82  0.026668  ███████████████░░░░     rank 1 → 2 · asks for advice; generic advice, not",
        "                                                          the user's own",
        "    score               0.026668  ███████████████▎",
    ]


def test_a_candidate_without_a_record_shows_its_score() -> None:
    assert explain([{"id": "a", "score": 0.5}]).splitlines()[1].split() == ["score", "0.500000", "█" * 22]
    assert explain([]) == ""


def test_without_stages_the_fused_score_is_the_last_line() -> None:
    fused = reciprocal_rank_fusion([[Candidate("a")]])
    assert explain(fused).splitlines()[-1].split()[0] == "fused"
    fused[0].confidence = 0.875
    assert explain(fused).endswith("1.00 of the most possible · confidence 0.88")
    fused[0].ceiling = None
    assert explain(fused).endswith("██  confidence 0.88")


def test_what_is_added_and_what_is_taken_away() -> None:
    steps = (Step("bonus", "more", 1.0, 0.25, 0.5, 0.75, 1, 1), Step("malus", "less", 2.0, -0.5, 0.75, 1.0, 1, 1))
    drawing = explain([Candidate("a", score=1.0, steps=steps, confidence=0.5)])
    assert "+ 0.25" in drawing
    assert "× 2 − 0.5" in drawing
    assert drawing.endswith("  confidence 0.50")


def test_a_stage_that_did_nothing_is_left_out() -> None:
    idle = Step("importance", "no rule of this stage applies", 1.0, 0.0, 0.5, 0.5, 1, 1)
    assert len(explain([Candidate("a", score=0.5, steps=(idle,))]).splitlines()) == 2
    passed = idle._replace(rank_after=3)
    rising = idle._replace(stage="replaced", rank_before=3)
    drawing = explain([Candidate("a", score=0.5, steps=(passed, rising))])
    assert "=  0.500000  ██████████████████████  rank 1 → 3 · others passed it\n" in drawing
    assert "=  0.500000  ██████████████████████  rank 3 → 1 · others fell behind it\n" in drawing


def test_a_stage_of_several_steps_tells_its_move_once() -> None:
    steps = (
        Step("composite", "relevance", 2.0, 0.0, 0.25, 0.5, 4, 2),
        Step("composite", "importance", 1.0, 0.5, 0.5, 1.0, 4, 2),
        Step("temporal", "near", 1.0, 0.5, 1.0, 1.5, 2, 1),
    )
    reasons = [line.split("  ")[-1].strip() for line in explain([Candidate("a", score=1.5, steps=steps)]).splitlines()]
    assert reasons[1:4] == ["relevance", "rank 4 → 2 · importance", "rank 2 → 1 · near"]


def test_a_reranker_shows_its_score_even_where_it_moved_nothing() -> None:
    drawing = explain(merge_reranked([{"id": "a"}, {"id": "b"}, {"id": "c"}], [(0, 0.9), (2, 0.5)]))
    assert "  reranker score 0.9\n" in drawing
    assert "  rank 3 → 2 · reranker score 0.5\n" in drawing
    assert "  rank 2 → 3 · not returned by the reranker\n" in drawing


def test_a_replaced_note_points_at_what_replaced_it() -> None:
    old = Candidate("old", score=0.6, superseded_by=("new", "untitled", "elsewhere"))
    notes = [old, Candidate("new", path="tea.md", score=0.2), Candidate("untitled", title="Oolong")]
    drawing = explain(step_back(notes, {"old": ["new"]}))
    assert drawing.splitlines()[4:9] == [
        " 2  old",
        "    ↳ replaced by tea.md, number 1 here",
        "    ↳ replaced by Oolong, number 3 here",
        "    ↳ replaced by elsewhere",
        "    replaced  × 0.5  0.300000  ███████████░░░░░░░░░░░  rank 1 → 2 · replaced by 'tea.md'",
    ]


def test_what_a_note_is_called_cannot_harm_a_terminal() -> None:
    first = explain([Candidate("a", title="Tea\x1b[31m\n\u202e" + "x" * 200)]).splitlines()[0]
    assert first == " 1  Tea [31m " + "x" * 90 + "…  (a)"


def test_a_blank_title_is_no_name() -> None:
    assert explain([Candidate("a", title="  ", path="p.md")]).splitlines()[0] == " 1  p.md  (a)"


def test_a_note_without_a_name_is_called_by_how_it_begins() -> None:
    turn = Candidate("t4", content="Sam: In the Rozenstraat,\nthird floor, with a balcony over the canal.")
    assert explain([turn]).splitlines()[0] == " 1  Sam: In the Rozenstraat, third floor, with a balc…  (t4)"


def test_limit_and_width() -> None:
    notes = [Candidate(str(number)) for number in range(12)]
    assert explain(notes).count("score") == 10
    assert explain(notes, limit=3).count("score") == 3
    assert explain(notes, limit=None).count("score") == 12
    with pytest.raises(ArgumentError, match="^limit: must not be negative"):
        explain(notes, limit=-1)
    with pytest.raises(ArgumentError, match="^width: must not be negative"):
        explain(notes, width=-1)
    assert explain([Candidate("a", score=1.0)], width=1).endswith("  " + "█" * 12)


def test_a_search_is_drawn_from_its_trace_alone() -> None:
    trace = Trace(mode="bm25", original_query="tea", total_elapsed=2.0)
    assert explain_search(trace).endswith("2.0 ms  0 shown")
    trace.results = reciprocal_rank_fusion([[Candidate("a"), Candidate("b")]])
    drawn = explain_search(trace, limit=1, width=80)
    assert drawn.endswith("2 shown\n\n" + explain(trace.results, limit=1, width=80))


def test_the_line_of_the_lexical_leg_says_what_a_note_was_read_with() -> None:
    turn = Candidate("b", session="s", position=2)
    trace = Trace(mode="hybrid", original_query="tea", contexts={"b": Context(2.5, ("a", "c"))})
    trace.results = reciprocal_rank_fusion([[Candidate("a"), turn], [turn]])
    drawn = explain_search(trace, width=140)
    assert drawn.count("rank 2 · raw 0 · with 2 notes beside it, at first 2.50\n") == 1
    assert drawn.count("beside it") == 1


@given(st.lists(ranked_list, max_size=3), st.floats(0, 3), st.integers(0, 200))
def test_anything_can_be_drawn(lists: list[list[Candidate]], bonus: float, width: int) -> None:
    found = exact_match(importance_prior(reciprocal_rank_fusion(lists)), query="tea", bonus=bonus)
    drawing = explain(found, limit=None, width=width)
    assert drawing.count("fused ") == len(found)
    assert all((each.title or each.path) in drawing for each in found)


@given(any_text, any_text, any_text)
def test_nothing_that_a_note_says_breaks_a_line(title: str, leg: str, reason: str) -> None:
    step = Step(leg, reason, 2.0, 0.0, 0.5, 1.0, 2, 1)
    note = Candidate("a", title=title, score=1.0, evidence=(leg, 1, 0.5, 0.5), steps=(step,), superseded_by=(title,))
    drawing = explain([note], width=110)
    assert drawing.count("\n") == 5 + max(0, drawing.count("\n" + " " * 50))
    assert all(character == "\n" or character.isprintable() for character in drawing)


class TestTheAccountAsData:
    def test_it_has_the_rows_of_the_drawing_in_figures(self) -> None:
        steps = (
            Step("intent", "a preference", 2.0, 0.0, 0.75, 1.5, 2, 1),
            Step("session", "no rule applies", 1.0, 0.0, 1.5, 1.5, 1, 1),
            Step("replaced", "by another", 1.0, -0.5, 1.5, 1.0, 1, 1),
        )
        fused = Candidate("a", score=1.0, steps=steps, confidence=0.5, superseded_by=("b",))
        fused.evidence = ("lexical", 1, 7.0, 0.5, "vector", 3, 0.25, 0.25)
        trace = Trace(mode="hybrid", original_query="tea", results=[fused, Candidate("b", path="tea.md", score=0.5)])
        told = SearchResult("tea", (), trace).account()
        assert told["scale"] == 1.5
        first, second = told["waterfalls"]
        assert (
            first["sentence"] == "1st by words and 3rd by meaning; lifted by intent, lowered by replaced: a preference."
        )
        assert (first["id"], first["notes"]) == ("a", ["replaced by tea.md, number 2 here"])
        figures = [(row["kind"], row["name"], row["start"], row["end"], row["change"]) for row in first["rows"]]
        assert figures == [
            ("leg", "lexical", 0.0, 0.5, "+0.500000"),
            ("leg", "vector", 0.5, 0.75, "+0.250000"),
            ("fused", "fused", 0.0, 0.75, ""),
            ("stage", "intent", 0.75, 1.5, "× 2"),
            ("stage", "replaced", 1.5, 1.0, "− 0.5"),
            ("score", "score", 0.0, 1.0, ""),
        ]
        assert first["rows"][3]["reason"] == "rank 2 → 1 · a preference"
        assert second["sentence"] == "neither by words nor by meaning."
        assert second["rows"] == [
            {"kind": "score", "name": "score", "start": 0.0, "end": 0.5, "change": "", "reason": ""}
        ]

    def test_it_tells_the_walk_and_what_was_tried(self) -> None:
        tries = [Attempt("initial", "kubernets", 0), Attempt("did_you_mean", "kubernetes", 2)]
        trace = Trace(mode="bm25", original_query="kubernets", attempts=tries, bm25_elapsed=1.5, total_elapsed=2.0)
        told = SearchResult("kubernets", (), trace).account()
        assert told["notice"] == "nothing matched “kubernets”; did you mean “kubernetes”?"
        assert told["story"][0] == {"label": "query", "text": "kubernets"}
        assert told["timeline"][0] == {"name": "words", "start": 0.0, "elapsed": 1.5, "told": "0 found"}
        assert told["timeline"][-1]["elapsed"] == 2.0

    def test_as_many_results_as_one_likes(self) -> None:
        trace = Trace(mode="bm25", original_query="tea", results=[Candidate(str(each)) for each in range(12)])
        result = SearchResult("tea", (), trace)
        assert [len(result.account(limit=limit)["waterfalls"]) for limit in (10, 3, None)] == [10, 3, 12]
