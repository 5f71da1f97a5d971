from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ArgumentError, RecollectError
from recollect.evaluation import MEASURES, Question, Ranking, compute_measures


def make_question(question_id: str, **relevant: int) -> Question:
    return Question(id=question_id, text="?", collection="", relevant=relevant)


def ranking(*ids: str) -> Ranking:
    return Ranking(ids, (0.5,) * len(ids), 1.0)


def value(question: Question, result: Ranking, measure: str) -> float:
    return float(compute_measures([question], {question.id: result}, [measure])[measure][0])


def test_measures_by_hand() -> None:
    # Relevant: a (grade 2) at 3, b (grade 1) at 7, c (grade 1) nowhere.
    question = make_question("q", a=2, b=1, c=1)
    result = ranking("x1", "x2", "a", "x3", "x4", "x5", "b", "x6")
    gained = 2 / math.log2(4) + 1 / math.log2(8)
    ideal = 2 / math.log2(2) + 1 / math.log2(3) + 1 / math.log2(4)
    values = compute_measures([question], {"q": result})
    assert list(values) == list(MEASURES)
    assert {name: float(column[0]) for name, column in values.items()} == pytest.approx(
        {
            "any@1": 0,
            "any@5": 1,
            "any@10": 1,
            "all@5": 0,
            "recall@5": 1 / 3,
            "recall@10": 2 / 3,
            "ndcg@10": gained / ideal,
            "mrr": 1 / 3,
        }
    )


def test_all_at_k() -> None:
    question = make_question("q", a=1, b=3, c=1)
    assert value(question, ranking("a", "b", "x", "y", "c"), "all@5") == 1
    assert value(question, ranking("a", "b", "x", "y", "z", "c"), "all@5") == 0
    assert value(question, ranking("a", "b", "c"), "all@3") == 1


def test_mrr_uses_the_whole_ranking() -> None:
    result = ranking(*(f"x{number}" for number in range(16)), "a")
    assert value(make_question("q", a=1), result, "mrr") == pytest.approx(1 / 17)


def test_equal_scores_keep_their_order() -> None:
    assert value(make_question("q", a=1), ranking("z", "a", "b"), "mrr") == 0.5
    assert value(make_question("q", z=1), ranking("z", "a", "b"), "mrr") == 1


def test_questions_without_hits_have_value_zero() -> None:
    questions = [make_question("q2", a=1), make_question("q10", b=1), make_question("q1", c=1)]
    result = {"q1": ranking("c"), "q2": ranking(), "q10": ranking("x", "b")}
    assert compute_measures(questions, result, ["mrr"])["mrr"].tolist() == [0, 0.5, 1]
    assert compute_measures(questions[:1], result, ["mrr"])["mrr"].tolist() == [0]


def test_ir_measures_names() -> None:
    question, result = make_question("q", a=1, b=1), ranking("a", "x", "b")
    values = compute_measures([question], {"q": result}, ["AP", "P@2", "nDCG@20", "ndcg@20", "any@2", "Success@2"])
    assert values["AP"][0] == pytest.approx((1 + 2 / 3) / 2)
    assert values["P@2"][0] == 0.5
    assert values["nDCG@20"][0] == values["ndcg@20"][0] == pytest.approx((1 + 0.5) / (1 + 1 / math.log2(3)))
    assert values["any@2"][0] == values["Success@2"][0] == 1


@pytest.mark.parametrize("name", ["best", "ndcg@", "any@0", "P@", "P(", ""])
def test_unknown_measure(name: str) -> None:
    with pytest.raises(ArgumentError, match="measure: must be one of any@1, .* or a name that ir_measures knows, got "):
        value(make_question("q", a=1), ranking("a"), name)


def test_measure_without_provider() -> None:
    with pytest.raises(RecollectError, match="AP, alpha_nDCG@10 cannot be computed: "):
        compute_measures([make_question("q", a=1)], {"q": ranking("a")}, ["AP", "alpha_nDCG@10"])


def test_missing_ir_measures_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(RecollectError, match=r"ir_measures cannot be imported .*: pip install 'recollectdb\[eval\]'"):
        value(make_question("q", a=1), ranking("a"), "mrr")


@given(
    st.permutations([f"n{number}" for number in range(12)]),
    st.dictionaries(st.sampled_from([f"n{number}" for number in range(14)]), st.integers(1, 3), min_size=1),
)
def test_measure_properties(order: list[str], relevant: dict[str, int]) -> None:
    values = compute_measures([make_question("q", **relevant)], {"q": ranking(*order)})
    means = {name: float(column[0]) for name, column in values.items()}
    assert all(0 <= mean <= 1 + 1e-9 for mean in means.values())
    assert means["any@1"] <= means["any@5"] <= means["any@10"]
    assert means["all@5"] <= means["recall@5"] <= means["any@5"]
    assert means["recall@5"] <= means["recall@10"]
    indexes = [order.index(note) for note in relevant if note in order]
    assert means["mrr"] == pytest.approx(1 / (min(indexes) + 1) if indexes else 0)
    best = sorted(relevant, key=lambda note: -relevant[note])
    assert value(make_question("q", **relevant), ranking(*best), "ndcg@10") == pytest.approx(1)
