"""Notes page by page: where one page ends, a cursor says where the next begins."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from recollect.errors import ArgumentError
from recollect.memory import Memory
from recollect.model import Note

__all__ = ["page"]


def page(
    memory: Memory, namespace: str, limit: int, cursor: str | None = None, filters: Mapping[str, Any] | None = None
) -> tuple[list[Note], str | None]:
    """Return the next ``limit`` notes of a namespace behind ``cursor``, and the cursor of the page after it, if any."""
    if cursor is not None and not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 16):
        raise ArgumentError("cursor", "is none that was given out; leave it out to begin anew")
    start = int(cursor or 0)
    found = list(islice(memory.notes(namespace=namespace, filters=filters), start, start + limit + 1))
    return found[:limit], str(start + limit) if len(found) > limit else None
