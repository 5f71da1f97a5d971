"""Vectors that are kept by the text that they stand for, so that no model has to make them twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.errors import StoreError

__all__ = ["KeptVectors"]

Vector = NDArray[np.float32]

PATIENCE = 60_000
"""Milliseconds to wait for another process that writes."""
ASKED_AT_ONCE = 500
"""How many keys one query asks for; SQLite allows more, but not without end."""


class KeptVectors:
    """One file of vectors of one model, as float32. Threads and processes may share it: a connection lives for a call.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     kept = KeptVectors(Path(folder, "model.vectors"))
    ...     kept.put({b"tea": np.array([0.6, 0.8], dtype=np.float32)})
    ...     {key: vector.tolist() for key, vector in kept.get([b"tea", b"milk"]).items()}
    {b'tea': [0.6000000238418579, 0.800000011920929]}
    """

    def __init__(self, path: Path) -> None:
        """Name the file; it is made when the first vector comes."""
        self._path = path

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """Return the vectors that are kept for these keys."""
        if not self._path.exists():
            return {}
        found: dict[bytes, Vector] = {}
        with self._connection() as connection:
            for start in range(0, len(keys), ASKED_AT_ONCE):
                asked = list(keys[start : start + ASKED_AT_ONCE])
                places = ", ".join("?" * len(asked))
                rows = connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({places})", asked)  # noqa: S608 (names of our own)
                found.update((key, np.frombuffer(vector, dtype="<f4")) for key, vector in rows)
        return found

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors; one that is kept already stays."""
        rows = [(key, np.asarray(vector, dtype="<f4").tobytes()) for key, vector in vectors.items()]
        with self._connection() as connection, connection:
            connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

    @contextmanager
    def _connection(self) -> Iterator[apsw.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = apsw.Connection(str(self._path))
            try:
                connection.set_busy_timeout(PATIENCE)
                connection.pragma("synchronous", "OFF")  # what is lost with the power can be made again
                # With rowids: rows as long as vectors would leave the pages of an index mostly empty.
                connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
                yield connection
            finally:
                connection.close()
        except (apsw.Error, OSError) as error:
            raise StoreError(
                f"vectors cannot be kept in {self._path} ({error}): delete the file, or name another folder"
            ) from error
