"""A server like ``recollect serve`` that measures the time that searches spend in the model and in the store.

``benchmarks.serving`` starts it: ``python -m benchmarks.timed_server DB EMBEDDER SEARCHES OUT``. The legs run in
parallel; time in which both are busy counts once.
"""

from __future__ import annotations

import io
import json
import os
import sys
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as recollect serve does

import recollect
from recollect.server.http.request_log import Log
from recollect.server.http.server import serve
from recollect.server.http.settings import Settings

Span = tuple[float, float]

_SPANS: ContextVar[list[Span] | None] = ContextVar("spans", default=None)


class TimedProxy:
    """Forward all calls, and record their times for the search that they belong to."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        """Return an attribute; a method is timed."""
        value = getattr(self._inner, name)
        if not callable(value):
            return value

        def timed(*args: Any, **kwargs: Any) -> Any:
            started = perf_counter()
            try:
                return value(*args, **kwargs)
            finally:
                spans = _SPANS.get()
                if spans is not None:
                    spans.append((started, perf_counter()))

        return timed


class SearchTimes:
    """The sums over all searches."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.searches = 0
        self.total = 0.0
        self.inside = 0.0
        """Seconds in the model or in the store."""

    def attach(self, memory: Any) -> None:
        """Measure every search of a memory from now on."""
        retrieval = memory._retrieval
        retrieval._index = retrieval._dense._index = TimedProxy(retrieval._index)
        if retrieval._dense._embedder is not None:
            retrieval._dense._embedder = TimedProxy(retrieval._dense._embedder)
        search = memory.search

        def timed_search(*args: Any, **kwargs: Any) -> Any:
            spans: list[Span] = []
            token = _SPANS.set(spans)
            started = perf_counter()
            try:
                return search(*args, **kwargs)
            finally:
                seconds = perf_counter() - started
                _SPANS.reset(token)
                with self._lock:
                    self.searches += 1
                    self.total += seconds
                    self.inside += covered(spans)

        memory.search = timed_search


def covered(spans: list[Span]) -> float:
    """Return the time that the spans cover together.

    >>> covered([(0, 2), (1, 3), (5, 6)])
    4.0
    """
    total, end = 0.0, float("-inf")
    for start, stop in sorted(spans):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total


def main(db: str, embedder: str, searches: str, out: str) -> None:
    times = SearchTimes()
    settings = Settings(port=0)
    if int(searches):
        settings = replace(settings, read_threads=int(searches))
    with recollect.open(db, embedder=embedder) as memory:
        times.attach(memory)

        def on_ready(address: str) -> None:
            times.searches, times.total, times.inside = 0, 0.0, 0.0  # without the warm-up
            print(f"serving at {address}, ready", flush=True)

        serve(memory, settings, log=Log(io.StringIO()), on_ready=on_ready)
    data = {"searches": times.searches, "total": times.total, "inside": times.inside}
    Path(out).write_text(json.dumps(data), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
