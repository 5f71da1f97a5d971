from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import IngestError
from recollect.evaluation import load_dataset
from tests.evaluation.samples import TALKS, TALKS_CORRECTIONS


def test_locomo_turns() -> None:
    dataset = load_dataset(TALKS)
    assert {name: len(collection.notes) for name, collection in dataset.collections.items()} == {
        "talk-1": 9,
        "conversation-2": 3,
    }
    assert [note.id for note in dataset.collections["talk-1"].notes][-3:] == ["D2:03", "D10:1", "D10:2"]
    turn = dataset.collections["talk-1"].notes[2]
    assert turn.content == (
        "Ilse: Behind my aunt's barn in Velden, until the ice is gone."
        " [image: a red canoe lying upside down in the grass]"
    )
    assert (turn.session, turn.position) == ("session_1", 2)
    assert turn.metadata == {"speaker": "Ilse", "caption": "a red canoe lying upside down in the grass"}
    assert turn.created_at is not None
    assert turn.created_at.isoformat() == "2024-03-03T09:05:00+00:00"
    assert dataset.collections["talk-1"].notes[6].content == "Tarik: [image: a plaited loaf with poppy seeds]"
    assert dataset.collections["talk-1"].notes[-1].created_at is None


def test_locomo_evidence_forms() -> None:
    dataset = load_dataset(TALKS)
    assert {question.id: list(question.relevant) for question in dataset.questions} == {
        "talk-1/q1": ["D1:3", "D10:1"],
        "talk-1/q2": ["D2:2"],
        "talk-1/q3": ["D2:1", "D1:4"],
        "talk-1/q4": ["D2:03"],
        "talk-1/q5": ["D1:1"],
        "conversation-2/q1": ["D1:3", "D1:1"],
        "conversation-2/q2": ["D1:1"],
    }
    assert dataset.remarks == (
        "2 questions left out: the evidence names no existing turn",
        "2 pieces of evidence left out: the turn does not exist",
        "1 session without a date that can be read",
    )
    assert dataset.strata == (
        *("1 multi-hop", "2 temporal", "3 open-domain", "4 single-hop", "5 adversarial"),
        "bonus",
    )


def test_locomo_sessions() -> None:
    dataset = load_dataset(TALKS, level="session")
    assert dataset.name == "talks, sessions"
    first = dataset.collections["conversation-2"].notes[0]
    assert first.id == "D1"
    assert first.content.splitlines() == [
        "Noor: My violin teacher moved to Ghent.",
        "Piet: Will you go on without lessons?",
        "Noor: Yes, with the recordings that she left me.",
    ]
    assert first.created_at is not None
    assert first.created_at.isoformat() == "2023-09-13T00:09:00+00:00"
    assert first.metadata == {"speakers": ["Noor", "Piet"]}
    assert [list(question.relevant) for question in dataset.questions][:3] == [["D1", "D10"], ["D2"], ["D2", "D1"]]


def test_locomo_corrections() -> None:
    dataset = load_dataset(TALKS, corrections=TALKS_CORRECTIONS)
    assert dataset.name == "talks, corrected"
    assert {question.id: list(question.relevant) for question in dataset.questions} == {
        "talk-1/q1": ["D10:1", "D1:3"],  # the correction names the same turns in another form
        "talk-1/q2": ["D2:1", "D2:2"],
        "talk-1/q4": ["D2:03"],
        "talk-1/q5": ["D1:1"],
        "talk-1/q7": ["D10:2"],  # without the correction no turn of its evidence exists
        "conversation-2/q1": ["D1:3", "D1:1"],
        "conversation-2/q2": ["D1:1"],
    }
    assert dataset.remarks == (
        "1 question left out: the evidence names no existing turn",
        "1 session without a date that can be read",
        "2 questions with corrected evidence",
        "1 question whose correction names the same evidence",
        "1 question left out: according to the corrections no turn answers it",
        "2 corrections left out: no question has this text and evidence",
    )


def test_locomo_corrections_of_sessions() -> None:
    dataset = load_dataset(TALKS, level="session", corrections=str(TALKS_CORRECTIONS))
    assert dataset.name == "talks, sessions, corrected"
    assert {question.id: list(question.relevant) for question in dataset.questions}["talk-1/q7"] == ["D10"]


@pytest.mark.parametrize(
    ("corrections", "message"),
    [
        ("{}", "errors.json: must be a list of objects"),
        ("[1]", "errors.json: must be a list of objects"),
        ('[{"question": "Tea?"}]', "errors.json, correction 1: 'cited_evidence' is missing"),
        ('[{"cited_evidence": []}]', "errors.json, correction 1: 'question' is missing"),
        ('[{"question": "Tea?", "cited_evidence": []}]', "errors.json, correction 1: 'correct_evidence' is missing"),
    ],
)
def test_locomo_correction_errors(tmp_path: Path, corrections: str, message: str) -> None:
    path = tmp_path / "errors.json"
    path.write_text(corrections)
    with pytest.raises(IngestError, match=message):
        load_dataset(TALKS, corrections=path)


def sample(**changes: Any) -> dict[str, Any]:
    turn = {"speaker": "Ilse", "dia_id": "D1:1", "text": "Tea."}
    questions = {"question": "Tea?", "evidence": ["D1:1"], "category": 4}
    return {"sample_id": "a", "conversation": {"session_1": [turn]}, "qa": [questions]} | changes


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([sample(), sample()], "conversation 2: the sample_id 'a' occurs twice"),
        ([sample(conversation=[])], "conversation 1: 'conversation' cannot be list"),
        ([sample(conversation={"session_1": {}})], "conversation 1: 'session_1' cannot be dict"),
        ([sample(conversation={"session_1": [{}]})], "conversation 1, session_1, turn 1: 'speaker' is missing"),
        ([sample(qa=[{"evidence": ["D1:1"]}])], "conversation 1, question 1: 'question' is missing"),
        ([sample(qa=[{"question": "Tea?"}])], "conversation 1, question 1: 'evidence' is missing"),
    ],
)
def test_locomo_errors(tmp_path: Path, samples: list[dict[str, Any]], message: str) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(samples))
    with pytest.raises(IngestError, match=message):
        load_dataset(path)


@pytest.mark.parametrize("date", ["", "1:00 pm on 30 February, 2024", "1:00 pm on 3 Mai, 2024"])
def test_locomo_invalid_date(tmp_path: Path, date: str) -> None:
    path = tmp_path / "undated.json"
    undated = sample()
    undated["conversation"]["session_1_date_time"] = date
    path.write_text(json.dumps([undated]))
    (note,) = load_dataset(path).collections["a"].notes
    assert note.created_at is None


def test_locomo_repeated_turn_ids(tmp_path: Path) -> None:
    turns = [{"speaker": "Ilse", "dia_id": "D1:1", "text": text} for text in ("Tea?", "Milk?")]
    all_questions = [{"question": "tea?", "evidence": ["D1:1"], "category": "4"}]
    path = tmp_path / "talks.json"
    path.write_text(json.dumps([{"conversation": {"session_1": turns}, "qa": all_questions}]))
    dataset = load_dataset(path)
    (collection,) = dataset.collections.values()
    assert [(note.id, note.content) for note in collection.notes] == [("D1:1", "Ilse: Tea?"), ("D1:1#2", "Ilse: Milk?")]
    assert [list(question.relevant) for question in dataset.questions] == [["D1:1"]]
    assert dataset.strata == ("4 single-hop",)
    assert dataset.remarks == (
        "1 session without a date that can be read",
        "1 turn with the id of an earlier turn: evidence refers to the earlier one",
    )
