"""The LongMemEval dataset: questions to an assistant, each with a haystack of earlier chat sessions.

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
    line: str  # the turn as text: ``speaker: content``
    has_answer: bool | None  # whether the turn contains the answer; ``None`` if the file does not say


class _Session(NamedTuple):
    id: str
    date: datetime | None
    turns: tuple[_Turn, ...]
    has_answer: bool


def load_longmemeval(source: DatasetSource, *, level: str = "session", pool: bool = False) -> Dataset:
    """Read a LongMemEval JSON file; each question has a date and a collection of its own, its haystack.

    With ``pool`` there is one collection with the sessions of all questions, each session once. At the level
    ``session`` a note is a session, with a line for each turn; the sessions of ``answer_session_ids`` are relevant. At
    the level ``turn`` a note is a turn, with its session and position; the turns with ``has_answer`` are relevant.

    Questions whose id ends in ``_abs`` have no answer: no note is relevant, and their stratum is ``unanswerable``.
    Other questions without a relevant note are left out.
    """
    path, by_turn = source.path, level == "turn"
    by_collection: dict[str, dict[str, Note]] = {}  # notes by collection and note id
    session_texts: dict[str, dict[str, list[tuple[str, ...]]]] = {}  # by collection and session id, see _sessions
    questions: list[Question] = []
    question_ids: set[str] = set()
    sessions_with_several_dates: set[str] = set()
    has_labels, undated_questions, questions_without_note = False, 0, 0
    for number, sample in enumerate(source.samples, 1):
        location = f"{path}, question {number}"
        question_id = get_text(sample, "question_id", location)
        if question_id in question_ids:
            raise IngestError(f"{location}: the question_id {question_id!r} occurs twice; ids must be unique")
        question_ids.add(question_id)
        collection = path.stem if pool else question_id
        notes = by_collection.setdefault(collection, {})
        relevant: dict[str, int] = {}
        for session in _sessions(sample, location, session_texts.setdefault(collection, {})):
            has_labels = has_labels or any(turn.has_answer is not None for turn in session.turns)
            for note, has_answer in _notes(session, by_turn=by_turn):
                first_note = notes.setdefault(note.id, note)  # several haystacks may have the same session
                if first_note.created_at != note.created_at:
                    sessions_with_several_dates.add(session.id)
                if has_answer:
                    relevant[note.id] = 1
        unanswerable = question_id.endswith("_abs")
        if not relevant and not unanswerable:
            questions_without_note += 1
            if not pool:
                del by_collection[collection]  # no other question has this collection
            continue
        question_type = str(sample.get("question_type") or "")
        asked_at = str(sample.get("question_date") or "")
        if parse_question_date(asked_at) is None:
            undated_questions += 1
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
        name=path.stem + (", pooled" if pool else "") + (", turns" if by_turn else ""),
        collections={name: Collection(id=name, notes=tuple(notes.values())) for name, notes in by_collection.items()},
        questions=tuple(questions),
        remarks=remarks(
            (questions_without_note, "question", "left out: no note of the haystack is marked as relevant"),
            (undated_questions, "question", "without a date that can be read"),
            (len(sessions_with_several_dates), "session", "with several dates: the first counts"),
        ),
    )


def _sessions(sample: Any, location: str, texts_by_id: dict[str, list[tuple[str, ...]]]) -> Iterator[_Session]:
    """Yield the sessions of a haystack, and add their texts to ``texts_by_id``.

    Haystacks may use one session id for sessions with different texts. ``texts_by_id`` has the distinct texts of each
    session id, each a tuple of lines. A session with the second text gets the id ``id#2``, the third ``id#3``.
    """
    ids = [str(session_id) for session_id in get_field(sample, "haystack_session_ids", list, location)]
    dates = get_field(sample, "haystack_dates", list, location)
    haystack = get_field(sample, "haystack_sessions", list, location)
    if not len(ids) == len(dates) == len(haystack):
        counts = f"{len(haystack)} sessions, {len(ids)} ids and {len(dates)} dates"
        raise IngestError(f"{location}: {counts}; their numbers must be equal")
    answer_ids = {str(session_id) for session_id in get_field(sample, "answer_session_ids", list, location)}
    for session_id, date, session in zip(ids, dates, haystack, strict=True):
        raw_turns = get_field({"session": session}, "session", list, location)  # raises unless it is a list
        turns = tuple(_turn(turn, f"{location}, session {session_id}") for turn in raw_turns)
        lines = tuple(turn.line for turn in turns)
        texts = texts_by_id.setdefault(session_id, [])
        if lines not in texts:
            texts.append(lines)
        number = texts.index(lines) + 1
        distinct_id = session_id if number == 1 else f"{session_id}#{number}"
        try:
            created_at = parse_date("haystack_dates", date) if date else None
        except ArgumentError as error:
            raise IngestError(f"{location}: {error}") from None
        yield _Session(distinct_id, created_at, turns, session_id in answer_ids)


def _turn(turn: Any, location: str) -> _Turn:
    speaker = get_text(turn, "role", location)
    has_answer = turn["has_answer"] is True if "has_answer" in turn else None
    return _Turn(speaker, f"{speaker}: {get_text(turn, 'content', location)}", has_answer)


def _notes(session: _Session, *, by_turn: bool) -> Iterator[tuple[Note, bool]]:
    """Yield (note, whether it contains the answer) for a session, or for each of its turns."""
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
