"""What a draft does to the row of a note."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import urandom
from typing import TYPE_CHECKING, Any

from recollect.model import NOTE_FIELDS, UNCHANGED_IF_EMPTY, Draft, EmbeddingText, Link, embedding_text
from recollect.stores.rows import NoteRow, folded_name, to_microseconds

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["WHOLE_NOTE", "Change", "blank_row", "merged_row", "new_id", "text_of", "words_of"]


@dataclass(slots=True, eq=False)
class Change:
    """What a batch does to one note."""

    old: NoteRow | None
    new: NoteRow
    namespace: str
    old_links: tuple[Link, ...]
    links: tuple[Link, ...]
    vector: Vector | None = None
    """Given with the draft."""

    @property
    def matters(self) -> bool:
        """Whether anything is different."""
        return self.old != self.new or self.old_links != self.links

    @property
    def renamed(self) -> bool:
        """Whether it goes by another id or path."""
        return self.old is not None and (self.old.id, self.old.path) != (self.new.id, self.new.path)

    @property
    def words_changed(self) -> bool:
        """Whether the word index must learn of it."""
        return self.old is None or words_of(self.old) != words_of(self.new)

    @property
    def text_changed(self) -> bool:
        """Whether its vector stands for another text."""
        return self.old is None or text_of(self.old) != text_of(self.new)


def words_of(row: NoteRow) -> tuple[str | None, ...]:
    """Return what the word index takes of a row."""
    return row.path, row.title, row.summary, row.tags, row.content


def text_of(row: NoteRow) -> EmbeddingText:
    """Return the text that the vector of a row stands for."""
    return embedding_text(row.title, row.summary, row.content)


WHOLE_NOTE: Draft = {
    name: field.default
    for name, field in NOTE_FIELDS.items()
    if name not in UNCHANGED_IF_EMPTY | {"content", "namespace"}
}
"""What a document's draft says where it is silent: it is the whole of a note, not a change to one."""


def merged_row(row: NoteRow, draft: Draft) -> NoteRow:
    """Return ``row`` with the fields that ``draft`` holds."""
    given: dict[str, Any] = {name: draft[name] for name in _PLAIN if name in draft}
    for name in ("created_at", "updated_at", "last_accessed_at", "expires_at"):
        if name in draft:
            given[name] = None if draft[name] is None else to_microseconds(draft[name])
    if draft.get("id"):
        given["id"] = draft["id"]
    if draft.get("path"):
        given["path"] = draft["path"]
        given["name"] = None if "#" in draft["path"] else folded_name(draft["path"])
    if "session" in draft:
        given["session"] = draft["session"] or None
    if "tags" in draft:
        given["tags"] = "\n".join(draft["tags"])
    if draft.get("metadata"):
        given["metadata"] = json.dumps(draft["metadata"], ensure_ascii=False, separators=(",", ":"))
    elif "metadata" in draft:
        given["metadata"] = "{}"
    values = list(row)
    for name, value in given.items():
        values[_PLACES[name]] = value
    return NoteRow._make(values)


_PLACES = {name: place for place, name in enumerate(NoteRow._fields)}
_PLAIN = ("title", "summary", "content", "importance", "position")


def new_id(microseconds: int) -> str:
    """Return a UUID of version 7: it begins with the time, so that new ids come to lie beside each other."""
    number = (microseconds // 1000) << 80 | int.from_bytes(urandom(10), "big")
    number = number & ~(0xF << 76) | 7 << 76
    number = number & ~(0x3 << 62) | 2 << 62
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def blank_row(now: int) -> NoteRow:
    """Return the row of a note that nothing is said of yet."""
    return NoteRow(
        key=0,
        namespace=0,
        id="",
        path=None,
        name=None,
        session=None,
        position=None,
        importance=NOTE_FIELDS["importance"].default,
        created_at=now,
        updated_at=now,
        last_accessed_at=None,
        expires_at=None,
        document=None,
        tags="",
        metadata="{}",
        title="",
        summary="",
        content="",
    )
