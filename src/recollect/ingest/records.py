"""The readers of JSON Lines files and JSON lists: a record is a note or, with a speaker, a turn of a conversation."""

from __future__ import annotations

import json
from typing import Any, Literal

from recollect import arguments
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.ingest.dates import date_in_name, parse_date, parse_expiry
from recollect.ingest.source import Contents, Problem, Source, UnreadableError, text_reader
from recollect.model import DRAFT_FIELDS, Draft, draft_of, is_blank

MAX_PROBLEMS = 20  # how many problems of a file are reported one by one

# The keys of a turn in order of precedence: of several keys that a record has, the first is used.
_SPEAKER_KEYS = ("speaker", "role", "author", "name")
_TEXT_KEYS = ("text", "content", "message")
_TIME_KEYS = ("time", "timestamp", "created_at", "date")
_SESSION_KEYS = ("session", "conversation", "conversation_id", "thread")


def parse_json_lines(text: str, source: Source) -> Contents:
    """Return the notes of a JSON Lines file: each line is a note, or a turn of a conversation if it has a speaker.

    A line that cannot be read is reported as a problem, and the other lines are read.
    """
    parser = _RecordParser(source, unit="line")
    # Not splitlines(), which also splits at characters that JSON strings may contain, such as U+2028.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            parser.add(number, line)
    return parser.contents()


