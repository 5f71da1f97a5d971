from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import ArgumentError, Candidate
from recollect.evaluation import evaluate, load_dataset, paired_difference
from recollect.query import find_time_expressions
from recollect.ranking import time_match
from recollect.retrieval import Retrieval, presets
from tests.ranking.stages import boost_time_matches
from tests.retrieval.test_search_properties import LetterEmbedder

NOW = datetime(2026, 11, 17, tzinfo=UTC)


def note(created: str | None, name: str = "n", score: float = 1.0, **values: Any) -> Candidate:
    return Candidate(name, score=score, created_at=created, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "created", "expected"),
    [
        # March has 31 days: 0 from 15 days before and after it
        ("in March", "2026-03-01", 1.0),
        ("in March", "2026-03-31T23:59:59Z", 1.0),
        ("in March", "2026-04-04", 1 - 4 / 15),
        ("in March", "2026-02-26", 0.8),
        ("in March", "2026-04-15", 0.0),
        ("in March", "2025-03-14", 0.0),
        # a week decays within three and a half days, a day within two
        ("last week", "2026-11-15", 1.0),
        ("last week", "2026-11-16", 1.0 - 1 / 3.5),  # the first day after it, at 00:00
        ("last week", "2026-11-17T18:00:00Z", 1.0 - 2 / 3.5),
        ("the day before yesterday", "2026-11-16", 0.5),
        ("yesterday", "2026-11-15", 0.5),
        ("yesterday", "2026-11-14", 0.0),
        # open intervals decay within 7 days
        ("since March", "2026-10-01", 1.0),
        ("since March", "2026-02-22", 0.0),
        ("before 2026", "2020-01-01", 1.0),
        ("before 2026", "2026-01-04T12:00:00Z", 1 - 4 / 7),
        ("before 2026", "2026-02-01", 0.0),
        ("in March or in May", "2026-05-09", 1.0),
        ("in March", None, 0.0),
    ],
)
def test_time_match_of_created_at(query: str, created: str | None, expected: float) -> None:
    intervals = find_time_expressions(query, NOW)
    assert time_match(note(created), intervals) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("in March", "Signed on 2026-03-09.", 1.0),
        ("in March", "Signed in March 2026.", 1.0),
        ("on 9 March", "Signed in March 2026.", 0.5),
        ("in March", "Signed on 2026-04-01.", 0.0),
        ("in March", "Signed on March 9.", 1.0),
        ("since March", "Due on 2026-05-01.", 1.0),
        ("in March", "Nothing of the kind.", 0.0),
    ],
)
def test_time_match_of_dates_in_the_text(query: str, text: str, expected: float) -> None:
    intervals = find_time_expressions(query, NOW)
    assert time_match(note("2026-06-01", content=text), intervals) == expected
    assert time_match(note("2026-06-01", title=text), intervals) == expected


def test_time_match_boost_and_reasons() -> None:
    notes = [
        note("2026-04-20", "april", 0.5),
        note("2026-03-14", "march", 0.4),
        note("2026-04-01T12:00:00Z", "soon", 0.3),
        note("2026-04-02", "next", 0.2),
        note("2026-07-01", "text", 0.1, content="Paid on 2026-03-02."),
        note("2026-04-04", "days", 0.01),
    ]
    ranked = boost_time_matches(notes, query="dentist last march", now=NOW, boost=0.5)
    assert {candidate.id: (round(candidate.score, 6), candidate.steps[0].reason) for candidate in ranked} == {
        "march": (0.6, "created 2026-03-14, within March 2026"),
        "april": (0.5, "no rule of this stage applies"),
        "soon": (round(0.3 * (1 + 0.5 * (1 - 1 / 15)), 6), "created 2026-04-01, a day from March 2026"),
        "next": (round(0.2 * (1 + 0.5 * (1 - 2 / 15)), 6), "created 2026-04-02, 2 days from March 2026"),
        "text": (0.15, "its text names 2026-03-02, within March 2026"),
        "days": (round(0.01 * (1 + 0.5 * (1 - 4 / 15)), 6), "created 2026-04-04, 4 days from March 2026"),
    }


