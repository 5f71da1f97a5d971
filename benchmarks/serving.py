"""A server under load, by wrk: ``scripts/bench serving [--seconds 30] [--connections 32] [--notes 10000]``.

It makes a memory, serves it as ``recollect serve`` does, in a process of its own, and lets wrk ask it for a while. It
prints errors, latencies and throughput as wrk sees them, and where the time of a search went as the server sees it: the
share that is neither the model's nor the store's is what the server and the pipeline cost.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import recollect
from benchmarks.pipeline import texts

SCRIPT = """
local queries = {QUERIES}
local place = 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function()
    place = place % #queries + 1
    return wrk.format(nil, nil, nil, '{"query": "' .. queries[place] .. '", "top_k": 10}')
end
done = function(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        '{"requests": %d, "seconds": %.3f, "p50_ms": %.3f, "p95_ms": %.3f, "p99_ms": %.3f, "errors": %d}\\n',
        summary.requests, summary.duration / 1e6, latency:percentile(50) / 1000, latency:percentile(95) / 1000,
        latency:percentile(99) / 1000,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
"""


def main(arguments: Sequence[str] | None = None) -> int:
    reader = argparse.ArgumentParser(prog="scripts/bench serving", description="A server under load.")
    reader.add_argument("--notes", type=int, default=10_000)
    reader.add_argument("--seconds", type=int, default=30)
    reader.add_argument("--connections", type=int, default=32)
    reader.add_argument("--embedder", default="auto")
    reader.add_argument("--folder", type=Path, help="keep the memory there, and use it again")
    reader.add_argument("--searches", type=int, help="how many run at once; by default as the server does")
    reader.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = reader.parse_args(arguments)
    wrk = shutil.which("wrk")
    if wrk is None:
        print("wrk is not installed; on Debian: apt-get install wrk", file=sys.stderr)
        return 2
    with TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        queries = fill(folder, given.notes, given.embedder)
        figures = _measure(wrk, folder, queries, given)
    if given.json:
        print(json.dumps(figures, indent=2))
    else:
        for name, figure in figures.items():
            print(f"{name:<34} {figure:>12.3f}" if isinstance(figure, float) else f"{name:<34} {figure:>12}")
    return 1 if figures["errors"] else 0


def fill(folder: Path, count: int, embedder: str) -> list[str]:
    """Make a memory of so many notes in ``folder``, unless it is there, and return queries for it."""
    notes, queries = texts(count)
    with recollect.open(folder / "memory.db", embedder=embedder) as memory:
        if memory.count() == count:
            return queries
        memory.add_many(
            [
                {"path": f"notes/{place}.md", "content": text, "session": f"s{place // 50}", "position": place % 50}
                for place, text in enumerate(notes)
            ]
        )
    return queries


def _measure(wrk: str, folder: Path, queries: list[str], given: argparse.Namespace) -> dict[str, float | int]:
    script = folder / "ask.lua"
    script.write_text(SCRIPT.replace("QUERIES", ", ".join(json.dumps(query) for query in queries)), encoding="utf-8")
    account = folder / "account.json"
    command = [
        sys.executable,
        "-m",
        "benchmarks.timed_server",
        folder / "memory.db",
        given.embedder,
        str(given.searches or 0),
    ]
    server = subprocess.Popen([*command, account], stdout=subprocess.PIPE)
    assert server.stdout
    try:
        found = re.search(rb" at (http://\S+?),", server.stdout.readline())
        assert found, "the server did not start"
        url = found[1].decode()
        before = _parts(url)
        asked = subprocess.run(
            [
                wrk,
                f"-t{min(2, given.connections)}",
                f"-c{given.connections}",
                f"-d{given.seconds}s",
                "--timeout",
                "60s",
                "-s",
                script,
                f"{url}/v1/search",
            ],
            check=True,
            capture_output=True,
            text=True,
        )
        after = _parts(url)
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()
    told: dict[str, float | int] = json.loads(asked.stdout.strip().splitlines()[-1])
    parts = {name: after[name] - before.get(name, 0.0) for name in after}
    searches = parts.pop("searches")
    waiting = parts.pop("queued")
    busy = sum(parts.values())
    told["searches_per_second"] = told["requests"] / told["seconds"]
    for name, seconds in sorted(parts.items(), key=lambda part: -part[1]):
        told[f"ms_of_a_search_in_{name}"] = 1000 * seconds / searches
    told["ms_waiting_for_a_thread"] = 1000 * waiting / searches
    kept = json.loads(account.read_text(encoding="utf-8"))
    told["ms_of_a_search_in_model_or_store"] = 1000 * kept["inside"] / kept["searches"]
    told["ms_of_a_search_in_neither"] = 1000 * (kept["total"] - kept["inside"] + parts["server"]) / kept["searches"]
    told["share_of_the_server"] = parts["server"] / busy
    told["share_of_neither_model_nor_store"] = 1 - kept["inside"] / (kept["total"] + parts["server"])
    return told


def _parts(url: str) -> dict[str, float]:
    with urllib.request.urlopen(f"{url}/metrics") as answer:  # noqa: S310 (our own server)
        text = answer.read().decode()
    found = {
        name: float(value)
        for name, value in re.findall(r'^recollect_search_seconds_total\{part="(\w+)"\} (\S+)', text, re.MULTILINE)
    }
    counted = re.search(r"^recollect_searches_total (\S+)", text, re.MULTILINE)
    return {**found, "searches": float(counted[1]) if counted else 0.0}


if __name__ == "__main__":
    sys.exit(main())
