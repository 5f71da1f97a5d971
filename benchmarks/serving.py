"""``scripts/bench serving``: an HTTP server under load, with wrk.

Serves a generated memory in a separate process, as ``recollect serve`` does, and runs wrk against it. Prints errors,
latencies and throughput as wrk reports them, and how the time of a search on the server divides into parts. Time spent
neither in the model nor in the store is the cost of the server and the search pipeline.
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

WRK_SCRIPT = """
local queries = {QUERIES}
local index = 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function()
    index = index % #queries + 1
    return wrk.format(nil, nil, nil, '{"query": "' .. queries[index] .. '", "top_k": 10}')
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
    """Measure and print; return 1 if a request failed."""
    parser = argparse.ArgumentParser(prog="scripts/bench serving", description="An HTTP server under load.")
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--embedder", default="auto")
    parser.add_argument("--folder", type=Path, help="keep the memory in this folder for later runs")
    parser.add_argument("--searches", type=int, help="concurrent searches; default: the server's setting")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    wrk = shutil.which("wrk")
    if wrk is None:
        print("wrk is not installed; on Debian: apt-get install wrk", file=sys.stderr)
        return 2
    with TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        queries = create_memory(folder, options.notes, options.embedder)
        metrics = _measure(wrk, folder, queries, options)
    if options.json:
        print(json.dumps(metrics, indent=2))
    else:
        for name, value in metrics.items():
            print(f"{name:<34} {value:>12.3f}" if isinstance(value, float) else f"{name:<34} {value:>12}")
    return 1 if metrics["errors"] else 0


def create_memory(folder: Path, count: int, embedder: str) -> list[str]:
    """Create a memory of ``count`` notes in ``folder`` unless it exists; return queries for it."""
    notes, queries = texts(count)
    with recollect.open(folder / "memory.db", embedder=embedder) as memory:
        if memory.count() == count:
            return queries
        memory.add_many(
            [
                {"path": f"notes/{number}.md", "content": text, "session": f"s{number // 50}", "position": number % 50}
                for number, text in enumerate(notes)
            ]
        )
    return queries


def _measure(wrk: str, folder: Path, queries: list[str], options: argparse.Namespace) -> dict[str, float | int]:
    script = folder / "search.lua"
    script.write_text(
        WRK_SCRIPT.replace("QUERIES", ", ".join(json.dumps(query) for query in queries)), encoding="utf-8"
    )
    timings_file = folder / "timings.json"
    command = [
        sys.executable,
        "-m",
        "benchmarks.timed_server",
        folder / "memory.db",
        options.embedder,
        str(options.searches or 0),
    ]
    server = subprocess.Popen([*command, timings_file], stdout=subprocess.PIPE)
    assert server.stdout
    try:
        match = re.search(rb" at (http://\S+?),", server.stdout.readline())
        assert match, "the server did not start"
        url = match[1].decode()
        before = _search_seconds(url)
        done = subprocess.run(
            [
                wrk,
                f"-t{min(2, options.connections)}",
                f"-c{options.connections}",
                f"-d{options.seconds}s",
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
        after = _search_seconds(url)
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()
    metrics: dict[str, float | int] = json.loads(done.stdout.strip().splitlines()[-1])
    seconds_by_part = {name: after[name] - before.get(name, 0.0) for name in after}
    searches = seconds_by_part.pop("searches")
    queued = seconds_by_part.pop("queued")
    busy = sum(seconds_by_part.values())
    metrics["searches_per_second"] = metrics["requests"] / metrics["seconds"]
    for name, seconds in sorted(seconds_by_part.items(), key=lambda part: -part[1]):
        metrics[f"ms_of_a_search_in_{name}"] = 1000 * seconds / searches
    metrics["ms_waiting_for_a_thread"] = 1000 * queued / searches
    timings = json.loads(timings_file.read_text(encoding="utf-8"))
    total = timings["total"] + seconds_by_part["server"]
    model_or_store = timings["model_or_store"]
    metrics["ms_of_a_search_in_model_or_store"] = 1000 * model_or_store / timings["searches"]
    metrics["ms_of_a_search_in_neither"] = 1000 * (total - model_or_store) / timings["searches"]
    metrics["share_of_the_server"] = seconds_by_part["server"] / busy
    metrics["share_of_neither_model_nor_store"] = 1 - model_or_store / total
    return metrics


def _search_seconds(url: str) -> dict[str, float]:
    """Return the seconds that the server has spent in each part of searches, and as ``searches`` their number."""
    with urllib.request.urlopen(f"{url}/metrics") as response:  # noqa: S310 (our own server)
        text = response.read().decode()
    parts = {
        name: float(value)
        for name, value in re.findall(r'^recollect_search_seconds_total\{part="(\w+)"\} (\S+)', text, re.MULTILINE)
    }
    searches = re.search(r"^recollect_searches_total (\S+)", text, re.MULTILINE)
    return {**parts, "searches": float(searches[1]) if searches else 0.0}


if __name__ == "__main__":
    sys.exit(main())
