from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given

from recollect import ArgumentError, ArgumentTypeError, Candidate
from recollect.ranking import RegexAnchorExtractor, TimeAnchor, composite, temporal
from tests.ranking.stages import temporal_boost
from tests.strategies import any_text, query_text

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def created(days: float, name: str = "n", **values: Any) -> Candidate:
    return Candidate(name, created_at=NOW - timedelta(days=days), **{"score": 1.0, **values})


def gain(days: float, query: str, **options: Any) -> float:
    return temporal_boost([created(days)], query=query, now=NOW, **options)[0].score - 1.0


@pytest.mark.parametrize(
    ("query", "days", "proximity"),
    [
        # "three weeks ago" is 21 ± 5 days: proximity 1 within 16–26, 0 at 6 and 36
        ("three weeks ago", 21, 1.0),
        ("three weeks ago", 26, 1.0),
        ("three weeks ago", 16, 1.0),
        ("three weeks ago", 31, 0.5),
        ("three weeks ago", 11, 0.5),
        ("three weeks ago", 28.5, 0.75),
        ("three weeks ago", 36, 0.0),
        ("three weeks ago", 6, 0.0),
        ("three weeks ago", 100, 0.0),
        ("yesterday", 1, 1.0),
        ("yesterday", 0, 1.0),
        ("yesterday", 3, 0.5),
        ("yesterday", 3.5, 0.25),
        ("yesterday", 4, 0.0),
        ("recently", 28, 1.0),
        ("recently", 42, 0.5),
        ("recently", -14, 0.5),
    ],
)
def test_temporal_proximity(query: str, days: float, proximity: float) -> None:
    assert gain(days, query) == pytest.approx(0.40 * proximity)
    assert gain(days, query, combine="multiply") == pytest.approx(0.40 * proximity)
    assert gain(days, query, boost=0.1) == pytest.approx(0.10 * proximity)


def test_temporal_combine_add_and_multiply() -> None:
    notes = [created(0, "relevant", score=0.35), created(21, "dated", score=0.01)]
    for combine, first in (("add", "dated"), ("multiply", "relevant")):
        options: Any = {"query": "three weeks ago", "now": NOW, "combine": combine}
        assert temporal_boost(notes, **options)[0].id == first
    assert temporal_boost(notes, query="3 weeks ago", now=NOW, combine="multiply")[1].score == pytest.approx(0.014)


def test_temporal_follows_composite() -> None:
    notes = [created(1, "fresh", score=0.5), created(21, "then", score=0.5)]
    plain = composite(notes, now=NOW)
    ranked = temporal(notes, query="what did I decide 3 weeks ago", now=NOW)
    assert [note.id for note in ranked] == ["then", "fresh"]
    assert ranked[0].score == pytest.approx(plain[1].score + 0.40)
    assert [step.stage for step in ranked[0].steps] == ["composite", "composite", "composite", "temporal_boost"]
    assert ranked[0].steps[-1].reason == "created 2026-05-11, proximity 1.00 to 2026-05-11"
    multiplied = temporal(notes, query="3 weeks ago", now=NOW, combine="multiply")
    assert multiplied[0].score == pytest.approx(plain[1].score * 1.40)


@pytest.mark.parametrize(
    "options",
    [
        {"query": "no time here"},
        {"query": "3 weeks ago", "extractor": None},
        {"query": "3 weeks ago", "boost": 0},
        {"query": "3 weeks ago", "boost": -1},
        {"query": "999999 days ago"},  # before the calendar begins
    ],
)
def test_temporal_without_anchor_is_composite(options: dict[str, Any]) -> None:
    notes = [created(21, "then", score=0.5), created(1, "fresh", score=0.5)]
    assert temporal(notes, now=NOW, **options) == composite(notes, now=NOW)


def test_temporal_note_without_date() -> None:
    (candidate,) = temporal_boost([Candidate("n", score=1.0)], query="yesterday", now=NOW)
    assert candidate.score == 1.0
    assert candidate.steps[0].reason == "no rule of this stage applies"


