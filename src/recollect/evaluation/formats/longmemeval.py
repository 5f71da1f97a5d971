"""LongMemEval: questions to an assistant, each with its own haystack of earlier chat sessions, or pooled into one.

Wu et al., LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory, 2024.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from recollect.errors import ArgumentError, IngestError
from recollect.evaluation.dataset import UNANSWERABLE, Collection, Dataset, Question, format_count
from recollect.evaluation.formats.files import field_of, text_of
from recollect.ingest.dates import parse_date
from recollect.model import Note
from recollect.query import parse_question_date

__all__ = ["load_longmemeval"]

ABSTENTION = "_abs"
"""How the ids of questions end that have no answer in the haystack."""


class _Turn(NamedTuple):
    speaker: str
    line: str
    """The text of the note: speaker and content."""
    has_answer: bool | None
    """Whether it holds the answer; ``None`` where the file does not say."""


class _Session(NamedTuple):
    id: str
    date: datetime | None
    turns: tuple[_Turn, ...]
    answers: bool
    """Whether it holds the answer."""


def load_longmemeval(path: Path, samples: Sequence[Any], *, level: str = "session", pool: bool = False) -> Dataset:
    """Make a dataset of LongMemEval's samples.

    Each question has a date and a collection of its own; with ``pool`` there is one collection, which holds the
    sessions of all questions, each once. At the level ``session`` a note is a session, one turn a line, and the
    sessions of ``answer_session_ids`` are relevant; at the level ``turn`` a note is a turn, with its session and its
    position there, and the turns of this question's haystack that are marked with ``has_answer`` are relevant.

    Questions whose id ends in ``_abs`` have no answer: nothing is relevant to them, and they are of the stratum
    ``unanswerable``. Other questions to which nothing is relevant are left out.
    """
    notes: dict[str, dict[str, Note]] = {}
    texts: dict[str, dict[str, list[tuple[str, ...]]]] = {}
    questions: list[Question] = []
    seen: set[str] = set()
    marked, undated, lost = False, 0, 0
    redated: set[str] = set()
    for number, sample in enumerate(samples, 1):
        place = f"{path}, question {number}"
        identity = text_of(sample, "question_id", place)
        if identity in seen:
            raise IngestError(f"{place}: the question_id {identity!r} was there before; each question needs its own")
        seen.add(identity)
        collection = path.stem if pool else identity
        stored = notes.setdefault(collection, {})
        relevant: dict[str, int] = {}
        for session in _sessions(sample, place, texts.setdefault(collection, {})):
            marked = marked or any(turn.has_answer is not None for turn in session.turns)
            for note, answers in _turn_notes(session) if level == "turn" else [_session_note(session)]:
                if stored.setdefault(note.id, note).created_at != note.created_at:
                    redated.add(session.id)
                if answers:
                    relevant[note.id] = 1
        unanswerable = identity.endswith(ABSTENTION)
        if not relevant and not unanswerable:
            lost += 1
            if not pool:
                del notes[collection]
            continue
        kind = str(sample.get("question_type") or "")
        asked = str(sample.get("question_date") or "")
        undated += parse_question_date(asked) is None
        questions.append(
            Question(
                id=identity,
                text=text_of(sample, "question", place),
                collection=collection,
                relevant={} if unanswerable else relevant,
                strata=tuple(filter(None, (kind, UNANSWERABLE if unanswerable else ""))),
                asked=asked,
            )
        )
    if level == "turn" and not marked:
        raise ArgumentError("level", f"must be session: no turn in {path} is marked with has_answer")
    remarks = {
        f"{format_count(lost, 'question')} without an answer in the haystack left out": lost,
        f"{format_count(undated, 'question')} without a date that can be read": undated,
        f"{format_count(len(redated), 'session')} with several dates: the first counts": len(redated),
    }
    return Dataset(
        name=", ".join((path.stem, *(["pooled"] if pool else []), *(["turns"] if level == "turn" else []))),
        collections={name: Collection(id=name, notes=tuple(stored.values())) for name, stored in notes.items()},
        questions=tuple(questions),
        remarks=tuple(remark for remark, count in remarks.items() if count),
    )


def _sessions(sample: Any, place: str, texts: dict[str, list[tuple[str, ...]]]) -> Iterator[_Session]:
    """Yield the sessions of a haystack.

    ``texts`` has the texts of each session id in the collection so far: a session with the same text keeps the id, one
    with another text gets an id of its own.
    """
    ids = [str(each) for each in field_of(sample, "haystack_session_ids", list, place)]
    dates = field_of(sample, "haystack_dates", list, place)
    haystack = field_of(sample, "haystack_sessions", list, place)
    if not len(ids) == len(dates) == len(haystack):
        raise IngestError(
            f"{place}: {len(haystack)} sessions, {len(ids)} ids and {len(dates)} dates; there must be as many of each"
        )
    answers = {str(each) for each in field_of(sample, "answer_session_ids", list, place)}
    for identity, date, session in zip(ids, dates, haystack, strict=True):
        listed = field_of({"session": session}, "session", list, place)
        turns = tuple(_turn(turn, f"{place}, session {identity}") for turn in listed)
        lines = tuple(turn.line for turn in turns)
        known = texts.setdefault(identity, [])
        if lines not in known:
            known.append(lines)
        number = known.index(lines) + 1
        own = identity if number == 1 else f"{identity}#{number}"
        yield _Session(own, _moment(date, place), turns, identity in answers)


def _turn(turn: Any, place: str) -> _Turn:
    speaker = text_of(turn, "role", place)
    marked = turn["has_answer"] is True if "has_answer" in turn else None
    return _Turn(speaker, f"{speaker}: {text_of(turn, 'content', place)}", marked)


def _moment(date: Any, place: str) -> datetime | None:
    try:
        return parse_date("haystack_dates", date) if date else None
    except ArgumentError as error:
        raise IngestError(f"{place}: {error}") from None


def _session_note(session: _Session) -> tuple[Note, bool]:
    """Return a session as a note, with whether it holds the answer."""
    content = "\n".join(turn.line for turn in session.turns)
    return Note(id=session.id, content=content, created_at=session.date), session.answers


def _turn_notes(session: _Session) -> Iterator[tuple[Note, bool]]:
    """Yield the turns as notes, each with whether it holds the answer."""
    for position, turn in enumerate(session.turns):
        note = Note(
            id=f"{session.id}:{position + 1}",
            content=turn.line,
            session=session.id,
            position=position,
            created_at=session.date,
            metadata={"speaker": turn.speaker},
        )
        yield note, turn.has_answer is True