def parse_json(text: str, source: Source) -> Contents:
    """Return the notes of a JSON file with a list of notes or turns, as in the lines of a JSON Lines file."""
    try:
        records = json.loads(text)
    except json.JSONDecodeError as error:
        raise UnreadableError(source.name, error.lineno, f"is not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise UnreadableError(source.name, None, f"cannot be read: {_reason(error)}") from None
    if not isinstance(records, list):
        raise UnreadableError(source.name, None, "is not a list of notes or of turns of a conversation")
    parser = _RecordParser(source, unit="item")
    for number, record in enumerate(records, 1):
        parser.add(number, record)
    return parser.contents()


JSON_LINES_READER = text_reader(parse_json_lines)
JSON_READER = text_reader(parse_json)


class _RecordParser:
    """Converts the records of one file to drafts."""

    def __init__(self, source: Source, unit: Literal["line", "item"]) -> None:
        self._source = source
        self._unit = unit
        self._created_at = date_in_name(source.name)
        self._drafts: list[Draft] = []
        self._problems: list[Problem] = []
        self._failed = 0
        self._record_numbers: dict[str, int] = {}  # by "id 'n1'" or "path 'a.md'" of the record's note
        self._next_positions: dict[str, int] = {}  # by session
        self._anchor_counts: dict[str, int] = {}  # how many paths end with each anchor, the part after #

    def add(self, number: int, record: Any) -> None:
        """Parse one record, a line of JSON or an item of a list; ``number`` counts lines or items from 1."""
        try:
            if self._unit == "line":
                record = json.loads(record)
            if not isinstance(record, dict):
                raise ArgumentTypeError("record", f"must be an object in braces, got {type(record).__name__}")
            record = {key: value for key, value in record.items() if value is not None}
            speaker_item = _pop_first(record, _SPEAKER_KEYS)  # key and value
            draft = self._turn(record, *speaker_item) if speaker_item else self._note(record, number)
            if is_blank(draft):
                raise ArgumentError("record", "has no text: content, title and summary are blank or only punctuation")
            names = [f"{field} {draft[field]!r}" for field in ("id", "path") if draft.get(field)]
            for name in names:  # a second note with the same id or path would overwrite the first
                if name in self._record_numbers:
                    raise ArgumentError("record", f"has the same {name} as {self._unit} {self._record_numbers[name]}")
            self._record_numbers.update(dict.fromkeys(names, number))
        except json.JSONDecodeError as error:
            self._fail(number, f"is not JSON: {error.msg} at character {error.pos + 1}")
        except (ArgumentError, ValueError, RecursionError) as error:
            self._fail(number, _reason(error))
        else:
            self._drafts.append(draft)

    def contents(self) -> Contents:
        """Return the notes and the problems; raise :class:`UnreadableError` if every record failed."""
        if self._failed and not self._drafts:
            first = self._problems[0]
            message = f"contains no notes; the first problem: {first.message}"
            raise UnreadableError(self._source.name, first.line, message)
        if more := self._failed - len(self._problems):
            message = f"and {more:,} more like these"
            self._problems.append(Problem(self._source.name, None, message, skipped=True))
        return Contents(self._drafts, self._problems, self._failed)

    def _fail(self, number: int, message: str) -> None:
        """Count a record that cannot be read, and report the first :data:`MAX_PROBLEMS` of them."""
        self._failed += 1
        if len(self._problems) < MAX_PROBLEMS:
            line, message = (number, message) if self._unit == "line" else (None, f"item {number}: {message}")
            self._problems.append(Problem(self._source.name, line, message, skipped=True))

    def _note(self, record: dict[str, Any], number: int) -> Draft:
        """Return the draft of a record without a speaker."""
        text_item = _pop_first(record, ("content", "text"))
        if text_item is None:
            raise ArgumentError("record", "has neither 'content' nor 'text'")
        record.pop("text", None)  # if the record has both keys, the key ``text`` is ignored
        fields = self._fields(record)
        fields["content"] = _text(*text_item)
        if not fields.get("id") and not fields.get("path"):
            fields["path"] = f"{self._source.path}#{self._unit}-{number}"
        return draft_of(fields)

    def _turn(self, record: dict[str, Any], speaker_key: str, speaker: Any) -> Draft:
        """Return the draft of a turn of a conversation."""
        text_item, time_item = _pop_first(record, _TEXT_KEYS), _pop_first(record, _TIME_KEYS)
        session_item = _pop_first(record, _SESSION_KEYS)
        fields = self._fields(record)
        speaker = arguments.name(speaker_key, speaker if isinstance(speaker, str) else str(speaker))
        content = "" if text_item is None else _text(*text_item)
        if not content.strip():
            raise ArgumentError("record", f"has a speaker but no text; its key must be one of {', '.join(_TEXT_KEYS)}")
        fields["content"] = f"{speaker}: {content}"
        fields["metadata"] = {"speaker": speaker, **fields.get("metadata", {})}
        if time_item is not None:
            fields["created_at"] = parse_date(*time_item)
        fields["session"] = self._source.path
        if session_item is not None:
            fields["session"] = arguments.name(session_item[0], str(session_item[1]))
        fields.setdefault("position", self._next_positions.get(fields["session"], 0))
        draft = draft_of(fields)
        self._next_positions[draft["session"]] = draft["position"] + 1
        if not draft.get("id") and not draft.get("path"):
            anchor = str(draft["position"]) if session_item is None else f"{draft['session']}/{draft['position']}"
            count = self._anchor_counts[anchor] = self._anchor_counts.get(anchor, 0) + 1
            draft["path"] = f"{self._source.path}#{anchor}" + (f"-{count}" if count > 1 else "")
        return draft

    def _fields(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return the note fields of a record; other keys become metadata."""
        if "expires" in record:
            record.setdefault("expires_at", record.pop("expires"))
        record.pop("namespace", None)  # the caller of the ingest sets the namespace
        fields = {key: value for key, value in record.items() if key in DRAFT_FIELDS}
        others = {key: value for key, value in record.items() if key not in DRAFT_FIELDS}
        if "metadata" in fields or others:
            fields["metadata"] = {**others, **arguments.json_object("metadata", fields.get("metadata", {}))}
        for name in ("created_at", "updated_at", "last_accessed_at"):
            if name in fields:
                fields[name] = parse_date(name, fields[name])
        if "expires_at" in fields:
            fields["expires_at"] = parse_expiry("expires_at", fields["expires_at"])
        if self._created_at is not None:
            fields.setdefault("created_at", self._created_at)
        return fields


def _reason(error: Exception) -> str:
    return "nested too deep" if isinstance(error, RecursionError) else str(error)


def _pop_first(record: dict[str, Any], keys: tuple[str, ...]) -> tuple[str, Any] | None:
    """Remove the first of ``keys`` that the record has, and return key and value; ``None`` if it has none of them."""
    return next(((key, record.pop(key)) for key in keys if key in record), None)


def _text(argument: str, value: Any) -> str:
    """Return the text of a record; a list of parts, as some programs write it, is joined by line ends."""
    if not isinstance(value, list):
        return arguments.text(argument, value)
    parts = (part.get("text") if isinstance(part, dict) else part for part in value)
    return "\n".join(arguments.text(argument, part) for part in parts if part is not None)