def test_time_match_reason_for_a_month_in_the_text() -> None:
    (candidate,) = boost_time_matches([note(None, content="In March 2026.")], query="on 9 March", now=NOW, boost=0.5)
    assert candidate.score == 1.25
    assert candidate.steps[0].reason == "its text names March 2026, which overlaps 2026-03-09"


@pytest.mark.parametrize("options", [{"query": "green tea"}, {"query": "yesterday", "boost": 0}])
def test_time_match_without_time_or_boost_changes_nothing(options: dict[str, Any]) -> None:
    notes = [note("2026-11-16", "a", 0.1), note(None, "b", 0.5)]
    assert boost_time_matches(notes, now=NOW, **options) == notes


def test_time_match_keeps_relevant_notes_first() -> None:
    notes = [note("2026-01-01", "relevant", 0.5), note("2026-11-16", "dated", 0.01)]
    assert boost_time_matches(notes, query="yesterday", now=NOW)[0].id == "relevant"


def test_time_match_combine_add() -> None:
    low_scores = [note("2026-01-01", "other", 0.25, ceiling=1.0), note("2026-11-16", "dated", 0.01, ceiling=1.0)]
    (first, second) = boost_time_matches(low_scores, query="yesterday", now=NOW, combine="add", boost=0.4)
    assert (first.id, first.score, first.steps[0].addend) == ("dated", 0.26, 0.25)  # at most the best score
    assert second.score == 0.25
    clear_lead = [note("2026-01-01", "relevant", 0.9, ceiling=1.0), note("2026-11-16", "dated", 0.1, ceiling=1.0)]
    (first, second) = boost_time_matches(clear_lead, query="yesterday", now=NOW, combine="add", boost=0.4)
    assert (first.id, second.score) == ("relevant", 0.5)
    (first,) = boost_time_matches([note("2026-11-16", score=-1.0)], query="yesterday", now=NOW, combine="add")
    assert first.score == -1.0
    (first,) = boost_time_matches([note("2026-11-16", score=0.5)], query="yesterday", now=NOW, combine="add", boost=0.4)
    assert first.score == 0.7  # without a ceiling, the best score is the highest possible


def test_time_match_time_only() -> None:
    notes = [note("2026-01-01", "far", 0.9), note("2026-11-15", "near", 0.5), note("2026-11-16", "dated", 0.0)]
    ranked = boost_time_matches(notes, query="yesterday", now=NOW, time_only=True)
    assert [(candidate.id, round(candidate.score, 6)) for candidate in ranked] == [
        ("dated", 1.8),
        ("near", 0.95),
        ("far", 0.9),
    ]
    (first,) = boost_time_matches([note("2026-11-16", score=0.0)], query="yesterday", now=NOW, time_only=True)
    assert first.score == 2.0


_RUNS = {
    "2026-11-16": "Run: 6 km easy along the canal.",
    "2026-11-03": "Run: tempo, 10 km in 47:10.",
    "2026-10-09": "Run: hill repeats at the dyke.",
    "2026-08-15": "Run: on the beach, on holiday.",
    "2026-03-08": "Run: parkrun, 22:40.",
    "2026-05-30": "Run: marathon, gave up at 33 km.",
}


@pytest.mark.parametrize("embedder", [None, LetterEmbedder()])
@pytest.mark.parametrize(
    ("query", "day"),
    [
        ("what was my run yesterday?", "2026-11-16"),
        ("run on 9 October", "2026-10-09"),
        ("what did I run in March?", "2026-03-08"),
        ("run two weeks ago", "2026-11-03"),
    ],
)
def test_search_by_time_in_a_log(tmp_path: Path, embedder: Any, query: str, day: str) -> None:
    with recollect.open(tmp_path / "log.db", embedder=embedder) as memory:
        memory.add_many([{"content": text, "created_at": day, "path": f"{day}.md"} for day, text in _RUNS.items()])
        assert memory.search(query, question_date="2026-11-17").hits[0].path == f"{day}.md"


