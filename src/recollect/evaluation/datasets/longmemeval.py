"""LongMemEval: questions to an assistant, each with its own haystack of earlier chat sessions, or pooled into one.

Wu et al., LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory, 2024.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from recollect.errors import ArgumentError, IngestError
from recollect.evaluation.dataset import UNANSWERABLE, Collection, Dataset, Question
from recollect.evaluation.datasets.files import DatasetFormat, DatasetSource, get_field, get_text, remarks
from recollect.ingest.dates import parse_date
from recollect.model import Note
from recollect.query import parse_question_date


class _Turn(NamedTuple):
    speaker: str
    line: str
    """Speaker and content."""
    has_answer: bool | None
    """Whether it has the answer; ``None`` if the file does not say."""


class _Session(NamedTuple):
    id: str
    date: datetime | None
    turns: tuple[_Turn, ...]
    has_answer: bool


def load_longmemeval(source: DatasetSource, *, level: str = "session", pool: bool = False) -> Dataset:
    """Read a LongMemEval JSON file; each question has a date and a collection of its own, its haystack.

    With ``pool`` there is one collection, which has the sessions of all questions, each once. At the level ``session``
    a note is a session, one turn a line, and the sessions of ``answer_session_ids`` are relevant; at the level ``turn``
    a note is a turn, with its session and position, and the turns with ``has_answer`` are relevant.

    Questions whose id ends in ``_abs`` have no answer: nothing is relevant to them, and their stratum is
    ``unanswerable``. Other questions to which nothing is relevant are left out.
    """
    path, by_turn = source.path, level == "turn"
    notes: dict[str, dict[str, Note]] = {}
    texts: dict[str, dict[str, list[tuple[str, ...]]]] = {}
    questions: list[Question] = []
    seen: set[str] = set()
    several_dates: set[str] = set()
    has_labels, undated, without_answer = False, 0, 0
    for number, sample in enumerate(source.samples, 1):
        location = f"{path}, question {number}"
        question_id = get_text(sample, "question_id", location)
        if question_id in seen:
            raise IngestError(f"{location}: the question_id {question_id!r} occurs twice; each question needs its own")
        seen.add(question_id)
        collection = path.stem if pool else question_id
        stored = notes.setdefault(collection, {})
        relevant: dict[str, int] = {}
        for session in _sessions(sample, location, texts.setdefault(collection, {})):
            has_labels = has_labels or any(turn.has_answer is not None for turn in session.turns)
            for note, has_answer in _notes(session, by_turn=by_turn):
                if stored.setdefault(note.id, note).created_at != note.created_at:
                    several_dates.add(session.id)
                if has_answer:
                    relevant[note.id] = 1
        unanswerable = question_id.endswith("_abs")
        if not relevant and not unanswerable:
            without_answer += 1
            if not pool:
                del notes[collection]
            continue
        question_type = str(sample.get("question_type") or "")
        asked_at = str(sample.get("question_date") or "")
        undated += parse_question_date(asked_at) is None
        questions.append(
            Question(
                id=question_id,
                text=get_text(sample, "question", location),
                collection=collection,
                relevant={} if unanswerable else relevant,
                strata=tuple(filter(None, (question_type, UNANSWERABLE if unanswerable else ""))),
                asked_at=asked_at,
            )
        )
    if by_turn and not has_labels:
        raise ArgumentError("level", f"must be session: no turn in {path} is marked with has_answer")
    return Dataset(
        name=", ".join((path.stem, *(["pooled"] if pool else []), *(["turns"] if by_turn else []))),
        collections={name: Collection(id=name, notes=tuple(stored.values())) for name, stored in notes.items()},
        questions=tuple(questions),
        remarks=remarks(
            (without_answer, "question", "without an answer in the haystack left out"),
            (undated, "question", "without a date that can be read"),
            (len(several_dates), "session", "with several dates: the first counts"),
        ),
    )


def _sessions(sample: Any, location: str, texts: dict[str, list[tuple[str, ...]]]) -> Iterator[_Session]:
    """Yield the sessions of a haystack.

    ``texts`` has the texts of each session id of the collection so far: a session with the same text keeps its id, one
    with another text gets an id of its own.
    """
    ids = [str(session_id) for session_id in get_field(sample, "haystack_session_ids", list, location)]
    dates = get_field(sample, "haystack_dates", list, location)
    haystack = get_field(sample, "haystack_sessions", list, location)
    if not len(ids) == len(dates) == len(haystack):
        raise IngestError(
            f"{location}: {len(haystack)} sessions, {len(ids)} ids and {len(dates)} dates; their numbers must be equal"
        )
    answers = {str(session_id) for session_id in get_field(sample, "answer_session_ids", list, location)}
    for session_id, date, session in zip(ids, dates, haystack, strict=True):
        raw_turns = get_field({"session": session}, "session", list, location)
        turns = tuple(_turn(turn, f"{location}, session {session_id}") for turn in raw_turns)
        lines = tuple(turn.line for turn in turns)
        versions = texts.setdefault(session_id, [])
        if lines not in versions:
            versions.append(lines)
        number = versions.index(lines) + 1
        distinct_id = session_id if number == 1 else f"{session_id}#{number}"
        try:
            created_at = parse_date("haystack_dates", date) if date else None
        except ArgumentError as error:
            raise IngestError(f"{location}: {error}") from None
        yield _Session(distinct_id, created_at, turns, session_id in answers)


def _turn(turn: Any, location: str) -> _Turn:
    speaker = get_text(turn, "role", location)
    has_answer = turn["has_answer"] is True if "has_answer" in turn else None
    return _Turn(speaker, f"{speaker}: {get_text(turn, 'content', location)}", has_answer)


def _notes(session: _Session, *, by_turn: bool) -> Iterator[tuple[Note, bool]]:
    """Yield a session, or its turns, as notes, each with whether it has the answer."""
    if not by_turn:
        content = "\n".join(turn.line for turn in session.turns)
        yield Note(id=session.id, content=content, created_at=session.date), session.has_answer
        return
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


LONGMEMEVAL = DatasetFormat(
    lambda source: "haystack_sessions" in source.keys, load_longmemeval, frozenset(("level", "pool"))
)
