"""Notes whose time is over: out of sight by every expression that reads, and removed by every write."""

from __future__ import annotations

from recollect.stores.milvus.reading import Reader
from recollect.stores.milvus.schema import NEVER
from recollect.stores.milvus.writing import Writer

__all__ = ["earliest", "is_due", "remove"]


def earliest(reader: Reader) -> int:
    """Return when the first note expires."""
    rows = reader.query(f"part == 0 and expires < {NEVER}", ["expires"])
    return min((int(row["expires"]) for row in rows), default=NEVER)


def is_due(reader: Reader, now: int) -> bool:
    """Return whether a note is due; ``now`` is in microseconds since 1970."""
    return bool(reader.query(f"part == 0 and expires <= {now}", ["key"], limit=1))


def remove(writer: Writer, now: int, most: int | None = None) -> int:
    """Delete what is due, or so many of it, those that are due the longest first; return how many there were."""
    due = writer.query(f"part == 0 and expires <= {now}", ["key", "namespace", "expires"])
    due.sort(key=lambda row: (row["expires"], row["key"]))
    gone: dict[int, list[int]] = {}
    for row in due[:most]:
        gone.setdefault(row["namespace"], []).append(row["key"])
    writer.delete(gone)
    return len(due[:most])
