"""Measure one engine: build its index, then, in a new process, open it and search.

``python -m benchmarks.peers.measure build|search TASK RESULT`` runs one step; TASK and RESULT are JSON files. Progress
goes to standard output. Its lines start with :data:`PROGRESS_SIGN`, which distinguishes them from the engine's output.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from benchmarks.machine import disk_bytes, process_memory
from benchmarks.peers.corpus import Corpus, Query
from benchmarks.peers.engines import DEPTH, TOP_K, Engine, engine_class, import_packages
from benchmarks.peers.generated_notes import BATCH
from recollect.errors import RecollectError
from recollect.progress import Progress

__all__ = ["PROGRESS_SIGN", "STEPS", "Task", "build", "main", "search"]

T = TypeVar("T")

PROGRESS_SIGN = "\x1e"
WRITES = 9
"""The number of notes that are written one by one; the median of their times is reported."""
VISIBILITY_TIMEOUT = 10.0
"""Seconds within which a new note must be found."""
THREADS = (1, 2)
"""The numbers of threads for which throughput is measured."""
WARM_UP_QUERIES = 3
MAX_SEARCH_PARTS = 7
"""The number of parts of the search step, for progress; some engines have fewer."""


class Task(NamedTuple):
    """An engine, the folders of its corpus and its index, and the time limit of each search mode in seconds."""

    engine: str
    corpus: str
    folder: str
    seconds: float


class TimedIterator(Generic[T]):
    """Iterates over items and sums up the seconds that producing them took, which do not count as the engine's time.

    >>> items = TimedIterator(iter("tea"))
    >>> list(items), items.seconds < 1
    (['t', 'e', 'a'], True)
    """

    def __init__(self, items: Iterable[T], after_each: Callable[[], None] = lambda: None) -> None:
        self._items = iter(items)
        self._after_each = after_each
        self.seconds = 0.0

    def __iter__(self) -> Iterator[T]:
        while True:
            started = perf_counter()
            try:
                item = next(self._items)
            except StopIteration:
                return
            finally:
                self.seconds += perf_counter() - started
            yield item
            self._after_each()


def build(task: Task, progress: Progress) -> dict[str, Any]:
    """Build an engine's index; return throughput, size on disk and memory."""
    corpus, index = Corpus(Path(task.corpus)), Path(task.folder)
    before, batch_count = process_memory(), 0
    import_packages(task.engine)
    engine = engine_class(task.engine)(index, corpus.dimension)

    def count_batch() -> None:
        nonlocal batch_count
        batch_count += 1
        progress(batch_count, math.ceil(corpus.notes / BATCH), "ingesting")

    items = TimedIterator(corpus.batches(), count_batch)
    started = perf_counter()
    engine.build(items)
    seconds = perf_counter() - started - items.seconds
    after = process_memory()
    return {
        "build_seconds": round(seconds, 3),
        "notes_per_second": round(corpus.notes / seconds, 1),
        "disk_bytes": disk_bytes(index),
        "build_rss_before": before.now if before else None,
        "build_rss_peak": after.peak if after else None,
    }


def search(task: Task, progress: Progress) -> dict[str, Any]:
    """Open an engine's index and search; return latencies, throughput and memory.

    The entry ``found`` has, for each search mode, the note ids of each query's results.
    """
    corpus = Corpus(Path(task.corpus))
    queries = corpus.queries()
    parts = iter(range(MAX_SEARCH_PARTS))

    def report(name: str) -> None:
        progress(next(parts), MAX_SEARCH_PARTS, name)

    report("opening")
    before = process_memory()
    result: dict[str, Any] = {"rss_before": before.now if before else None}
    started = perf_counter()
    engine_type = engine_class(task.engine)  # a user also waits for the engine's imports
    engine = engine_type(Path(task.folder), corpus.dimension)
    engine.open()
    _first_search(engine, queries[0])
    result["first_answer_ms"] = round(1000 * (perf_counter() - started), 3)
    ids_by_mode: dict[str, list[list[int]]] = {}

    def measure(mode: str, run: Callable[[Query], list[int]]) -> None:
        for query in queries[-WARM_UP_QUERIES:]:
            run(query)
        ids_by_mode[mode], seconds = timed_queries(queries, run, task.seconds)
        result[mode] = latencies(seconds)

    if "words" in engine_type.legs:
        report("lexical search")
        measure("words", lambda query: engine.search_text(query.text, DEPTH))
    report("vector search")
    measure("vectors", lambda query: engine.search_vectors(query.vector, DEPTH))
    for method in engine_type.hybrids:
        report(f"hybrid search, {method}")

        def hybrid(query: Query, method: Any = method) -> list[int]:
            return engine.hybrid(method, query.text, query.vector, TOP_K, DEPTH)

        measure(f"hybrid_{method}", hybrid)
        for threads in THREADS:
            rate = throughput(queries, hybrid, threads, min(task.seconds, 5.0))
            result[f"hybrid_{method}"][f"per_second_{threads}"] = round(rate, 2)
    after = process_memory()
    result |= {
        "rss_after_queries": after.now if after else None,
        "rss_peak": after.peak if after else None,
        "rss_anonymous": after.anonymous if after else None,
    }
    if engine_type.writes:
        report("writing")
        result["write"] = _measure_writes(engine, corpus)
    engine.close()
    return {**result, "found": ids_by_mode}


