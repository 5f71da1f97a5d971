"""What typing feels like: ``scripts/bench keystrokes [--notes 10000] [--queries 20] [--folder DIR]``.

It makes a memory, serves it as ``recollect serve`` does, in a process of its own, opens the page in Chromium and types
queries letter by letter. It prints how long it took from a key until its hits were on the screen, as the page itself
measures it, and how much of that was the server's.
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

from benchmarks.serving import fill

READ = """() => performance.getEntriesByName("keystroke").map(({duration, detail}) => ({duration, ...detail}))"""


def main(arguments: Sequence[str] | None = None) -> int:
    reader = argparse.ArgumentParser(prog="scripts/bench keystrokes", description="What typing feels like.")
    reader.add_argument("--notes", type=int, default=10_000)
    reader.add_argument("--queries", type=int, default=20)
    reader.add_argument("--pause", type=int, default=120, metavar="MS", help="between two keys; 120 is a quick typist")
    reader.add_argument("--embedder", default="auto")
    reader.add_argument("--folder", type=Path, help="keep the memory there, and use it again")
    reader.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = reader.parse_args(arguments)
    with TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        queries = fill(folder, given.notes, given.embedder)[: given.queries]
        figures = _measure(folder, queries, given)
    if given.json:
        print(json.dumps(figures, indent=2))
    else:
        for name, figure in figures.items():
            print(f"{name:<34} {figure:>10.1f}")
    return 0


def _measure(folder: Path, queries: list[str], given: argparse.Namespace) -> dict[str, float]:
    options = ["--port", "0", "--db", folder / "memory.db", "--embedder", given.embedder]
    command = [sys.executable, "-m", "recollect", "serve", *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert server.stdout
    try:
        found = re.search(rb" at (http://\S+?),", server.stdout.readline())
        assert found, "the server did not start"
        with launched() as browser:
            page = browser.new_page()
            page.goto(found[1].decode())
            keys = 0
            for query in queries:
                page.fill("#query", "")
                page.type("#query", query, delay=given.pause)
                keys += len(query)
            page.wait_for_timeout(1000)
            strokes = page.evaluate(READ)
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()
    return {
        "keys": float(keys),
        "searches": float(len(strokes)),
        **_spread("ms_from_key_to_screen", [each["duration"] for each in strokes]),
        **_spread("ms_in_the_server", [each["total"] for each in strokes]),
        **_spread("ms_in_the_search", [each["search"] for each in strokes]),
        "share_of_the_server": sum(each["total"] for each in strokes) / sum(each["duration"] for each in strokes),
    }


def _spread(name: str, values: list[float]) -> dict[str, float]:
    cuts = quantiles(values, n=100)
    return {f"{name}_p50": cuts[49], f"{name}_p95": cuts[94]}


if __name__ == "__main__":
    sys.exit(main())
