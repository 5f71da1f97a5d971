"""The entry point of ``scripts/bench``.

    scripts/bench                      every ratio benchmark
    scripts/bench fusion parsing       these ratio benchmarks
    scripts/bench peers --sizes 10k    one program with its own options

A ratio benchmark compares Recollect with a peer in the same run. The exit code is 1 if a ratio exceeds its target.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module

__all__ = ["PROGRAMS", "RATIOS", "main"]

RATIOS = {
    "fusion": "rank fusion against a plain loop and against ranx",
    "import_time": "importing recollect against starting Python",
    "parsing": "query parsing against str.split and a set look-up",
    "pipeline": "the search pipeline without its legs against FTS5 ranking",
    "storage": "writing, copying and opening a memory against plain SQLite tables",
}
"""Modules with a function ``comparisons``, which yields ratios with their targets."""

PROGRAMS = {
    "peers": "latency, recall, ingest throughput and memory beside other search engines",
    "stores": "the SQLite and PostgreSQL stores on the same notes",
    "checkouts": "the speed of two checkouts in interleaved rounds, with intervals of the ratios",
    "code_metrics": "lines and files of src/recollect, and the files that one search and one add run through",
    "capacity": "tables of the results of `stores`, and a model of their growth",
    "pgvector": "recall and latency of PostgreSQL's vector index",
    "serving": "an HTTP server under load, with wrk",
    "keystrokes": "the latency of search-as-you-type in the web UI",
    "studies.parts": "the default preset without each of its parts",
    "studies.second_stages": "what reorders the best candidates: models, learned weights, feedback",
    "studies.calibration": "the constants of confidence, fitted on judged collections",
    "studies.exact_terms": "how often an exact term finds the only note that contains it",
}
"""Modules that are run as programs with options of their own."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a program, or ratio benchmarks; return the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments and arguments[0] in PROGRAMS:
        name = "peers.command" if arguments[0] == "peers" else arguments[0]
        return int(import_module(f"benchmarks.{name}").main(arguments[1:]))
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=_description(), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="ratio benchmarks, by default all; or one program")
    parser.add_argument("--json", action="store_true", help="print ratios as JSON")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.names) - set(RATIOS)):
        parser.error(f"unknown benchmark: {', '.join(unknown)}; choose from {', '.join([*RATIOS, *PROGRAMS])}")

    rows = []
    for name in options.names or RATIOS:
        for row in import_module(f"benchmarks.{name}").comparisons():
            rows.append(row)
            if not options.json:
                print(row, flush=True)
    if options.json:
        print(json.dumps([asdict(row) | {"ratio": row.ratio, "holds": row.holds} for row in rows], indent=2))
    return 0 if all(row.holds for row in rows) else 1


def _description() -> str:
    lines = ["ratio benchmarks (against a peer in the same run):"]
    lines += [f"  {name:<22} {summary}" for name, summary in RATIOS.items()]
    lines += ["", "programs with options of their own (scripts/bench NAME --help):"]
    lines += [f"  {name:<22} {summary}" for name, summary in PROGRAMS.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