def timed_queries(
    queries: Sequence[T], run: Callable[[T], list[int]], limit: float
) -> tuple[list[list[int]], list[float]]:
    """Run queries until there are no more or ``limit`` seconds have passed, at least one; return results and seconds.

    >>> timed_queries([1, 2, 3], lambda number: [number], limit=0)[0]
    [[1]]
    """
    results, seconds = [], []
    started = perf_counter()
    for query in queries:
        query_started = perf_counter()
        result = run(query)
        seconds.append(perf_counter() - query_started)
        results.append(result)
        if perf_counter() - started > limit:
            break
    return results, seconds


def latencies(seconds: Sequence[float]) -> dict[str, float]:
    """Return percentiles of the latency in milliseconds, and the number of queries.

    >>> latencies([0.001, 0.003])
    {'p50_ms': 2.0, 'p95_ms': 2.9, 'p99_ms': 2.98, 'queries': 2}
    """
    values = {f"p{rank}_ms": round(1000 * float(np.percentile(seconds, rank)), 4) for rank in (50, 95, 99)}
    return {**values, "queries": len(seconds)}


def throughput(queries: Sequence[T], run: Callable[[T], object], threads: int, seconds: float) -> float:
    """Return the queries per second of several threads together; each thread runs at least one query.

    >>> throughput([1, 2, 3], lambda number: number, threads=2, seconds=0.01) > 100
    True
    """
    counts = [0] * threads
    started = perf_counter()

    def work(thread: int) -> None:
        while not counts[thread] or perf_counter() - started < seconds:
            run(queries[(thread + counts[thread] * threads) % len(queries)])
            counts[thread] += 1

    workers = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(counts) / (perf_counter() - started)


def _first_search(engine: Engine, query: Query) -> None:
    if engine.hybrids:
        engine.hybrid(engine.hybrids[0], query.text, query.vector, TOP_K, DEPTH)
    else:
        engine.search_vectors(query.vector, DEPTH)


def _measure_writes(engine: Engine, corpus: Corpus) -> dict[str, float | bool]:
    """Write notes one by one; return the median times until a note is written and until all legs find it."""
    written_seconds, visible_seconds = [], []
    rng = np.random.default_rng(0)
    for number in range(WRITES):
        word = f"unheard{'abcdefghijk'[number]}o"
        note = corpus.notes + number
        vector = rng.standard_normal(corpus.dimension, dtype=np.float32)
        vector /= np.sqrt((vector * vector).sum())
        started = perf_counter()
        engine.add(note, f"{word} {corpus.vocabulary[0]}", vector)
        written_seconds.append(perf_counter() - started)
        _wait_until_found(note, partial(engine.search_vectors, vector, DEPTH))
        if "words" in engine.legs:
            _wait_until_found(note, partial(engine.search_text, word, DEPTH))
        visible_seconds.append(perf_counter() - started)
    return {
        "written_ms": round(1000 * statistics.median(written_seconds), 4),
        "visible_ms": round(1000 * statistics.median(visible_seconds), 4),
        "durable": engine.durable,
    }


def _wait_until_found(note: int, run: Callable[[], list[int]], timeout: float = VISIBILITY_TIMEOUT) -> None:
    started = perf_counter()
    while note not in run():
        if perf_counter() - started > timeout:
            raise RecollectError(f"a new note was not found within {timeout:g} seconds")
        sleep(0.0005)


STEPS = {"build": build, "search": search}


def main(arguments: Sequence[str]) -> None:
    """Run one step of one engine and write its result."""
    step, task, result = arguments

    def progress(done: int, total: int, name: str) -> None:
        sys.stdout.write(f"{PROGRESS_SIGN}{done} {total} {name}\n")
        sys.stdout.flush()

    data = STEPS[step](Task(**json.loads(Path(task).read_text(encoding="utf-8"))), progress)
    Path(result).write_text(json.dumps(data), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
