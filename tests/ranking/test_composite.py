from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from recollect import ArgumentError, ArgumentTypeError, Candidate
from recollect.ranking import CompositeWeights, composite

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def accessed(days: float, **values: Any) -> Candidate:
    return Candidate("n", last_accessed_at=NOW - timedelta(days=days), **values)


def score(candidate: Candidate, best: float = 1.0, **options: Any) -> float:
    ranked = composite([Candidate("best", score=best), candidate], now=NOW, **options)
    return next(note.score for note in ranked if note.id == "n")


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        (accessed(0, score=1.0, importance=1.0), 0.80 + 0.05 + 0.15),
        (accessed(0, score=0.5, importance=0.0), 0.40 + 0.05),
        (accessed(7, score=0.5, importance=0.0), 0.40 + 0.05 / math.e),
        (accessed(3.5, score=0.0, importance=0.5), 0.05 * math.exp(-0.5) + 0.075),
        (accessed(-3, score=0.5, importance=0.0), 0.40 + 0.05),  # never a negative age
        (Candidate("n", score=0.5, importance=0.0), 0.40),  # unknown access adds nothing
        (Candidate("n", score=0.5, importance=7.0), 0.40 + 0.15),  # importance is clamped
        (Candidate("n", score=0.5, importance=-7.0), 0.40),
        (Candidate("n", score=0.5), 0.40 + 0.075),  # importance defaults to 0.5
    ],
)
def test_composite_formula(candidate: Candidate, expected: float) -> None:
    assert score(candidate) == pytest.approx(expected, abs=1e-12)


def test_composite_relevance_is_the_share_of_the_best_score() -> None:
    assert score(Candidate("n", score=0.02, importance=0), best=0.04) == pytest.approx(0.40)


@pytest.mark.parametrize("best", [0.0, -2.0, 1e-310])
def test_composite_without_positive_scores(best: float) -> None:
    assert score(Candidate("n", score=-3.0, importance=0), best=best) == 0


@pytest.mark.parametrize(
    "weights", [CompositeWeights(0.5, 0, 0.5), {"relevance": 0.5, "recency": 0, "importance": 0.5}, (0.5, 0, 0.5)]
)
def test_composite_weights(weights: Any) -> None:
    assert score(accessed(0, score=0.5, importance=1.0), weights=weights) == pytest.approx(0.75)


def test_composite_importance_outweighs_small_score_differences() -> None:
    close_scores = [Candidate("a", score=1.0, importance=0.0), Candidate("b", score=0.9, importance=1.0)]
    distant_scores = [Candidate("a", score=1.0, importance=0.0), Candidate("b", score=0.7, importance=1.0)]
    assert composite(close_scores, now=NOW)[0].id == "b"
    assert composite(distant_scores, now=NOW)[0].id == "a"


def test_composite_keeps_order_of_equal_scores() -> None:
    assert [note.id for note in composite([Candidate("z"), Candidate("a")], now=NOW)] == ["z", "a"]
    assert composite([], now=NOW) == []


def test_composite_records_steps() -> None:
    (candidate,) = composite([accessed(14, score=0.04, importance=0.9)], now=NOW)
    assert [(step.stage, step.reason) for step in candidate.steps] == [
        ("composite", "relevance: its share of the best score × 0.8"),
        ("composite", "recency, from the last access 14.0 days ago × 0.05"),
        ("composite", "importance 0.90 × 0.15"),
    ]
    assert candidate.steps[-1].score_after == candidate.score


def test_composite_naive_times_are_utc() -> None:
    note = {"id": "n", "score": 1.0, "importance": 0, "last_accessed_at": "2026-05-25T02:00:00+02:00"}
    naive = datetime(2026, 6, 1)  # noqa: DTZ001 (a naive time on purpose)
    assert composite([note], now=naive)[0].score == pytest.approx(0.8 + 0.05 / math.e)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"now": 5}, ArgumentTypeError, r"now: must be a date, a datetime or an ISO-8601 string, got 5 \(int\)"),
        ({"now": "soon"}, ArgumentError, "now: must be an ISO-8601 date or time, got 'soon'"),
        ({"now": "0001-01-01T00:00+05:00"}, ArgumentError, "now: lies outside the years 1 to 9999 in UTC"),
        ({"now": NOW, "weights": (1, 2, 3, 4)}, ArgumentTypeError, "weights: must hold relevance, recency, importance"),
        ({"now": NOW, "weights": {"tea": 1}}, ArgumentTypeError, "weights: must hold relevance, recency, importance"),
        ({"now": NOW, "weights": 5}, ArgumentTypeError, "weights: must hold relevance, recency, importance"),
        ({"now": NOW, "weights": ("a", 0, 0)}, ArgumentTypeError, "weights.relevance: must be a number, got 'a'"),
    ],
)
def test_composite_wrong_arguments_raise(options: dict[str, Any], error: type[ArgumentError], message: str) -> None:
    with pytest.raises(error, match=f"^{message}"):
        composite([], **options)
