"""The time to start Python with ``import recollect``, against starting Python alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter

from benchmarks.timing import Comparison

_BUDGET_MS = 150
"""The time that the import may take."""


def comparisons() -> Iterator[Comparison]:
    """Yield one comparison: a start with the import against a start without it."""
    bare = _milliseconds("pass")
    ours = _milliseconds("import recollect")
    yield Comparison(
        "start Python, import recollect", ours * 1000, "start Python", bare * 1000, (bare + _BUDGET_MS) / bare
    )


def _milliseconds(code: str) -> float:
    """Return the shortest of ten runs of a new Python process."""

    def one_run() -> float:
        start = perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return (perf_counter() - start) * 1000

    return min(one_run() for _ in range(10))
