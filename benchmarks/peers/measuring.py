"""What is done to one engine: first it takes in a corpus, then, in a new process, it is opened and asked."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers.corpus import Corpus, Query
from benchmarks.peers.engines import DEPTH, TOP_K, Engine, engine_named, import_packages
from benchmarks.peers.resources import disk_bytes, resident
from benchmarks.peers.timing import Asked, Handed, asked_in_turn, latencies, throughput
from recollect.errors import RecollectError
from recollect.progress import Progress

__all__ = ["Task", "ask", "build"]

WRITES = 9
"""How many notes are written one by one; of what they take, the median counts."""
PATIENCE = 10.0
"""Seconds after which a note that is still not found is given up."""
THREADS = (1, 2)
PARTS = 7
"""In how many parts being asked is told of."""


class Task(NamedTuple):
    """Which engine, where its corpus and its own folder are, and how long it may take for each part."""

    engine: str
    corpus: str
    folder: str
    seconds: float


def build(task: Task, progress: Progress) -> dict[str, Any]:
    """Have an engine take in all notes, and return how that went."""
    corpus, index = Corpus(Path(task.corpus)), Path(task.folder)
    before, taken = resident(), 0
    import_packages(task.engine)
    engine = engine_named(task.engine)(index, corpus.dimension)

    def told() -> None:
        nonlocal taken
        taken += 1
        progress(taken, -(-corpus.notes // 10_000), "taking in")

    handed = Handed(corpus.batches(), told)
    began = perf_counter()
    engine.build(handed)
    seconds = perf_counter() - began - handed.seconds
    after = resident()
    return {
        "build_seconds": round(seconds, 3),
        "notes_per_second": round(corpus.notes / seconds, 1),
        "disk_bytes": disk_bytes(index),
        "build_rss_before": before.now if before else None,
        "build_rss_peak": after.peak if after else None,
    }


def ask(task: Task, progress: Progress) -> dict[str, Any]:
    """Open what was built, and return how it answers; ``found`` is for whoever knows what should have been found."""
    corpus = Corpus(Path(task.corpus))
    queries = corpus.queries()
    done = iter(range(PARTS))

    def tell(what: str) -> None:
        progress(next(done), PARTS, what)

    tell("opening")
    told: dict[str, Any] = {"rss_before": before.now if (before := resident()) else None}
    began = perf_counter()
    kind = engine_named(task.engine)  # what an engine imports is part of what one waits for
    engine = kind(Path(task.folder), corpus.dimension)
    engine.open()
    _first(engine, queries[0])
    told["first_answer_ms"] = round(1000 * (perf_counter() - began), 3)
    found: dict[str, list[list[int]]] = {}

    def keep(part: str, asked: Asked) -> None:
        told[part] = latencies(asked.seconds)
        found[part] = asked.found

    if "words" in kind.legs:
        tell("words")
        keep("words", _in_turn(queries, lambda query: engine.search_words(query.text, DEPTH), task.seconds))
    tell("vectors")
    keep("vectors", _in_turn(queries, lambda query: engine.search_vectors(query.vector, DEPTH), task.seconds))
    for way in kind.hybrids:
        tell(f"both, {way}")

        def both(query: Query, way: Any = way) -> list[int]:
            return engine.hybrid(way, query.text, query.vector, TOP_K, DEPTH)

        keep(f"hybrid_{way}", _in_turn(queries, both, task.seconds))
        for threads in THREADS:
            rate = throughput(queries, both, threads, min(task.seconds, 5.0))
            told[f"hybrid_{way}"][f"per_second_{threads}"] = round(rate, 2)
    after = resident()
    told |= {
        "rss_after_queries": after.now if after else None,
        "rss_peak": after.peak if after else None,
        "rss_anonymous": after.anonymous if after else None,
    }
    if kind.writes:
        tell("writing")
        told["write"] = _written(engine, corpus)
    engine.close()
    return {**told, "found": found}


def _in_turn(queries: list[Query], ask_for: Callable[[Query], list[int]], budget: float) -> Asked:
    """Ask the last few once without a clock, so that what is only done once is not timed; then all in turn."""
    for query in queries[-3:]:
        ask_for(query)
    return asked_in_turn(queries, ask_for, budget)


def _first(engine: Engine, query: Query) -> None:
    """Ask for the first time, by both if it can."""
    if engine.hybrids:
        engine.hybrid(engine.hybrids[0], query.text, query.vector, TOP_K, DEPTH)
    else:
        engine.search_vectors(query.vector, DEPTH)


def _written(engine: Engine, corpus: Corpus) -> dict[str, float | bool]:
    """Write notes one by one, and return what it takes until one is safe, and until both legs have shown it."""
    safe, seen = [], []
    chance = np.random.default_rng(0)
    for place in range(WRITES):
        word = f"unheard{'abcdefghijk'[place]}o"
        number = corpus.notes + place
        vector = chance.standard_normal(corpus.dimension, dtype=np.float32)
        vector /= np.sqrt((vector * vector).sum())
        began = perf_counter()
        engine.add(number, f"{word} {corpus.vocabulary[0]}", vector)
        safe.append(perf_counter() - began)
        _until_found(number, partial(engine.search_vectors, vector, DEPTH))
        if "words" in engine.legs:
            _until_found(number, partial(engine.search_words, word, DEPTH))
        seen.append(perf_counter() - began)
    return {
        "written_ms": round(1000 * statistics.median(safe), 4),
        "visible_ms": round(1000 * statistics.median(seen), 4),
        "durable": engine.durable,
    }


def _until_found(number: int, search: Callable[[], list[int]], patience: float = PATIENCE) -> None:
    """Search until a note is there."""
    began = perf_counter()
    while number not in search():
        if perf_counter() - began > patience:
            raise RecollectError(f"a note that was written was not found within {patience:g} seconds")
        sleep(0.0005)
