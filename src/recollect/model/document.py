"""A file on its way into a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recollect.model.note import Draft

__all__ = ["Document"]


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
