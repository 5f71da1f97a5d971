"""A note that replaces others says so by links; searches then let it take their place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recollect.errors import ArgumentError, NoteNotFoundError
from recollect.model import DEFAULT_NAMESPACE, Draft, Link, Note
from recollect.stores.base import Store
from recollect.stores.supersession import SUPERSEDED_BY, SUPERSESSION_KINDS, cycles, follow

__all__ = ["cycle_message", "superseding_links", "supersession_cycles", "supersession_problems"]

MOST_NAMED = 10
"""How many notes of a cycle a message names."""


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


def supersession_cycles(store: Store, ids: Iterable[str], namespace: str) -> list[tuple[str, ...]]:
    """Return the cycles of supersessions that the notes with these ids are in or lead into, each by path or else id.

    It takes one query for each step of the longest chain.
    """

    def direct(notes: list[str]) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for edge in store.edges(notes, namespace=namespace, kinds=SUPERSESSION_KINDS):
            if (edge.kind, edge.direction) in SUPERSEDED_BY:
                found.setdefault(edge.source, set()).add(edge.target)
        return found

    named: list[tuple[str, ...]] = []
    for cycle in cycles(follow(ids, direct)):
        notes = store.get(cycle, namespace=namespace)
        named.append(tuple(sorted(note.path or note.id for note in notes if note is not None)))
    return named


def supersession_problems(store: Store, notes: Iterable[Note]) -> list[str]:
    """Return what is wrong with the supersessions of notes just stored: cycles, and notes that name themselves."""
    by_namespace: dict[str, list[Note]] = {}
    for note in notes:
        if any(link.kind in SUPERSESSION_KINDS for link in note.links):
            by_namespace.setdefault(note.namespace, []).append(note)
    problems = [
        f"the note {note.path or note.id!r} names itself in a link {link.kind!r}, which is ignored"
        for linked in by_namespace.values()
        for note in linked
        for link in note.links
        if link.kind in SUPERSESSION_KINDS and link.target in (note.id, note.path)
    ]
    for namespace, linked in by_namespace.items():
        problems += map(cycle_message, supersession_cycles(store, [note.id for note in linked], namespace))
    return problems


def cycle_message(names: Sequence[str]) -> str:
    """Return what to say of notes that supersede each other in a circle.

    >>> cycle_message(["a.md", "b.md"])  # doctest: +ELLIPSIS
    "these notes supersede each other in a circle, so that ...: 'a.md', 'b.md'; remove one of the links"
    """
    shown = ", ".join(map(repr, names[:MOST_NAMED]))
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return (
        "these notes supersede each other in a circle, so that none of them counts as superseded by another: "
        f"{shown}{more}; remove one of the links"
    )