@pytest.mark.parametrize("embedder", [None, LetterEmbedder()])
@pytest.mark.parametrize("query", ["what happened on 11 November?", "2026-11-11", "was war am 11.11.?"])
def test_time_only_search_lists_notes_of_the_time(tmp_path: Path, embedder: Any, query: str) -> None:
    with recollect.open(tmp_path / "many.db", embedder=embedder) as memory:
        frequent = [
            {"content": f"What happened: number {n}, it happened.", "created_at": "2026-02-01"} for n in range(60)
        ]
        rare = [{"content": f"Zebra {n}.", "created_at": "2026-11-11", "path": f"z{n}.md"} for n in range(2)]
        memory.add_many([*frequent, *rare, {"content": "Quiz.", "created_at": "2026-11-11", "tags": ["x"]}])
        result = memory.search(query, question_date="2026-11-17", candidate_k=20, top_k=5)
        assert {hit.path for hit in result.hits[:3]} >= {"z0.md", "z1.md"}
        assert result.trace.time_only
        trace = result.trace.to_dict()
        assert trace["timeOnly"] is True
        assert [time["label"] for time in trace["times"]] == ["2026-11-11"]
        assert "2026-11-11, and nothing else" in result.explain(width=200)
        only = memory.search(query, question_date="2026-11-17", candidate_k=20, filters={"tags": ["x"]})
        assert [hit.content for hit in only] == ["Quiz."]


def test_search_explains_the_time(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Run: in the rain.", created_at="2020-01-01")
        result = memory.search("run last week or since March", question_date="2026-11-17")
        assert not result.trace.time_only
        lines = result.explain().splitlines()
        assert "time         last week: 2026-11-09 to 2026-11-15" in lines
        assert "             since March: the time since 2026-03-01" in lines
        times = result.trace.to_dict()["times"]
        assert times[1] == {
            "text": "since March",
            "label": "the time since 2026-03-01",
            "start": "2026-03-01T00:00:00+00:00",
            "end": None,
        }
        assert not memory.search('"last week"', question_date="2026-11-17").trace.time_only
        assert not memory.search("last week", preset="memini", question_date="2026-11-17").trace.times


def test_time_only_search_without_listing() -> None:
    class Index:
        def search_text(self, *_: Any, **__: Any) -> list[Candidate]:
            return [Candidate("n1", content="August.", score=1.0)]

        def search_vectors(self, *_: Any, **__: Any) -> list[Candidate]:
            return []

    class Failing(Index):
        def page(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("gone")

        def candidates(self, *_: Any, **__: Any) -> list[Candidate]:
            return []

    assert [hit.id for hit in Retrieval(Index()).search("in August")] == ["n1"]
    result = Retrieval(Failing()).search("in August")
    assert [hit.id for hit in result] == ["n1"]
    assert any("notes of the query's time are missing: " in warning for warning in result.warnings)


def test_time_match_wrong_arguments_raise() -> None:
    with pytest.raises(ArgumentError, match="^boost: must be at least 0, got -1"):
        boost_time_matches([], query="yesterday", now=NOW, boost=-1)
    with pytest.raises(ArgumentError, match="^events: must be true or false, got 'no'"):
        boost_time_matches([], query="yesterday", now=NOW, events="no")
    with pytest.raises(ArgumentError, match="^combine: "):
        boost_time_matches([], query="yesterday", now=NOW, combine="max")


MOVE = note("2026-05-23", "move", 0.5, title="The move", content="Moved in, the piano needed six people.")
BEFORE = note("2026-04-25", "before", 0.4, content="Bought forty boxes.")
AFTER = note("2026-08-06", "after", 0.4, content="Bought curtain rails.")


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("what did we buy before the move?", "before"),
        ("what did we buy until our move", "before"),
        ("what did we buy after the move?", "after"),
        ("what did we buy since Lena's move", "after"),
    ],
)
def test_event_is_dated_by_its_title(query: str, first: str) -> None:
    ranked = boost_time_matches([AFTER, BEFORE], query=query, now=NOW)
    assert ranked == [AFTER, BEFORE]
    ranked = boost_time_matches([AFTER, BEFORE, MOVE], query=query, now=NOW, boost=0.5)
    assert next(candidate.id for candidate in ranked if candidate.id != "move") == first
    # the event itself is not lifted
    assert next(candidate.score for candidate in ranked if candidate.id == "move") == 0.5
    assert boost_time_matches([AFTER, BEFORE, MOVE], query=query, now=NOW, events=False) == [AFTER, BEFORE, MOVE]


