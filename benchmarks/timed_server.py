"""A server like ``recollect serve`` that also takes down how long its searches were in the model or in the store.

``benchmarks.serving`` starts it in a process of its own: ``scripts/bench timed_server DB EMBEDDER SEARCHES OUT``.
A query is embedded while its words are looked for; time in which both were busy counts once.
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


class Timed:
    """Passes everything on, and takes down how long each call took for the search that it is part of."""

    def __init__(self, inner: Any) -> None:
        """Stand before ``inner``."""
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        """Return a part of it, timed if it can be called."""
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        def timed(*given: Any, **more: Any) -> Any:
            started = perf_counter()
            try:
                return found(*given, **more)
            finally:
                spans = _SPANS.get()
                if spans is not None:
                    spans.append((started, perf_counter()))

        return timed


class Account:
    """The sum of all searches."""

    def __init__(self) -> None:
        """Begin at nothing."""
        self._lock = Lock()
        self.searches = 0
        self.total = 0.0
        self.inside = 0.0
        """How much of it was in the model or in the store."""

    def keep(self, memory: Any) -> None:
        """Take down every search of a memory from now on."""
        walk = memory._retrieval
        walk._index = walk._dense._index = Timed(walk._index)
        if walk._dense._embedder is not None:
            walk._dense._embedder = Timed(walk._dense._embedder)
        search = memory.search

        def counted(*given: Any, **more: Any) -> Any:
            spans: list[Span] = []
            token = _SPANS.set(spans)
            started = perf_counter()
            try:
                return search(*given, **more)
            finally:
                took = perf_counter() - started
                _SPANS.reset(token)
                with self._lock:
                    self.searches += 1
                    self.total += took
                    self.inside += covered(spans)

        memory.search = counted


def covered(spans: list[Span]) -> float:
    """Return how much time lies in any of the spans.

    >>> covered([(0, 2), (1, 3), (5, 6)])
    4.0
    """
    total, end = 0.0, float("-inf")
    for start, stop in sorted(spans):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total


def main(db: str, embedder: str, searches: str, out: str) -> None:
    account = Account()
    settings = Settings(port=0)
    if int(searches):
        settings = replace(settings, read_threads=int(searches))
    with recollect.open(db, embedder=embedder) as memory:
        account.keep(memory)

        def on_ready(address: str) -> None:
            account.searches, account.total, account.inside = 0, 0.0, 0.0  # without what warmed it up
            print(f"serving at {address}, ready", flush=True)

        serve(memory, settings, log=Log(io.StringIO()), on_ready=on_ready)
    figures = {"searches": account.searches, "total": account.total, "inside": account.inside}
    Path(out).write_text(json.dumps(figures), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
