"""The LoCoMo dataset: conversations of two people over months, and questions with evidence: the turns that answer them.

Maharana et al., Evaluating Very Long-Term Conversational Memory of LLM Agents, 2024.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from recollect.errors import IngestError
from recollect.evaluation.dataset import Collection, Dataset, Question
from recollect.evaluation.datasets.files import (
    DatasetFormat,
    DatasetSource,
    get_field,
    get_text,
    read_object_list,
    remarks,
)
from recollect.model import Note
from recollect.query.dates import MONTHS

CATEGORIES = {"1": "1 multi-hop", "2": "2 temporal", "3": "3 open-domain", "4": "4 single-hop", "5": "5 adversarial"}
"""The stratum of each category number."""

_SESSION_KEY = re.compile(r"session_(\d+)")
_TURN_NAME = re.compile(r"D:?(\d+):(\d+)")
"""A turn as evidence names it: ``D8:6`` is turn 6 of session 8. The dataset also has ``D30:05`` and ``D:11:26``."""
_DATE = re.compile(r"(\d{1,2}):(\d\d) ?([ap])m on (\d{1,2}) ([a-z]+),? (\d{4})", re.IGNORECASE)
"""The date of a session, such as ``1:56 pm on 8 May, 2023``."""

_TurnKey: TypeAlias = tuple[int, int]
"""The session number and the turn number of a turn."""


class _Turn(NamedTuple):
    id: str
    session: int
    position: int  # the index of the turn in its session, from 0
    speaker: str
    caption: str  # the caption of the image sent with the turn; empty without an image
    line: str  # the turn as text: ``Speaker: text [image: caption]``
    date: datetime | None
    repeated: bool
    """Whether an earlier turn has the same id in the file; ``id`` then ends in ``#2``, ``#3`` and so on."""

    def to_note(self) -> Note:
        return Note(
            id=self.id,
            content=self.line,
            session=f"session_{self.session}",
            position=self.position,
            created_at=self.date,
            metadata={"speaker": self.speaker} | ({"caption": self.caption} if self.caption else {}),
        )


def load_locomo(source: DatasetSource, *, level: str = "turn", corrections: Path | None = None) -> Dataset:
    """Read a LoCoMo JSON file; each conversation is a collection.

    At the level ``turn`` a note is a turn, ``Speaker: text`` with the caption of its image. At the level ``session`` a
    note is a session, with a line for each turn. The questions are the same at both levels: all questions whose
    evidence names at least one existing turn.

    ``corrections`` is the file ``errors.json`` of https://github.com/dial481/locomo-audit. The correct evidence of a
    correction replaces that of the question with the same text and evidence. If it is empty, no turn answers the
    question, and the question is left out. Corrected answers are ignored: retrieval is measured by the evidence only.
    """
    by_turn = level != "session"
    unused_corrections = {} if corrections is None else _read_corrections(corrections)
    collections: dict[str, Collection] = {}
    questions: list[Question] = []
    question_count = unknown_evidence = undated_sessions = repeated_turns = 0
    corrected = same_evidence = without_evidence = 0
    for number, sample in enumerate(source.samples, 1):
        location = f"{source.path}, conversation {number}"
        conversation = get_field(sample, "conversation", dict, location)
        name = str(sample.get("sample_id", f"conversation-{number}"))
        if name in collections:
            raise IngestError(f"{location}: the sample_id {name!r} occurs twice; ids must be unique")
        turns = list(_turns(conversation, location))
        repeated_turns += sum(turn.repeated for turn in turns)
        undated_sessions += len({turn.session for turn in turns if turn.date is None})
        notes = (turn.to_note() for turn in turns) if by_turn else _session_notes(turns)
        collections[name] = Collection(id=name, notes=tuple(notes))
        first_turns = [turn for turn in turns if not turn.repeated]
        turn_by_key = {key: turn for turn in first_turns for key in _turn_keys(turn.id)}
        for qa_number, qa in enumerate(get_field(sample, "qa", list, location), 1):
            qa_location = f"{location}, question {qa_number}"
            evidence = _evidence(qa, "evidence", qa_location)
            question_text = get_text(qa, "question", qa_location)
            correction = unused_corrections.pop((question_text, _turns_in(evidence)), None)
            if correction == []:
                without_evidence += 1
                continue
            if correction is not None:
                changed = _turns_in(correction) != _turns_in(evidence)
                corrected += changed
                same_evidence += not changed
                evidence = correction
            unknown_evidence += sum(not keys or any(key not in turn_by_key for key in keys) for keys in evidence)
            relevant = [turn_by_key[key] for keys in evidence for key in keys if key in turn_by_key]
            question_count += 1
            if relevant:
                questions.append(
                    Question(
                        id=f"{name}/q{qa_number}",
                        text=question_text,
                        collection=name,
                        relevant={turn.id if by_turn else f"D{turn.session}": 1 for turn in relevant},
                        strata=(CATEGORIES.get(str(qa.get("category")), str(qa.get("category"))),),
                    )
                )
    name_parts = (source.path.stem, "" if by_turn else "sessions", "corrected" if corrections else "")
    return Dataset(
        name=", ".join(filter(None, name_parts)),
        collections=collections,
        questions=tuple(questions),
        remarks=remarks(
            (question_count - len(questions), "question", "left out: the evidence names no existing turn"),
            (unknown_evidence, "piece", "of evidence left out: the turn does not exist"),
            (undated_sessions, "session", "without a date that can be read"),
            (repeated_turns, "turn", "with the id of an earlier turn: evidence refers to the earlier one"),
            (corrected, "question", "with corrected evidence"),
            (same_evidence, "question", "whose correction names the same evidence"),
            (without_evidence, "question", "left out: according to the corrections no turn answers it"),
            (len(unused_corrections), "correction", "left out: no question has this text and evidence"),
        ),
    )


