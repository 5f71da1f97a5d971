"""Runs the benchmarks and prints a table: ``scripts/bench [NAME ...]``; exits 1 if a target is missed."""

from __future__ import annotations

import argparse
import importlib
import json
import sys

BENCHMARKS = ("fusion", "importing", "parsing", "searching", "storing")


def main() -> int:
    """Run the named benchmarks, or all; return the exit code."""
    if sys.argv[1:2] == ["stores"]:  # no peer, but each store beside the others, and options of its own
        stores = importlib.import_module("bench.stores")
        return int(stores.main(sys.argv[2:]))
    reader = argparse.ArgumentParser(prog="scripts/bench", description="Speed as ratios against a peer in one run.")
    reader.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(BENCHMARKS)}; default: all")
    reader.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = reader.parse_args()
    unknown = sorted(set(given.names) - set(BENCHMARKS))
    if unknown:
        reader.error(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")

    rows = []
    for name in given.names or BENCHMARKS:
        for row in importlib.import_module(f"bench.{name}").comparisons():
            rows.append(row)
            if not given.json:
                verdict = "holds" if row.holds else "MISSED"
                print(
                    f"{row.name:<42} {row.ours:>10.1f} {row.unit}   {row.peer:<32} {row.theirs:>10.1f} {row.unit}"
                    f"   ratio {row.ratio:>6.2f}, at most {row.at_most:g}: {verdict}",
                    flush=True,
                )
    if given.json:
        print(
            json.dumps(
                [
                    {
                        "name": row.name,
                        "ours": row.ours,
                        "peer": row.peer,
                        "theirs": row.theirs,
                        "ratio": row.ratio,
                        "unit": row.unit,
                        "at_most": row.at_most,
                        "holds": row.holds,
                    }
                    for row in rows
                ],
                indent=2,
            )
        )
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
