"""A note that replaces others says so by links; searches then let it take their place."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.errors import ArgumentError, NoteNotFoundError
from recollect.model import DEFAULT_NAMESPACE, Draft, Link, Note
from recollect.stores.base import Store

__all__ = ["superseding_links"]


def superseding_links(store: Store, draft: Draft, keys: Sequence[str]) -> tuple[Link, ...]:
    """Return the links that a draft's note has or is given, and one to each of the notes with these ids or paths.

    The notes must be there. Links lead to their ids, which stay when a path changes.

    >>> from tempfile import TemporaryDirectory
    >>> from recollect.stores import open_store
    >>> with TemporaryDirectory() as folder:
    ...     store = open_store(f"{folder}/memory.db")
    ...     _ = store.write([{"id": "old", "path": "tea.md", "content": "Green tea."}])
    ...     links = superseding_links(store, {"content": "Oolong.", "links": (Link("related", "mug.md"),)}, ["tea.md"])
    ...     store.close()
    >>> links
    (Link(kind='related', target='mug.md'), Link(kind='supersedes', target='old'))
    """
    home = draft.get("namespace", DEFAULT_NAMESPACE)
    names = [draft.get("id", ""), draft.get("path", "")]
    *replaced, by_id, by_path = store.get([*keys, *names], namespace=home)
    own = by_id or (by_path if by_path and by_path.path == names[1] else None)
    made = [Link("supersedes", _there(key, note, own, home)) for key, note in zip(keys, replaced, strict=True)]
    return tuple(dict.fromkeys((*draft.get("links", own.links if own else ()), *made)))


def _there(key: str, note: Note | None, own: Note | None, home: str) -> str:
    """Return the id of a note that is to be replaced, if it is one, and another than the one that replaces it."""
    if note is None:
        raise NoteNotFoundError(f"there is no note {key!r} in namespace {home!r} to supersede")
    if own is not None and note.id == own.id:
        raise ArgumentError(
            "supersedes", f"{key!r} is the note itself; leave it out to change that note, or give the new one a path"
        )
    return note.id
