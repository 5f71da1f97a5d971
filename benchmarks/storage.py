"""The embedded memory against plain SQLite tables: writing, copying, opening and memory in use."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import apsw
import numpy as np
from numpy.typing import NDArray

import recollect
from benchmarks.timing import Comparison, compare

NOTES = int(os.environ.get("BENCH_NOTES", "100000"))
DIMENSION = 384
WORDS_PER_NOTE = 12


def sample(count: int, seed: int = 1) -> tuple[list[str], NDArray[np.float32]]:
    """Return short texts whose term frequencies follow Zipf's law, and a vector for each."""
    rng = random.Random(seed)  # noqa: S311 (sample data)
    vocabulary = [f"word{number}" for number in range(20_000)]
    weights = [1 / (rank + 10) for rank in range(len(vocabulary))]
    words = rng.choices(vocabulary, weights, k=count * WORDS_PER_NOTE)
    texts = [" ".join(words[start : start + WORDS_PER_NOTE]) for start in range(0, len(words), WORDS_PER_NOTE)]
    return texts, np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32)


class BareTables:
    """Plain SQLite: a table of notes with a vector column and an FTS5 table; commits are durable."""

    def __init__(self, path: Path) -> None:
        """Create the tables."""
        self.connection = apsw.Connection(str(path))
        self.connection.pragma("journal_mode", "wal")
        self.connection.pragma("synchronous", "full")
        self.connection.execute(
            "CREATE TABLE notes (key INTEGER PRIMARY KEY, path TEXT, title TEXT, content TEXT, vector BLOB);"
            "CREATE VIRTUAL TABLE words USING fts5 (path, title, content, tokenize = 'porter unicode61')"
        )

    def add(self, texts: Sequence[str], vectors: NDArray[np.float32], start: int = 0) -> None:
        """Insert rows in one transaction."""
        rows = [(f"notes/{start + number}.md", f"Note {number}", text) for number, text in enumerate(texts)]
        with self.connection:
            self.connection.executemany(
                "INSERT INTO notes (path, title, content, vector) VALUES (?, ?, ?, ?)",
                [(*row, vector.tobytes()) for row, vector in zip(rows, vectors, strict=True)],
            )
            self.connection.executemany("INSERT INTO words (path, title, content) VALUES (?, ?, ?)", rows)


def note_fields(texts: Sequence[str], vectors: NDArray[np.float32], start: int = 0) -> list[dict[str, object]]:
    """Return the rows of ``BareTables.add`` as fields of notes."""
    return [
        {"path": f"notes/{start + number}.md", "title": f"Note {number}", "content": text, "vector": vector}
        for number, (text, vector) in enumerate(zip(texts, vectors, strict=True))
    ]


def comparisons() -> Iterator[Comparison]:
    """Yield each comparison when it is complete."""
    with TemporaryDirectory() as folder:
        yield from _compare_batches(Path(folder))
        yield _compare_single_adds(Path(folder))
        yield from _compare_first_search(Path(folder))


def _compare_batches(folder: Path) -> Iterator[Comparison]:
    """Compare writing and copying all notes, in microseconds a note."""
    texts, vectors = sample(NOTES)
    started = perf_counter()
    with recollect.open(folder / "memory.db", embedder=None) as memory:
        assert len(memory.add_many(note_fields(texts, vectors))) == NOTES
        ours = perf_counter() - started
    started = perf_counter()
    bare = BareTables(folder / "bare.db")
    bare.add(texts, vectors)
    theirs = perf_counter() - started
    bare.connection.close()
    us_per_note = 1e6 / NOTES  # from seconds for all notes
    yield Comparison(f"add_many of {NOTES:,}, a note", ours * us_per_note, "bare executemany", theirs * us_per_note, 4)
    for name, at_most in (("copy", 2), ("copy again, with nothing to do", 1)):
        copied = recollect.copy(folder / "memory.db", folder / "copy.db", verify=False).copied
        assert copied.nothing_to_do == ("again" in name)
        yield Comparison(f"{name}, a note", copied.seconds * us_per_note, "add_many", ours * us_per_note, at_most)


def _compare_single_adds(folder: Path) -> Comparison:
    """Compare single durable writes; searches afterwards, which are not timed, check that both legs find a note."""
    texts, vectors = sample(1000, seed=2)
    bare = BareTables(folder / "bare-one.db")
    numbers = [iter(range(10**9)), iter(range(10**9))]
    with recollect.open(folder / "memory-one.db", embedder=None) as memory:

        def ours() -> None:
            number = next(numbers[0])
            memory.add(f"one{number} {texts[number % 1000]}", path=f"one/{number}", vector=vectors[number % 1000])

        def theirs() -> None:
            number = next(numbers[1])
            row = number % 1000
            bare.add([f"one{number} {texts[row]}"], vectors[row : row + 1], number)

        comparison = compare("one durable add", ours, "a bare one-row transaction", theirs, at_most=3)
        assert [hit.path for hit in memory.search("one7", mode="bm25", top_k=1)] == ["one/7"]
        assert "one/7" in [hit.path for hit in memory.search("", mode="semantic", vector=vectors[7], top_k=100)]
    bare.connection.close()
    return comparison


_FIRST_SEARCH = """
import sys
from time import perf_counter
started = perf_counter()
import recollect
with recollect.open(sys.argv[1], embedder=None) as memory:
    result = memory.search("word17 word200 word4711", vector=[1.0] + [0.0] * (int(sys.argv[2]) - 1))
    assert result.trace.bm25_count and result.trace.vector_count
    seconds = perf_counter() - started
    for _ in range(20):
        memory.search("word17 word200 word4711", vector=[1.0] + [0.0] * (int(sys.argv[2]) - 1))
    with open("/proc/self/statm") as statm:
        print(seconds, int(statm.read().split()[1]) * 4096)
"""


def _compare_first_search(folder: Path) -> Iterator[Comparison]:
    """Compare the first search of a new process with one second, and its memory with the size of all vectors."""
    done = subprocess.run(
        [sys.executable, "-c", _FIRST_SEARCH, str(folder / "memory.db"), str(DIMENSION)],
        check=True,
        capture_output=True,
        text=True,
    )
    seconds, resident_bytes = map(float, done.stdout.split())
    yield Comparison(f"import, open {NOTES:,}, first search", seconds * 1e6, "one second", 1e6, 1)
    ours, matrix = resident_bytes / 1e6, NOTES * DIMENSION * 4 / 1e6
    yield Comparison(f"memory in use at {NOTES:,}", ours, "the float32 matrix", matrix, 2.5, unit="MB")
