"""LoCoMo: long conversations of two people over months, and questions with the turns that answer them.

Maharana et al., Evaluating Very Long-Term Conversational Memory of LLM Agents, 2024.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from recollect.errors import IngestError
from recollect.evaluation.dataset import Collection, Dataset, Question, format_count
from recollect.evaluation.formats.files import field_of, text_of
from recollect.model import Note
from recollect.query.dates import MONTHS

__all__ = ["CATEGORIES", "load_locomo"]

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
"""What the numbers of the categories stand for."""

_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D:?(\d+):(\d+)")
"""A turn as evidence names it: ``D8:6``, several in one text, ``D30:05`` for the fifth, or even ``D:11:26``."""
_DATE = re.compile(r"(\d{1,2}):(\d\d) ?([ap])m on (\d{1,2}) ([a-z]+),? (\d{4})", re.IGNORECASE)

_Key = tuple[int, int]
"""The numbers of a session and of a turn in it."""


class _Turn(NamedTuple):
    id: str
    session: int
    place: int
    """Its place in the session, from 0."""
    speaker: str
    caption: str
    """What is on the image that was sent along; empty if there was none."""
    line: str
    """What was said, by whom, and what was shown."""
    date: datetime | None
    repeated: bool = False
    """Whether another turn had its id before."""


def load_locomo(path: Path, samples: Sequence[Any], *, level: str = "turn") -> Dataset:
    """Make a dataset of LoCoMo's samples; each conversation is a collection of its own.

    At the level ``turn`` a note is a turn, ``Speaker: text`` with the caption of the image that was sent along; at the
    level ``session`` it is a whole session, one turn a line. The questions are the same at both: those of whose
    evidence at least one piece names a turn that is there.
    """
    collections: dict[str, Collection] = {}
    questions: list[Question] = []
    asked = unknown = undated = repeated = 0
    for number, sample in enumerate(samples, 1):
        place = f"{path}, conversation {number}"
        conversation = field_of(sample, "conversation", dict, place)
        home = str(sample.get("sample_id", f"conversation-{number}"))
        if home in collections:
            raise IngestError(f"{place}: the sample_id {home!r} was there before; each conversation needs its own")
        turns = _distinct(_turns(conversation, place))
        repeated += sum(1 for turn in turns if turn.repeated)
        undated += len({turn.session for turn in turns if turn.date is None})
        notes = map(_turn_note, turns) if level == "turn" else _session_notes(turns)
        collections[home] = Collection(id=home, notes=tuple(notes))
        known = {key: turn for turn in turns if not turn.repeated for key in _keys(turn.id)}
        for order, each in enumerate(field_of(sample, "qa", list, place), 1):
            where = f"{place}, question {order}"
            evidence = [list(_keys(str(text))) for text in field_of(each, "evidence", list, where)]
            unknown += sum(1 for keys in evidence if not keys or not known.keys() >= set(keys))
            found = [known[key] for keys in evidence for key in keys if key in known]
            asked += 1
            if found:
                questions.append(
                    Question(
                        id=f"{home}/q{order}",
                        text=text_of(each, "question", where),
                        collection=home,
                        relevant={turn.id if level == "turn" else f"D{turn.session}": 1 for turn in found},
                        strata=(_stratum(each.get("category")),),
                    )
                )
    remarks = {
        f"{format_count(asked - len(questions), 'question')} whose evidence names no turn left out": asked
        - len(questions),
        f"{format_count(unknown, 'piece')} of evidence for a turn that is not there left out": unknown,
        f"{format_count(undated, 'session')} without a date that can be read": undated,
        f"{format_count(repeated, 'turn')} with an id that was there before: evidence means the first": repeated,
    }
    return Dataset(
        name=path.stem if level == "turn" else f"{path.stem}, sessions",
        collections=collections,
        questions=tuple(questions),
        remarks=tuple(remark for remark, count in remarks.items() if count),
    )


def _turns(conversation: Mapping[str, Any], place: str) -> Iterator[_Turn]:
    """Yield the turns of all sessions in the order of the sessions' numbers."""
    numbers = sorted(int(found[1]) for found in map(_SESSION.fullmatch, conversation) if found)
    for session in numbers:
        name = f"session_{session}"
        date = _date(str(conversation.get(f"{name}_date_time") or ""))
        for order, turn in enumerate(field_of(conversation, name, list, place)):
            where = f"{place}, {name}, turn {order + 1}"
            speaker = text_of(turn, "speaker", where)
            caption = str(turn.get("blip_caption") or "").strip()
            said = f"{speaker}: {str(turn.get('text') or '').strip()}".rstrip()
            yield _Turn(
                id=text_of(turn, "dia_id", where),
                session=session,
                place=order,
                speaker=speaker,
                caption=caption,
                line=f"{said} [image: {caption}]" if caption else said,
                date=date,
            )


def _distinct(turns: Iterator[_Turn]) -> list[_Turn]:
    """Return the turns, each with an id of its own."""
    seen: Counter[str] = Counter()
    found = []
    for turn in turns:
        seen[turn.id] += 1
        again = seen[turn.id] > 1
        found.append(turn._replace(id=f"{turn.id}#{seen[turn.id]}", repeated=True) if again else turn)
    return found


def _turn_note(turn: _Turn) -> Note:
    return Note(
        id=turn.id,
        content=turn.line,
        session=f"session_{turn.session}",
        position=turn.place,
        created_at=turn.date,
        metadata={"speaker": turn.speaker} | ({"caption": turn.caption} if turn.caption else {}),
    )


def _session_notes(turns: Sequence[_Turn]) -> Iterator[Note]:
    for session, group in groupby(turns, key=lambda turn: turn.session):
        held = list(group)
        speakers = list(dict.fromkeys(turn.speaker for turn in held))
        yield Note(
            id=f"D{session}",
            content="\n".join(turn.line for turn in held),
            created_at=held[0].date,
            metadata={"speakers": speakers},
        )


def _keys(text: str) -> Iterator[_Key]:
    """Yield the turns that a text names.

    >>> list(_keys("D8:6; D9:17")), list(_keys("D30:05")), list(_keys("D:11:26")), list(_keys("D"))
    ([(8, 6), (9, 17)], [(30, 5)], [(11, 26)], [])
    """
    return ((int(session), int(turn)) for session, turn in _TURN.findall(text))


def _date(text: str) -> datetime | None:
    """Return when a session was, as LoCoMo writes it.

    >>> _date("1:56 pm on 8 May, 2023").isoformat(), _date("12:09 am on 13 September, 2023").hour, _date("in May")
    ('2023-05-08T13:56:00+00:00', 0, None)
    """
    found = _DATE.search(text)
    if found is None or found[5].title() not in MONTHS:
        return None
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    month = MONTHS.index(found[5].title()) + 1
    try:
        return datetime(int(found[6]), month, int(found[4]), hour, int(found[2]), tzinfo=UTC)
    except ValueError:
        return None


def _stratum(category: Any) -> str:
    """Return the name of a category, which may come as a number or as its digit.

    >>> _stratum(4), _stratum("4"), _stratum(None)
    ('4 single-hop', '4 single-hop', 'None')
    """
    names = {str(number): f"{number} {name}" for number, name in CATEGORIES.items()}
    return names.get(str(category), str(category))
