"""A note as a row, and a row as a note or a candidate."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from recollect.arguments import with_deep_stack
from recollect.model import Candidate, Link, Note
from recollect.model.candidate import stored_metadata

__all__ = [
    "CANDIDATE_COLUMNS",
    "COLUMNS",
    "NoteRow",
    "candidate_of",
    "folded_name",
    "from_microseconds",
    "note_of",
    "to_microseconds",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class NoteRow(NamedTuple):
    """A note as a row of a table; its namespace and document are the keys of theirs."""

    key: int
    namespace: int
    id: str
    path: str | None
    name: str | None
    session: str | None
    position: int | None
    importance: float
    created_at: int
    updated_at: int
    last_accessed_at: int | None
    expires_at: int | None
    document: int | None
    tags: str
    metadata: str
    title: str
    summary: str
    content: str


COLUMNS = ", ".join(NoteRow._fields)
CANDIDATE_COLUMNS = (
    "id, path, title, summary, content, created_at, last_accessed_at, importance, session, position, tags, metadata"
)


def to_microseconds(moment: datetime) -> int:
    """Return an instant as microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


@lru_cache(maxsize=256)  # notes of one batch share their times
def from_microseconds(number: int) -> datetime:
    """Return the instant that lies so many microseconds after 1970."""
    return _EPOCH + timedelta(microseconds=number)


def _moment(number: int | None) -> datetime | None:
    return None if number is None else from_microseconds(number)


def folded_name(target: str) -> str:
    """Return what a wikilink calls a note: the last part of its path without suffix, in one case.

    >>> folded_name("people/Ines Weber.md") == folded_name("ines weber")
    True
    """
    return target.rpartition("/")[2].removesuffix(".md").casefold()


def note_of(row: Sequence[Any], namespace: str, links: Iterable[Link]) -> Note:
    """Return the note in a row that holds :data:`COLUMNS`."""
    stored = row if isinstance(row, NoteRow) else NoteRow._make(row)
    return Note.from_checked(
        {
            "content": stored.content,
            "id": stored.id,
            "path": stored.path or "",
            "title": stored.title,
            "summary": stored.summary,
            "tags": tuple(stored.tags.split("\n")) if stored.tags else (),
            "created_at": from_microseconds(stored.created_at),
            "updated_at": from_microseconds(stored.updated_at),
            "last_accessed_at": _moment(stored.last_accessed_at),
            "expires_at": _moment(stored.expires_at),
            "importance": stored.importance,
            "session": stored.session or "",
            "position": stored.position,
            "links": tuple(links),
            "metadata": with_deep_stack(lambda: json.loads(stored.metadata)) if stored.metadata != "{}" else {},
            "namespace": namespace,
        }
    )


def candidate_of(row: Sequence[Any]) -> Candidate:
    """Return the candidate in a row that holds :data:`CANDIDATE_COLUMNS`; what was stored was checked before."""
    note_id, path, title, summary, content, created_at, last_accessed_at, importance, session, position, *rest = row
    tags, metadata = rest
    made = _BLANK.copy()
    made.id = note_id
    made.path = path or ""
    made.title = title
    made.summary = summary
    made.content = content
    made.created_at = from_microseconds(created_at)
    made.last_accessed_at = _moment(last_accessed_at)
    made.importance = importance
    made.session = session or ""
    made.position = position
    made.tags = tuple(tags.split("\n")) if tags else ()
    made.metadata = stored_metadata(metadata)
    return made


_BLANK = Candidate("")