def _read_corrections(path: Path) -> dict[tuple[str, frozenset[_TurnKey]], list[list[_TurnKey]]]:
    """Return the correct evidence by (text, evidence) of the wrong question."""
    corrections = {}
    for number, record in enumerate(read_object_list(path), 1):
        location = f"{path}, correction {number}"
        cited = _evidence(record, "cited_evidence", location)
        key = get_text(record, "question", location), _turns_in(cited)
        corrections[key] = _evidence(record, "correct_evidence", location)
    return corrections


def _evidence(record: Any, field: str, location: str) -> list[list[_TurnKey]]:
    """Return the turns that each piece of evidence names."""
    return [_turn_keys(str(text)) for text in get_field(record, field, list, location)]


def _turns_in(evidence: list[list[_TurnKey]]) -> frozenset[_TurnKey]:
    return frozenset(key for keys in evidence for key in keys)


def _turns(conversation: Mapping[str, Any], location: str) -> Iterator[_Turn]:
    """Yield the turns of all sessions, in the order of the session numbers."""
    counts: Counter[str] = Counter()
    for session in sorted(int(match[1]) for match in map(_SESSION_KEY.fullmatch, conversation) if match):
        name = f"session_{session}"
        date = _parse_date(str(conversation.get(f"{name}_date_time") or ""))
        for position, turn in enumerate(get_field(conversation, name, list, location)):
            turn_location = f"{location}, {name}, turn {position + 1}"
            speaker = get_text(turn, "speaker", turn_location)
            caption = str(turn.get("blip_caption") or "").strip()
            line = f"{speaker}: {str(turn.get('text') or '').strip()}".rstrip()
            turn_id = get_text(turn, "dia_id", turn_location)
            counts[turn_id] += 1
            repeated = counts[turn_id] > 1
            yield _Turn(
                id=f"{turn_id}#{counts[turn_id]}" if repeated else turn_id,
                session=session,
                position=position,
                speaker=speaker,
                caption=caption,
                line=f"{line} [image: {caption}]" if caption else line,
                date=date,
                repeated=repeated,
            )


def _session_notes(turns: Sequence[_Turn]) -> Iterator[Note]:
    for session, group in groupby(turns, key=lambda turn: turn.session):
        session_turns = list(group)
        yield Note(
            id=f"D{session}",
            content="\n".join(turn.line for turn in session_turns),
            created_at=session_turns[0].date,
            metadata={"speakers": list(dict.fromkeys(turn.speaker for turn in session_turns))},
        )


def _turn_keys(text: str) -> list[_TurnKey]:
    """Return the key of each turn that a text names."""
    return [(int(session), int(turn)) for session, turn in _TURN_NAME.findall(text)]


def _parse_date(text: str) -> datetime | None:
    """Return the date of a session, or ``None`` if it cannot be read."""
    match = _DATE.search(text)
    if match is None or match[5].title() not in MONTHS:
        return None
    hour, minute, am_or_pm, day, month_name, year = match.groups()
    hour_of_day = int(hour) % 12 + (12 if am_or_pm.lower() == "p" else 0)
    month = MONTHS.index(month_name.title()) + 1
    try:
        return datetime(int(year), month, int(day), hour_of_day, int(minute), tzinfo=UTC)
    except ValueError:
        return None


LOCOMO = DatasetFormat(
    lambda source: {"conversation", "qa"} <= source.keys, load_locomo, frozenset(("level", "corrections"))
)
