"""What stands for a note where one asks whether another store holds the same."""

from __future__ import annotations

from dataclasses import fields
from hashlib import blake2b
from json import JSONEncoder
from typing import TYPE_CHECKING, Any

from recollect.arguments import with_deep_stack
from recollect.model import Note

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["differing_fields", "note_digest", "same_note"]


def note_digest(note: Note, vector: Vector | None = None) -> bytes:
    """Return what stands for all fields of a note and for its vector, on any engine and machine.

    >>> tea = Note(content="Prefers green tea.", id="n1", metadata={"cups": 3, "milk": False})
    >>> note_digest(tea).hex()
    'b5005158547082fca589148221d007ed'
    >>> note_digest(tea) == note_digest(Note(content="Prefers green tea.", id="n1", metadata={"milk": 0, "cups": 3}))
    False
    """
    hashed = blake2b(_canonical(note.to_dict()).encode(), digest_size=16)
    if vector is not None:
        hashed.update(f"\0{vector.shape}".encode())
        hashed.update(vector.astype("<f4").tobytes())
    return hashed.digest()


def same_note(one: Note, other: Note) -> bool:
    """Return whether two notes would have the same digest.

    >>> same_note(Note(content="tea", metadata={"milk": False}), Note(content="tea", metadata={"milk": 0}))
    False
    """
    return one == other and (not one.metadata or _canonical(one.metadata) == _canonical(other.metadata))


def differing_fields(one: Note, other: Note) -> list[str]:
    """Return the names of the fields that two notes do not have in common.

    >>> differing_fields(Note(content="tea", id="n1"), Note(content="tea", id="n1", metadata={"cups": 3}))
    ['metadata']
    """
    told, others = one.to_dict(), other.to_dict()
    names = [field.name for field in fields(Note)]
    return [name for name in names if _canonical(told[name]) != _canonical(others[name])]


def _canonical(value: Any) -> str:
    """Return JSON that is the same for the same value: Python takes True for 1, and keys may come in any order."""
    return with_deep_stack(lambda: _ENCODER.encode(value))


_ENCODER = JSONEncoder(sort_keys=True, separators=(",", ":"))
