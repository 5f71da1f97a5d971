"""How values travel to the server and back where they cannot go as they are: text that holds NUL, and many numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import Connection
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.rows import TupleRow
from psycopg.types.string import StrBinaryDumper, StrDumperUnknown, TextBinaryLoader, TextLoader

from recollect.stores.postgres.text import escaped, unescaped

__all__ = ["Numbers", "adapt"]

_REAL = 700  # PostgreSQL's numbers for the type real, and for arrays of it
_REALS = 1021
_ITEM = np.dtype([("bytes", ">i4"), ("number", ">f4")])


def adapt(connection: Connection[TupleRow]) -> None:
    """Let text go through a connection as it is, escaped on the way in and back on the way out; and numbers."""
    for dumper in (_Binary, _Plain):  # the last is the one that is used where nothing else is said
        connection.adapters.register_dumper(str, dumper)
    for loader in (_FromBinary, _FromPlain):
        connection.adapters.register_loader("text", loader)
    connection.adapters.register_dumper(Numbers, _NumbersDumper)


class Numbers(bytes):
    """Numbers as the server takes an array of them: in writing, they would take it longer than all the rest."""

    @classmethod
    def of(cls, rows: NDArray[np.float32]) -> Numbers:
        """Return all numbers of rows, one behind the other."""
        items = np.empty(rows.size, dtype=_ITEM)
        items["bytes"], items["number"] = 4, rows.reshape(-1)
        return cls(np.array([1, 0, _REAL, rows.size, 1], dtype=">i4").tobytes() + items.tobytes())


class _NumbersDumper(Dumper):
    format = Format.BINARY
    oid = _REALS

    def dump(self, obj: Any) -> Any:
        return obj


class _Plain(StrDumperUnknown):
    def dump(self, obj: str) -> Any:
        return super().dump(escaped(obj))


class _Binary(StrBinaryDumper):
    def dump(self, obj: str) -> Any:
        return super().dump(escaped(obj))


class _FromPlain(TextLoader):
    def load(self, data: Any) -> Any:
        return unescaped(str(data, "utf-8"))


class _FromBinary(TextBinaryLoader):
    def load(self, data: Any) -> Any:
        return unescaped(str(data, "utf-8"))
