"""A file on its way into a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recollect.model.note import Draft

__all__ = ["Document", "NoteName", "Written"]


class Document(NamedTuple):
    """A file whose notes are replaced as a whole: where it lies, a fingerprint of what it holds, and the notes.

    >>> Document("/notes", "tea.md", "20:1:af", [{"content": "Prefers sencha."}]).name
    'tea.md'
    """

    root: str
    """The folder that was read, as an absolute path."""
    name: str
    """The file's path below the root, with slashes."""
    fingerprint: str
    """What stands for the file's state where one asks whether it changed."""
    drafts: Sequence[Draft]
    """The notes that it holds, in their order."""


class NoteName(NamedTuple):
    """The names by which links refer to a note: id, path, title and aliases; what it lacks is empty.

    >>> NoteName("1", "people/shivani.md", "Shivani Rao", ("Shiv",)).aliases
    ('Shiv',)
    """

    id: str
    path: str
    title: str
    aliases: tuple[str, ...] = ()


class Written(NamedTuple):
    """How many notes documents added, updated, left as they were and removed.

    >>> Written(added=2).added
    2
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    """Notes that the documents had and no longer have."""
