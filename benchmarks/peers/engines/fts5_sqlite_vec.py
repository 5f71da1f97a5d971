"""SQLite with FTS5 and sqlite-vec, and reciprocal rank fusion in Python."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import apsw

from benchmarks.peers.corpus import TextBatch
from benchmarks.peers.engines.base import Floats, HybridMethod, Leg, fuse
from benchmarks.peers.exact import Idf

__all__ = ["Fts5SqliteVec"]

_SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE VIRTUAL TABLE words USING fts5(text, detail = 'column');
CREATE VIRTUAL TABLE vectors USING vec0(id INTEGER PRIMARY KEY, vector float[{dimension}] distance_metric=cosine);
"""


class Fts5SqliteVec:
    """One SQLite file with a virtual table for FTS5 and one for sqlite-vec."""

    about: ClassVar[str] = "FTS5 + sqlite-vec, by hand"
    legs: ClassVar[tuple[Leg, ...]] = ("words", "vectors")
    hybrids: ClassVar[tuple[HybridMethod, ...]] = ("rrf",)
    writes: ClassVar[bool] = True
    durable: ClassVar[bool] = True
    exact: ClassVar[bool] = True
    idf: ClassVar[Idf] = "fts5"

    def __init__(self, folder: Path, dimension: int) -> None:
        self._file = folder / "notes.db"
        self._dimension = dimension

    def build(self, batches: Iterable[TextBatch]) -> None:
        """Insert all notes, one transaction for each batch."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self.open()
        connection = self._connection()
        # The pragma returns a row; the other statements run when it is fetched.
        connection.execute(_SCHEMA.format(dimension=self._dimension)).fetchall()
        for batch in batches:
            with connection:
                rows = zip(batch.ids, batch.texts, strict=True)
                connection.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", rows)
                blobs = ((number, row.tobytes()) for number, row in zip(batch.ids, batch.vectors, strict=True))
                connection.executemany("INSERT INTO vectors (id, vector) VALUES (?, ?)", blobs)
        connection.execute("INSERT INTO words (words) VALUES ('optimize')")
        self.close()

    def open(self) -> None:
        """Open a connection; every thread opens its own."""
        self._connections: list[apsw.Connection] = []
        self._thread_local = threading.local()
        self._connection()

    def search_text(self, text: str, depth: int) -> list[int]:
        """Search FTS5 for any term; ``ORDER BY rank`` is its documented BM25 order."""
        query = " OR ".join(f'"{word}"' for word in text.split())
        rows = self._connection().execute(
            "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (query, depth)
        )
        return [number for (number,) in rows]

    def search_vectors(self, vector: Floats, depth: int) -> list[int]:
        """Search sqlite-vec, which compares every vector."""
        rows = self._connection().execute(
            "SELECT id FROM vectors WHERE vector MATCH ? AND k = ? ORDER BY distance", (vector.tobytes(), depth)
        )
        return [number for (number,) in rows]

    def hybrid(self, method: HybridMethod, text: str, vector: Floats, top_k: int, depth: int) -> list[int]:  # noqa: ARG002 (there is one method)
        """Search both legs and fuse."""
        return fuse([self.search_text(text, depth), self.search_vectors(vector, depth)], top_k)

    def add(self, number: int, text: str, vector: Floats) -> None:
        """Insert a note in one durable transaction."""
        connection = self._connection()
        with connection:
            connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (number, text))
            connection.execute("INSERT INTO vectors (id, vector) VALUES (?, ?)", (number, vector.tobytes()))

    def close(self) -> None:
        """Close the connections of all threads."""
        for connection in self._connections:
            connection.close()

    def _connection(self) -> apsw.Connection:
        """Return the connection of this thread."""
        connection: apsw.Connection | None = getattr(self._thread_local, "connection", None)
        if connection is None:
            import sqlite_vec  # noqa: PLC0415 (an extra)

            connection = apsw.Connection(str(self._file))
            connection.enable_load_extension(enable=True)
            connection.load_extension(sqlite_vec.loadable_path())
            connection.enable_load_extension(enable=False)
            connection.pragma("synchronous", "FULL")
            self._thread_local.connection = connection
            self._connections.append(connection)
        return connection
