from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentError, Candidate, Step
from recollect.fusion import reciprocal_rank_fusion
from recollect.ranking import exact_match, importance_prior, reweight_by_intent
from recollect.retrieval import explain
from tests.generated import ranked_list


def test_the_drawing_shows_legs_stages_and_moves() -> None:
    lexical = [Candidate("guide", path="wiki/tea-guide.md", title="Tea guide", content="tips", score=7.5)]
    vector = [
        Candidate("pref", path="memory/global/user-preference-tea.md", score=0.83),
        Candidate("guide", score=0.5),
    ]
    fused = reciprocal_rank_fusion([lexical, vector])
    drawing = explain(reweight_by_intent("recommend a tea", fused))
    assert drawing.splitlines() == [
        " 1  memory/global/user-preference-tea.md  (pref)",
        "    vector   rank 1 · raw 0.83       ████████████████████████     +0.016393",
        "    fused                                                          0.016393  0.50 of the most possible",
        "    intent   asks for advice; a stated preference of the user        × 2.35  rank 2 → 1",
        "    score                                                          0.038525",
        "",
        " 2  Tea guide  (wiki/tea-guide.md)",
        "    lexical  rank 1 · raw 7.5        ████████████████████████     +0.016393",
        "    vector   rank 2 · raw 0.5        ███████████████████████▋     +0.016129",
        "    fused                                                          0.032522  0.99 of the most possible",
        "    intent   asks for advice; generic advice, not the user's own     × 0.82  rank 1 → 2",
        "    score                                                          0.026668",
    ]


def test_a_candidate_without_a_record_shows_its_score() -> None:
    assert explain([{"id": "a", "score": 0.5}]).splitlines()[1].split() == ["score", "0.500000"]
    assert explain([]) == ""


def test_without_stages_the_fused_score_is_the_last_line() -> None:
    assert explain(reciprocal_rank_fusion([[Candidate("a")]])).splitlines()[-1].split()[0] == "fused"


def test_what_is_added_and_what_is_taken_away() -> None:
    steps = (Step("bonus", "more", 1.0, 0.25, 0.5, 0.75, 1, 1), Step("malus", "less", 2.0, -0.5, 0.75, 1.0, 1, 1))
    drawing = explain([Candidate("a", score=1.0, steps=steps)])
    assert "+ 0.25" in drawing
    assert "× 2 − 0.5" in drawing


def test_what_a_note_is_called_cannot_harm_a_terminal() -> None:
    first = explain([Candidate("a", title="Tea\x1b[31m\n\u202e" + "x" * 200)]).splitlines()[0]
    assert first == " 1  Tea [31m " + "x" * 90 + "…  (a)"


def test_a_blank_title_is_no_name() -> None:
    assert explain([Candidate("a", title="  ", path="p.md")]).splitlines()[0] == " 1  p.md  (a)"


def test_limit() -> None:
    notes = [Candidate(str(number)) for number in range(12)]
    assert explain(notes).count("score") == 10
    assert explain(notes, limit=3).count("score") == 3
    assert explain(notes, limit=None).count("score") == 12
    with pytest.raises(ArgumentError, match="^limit: must not be negative"):
        explain(notes, limit=-1)


@given(st.lists(ranked_list, max_size=3), st.floats(0, 3))
def test_anything_can_be_drawn(lists: list[list[Candidate]], bonus: float) -> None:
    found = exact_match(importance_prior(reciprocal_rank_fusion(lists)), query="tea", bonus=bonus)
    drawing = explain(found, limit=None)
    assert drawing.count("fused ") == len(found)
    assert all((each.title or each.path) in drawing for each in found)