class _FixedExtractor:
    def __init__(self, days: int, tolerance: int) -> None:
        self._anchor = TimeAnchor(days, tolerance)

    def anchor(self, query: str) -> TimeAnchor:
        assert query
        return self._anchor


def test_temporal_custom_extractor() -> None:
    assert gain(10, "before my trip", extractor=_FixedExtractor(10, 1)) == pytest.approx(0.4)
    assert gain(10, "before my trip", extractor=_FixedExtractor(10, 0)) == pytest.approx(0.4)
    assert gain(11, "before my trip", extractor=_FixedExtractor(10, 0)) == 0


def test_temporal_wrong_arguments_raise() -> None:
    with pytest.raises(ArgumentError, match="^combine: must be one of add, multiply, got 'max'"):
        gain(1, "yesterday", combine="max")
    with pytest.raises(ArgumentError, match="^boost: must be a number, got 'x'"):
        gain(1, "yesterday", boost="x")
    with pytest.raises(ArgumentError, match="^query: must be a string"):
        temporal([], query=None, now=NOW)  # type: ignore[arg-type]
    for extractor in ("x", RegexAnchorExtractor):
        with pytest.raises(ArgumentError, match=r"^extractor: must be an object with a method anchor\(query\)"):
            gain(1, "yesterday", extractor=extractor)
    with pytest.raises(ArgumentError, match="^extractor: must return None or a TimeAnchor, got tuple"):
        gain(1, "yesterday", extractor=SimpleNamespace(anchor=lambda query: (len(query), 1)))
    with pytest.raises(ArgumentError, match="^extractor's tolerance: must be at least 0, got -1"):
        gain(1, "yesterday", extractor=_FixedExtractor(1, -1))


anchor = RegexAnchorExtractor().anchor

WORDS = "one two three four five six seven eight nine ten eleven twelve".split()


@pytest.mark.parametrize(
    ("query", "days", "tolerance"),
    [
        ("what did I do 3 days ago", 3, 2),
        ("1 day ago", 1, 2),
        ("a couple of days ago", 2, 2),
        ("a couple days ago", 2, 2),
        ("Yesterday!", 1, 1),
        ("three weeks ago", 21, 5),
        ("1 week ago", 7, 5),
        ("a week ago", 7, 3),
        ("LAST WEEK", 7, 3),
        ("6 months ago", 180, 10),
        ("a month ago", 30, 7),
        ("last month", 30, 7),
        ("a year ago", 365, 30),
        ("last\u3000year", 365, 30),
        ("recently", 14, 14),
        ("999999 days ago", 999_999, 2),
        # the first matching row of the table wins, wherever it is in the text
        ("last week or 3 days ago", 3, 2),
        ("recently, a year ago", 365, 30),
        ("2 weeks ago, yesterday", 1, 1),
        *((f"{word} days ago", number, 2) for number, word in enumerate(WORDS, 1)),
    ],
)
def test_anchor(query: str, days: int, tolerance: int) -> None:
    assert anchor(query) == TimeAnchor(days, tolerance)


@pytest.mark.parametrize(
    "query",
    ["", "how many times a week", "a month of rain", "thirteen days ago", "2 years ago", "days ago", "3 days"]
    + ["1000000 days ago", "1.5 weeks ago", "1,5 weeks ago", "yesterdays", "blast week", "unrecently", "٣ days ago"]
    + ["next week", "someone days ago", "twenty-one days ago"],
)
def test_anchor_none(query: str) -> None:
    assert anchor(query) is None


@given(any_text | query_text)
def test_anchor_accepts_any_text(query: str) -> None:
    anchor(query)


def test_anchor_wrong_type_raises() -> None:
    with pytest.raises(ArgumentTypeError, match="^query: must be a string"):
        anchor(None)  # type: ignore[arg-type]
