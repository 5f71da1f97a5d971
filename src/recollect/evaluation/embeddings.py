"""An embedder that embeds no document twice: its vectors are kept on disk."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.embedders import Embedder
from recollect.embedders.base import SupportsQueryCache, unit_rows
from recollect.errors import StoreError

__all__ = ["CachingEmbedder", "VectorCache"]

Vector = NDArray[np.float32]


class CachingEmbedder:
    """Another embedder, under the same name, whose document vectors are kept in ``folder``, one file a model.

    A vector is known by the model's name and the SHA-256 of the text. Vectors of queries are not kept on disk, because
    embedding the query is part of what a search takes; with ``cache_queries`` this process remembers them, for
    sweeps that ask the same questions again and again.

    >>> from tempfile import TemporaryDirectory
    >>> from recollect.embedders import FunctionEmbedder
    >>> def letters(texts):
    ...     print("embedding", texts)
    ...     return [[text.count("a"), text.count("e")] for text in texts]
    >>> with TemporaryDirectory() as folder:
    ...     embedder = CachingEmbedder(FunctionEmbedder(letters, name="letters", dimension=2), Path(folder))
    ...     _ = embedder.embed_documents(["banana"])
    ...     embedder.embed_documents(["banana", "eel"]).tolist()
    embedding ['banana']
    embedding ['eel']
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, embedder: Embedder, folder: Path, *, cache_queries: bool = False) -> None:
        """Wrap ``embedder``; nothing is read or embedded yet."""
        self._embedder = embedder
        self._kept = VectorCache(folder / f"{_file_name(embedder.name)}.vectors")
        self._queries: dict[str, NDArray[np.float32]] | None = {} if cache_queries else None

    @property
    def name(self) -> str:
        """The model's name."""
        return self._embedder.name

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return self._embedder.dimension

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text, in the same order; only texts that were never seen are embedded."""
        dimension = self.dimension
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        found = {key: row for key, row in self._kept.get(keys).items() if row.shape == (dimension,)}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            made = self._embedder.embed_documents(list(missing.values()))
            unit_rows(self.name, made, count=len(missing), dimension=dimension)  # what is wrong must not be kept
            new = dict(zip(missing, np.asarray(made, dtype=np.float32), strict=True))
            self._kept.put(new)
            found |= new
        return np.stack([found[key] for key in keys]) if keys else np.empty((0, dimension), dtype=np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query."""
        if self._queries is None:
            return self._embedder.embed_query(text)
        if text not in self._queries:
            self._queries[text] = self._embedder.embed_query(text)
        return self._queries[text]

    def clear_query_cache(self) -> None:
        """Let the embedder forget the queries that it has seen, unless they are to be remembered."""
        if self._queries is None and isinstance(self._embedder, SupportsQueryCache):
            self._embedder.clear_query_cache()


def _file_name(model: str) -> str:
    """Return a name that tells models apart whatever characters are in theirs.

    >>> _file_name("all-MiniLM-L6-v2/int8")
    'all-MiniLM-L6-v2-int8.045eb60d'
    """
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", model)[:60]
    return f"{readable}.{hashlib.sha256(model.encode()).hexdigest()[:8]}"


BUSY_TIMEOUT = 60_000
"""Milliseconds to wait for another process that writes."""
KEYS_PER_QUERY = 500
"""Below SQLite's limit of parameters."""


class VectorCache:
    """A file of float32 vectors of one model by key. Threads and processes may share it: each call opens a connection.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     cache = VectorCache(Path(folder, "model.vectors"))
    ...     cache.put({b"tea": np.array([0.6, 0.8], dtype=np.float32)})
    ...     {key: vector.tolist() for key, vector in cache.get([b"tea", b"milk"]).items()}
    {b'tea': [0.6000000238418579, 0.800000011920929]}
    """

    def __init__(self, path: Path) -> None:
        """Set the path; the first ``put`` creates the file."""
        self._path = path

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """Return the cached vectors of these keys."""
        if not self._path.exists():
            return {}
        vectors: dict[bytes, Vector] = {}
        with self._connection() as connection:
            for start in range(0, len(keys), KEYS_PER_QUERY):
                batch = list(keys[start : start + KEYS_PER_QUERY])
                placeholders = ", ".join("?" * len(batch))
                rows = connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({placeholders})", batch)  # noqa: S608 (placeholders only)
                vectors.update((key, np.frombuffer(vector, dtype="<f4")) for key, vector in rows)
        return vectors

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Store vectors; a key that is already cached keeps its vector."""
        rows = [(key, np.asarray(vector, dtype="<f4").tobytes()) for key, vector in vectors.items()]
        with self._connection() as connection, connection:
            connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

    @contextmanager
    def _connection(self) -> Iterator[apsw.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = apsw.Connection(str(self._path))
            try:
                connection.set_busy_timeout(BUSY_TIMEOUT)
                connection.pragma("synchronous", "OFF")  # a power cut loses only what can be computed again
                # With rowids: rows as long as vectors would leave the pages of an index mostly empty.
                connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
                yield connection
            finally:
                connection.close()
        except (apsw.Error, OSError) as error:
            raise StoreError(
                f"cannot cache vectors in {self._path} ({error}): delete the file, or choose another folder"
            ) from error
