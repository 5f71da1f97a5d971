"""``scripts/bench keystrokes``: the latency of search-as-you-type in the web UI.

Serves a generated memory in a separate process, opens the web UI in Chromium and types queries. Prints the time from a
key press until its hits are on the screen, as the web UI measures it, and the part of this time that the server takes.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

from tests.browser import launched

from benchmarks.serving import create_memory

READ_KEYSTROKES = (
    """() => performance.getEntriesByName("keystroke").map(({duration, detail}) => ({duration, ...detail}))"""
)
"""JavaScript that returns the web UI's measurements, one for each search."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench keystrokes", description="The latency of search-as-you-type in the web UI."
    )
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument(
        "--pause", type=int, default=120, metavar="MS", help="pause between two keys; 120 is a fast typist"
    )
    parser.add_argument("--embedder", default="auto")
    parser.add_argument("--folder", type=Path, help="keep the memory in this folder for later runs")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        queries = create_memory(folder, options.notes, options.embedder)[: options.queries]
        metrics = _measure(folder, queries, options)
    if options.json:
        print(json.dumps(metrics, indent=2))
    else:
        for name, value in metrics.items():
            print(f"{name:<34} {value:>10.1f}")
    return 0


def _measure(folder: Path, queries: list[str], options: argparse.Namespace) -> dict[str, float]:
    arguments = ["--port", "0", "--db", folder / "memory.db", "--embedder", options.embedder]
    command = [sys.executable, "-m", "recollect", "serve", *arguments]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert server.stdout
    try:
        match = re.search(rb" at (http://\S+?),", server.stdout.readline())
        assert match, "the server did not start"
        with launched() as browser:
            page = browser.new_page()
            page.goto(match[1].decode())
            keys = 0
            for query in queries:
                page.fill("#query", "")
                page.type("#query", query, delay=options.pause)
                keys += len(query)
            page.wait_for_timeout(1000)
            keystrokes = page.evaluate(READ_KEYSTROKES)
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()
    return {
        "keys": float(keys),
        "searches": float(len(keystrokes)),
        **_percentiles("ms_from_key_to_screen", [keystroke["duration"] for keystroke in keystrokes]),
        **_percentiles("ms_in_the_server", [keystroke["total"] for keystroke in keystrokes]),
        **_percentiles("ms_in_the_search", [keystroke["search"] for keystroke in keystrokes]),
        "share_of_the_server": sum(keystroke["total"] for keystroke in keystrokes)
        / sum(keystroke["duration"] for keystroke in keystrokes),
    }


def _percentiles(name: str, values: list[float]) -> dict[str, float]:
    percentiles = quantiles(values, n=100)
    return {f"{name}_p50": percentiles[49], f"{name}_p95": percentiles[94]}


if __name__ == "__main__":
    sys.exit(main())
