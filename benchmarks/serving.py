"""``scripts/bench serving``: an HTTP server under load, with wrk.

Serves a generated memory in a process of its own, as ``recollect serve`` does, and runs wrk against it. Prints errors,
latencies and throughput of wrk, and the parts of a search's time on the server: what is neither the model's nor the
store's is the cost of the server and the pipeline.
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
    parser = argparse.ArgumentParser(prog="scripts/bench serving", description="A server under load.")
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--embedder", default="auto")
    parser.add_argument("--folder", type=Path, help="keep the memory in this folder for later runs")
    parser.add_argument("--searches", type=int, help="concurrent searches; by default the server's")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    wrk = shutil.which("wrk")
    if wrk is None:
        print("wrk is not installed; on Debian: apt-get install wrk", file=sys.stderr)
        return 2
    with TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        queries = fill(folder, options.notes, options.embedder)
        metrics = _measure(wrk, folder, queries, options)
    if options.json:
        print(json.dumps(metrics, indent=2))
    else:
        for name, value in metrics.items():
            print(f"{name:<34} {value:>12.3f}" if isinstance(value, float) else f"{name:<34} {value:>12}")
    return 1 if metrics["errors"] else 0


def fill(folder: Path, count: int, embedder: str) -> list[str]:
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
    script = folder / "ask.lua"
    script.write_text(SCRIPT.replace("QUERIES", ", ".join(json.dumps(query) for query in queries)), encoding="utf-8")
    account = folder / "account.json"
    command = [
        sys.executable,
        "-m",
        "benchmarks.timed_server",
        folder / "memory.db",
        options.embedder,
        str(options.searches or 0),
    ]
    server = subprocess.Popen([*command, account], stdout=subprocess.PIPE)
    assert server.stdout
    try:
        match = re.search(rb" at (http://\S+?),", server.stdout.readline())
        assert match, "the server did not start"
        url = match[1].decode()
        before = _parts(url)
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
        after = _parts(url)
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()
    metrics: dict[str, float | int] = json.loads(done.stdout.strip().splitlines()[-1])
    parts = {name: after[name] - before.get(name, 0.0) for name in after}
    searches = parts.pop("searches")
    queued = parts.pop("queued")
    busy = sum(parts.values())
    metrics["searches_per_second"] = metrics["requests"] / metrics["seconds"]
    for name, seconds in sorted(parts.items(), key=lambda part: -part[1]):
        metrics[f"ms_of_a_search_in_{name}"] = 1000 * seconds / searches
    metrics["ms_waiting_for_a_thread"] = 1000 * queued / searches
    timings = json.loads(account.read_text(encoding="utf-8"))
    metrics["ms_of_a_search_in_model_or_store"] = 1000 * timings["inside"] / timings["searches"]
    metrics["ms_of_a_search_in_neither"] = (
        1000 * (timings["total"] - timings["inside"] + parts["server"]) / timings["searches"]
    )
    metrics["share_of_the_server"] = parts["server"] / busy
    metrics["share_of_neither_model_nor_store"] = 1 - timings["inside"] / (timings["total"] + parts["server"])
    return metrics


def _parts(url: str) -> dict[str, float]:
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
