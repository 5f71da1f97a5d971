"""A file whose notes are written to a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recollect.model.note import Draft


class Document(NamedTuple):
    """A file, whose notes are replaced as a whole: its location, a fingerprint of its contents, and the notes.

    >>> Document("/notes", "tea.md", "20:1:af", [{"content": "Prefers sencha."}]).name
    'tea.md'
    """

    root: str
    """The folder that was read, as an absolute path."""
    name: str
    """The file's path below the root, with slashes."""
    fingerprint: str
    """Changes whenever the file changes: size, modification time and a hash."""
    drafts: Sequence[Draft]
    """The notes in the file, in their order."""


class NoteName(NamedTuple):
    """The names by which links refer to a note; names that it lacks are empty."""

    id: str
    path: str
    title: str
    aliases: tuple[str, ...] = ()


class WriteCounts(NamedTuple):
    """The numbers of notes that a write of documents added, updated, left unchanged and removed."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    """Notes that the documents no longer contain."""
