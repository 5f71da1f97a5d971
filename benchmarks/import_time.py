"""The time of ``import recollect``, beside that of starting Python."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter

from benchmarks.timing import Comparison

_BUDGET_MS = 150


def comparisons() -> Iterator[Comparison]:
    """Yield the time of a start with the import, as a ratio to a start without it."""
    bare = _milliseconds("pass")
    ours = _milliseconds("import recollect")
    yield Comparison(
        "start Python, import recollect", ours * 1000, "start Python", bare * 1000, (bare + _BUDGET_MS) / bare
    )


def _milliseconds(code: str) -> float:
    def once() -> float:
        start = perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return (perf_counter() - start) * 1000

    return min(once() for _ in range(10))
