"""LongMemEval: questions to an assistant, each with its own haystack of earlier chat sessions.

Wu et al., LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory, 2024.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from recollect.errors import ArgumentError, IngestError
from recollect.evaluation.dataset import Collection, Dataset, Question, counted
from recollect.evaluation.formats.files import field_of, text_of
from recollect.ingest.moments import moment_of
from recollect.model import Note
from recollect.query import parse_question_date

__all__ = ["load_longmemeval"]

ABSTENTION = "_abs"
"""How the ids of questions end that have no answer in the haystack."""


class _Session(NamedTuple):
    id: str
    date: datetime | None
    turns: list[Any]
    answers: bool
    """Whether it holds the answer."""


def load_longmemeval(path: Path, samples: Sequence[Any], *, level: str = "session") -> Dataset:
    """Make a dataset of LongMemEval's samples; each question has a collection of its own, and a date.

    At the level ``session`` a note is a session, one turn a line; at the level ``turn`` a turn, of which those that are
    marked with ``has_answer`` are relevant. Questions to which nothing is relevant are left out.
    """
    collections: dict[str, Collection] = {}
    questions: list[Question] = []
    marked, undated = False, 0
    for number, sample in enumerate(samples, 1):
        place = f"{path}, question {number}"
        identity = text_of(sample, "question_id", place)
        if identity in collections:
            raise IngestError(f"{place}: the question_id {identity!r} was there before; each question needs its own")
        sessions = list(_sessions(sample, place))
        if level == "turn":
            pairs = [pair for session in sessions for pair in _turn_notes(session, place)]
            marked = marked or any("has_answer" in turn for session in sessions for turn in session.turns)
        else:
            pairs = [(_session_note(session, place), session.answers) for session in sessions]
        collections[identity] = Collection(id=identity, notes=tuple(note for note, _ in pairs))
        relevant = {note.id: 1 for note, answers in pairs if answers}
        if relevant:
            kind = str(sample.get("question_type") or "")
            strata = (kind, "abstention" if identity.endswith(ABSTENTION) else "")
            asked = str(sample.get("question_date") or "")
            undated += parse_question_date(asked) is None
            questions.append(
                Question(
                    id=identity,
                    text=text_of(sample, "question", place),
                    collection=identity,
                    relevant=relevant,
                    strata=tuple(filter(None, strata)),
                    asked=asked,
                )
            )
    if level == "turn" and not marked:
        raise ArgumentError("level", f"must be session: no turn in {path} is marked with has_answer")
    lost = len(collections) - len(questions)
    remarks = {
        f"{counted(lost, 'question')} without an answer in the haystack left out": lost,
        f"{counted(undated, 'question')} without a date that can be read": undated,
    }
    return Dataset(
        name=f"{path.stem}, turns" if level == "turn" else path.stem,
        collections={question.collection: collections[question.collection] for question in questions},
        questions=tuple(questions),
        remarks=tuple(remark for remark, count in remarks.items() if count),
    )


def _sessions(sample: Any, place: str) -> Iterator[_Session]:
    """Yield the sessions of a haystack; one that comes twice comes once, another of the same id gets one of its own."""
    ids = [str(each) for each in field_of(sample, "haystack_session_ids", list, place)]
    dates = field_of(sample, "haystack_dates", list, place)
    haystack = field_of(sample, "haystack_sessions", list, place)
    if not len(ids) == len(dates) == len(haystack):
        raise IngestError(
            f"{place}: {len(haystack)} sessions, {len(ids)} ids and {len(dates)} dates; there must be as many of each"
        )
    answers = {str(each) for each in field_of(sample, "answer_session_ids", list, place)}
    seen: dict[str, list[Any]] = {}
    for identity, date, turns in zip(ids, dates, haystack, strict=True):
        known = seen.setdefault(identity, [])
        if turns not in known:
            known.append(turns)
            own = identity if len(known) == 1 else f"{identity}#{len(known)}"
            held = field_of({"session": turns}, "session", list, place)
            yield _Session(own, _moment(date, place), held, identity in answers)


def _moment(date: Any, place: str) -> datetime | None:
    try:
        return moment_of("haystack_dates", date) if date else None
    except ArgumentError as error:
        raise IngestError(f"{place}: {error}") from None


def _session_note(session: _Session, place: str) -> Note:
    lines = (_line(turn, f"{place}, session {session.id}") for turn in session.turns)
    return Note(id=session.id, content="\n".join(lines), created_at=session.date)


def _turn_notes(session: _Session, place: str) -> Iterator[tuple[Note, bool]]:
    """Yield the turns as notes, each with whether it holds the answer."""
    for order, turn in enumerate(session.turns):
        note = Note(
            id=f"{session.id}:{order + 1}",
            content=_line(turn, f"{place}, session {session.id}"),
            session=session.id,
            position=order,
            created_at=session.date,
            metadata={"speaker": turn["role"]},
        )
        yield note, turn.get("has_answer") is True


def _line(turn: Any, place: str) -> str:
    return f"{text_of(turn, 'role', place)}: {text_of(turn, 'content', place)}"
