"""Records become notes: JSON Lines, or a JSON list, of notes or of the turns of a conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from recollect import arguments
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.ingest.moments import expiry_of, moment_in_name, moment_of
from recollect.ingest.plain import tidy_lines
from recollect.ingest.problems import Contents, Problem, UnreadableError
from recollect.model import DRAFT_FIELDS, Draft, draft_of, is_blank

__all__ = ["read_json", "read_json_lines"]

MOST_PROBLEMS = 20
"""How many problems of a file are told one by one."""

_SPEAKER = ("speaker", "role", "author", "name")
_TEXT = ("text", "content", "message")
_TIME = ("time", "timestamp", "created_at", "date")
_SESSION = ("session", "conversation", "conversation_id", "thread")


def read_json_lines(text: str, name: str, *, prefix: str = "") -> Contents:
    r"""Return the notes of a JSON Lines file: each line is a note, or a turn of a conversation if it has a speaker.

    A line that cannot be read is told among the problems, and the others are kept.

    >>> lines = '{"speaker": "Ines", "text": "Tea?", "time": "2026-03-14T10:00"}\n{"content": "Olaf makes tea."}'
    >>> turn, note = read_json_lines(lines, "chat.jsonl").drafts
    >>> turn["content"], turn["session"], turn["position"], turn["path"]
    ('Ines: Tea?', 'chat.jsonl', 0, 'chat.jsonl#0')
    >>> note["path"]
    'chat.jsonl#line-2'
    """
    reading = _Reading(name, prefix)
    # Only \n ends a line: the other line ends that Python knows may stand in a JSON string.
    for number, line in enumerate(tidy_lines(text).split("\n"), 1):
        if line.strip():
            reading.take(number, line)
    return reading.contents()


def read_json(text: str, name: str, *, prefix: str = "") -> Contents:
    """Return the notes of a JSON file that holds a list of notes or turns, as the lines of a JSON Lines file do.

    >>> read_json('[{"content": "Olaf makes tea."}]', "notes.json").drafts[0]["path"]
    'notes.json#item-1'
    """
    try:
        records = json.loads(tidy_lines(text))
    except json.JSONDecodeError as error:
        raise UnreadableError(name, error.lineno, f"is not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise UnreadableError(name, None, f"cannot be read: {_reason(error)}") from None
    if not isinstance(records, list):
        raise UnreadableError(name, None, "holds no list of notes or of turns of a conversation")
    reading = _Reading(name, prefix, item=True)
    for number, record in enumerate(records, 1):
        reading.take(number, record)
    return reading.contents()


class _Reading:
    """The state of one file's reading: how far each conversation has come, and which names are taken."""

    def __init__(self, name: str, prefix: str, *, item: bool = False) -> None:
        self._name = name
        self._path = prefix + name
        self._item = item
        self._created_at = moment_in_name(name)
        self._drafts: list[Draft] = []
        self._problems: list[Problem] = []
        self._failed = 0
        self._taken: dict[str, int] = {}
        self._positions: dict[str, int] = {}
        self._repeats: dict[str, int] = {}

    def take(self, number: int, record: Any) -> None:
        """Read one record, a line of JSON or what it stands for."""
        try:
            if not self._item:
                record = json.loads(record)
            if not isinstance(record, dict):
                raise ArgumentTypeError("record", f"must be an object in braces, got {type(record).__name__}")
            speaker = _first(record, _SPEAKER)
            draft = self._note(record, number) if speaker is None else self._turn(record, speaker[1], speaker[0])
            if is_blank(draft):
                raise ArgumentError("record", "has no text: content, title and summary are blank or only punctuation")
            self._claim(draft, number)
        except json.JSONDecodeError as error:
            self._fail(number, f"is not JSON: {error.msg} at character {error.pos + 1}")
        except (ArgumentError, ValueError, RecursionError) as error:
            self._fail(number, _reason(error))
        else:
            self._drafts.append(draft)

    def contents(self) -> Contents:
        """Return what was read."""
        if self._failed and not self._drafts:
            first = self._problems[0]
            raise UnreadableError(self._name, first.line, f"holds no notes; the first problem: {first.message}")
        problems = self._problems
        if self._failed > len(problems):
            more = self._failed - len(problems)
            problems = [
                *problems,
                Problem(self._name, None, f"and {more:,} more like these", skipped=True, times=more),
            ]
        return Contents(self._drafts, problems)

    def _fail(self, number: int, message: str) -> None:
        self._failed += 1
        if len(self._problems) < MOST_PROBLEMS:
            line = None if self._item else number
            self._problems.append(
                Problem(self._name, line, f"item {number}: {message}" if self._item else message, skipped=True)
            )

    def _claim(self, draft: Draft, number: int) -> None:
        """Refuse a second note with the same id or path: it would overwrite the first."""
        keys = [f"{field} {draft[field]!r}" for field in ("id", "path") if draft.get(field)]
        for key in keys:
            if key in self._taken:
                unit = "item" if self._item else "line"
                raise ArgumentError("record", f"has the {key}, as {unit} {self._taken[key]} has")
        self._taken.update(dict.fromkeys(keys, number))

    def _note(self, record: Mapping[str, Any], number: int) -> Draft:
        text = _first(record, ("content", "text"))
        if text is None:
            raise ArgumentError("record", "has neither 'content' nor 'text'")
        draft = self._draft(record, {"content", "text"})
        draft["content"] = _text_of(*text)
        if not draft.get("id") and not draft.get("path"):
            draft["path"] = f"{self._path}#{'item' if self._item else 'line'}-{number}"
        return draft_of(draft)

    def _turn(self, record: Mapping[str, Any], speaker: Any, speaker_key: str) -> Draft:
        text = _first(record, _TEXT)
        time = _first(record, _TIME)
        session = _first(record, _SESSION)
        used = {speaker_key, *(found[0] for found in (text, time, session) if found)}
        draft = self._draft(record, used)
        who = arguments.name(speaker_key, speaker if isinstance(speaker, str) else str(speaker))
        said = "" if text is None else _text_of(*text)
        if not said.strip():
            raise ArgumentError("record", f"has a speaker and no text; it may be in {', '.join(_TEXT)}")
        draft["content"] = f"{who}: {said}"
        draft["metadata"] = {"speaker": who, **draft.get("metadata", {})}
        if time is not None:
            draft["created_at"] = moment_of(*time)
        draft["session"] = self._path if session is None else arguments.name(session[0], str(session[1]))
        draft.setdefault("position", self._positions.get(draft["session"], 0))
        draft = draft_of(draft)
        self._positions[draft["session"]] = draft["position"] + 1
        if not draft.get("id") and not draft.get("path"):
            place = str(draft["position"]) if session is None else f"{draft['session']}/{draft['position']}"
            again = self._repeats[place] = self._repeats.get(place, 0) + 1
            draft["path"] = f"{self._path}#{place}" if again == 1 else f"{self._path}#{place}-{again}"
        return draft

    def _draft(self, record: Mapping[str, Any], used: set[str]) -> Draft:
        """Return the fields of a note that a record holds; the keys that are none become metadata."""
        rest = {key: value for key, value in record.items() if key not in used and value is not None}
        draft: Draft = {key: value for key, value in rest.items() if key in DRAFT_FIELDS}
        draft.pop("namespace", None)  # whoever reads the file says where its notes go
        if "expires" in rest:
            draft.setdefault("expires_at", rest.pop("expires"))
        others = {key: value for key, value in rest.items() if key not in DRAFT_FIELDS}
        if "metadata" in draft or others:
            draft["metadata"] = {**others, **arguments.json_object("metadata", draft.get("metadata", {}))}
        for field in ("created_at", "updated_at", "last_accessed_at"):
            if field in draft:
                draft[field] = moment_of(field, draft[field])
        if "expires_at" in draft:
            draft["expires_at"] = expiry_of("expires_at", draft["expires_at"])
        if self._created_at is not None:
            draft.setdefault("created_at", self._created_at)
        return draft


def _reason(error: Exception) -> str:
    return "nested too deep" if isinstance(error, RecursionError) else str(error)


def _first(record: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[str, Any] | None:
    """Return the first of ``keys`` that the record has, with its value."""
    return next(((key, record[key]) for key in keys if record.get(key) is not None), None)


def _text_of(argument: str, value: Any) -> str:
    """Return a record's text; some programs write it as a list of parts."""
    return "\n".join(_parts(argument, value)) if isinstance(value, list) else arguments.text(argument, value)


def _parts(argument: str, value: list[Any]) -> Iterator[str]:
    for part in value:
        text = part.get("text") if isinstance(part, dict) else part
        if text is not None:
            yield arguments.text(argument, text)