def test_event_is_dated_by_a_date_in_the_text() -> None:
    plan = note("2026-01-09", "plan", content="The offsite is on 2026-06-10.")
    early, late = note("2026-04-01", "early"), note("2026-09-01", "late")
    ranked = boost_time_matches([early, late, plan], query="since the offsite in Lisbon", now=NOW, boost=0.5)
    assert {candidate.id: candidate.score for candidate in ranked} == {"late": 1.5, "plan": 1.5, "early": 1.0}
    assert ranked[0].steps[0].reason == "created 2026-09-01, within the time since 2026-06-10"


@pytest.mark.parametrize(
    "candidates",
    [
        [note("2026-05-23", "a", title="The move"), note("2026-07-23", "b", title="Another move")],
        [note("2026-05-23", "a", content="The move.")],
        [note(None, "a", content="The move.")],
        [note("2026-05-23", "a", content="Nothing of it.")],
    ],
)
def test_event_without_a_clear_date_is_ignored(
    candidates: list[Candidate],
) -> None:
    assert boost_time_matches(candidates, query="before the move", now=NOW) == candidates
    assert boost_time_matches(candidates, query="before the and after the", now=NOW) == candidates


def test_event_spans_the_notes_of_a_week() -> None:
    notes = [
        note("2026-05-23T10:00:00Z", "a", title="The big move begins"),
        note("2026-05-25T10:00:00Z", "b", title="The big move is done"),
        note("2026-05-30", "c"),
    ]
    ranked = boost_time_matches(notes, query="after the big move", now=NOW, boost=0.5)
    assert ranked[0].steps[0].reason == "created 2026-05-30, within the time since 2026-05-26"
    assert ranked[0].steps[0].factor == 1.5


def test_search_uses_the_question_date(tmp_path: Any) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        for month in (1, 3, 5):
            memory.add(f"Dentist: visit {month}.", path=f"{month}.md", created_at=f"2026-0{month}-10")
        for query, question_date, first in (
            ("dentist last march", "2026-11-17", "3.md"),
            ("dentist two months ago", "2026-07-10", "5.md"),
            ("dentist last month", "2026-02-27", "1.md"),
        ):
            (hit, *_) = memory.search(query, question_date=question_date)
            assert hit.path == first
            assert any(step.stage == "time_match" and step.addend > 0 for step in hit.candidate.steps)
        assert memory.search("dentist", now=NOW).hits[0].candidate.steps[-1].stage != "time_match"


def test_time_match_decreases_with_distance() -> None:
    intervals = find_time_expressions("in March", NOW)
    end = datetime(2026, 4, 1, tzinfo=UTC)
    values = [time_match(Candidate("n", created_at=end + timedelta(days=days)), intervals) for days in range(-1, 20)]
    assert values == sorted(values, reverse=True)
    assert values[:2] == [1.0, 1 - 1 / 15]
    assert values[-1] == 0.0


def test_time_match_improves_the_temporal_dataset(tmp_path: Path) -> None:
    dataset = load_dataset(Path(__file__).parents[2] / "benchmarks" / "datasets" / "temporal")
    assert len(dataset.questions) == 129
    default = presets()["default"]
    stages = tuple(stage for stage in default.stages if stage.name != "time_match")
    without, with_stage = evaluate(
        dataset, [replace(default, name="without", stages=stages), default], embedder=None, cache=tmp_path
    )
    difference = paired_difference(with_stage.values["any@1"], without.values["any@1"])
    assert difference.verdict == "better"
    for question in dataset.questions:
        if question.strata == ("no time",):
            assert with_stage.rankings[question.id].ids == without.rankings[question.id].ids
