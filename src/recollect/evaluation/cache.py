"""What evaluations keep on disk: vectors of documents, and rankings, so that an interrupted run continues."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect import __version__
from recollect.embedders import Embedder
from recollect.embedders.base import SupportsQueryCache, unit_rows
from recollect.errors import RecollectError, StoreError
from recollect.evaluation.dataset import Collection, Question
from recollect.evaluation.outcome import Ranking
from recollect.inference.runtime import cache_folder

Vector = NDArray[np.float32]

_BUSY_TIMEOUT = 60_000
"""Milliseconds to wait for another process that writes."""
_KEYS_PER_QUERY = 500
"""SQLite limits the number of parameters of a statement."""


def default_cache_folder() -> Path:
    """Return the folder for vectors and rankings: ``evaluation`` in the user's cache."""
    try:
        return cache_folder() / "evaluation"
    except RuntimeError as error:  # a user may have no home folder, above all in containers
        raise RecollectError(f"there is no folder to keep vectors in ({error}): set RECOLLECT_CACHE to one") from error


class VectorCache:
    """A SQLite file with the vectors of one model, as float32. Threads and processes may share it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """Return the stored vectors of these keys."""
        if not self._path.exists():
            return {}
        vectors: dict[bytes, Vector] = {}
        with self._connection() as connection:
            for start in range(0, len(keys), _KEYS_PER_QUERY):
                batch = list(keys[start : start + _KEYS_PER_QUERY])
                placeholders = ", ".join("?" * len(batch))
                rows = connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({placeholders})", batch)  # noqa: S608 (only placeholders)
                vectors.update((key, np.frombuffer(vector, dtype="<f4")) for key, vector in rows)
        return vectors

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Store vectors; one that is stored already stays."""
        rows = [(key, np.asarray(vector, dtype="<f4").tobytes()) for key, vector in vectors.items()]
        with self._connection() as connection, connection:
            connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

    @contextmanager
    def _connection(self) -> Iterator[apsw.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = apsw.Connection(str(self._path))
            try:
                connection.set_busy_timeout(_BUSY_TIMEOUT)
                connection.pragma("synchronous", "OFF")  # lost vectors can be computed again
                # With rowids: in a WITHOUT ROWID table, rows as long as vectors would leave pages mostly empty.
                connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
                yield connection
            finally:
                connection.close()
        except (apsw.Error, OSError) as error:
            raise StoreError(
                f"vectors cannot be kept in {self._path} ({error}): delete the file, or name another folder"
            ) from error


class CachingEmbedder:
    """A wrapper of an embedder that stores document vectors in ``folder``, one file a model.

    The key of a vector is the SHA-256 of the text. Query vectors are not stored, because embedding the query is part
    of the latency of a search; with ``cache_queries`` they are kept in memory, for sweeps over the same questions.

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
        self._embedder = embedder
        readable = re.sub(r"[^A-Za-z0-9._-]+", "-", embedder.name)[:60]
        digest = hashlib.sha256(embedder.name.encode()).hexdigest()[:8]
        self._vectors = VectorCache(folder / f"{readable}.{digest}.vectors")
        self._queries: dict[str, Vector] | None = {} if cache_queries else None

    @property
    def name(self) -> str:
        """The model's name."""
        return self._embedder.name

    @property
    def dimension(self) -> int:
        """The dimension of a vector."""
        return self._embedder.dimension

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return one row for each text, in the same order; only texts without a stored vector are embedded."""
        dimension = self.dimension
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        vectors = {key: row for key, row in self._vectors.get(keys).items() if row.shape == (dimension,)}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors}
        if missing:
            rows = self._embedder.embed_documents(list(missing.values()))
            unit_rows(self.name, rows, count=len(missing), dimension=dimension)  # do not store what is invalid
            new = dict(zip(missing, np.asarray(rows, dtype=np.float32), strict=True))
            self._vectors.put(new)
            vectors |= new
        return np.stack([vectors[key] for key in keys]) if keys else np.empty((0, dimension), dtype=np.float32)

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query."""
        if self._queries is None:
            return self._embedder.embed_query(text)
        if text not in self._queries:
            self._queries[text] = self._embedder.embed_query(text)
        return self._queries[text]

    def clear_query_cache(self) -> None:
        """Clear the query cache of the wrapped embedder, unless queries are cached on purpose."""
        if self._queries is None and isinstance(self._embedder, SupportsQueryCache):
            self._embedder.clear_query_cache()


class RankingCache:
    """A JSON Lines file with one ranking a line, each under the digest of its question."""

    def __init__(self, path: Path | None, *, fresh: bool = False) -> None:
        self._path = path
        self.rankings: dict[str, Ranking] = {}
        if path and path.is_file():
            if fresh:
                path.unlink()
            else:
                self.rankings.update(_read_rankings(path))

    def write(self, digest: str, ranking: Ranking) -> None:
        """Store a ranking. One with warnings is not written: what failed may work in the next run."""
        self.rankings[digest] = ranking
        if self._path is None or ranking.warnings:
            return
        record = {"question": digest, **asdict(ranking)}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(f"\n{json.dumps(record)}")  # the line before may be incomplete
        except OSError as error:
            raise RecollectError(
                f"rankings cannot be kept in {self._path} ({error.strerror}): name another folder with --cache"
            ) from error


def _read_rankings(path: Path) -> Iterator[tuple[str, Ranking]]:
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            record: dict[str, Any] = json.loads(line)
            digest = record.pop("question")
            fields: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value for name, value in record.items()
            }
            yield digest, Ranking(**fields)
        except (ValueError, KeyError, TypeError, AttributeError):  # written by a process that ended meanwhile
            continue


def collection_digest(collection: Collection) -> str:
    """Return a hash of the id and the notes of a collection."""
    digest = hashlib.sha256(collection.id.encode())
    for note in collection.notes:
        digest.update(json.dumps(note.to_dict(), sort_keys=True).encode())
    return digest.hexdigest()


def question_digest(question: Question, collection: str) -> str:
    """Return a hash of the text and the date of a question, and of its collection's digest."""
    data = json.dumps([question.text, question.asked_at, collection])
    return hashlib.sha256(data.encode()).hexdigest()[:24]


@cache
def code_digest() -> str:
    """Return a hash of the code of Recollect without its command line: rankings of other code are not reused."""
    package = Path(__file__).parent.parent
    digest = hashlib.sha256(__version__.encode())
    for path in sorted(package.rglob("*.py")):
        relative = path.relative_to(package)
        if relative.parts[0] != "cli":
            digest.update(relative.as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]
