from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import ArgumentError, IngestError
from recollect.evaluation import load_dataset
from tests.evaluation.samples import HAYSTACKS


def test_longmemeval_haystacks() -> None:
    dataset = load_dataset(HAYSTACKS)
    assert {name: [note.id for note in collection.notes] for name, collection in dataset.collections.items()} == {
        "a1": ["s1", "s2", "s3"],
        "a2": ["s1", "r1", "r2", "s3", "s3#2"],  # the third s3 says something else than the first two
        "a3_abs": ["s1", "s2"],
        "a4_abs": ["s2", "s3"],
    }
    assert [(question.id, list(question.relevant), question.asked_at) for question in dataset.questions] == [
        ("a1", ["s2"], "2023/06/01 (Thu) 10:00"),
        ("a2", ["r1", "r2"], "2023/07/10 (Mon) 19:30"),
        ("a3_abs", [], "2023/06/01 (Thu) 10:00"),
        ("a4_abs", [], ""),
    ]
    assert dataset.strata == ("knowledge-update", "single-session-user", "temporal-reasoning", "unanswerable")
    assert dataset.remarks == ("1 question without a date that can be read",)
    bike = dataset.collections["a1"].notes[1]
    assert bike.content.splitlines() == [
        "user: I sold the tandem and bought a cargo bike for 900 euros.",
        "assistant: That should carry the dog, too.",
    ]
    assert bike.created_at is not None
    assert bike.created_at.isoformat() == "2023-05-20T02:21:00+00:00"


def test_longmemeval_turns() -> None:
    dataset = load_dataset(HAYSTACKS, level="turn")
    assert dataset.name == "haystacks, turns"
    assert [list(question.relevant) for question in dataset.questions] == [
        ["s2:1"],
        ["r1:1", "r2:1"],
        [],
        [],
    ]
    second = dataset.collections["a1"].notes[1]
    assert (second.id, second.session, second.position, second.metadata) == ("s1:2", "s1", 1, {"speaker": "assistant"})
    assert dataset.collections["a3_abs"].notes[-1].created_at is None


def test_longmemeval_unanswerable() -> None:
    dataset = load_dataset(HAYSTACKS)
    assert [question.id for question in dataset.answerable] == ["a1", "a2"]
    assert [(question.id, question.strata) for question in dataset.unanswerable] == [
        ("a3_abs", ("single-session-user", "unanswerable")),
        ("a4_abs", ("knowledge-update", "unanswerable")),
    ]


def test_longmemeval_pool() -> None:
    dataset = load_dataset(HAYSTACKS, pool=True)
    assert dataset.name == "haystacks, pooled"
    assert {name: [note.id for note in collection.notes] for name, collection in dataset.collections.items()} == {
        "haystacks": ["s1", "s2", "s3", "r1", "r2", "s3#2"]
    }
    assert [(question.collection, list(question.relevant), question.asked_at) for question in dataset.questions] == [
        ("haystacks", ["s2"], "2023/06/01 (Thu) 10:00"),
        ("haystacks", ["r1", "r2"], "2023/07/10 (Mon) 19:30"),
        ("haystacks", [], "2023/06/01 (Thu) 10:00"),
        ("haystacks", [], ""),
    ]
    assert dataset.remarks == (
        "1 question without a date that can be read",
        "1 session with several dates: the first counts",  # s2 has none in the third haystack
    )
    bike = dataset.collections["haystacks"].notes[1]
    assert bike.created_at is not None
    assert bike.created_at.isoformat() == "2023-05-20T02:21:00+00:00"


def test_longmemeval_pooled_turns() -> None:
    dataset = load_dataset(HAYSTACKS, level="turn", pool=True)
    assert dataset.name == "haystacks, pooled, turns"
    (pooled,) = dataset.collections.values()
    assert [note.id for note in pooled.notes] == [
        f"{session}:{turn}" for session in ("s1", "s2", "s3", "r1", "r2", "s3#2") for turn in (1, 2)
    ]
    assert [(note.session, note.position, str(note.created_at)[:10]) for note in pooled.notes[2:4]] == [
        ("s2", 0, "2023-05-20"),
        ("s2", 1, "2023-05-20"),
    ]
    assert [list(question.relevant) for question in dataset.answerable] == [["s2:1"], ["r1:1", "r2:1"]]


def test_longmemeval_turn_relevance(tmp_path: Path) -> None:
    marked = [[{"role": "user", "content": "Tea.", "has_answer": True}]]
    plain = [[{"role": "user", "content": "Tea."}]]
    samples = [haystack(haystack_sessions=marked), haystack(question_id="b", haystack_sessions=plain)]
    dataset = load_samples(tmp_path, *samples, level="turn", pool=True)
    assert [question.id for question in dataset.questions] == ["a"]
    assert dataset.notes == 1
    assert dataset.remarks[0] == "1 question left out: no note of the haystack is marked as relevant"


def test_longmemeval_question_without_answer(tmp_path: Path) -> None:
    dataset = load_samples(tmp_path, haystack(), haystack(question_id="b", answer_session_ids=[]))
    assert (list(dataset.collections), dataset.remarks[0]) == (
        ["a"],
        "1 question left out: no note of the haystack is marked as relevant",
    )


def haystack(**changes: Any) -> dict[str, Any]:
    return {
        "question_id": "a",
        "question": "Tea?",
        "haystack_session_ids": ["s1"],
        "haystack_dates": ["2023/05/02 (Tue) 08:15"],
        "haystack_sessions": [[{"role": "user", "content": "Tea."}]],
        "answer_session_ids": ["s1"],
    } | changes


def load_samples(folder: Path, *samples: dict[str, Any], level: str | None = None, pool: bool = False) -> Any:
    path = folder / "own.json"
    path.write_text(json.dumps(samples))
    return load_dataset(path, level=level, pool=pool)


def test_longmemeval_optional_fields(tmp_path: Path) -> None:
    (question,) = load_samples(tmp_path, haystack()).questions
    assert (question.strata, question.asked_at) == ((), "")


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([haystack(), haystack()], "question 2: the question_id 'a' occurs twice"),
        ([haystack(haystack_dates=[])], "question 1: 1 sessions, 1 ids and 0 dates; their numbers must be equal"),
        ([haystack(haystack_dates=["in May"])], "question 1: haystack_dates: must be an ISO-8601"),
        ([haystack(haystack_sessions=["Tea."])], "question 1: 'session' cannot be str"),
        ([haystack(haystack_sessions=[[{"role": "user"}]])], "question 1, session s1: 'content' is missing"),
        ([haystack(answer_session_ids="s1")], "question 1: 'answer_session_ids' cannot be str"),
    ],
)
def test_longmemeval_errors(tmp_path: Path, samples: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(IngestError, match=re.escape(message)):
        load_samples(tmp_path, *samples)


def test_longmemeval_unmarked_turns(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="level: must be session: no turn in .* is marked with has_answer"):
        load_samples(tmp_path, haystack(), level="turn")
