"""A server like ``recollect serve`` that measures the time that searches spend in the model and in the store.

``benchmarks.serving`` starts it: ``python -m benchmarks.timed_server DB EMBEDDER SEARCHES OUT``. At the end it writes
the sums over all searches to OUT. Both legs of a search run in parallel; time in which both are busy counts once.
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
"""The start and the end of a call, in seconds."""

_SEARCH_SPANS: ContextVar[list[Span] | None] = ContextVar("search_spans", default=None)
"""The calls to model and store of the search that runs in this context."""


class TimedProxy:
    """Forwards all calls to another object, and records their times for the search that they belong to."""

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
                spans = _SEARCH_SPANS.get()
                if spans is not None:
                    spans.append((started, perf_counter()))

        return timed


class SearchTimes:
    """The number of searches and the seconds that they took, summed over all searches."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.searches = 0
        self.total = 0.0
        self.model_or_store = 0.0
        """The seconds in which the model or the store was busy."""

    def attach(self, memory: Any) -> None:
        """Measure every search of a memory from now on."""
        retrieval = memory._retrieval
        retrieval._index = retrieval._dense._index = TimedProxy(retrieval._index)
        if retrieval._dense._embedder is not None:
            retrieval._dense._embedder = TimedProxy(retrieval._dense._embedder)
        search = memory.search

        def timed_search(*args: Any, **kwargs: Any) -> Any:
            spans: list[Span] = []
            token = _SEARCH_SPANS.set(spans)
            started = perf_counter()
            try:
                return search(*args, **kwargs)
            finally:
                seconds = perf_counter() - started
                _SEARCH_SPANS.reset(token)
                with self._lock:
                    self.searches += 1
                    self.total += seconds
                    self.model_or_store += covered_seconds(spans)

        memory.search = timed_search


def covered_seconds(spans: list[Span]) -> float:
    """Return the seconds that the spans cover together; overlaps count once.

    >>> covered_seconds([(0, 2), (1, 3), (5, 6)])
    4.0
    """
    total, covered_until = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, covered_until))
        covered_until = max(covered_until, end)
    return total


def main(db: str, embedder: str, searches: str, out: str) -> None:
    """Serve until a signal stops the server, then write the times; ``searches`` is 0 for the default setting."""
    times = SearchTimes()
    settings = Settings(port=0)
    if int(searches):
        settings = replace(settings, read_threads=int(searches))
    with recollect.open(db, embedder=embedder) as memory:
        times.attach(memory)

        def on_ready(address: str) -> None:
            times.searches, times.total, times.model_or_store = 0, 0.0, 0.0  # do not count the warm-up
            print(f"serving at {address}, ready", flush=True)

        serve(memory, settings, log=Log(io.StringIO()), on_ready=on_ready)
    data = {"searches": times.searches, "total": times.total, "model_or_store": times.model_or_store}
    Path(out).write_text(json.dumps(data), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
