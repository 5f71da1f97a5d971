"""A cache of document vectors on disk: a second evaluation of the same notes does not embed them again."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.embedders import Embedder
from recollect.embedders.base import SupportsQueryCache, unit_rows
from recollect.errors import RecollectError, StoreError
from recollect.inference.runtime import cache_folder

Vector = NDArray[np.float32]

_BUSY_TIMEOUT_MS = 60_000  # how long to wait, in milliseconds, while another process writes


def default_cache_folder() -> Path:
    """Return the default folder for vectors: ``evaluation`` in the user's cache folder."""
    try:
        return cache_folder() / "evaluation"
    except RuntimeError as error:  # a user may have no home folder, above all in containers
        raise RecollectError(f"there is no folder to store vectors in ({error}): set RECOLLECT_CACHE to one") from error


class VectorCache:
    """A SQLite file with one model's vectors by key, as little-endian float32. Threads and processes may share it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """Return the stored vectors by key; keys without a vector are left out."""
        with self._connection() as connection:
            rows = connection.executemany("SELECT key, vector FROM vectors WHERE key = ?", [(key,) for key in keys])
            return {key: np.frombuffer(vector, dtype="<f4") for key, vector in rows}

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Store vectors by key; a key that is already stored keeps its vector."""
        rows = [(key, np.asarray(vector, dtype="<f4").tobytes()) for key, vector in vectors.items()]
        with self._connection() as connection, connection:  # the second context is a transaction
            connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

    @contextmanager
    def _connection(self) -> Iterator[apsw.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = apsw.Connection(str(self._path))
            try:
                connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
                connection.pragma("synchronous", "OFF")  # lost vectors can be computed again
                # Not WITHOUT ROWID: rows as long as vectors would leave the pages of such a table mostly empty.
                connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
                yield connection
            finally:
                connection.close()
        except (apsw.Error, OSError) as error:
            raise StoreError(
                f"vectors cannot be stored in {self._path} ({error}): delete the file, or name another folder"
            ) from error


class CachingEmbedder:
    """A wrapper of an embedder that stores document vectors in ``folder``, in one file for each model.

    The folder is by default in the user's cache. The key of a vector is the SHA-256 of the text. Query vectors are not
    stored on disk, because embedding the query is part of the latency of a search. With ``cache_queries`` they are
    cached in memory, for many searches with the same questions.

    >>> from tempfile import TemporaryDirectory
    >>> from recollect.embedders import FunctionEmbedder
    >>> def embed(texts):
    ...     return [[text.count("a"), text.count("e")] for text in texts]
    >>> with TemporaryDirectory() as folder:
    ...     embedder = CachingEmbedder(FunctionEmbedder(embed, name="letters", dimension=2), folder)
    ...     embedder.embed_documents(["banana", "eel"]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(
        self, embedder: Embedder, folder: str | PathLike[str] | None = None, *, cache_queries: bool = False
    ) -> None:
        self._embedder = embedder
        safe_name = re.sub(r"[^A-Za-z0-9._-]+", "-", embedder.name)[:60]  # file systems limit names to 255 bytes
        digest = hashlib.sha256(embedder.name.encode()).hexdigest()[:8]  # distinguishes names with the same safe name
        parent = default_cache_folder() if folder is None else Path(folder).expanduser()
        self._vectors = VectorCache(parent / f"{safe_name}.{digest}.vectors")
        self._embed_query = functools.cache(embedder.embed_query) if cache_queries else embedder.embed_query

    @property
    def name(self) -> str:
        """The model's name."""
        return self._embedder.name

    @property
    def dimension(self) -> int:
        """The number of components of a vector."""
        return self._embedder.dimension

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return one row for each text, in the same order; only texts without a stored vector are embedded."""
        dimension = self.dimension
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        # A stored vector of another dimension is not used: the model may have changed under the same name.
        vectors = {key: row for key, row in self._vectors.get(keys).items() if row.shape == (dimension,)}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors}
        if missing:
            rows = self._embedder.embed_documents(list(missing.values()))
            unit_rows(self.name, rows, count=len(missing), dimension=dimension)  # raises if rows are invalid
            new_vectors = dict(zip(missing, np.asarray(rows, dtype=np.float32), strict=True))
            self._vectors.put(new_vectors)
            vectors |= new_vectors
        return np.stack([vectors[key] for key in keys]) if keys else np.empty((0, dimension), dtype=np.float32)

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query."""
        return self._embed_query(text)

    def clear_query_cache(self) -> None:
        """Clear the query cache of the wrapped embedder; vectors cached by ``cache_queries`` stay."""
        if isinstance(self._embedder, SupportsQueryCache):
            self._embedder.clear_query_cache()
