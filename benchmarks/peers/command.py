"""``scripts/bench peers``: measure Recollect and other engines on the same notes.

Every engine ingests the same notes and answers the same queries, in separate processes, one engine after another. Its
results are compared with the results of exact search. Engines whose packages are not installed are skipped, with a
message.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.peers.corpus import Corpus, folder_corpus, generated_corpus
from benchmarks.peers.engines import ENGINES, unavailable_reason
from benchmarks.peers.report import PLOTS, Results, engine_lines, latency_plot, markdown, read_results
from benchmarks.peers.runner import Settings, run
from recollect.errors import ArgumentError, RecollectError
from recollect.progress import Progress, shown_progress

__all__ = ["main"]

UNITS = {"k": 1000, "m": 1_000_000}
MIN_NOTES, MAX_NOTES = 100, 100_000_000


def parse_sizes(text: str) -> tuple[int, ...]:
    """Parse a list of numbers of notes; ``k`` stands for thousand, ``m`` for million.

    >>> parse_sizes("500, 10k,1M")
    (500, 10000, 1000000)
    """
    sizes = []
    for part in text.lower().split(","):
        digits = part.strip()
        factor = UNITS.get(digits[-1:], 1)
        digits = digits[:-1] if factor > 1 else digits
        if not digits.isdecimal() or not MIN_NOTES <= int(digits) * factor <= MAX_NOTES:
            raise argparse.ArgumentTypeError(
                f"must be numbers from {MIN_NOTES} to 100m, such as 10k,100k,1m, got {text!r}"
            )
        sizes.append(int(digits) * factor)
    return tuple(dict.fromkeys(sizes))


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be more than 0, got {text}")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/bench peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    notes = parser.add_mutually_exclusive_group()
    notes.add_argument("--sizes", type=parse_sizes, default="10k", metavar="N,N", help="generated notes (default: 10k)")
    notes.add_argument("--notes", type=Path, metavar="FOLDER", help="use the notes of a folder instead")
    parser.add_argument("--engine", dest="engines", action="append", choices=list(ENGINES), help="repeatable")
    parser.add_argument(
        "--queries", type=int, default=400, metavar="N", help="the maximum number of queries (default: 400)"
    )
    parser.add_argument("--seconds", type=_positive, default=20.0, metavar="S", help="time limit of each search mode")
    parser.add_argument("--seed", type=int, default=0, help="seed of generated notes and queries")
    parser.add_argument("--json", type=Path, metavar="FILE", help="file of results; what it has is not measured again")
    parser.add_argument("--again", action="store_true", help="measure everything again")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write bench.md and SVG plots into this folder")
    parser.add_argument("--scratch", type=Path, metavar="FOLDER", help="folder for corpora, which stay, and indexes")
    parser.add_argument("--embedder", default="auto", help="the model for --notes")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print tables, write the files that the options name; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        results = _measure(options)
    except ArgumentError as error:
        print(error, file=sys.stderr)
        return 2
    except RecollectError as error:
        print(error, file=sys.stderr)
        return 1
    tables = markdown(results)
    print(tables, end="")
    if options.out is not None:
        (options.out / "bench.md").write_text(tables, encoding="utf-8")
        for name, title in PLOTS.items():
            if lines := engine_lines(results, name):
                (options.out / f"bench-{name}.svg").write_text(latency_plot(title, lines), encoding="utf-8")
    return 0


def _measure(options: argparse.Namespace) -> Results:
    # Fail before measuring if the results could not be written.
    if options.json is not None and not options.json.parent.is_dir():
        raise ArgumentError("--json", f"must be in an existing folder, got {options.json}")
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
    results = Results() if options.json is None else read_results(options.json)
    with ExitStack() as stack:
        scratch = options.scratch or Path(stack.enter_context(TemporaryDirectory(prefix="recollect-bench-")))
        scratch.mkdir(parents=True, exist_ok=True)
        progress = stack.enter_context(shown_progress("Measuring"))
        run(
            _corpora(scratch, progress, options),
            Settings(_installed(options.engines), options.seconds, scratch, options.again),
            results,
            progress=progress,
            on_result=lambda latest: latest.save(options.json) if options.json else None,
            on_failure=lambda message: print(message, file=sys.stderr),
        )
    return results


def _installed(names: Sequence[str] | None) -> list[str]:
    """Return the installed engines; raise ``ArgumentError`` for an engine in ``names`` that is not installed."""
    problems = {name: unavailable_reason(name) for name in names or ENGINES}
    for name, problem in problems.items():
        if problem and names:
            raise ArgumentError("--engine", f"{name} cannot be measured: {problem}")
        if problem:
            print(f"skipping {name}: {problem}", file=sys.stderr)
    return [name for name, problem in problems.items() if not problem]


def _corpora(scratch: Path, progress: Progress, options: argparse.Namespace) -> list[Callable[[], Corpus]]:
    """Return a function for each corpus, which builds the corpus when it is needed."""
    common: dict[str, Any] = {"queries": options.queries, "seed": options.seed, "progress": progress}
    if options.notes is None:
        return [partial(generated_corpus, scratch, size, **common) for size in options.sizes]
    if not options.notes.is_dir():
        raise ArgumentError("--notes", f"must be a folder, got {options.notes}")
    return [partial(folder_corpus, scratch, options.notes, embedder=options.embedder, **common)]


if __name__ == "__main__":
    sys.exit(main())
