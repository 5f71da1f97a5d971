"""``recollect bench``: how fast and how exact Recollect is, beside others, on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from recollect.cli import opening, options, terminal
from recollect.errors import ArgumentError
from recollect.progress import Progress, shown_progress

if TYPE_CHECKING:
    from recollect.bench.corpus import Corpus
    from recollect.bench.results import Results

__all__ = ["command"]

_UNITS = {"k": 1000, "m": 1_000_000}
SMALLEST, LARGEST = 100, 100_000_000


def parsed_sizes(_: click.Context | None, param: click.Parameter | None, value: str) -> tuple[int, ...]:
    """Read numbers of notes such as 10k,1m.

    >>> parsed_sizes(None, None, "500, 10k,1M")
    (500, 10000, 1000000)
    """
    sizes = []
    for each in value.split(","):
        told = each.strip().lower()
        factor = _UNITS.get(told[-1:], 1)
        digits = told[:-1] if factor > 1 else told
        if not digits.isdecimal() or not SMALLEST <= int(digits) * factor <= LARGEST:
            raise click.BadParameter(
                f"must be numbers from {SMALLEST} to 100m, such as 10k,100k,1m, got {value!r}", param=param
            )
        sizes.append(int(digits) * factor)
    return tuple(dict.fromkeys(sizes))


@click.command("bench")
@click.option(
    "--sizes",
    callback=parsed_sizes,
    metavar="N,N",
    default="10k",
    show_default=True,
    help="How many notes to generate, such as 10k,100k,1m.",
)
@click.option(
    "--notes",
    type=click.Path(exists=True, file_okay=False),
    metavar="FOLDER",
    default=None,
    help="Take the notes of a folder instead of generated ones.",
)
@click.option(
    "--engine",
    "engines",
    metavar="NAME",
    multiple=True,
    help="Only this engine; can be given several times. All that are installed if none is named.",
)
@click.option(
    "--queries",
    type=click.IntRange(1, 10_000),
    default=400,
    show_default=True,
    metavar="N",
    help="How many queries to ask at most.",
)
@click.option(
    "--seconds",
    type=float,
    default=20.0,
    show_default=True,
    metavar="S",
    help="How long each way of searching may go on; a slow engine is asked less.",
)
@options.seed("Where generating notes and choosing queries begins.")
@click.option(
    "--json",
    "target",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="FILE",
    default=None,
    help="Keep the figures as JSON: what is in the file is not measured again. - prints them instead of the tables.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    default=None,
    help="Write the tables as bench.md and the plots as SVG into this folder.",
)
@click.option("--again", is_flag=True, help="Measure what the file of --json has already, too.")
@click.option(
    "--scratch",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    default=None,
    help="Where corpora and indexes are made, by default a temporary folder; in one of yours, corpora stay.",
)
@options.embedder
@options.quiet
def command(
    *,
    engines: tuple[str, ...],
    target: str | None,
    out: str | None,
    again: bool,
    seconds: float,
    scratch: str | None,
    quiet: bool,
    **asked: Any,
) -> None:
    """Measure Recollect and other engines on the same notes.

    Each engine takes in the same notes and answers the same queries in processes of its own, one engine after the
    other; what it finds is held against what exact search finds. The other engines come with
    pip install 'recollect[bench]'; those that are missing are named and left out.
    """
    from recollect import arguments  # noqa: PLC0415 (brings regex)
    from recollect.bench.results import Results, read_results  # noqa: PLC0415 (brings numpy)
    from recollect.bench.running import Settings, run  # noqa: PLC0415 (as above)

    sizes_from = click.get_current_context().get_parameter_source("sizes")
    if asked["notes"] is not None and sizes_from is ParameterSource.COMMANDLINE:
        raise ArgumentError("--sizes", "is for generated notes; leave it out, or --notes")
    if arguments.number("--seconds", seconds) <= 0:
        raise ArgumentError("--seconds", f"must be more than 0, got {seconds:g}")
    path = None if target in (None, "-") else Path(str(target))
    if path is not None and not path.parent.is_dir():
        raise ArgumentError("--json", f"must be in a folder that is there, got {target!r}")
    if out is not None:
        _make_folder(Path(out))
    chosen = _installed(engines)
    results = Results() if path is None else read_results(path)
    with ExitStack() as stack:
        place = Path(scratch or stack.enter_context(TemporaryDirectory(prefix="recollect-bench-")))
        place.mkdir(parents=True, exist_ok=True)
        progress = stack.enter_context(nullcontext(opening.no_progress) if quiet else shown_progress("Measuring"))
        run(
            _corpora(place, progress, **asked),
            Settings(chosen, seconds, place, again),
            results,
            progress=progress,
            measured=lambda told: told.save(path) if path else None,
            failed=terminal.warn,
        )
    _show(results, target, out)


def _make_folder(path: Path) -> None:
    """Make the folder of ``--out`` before anything is measured that could not be written there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError("--out", f"must be a folder that can be made: {error}") from None


def _installed(names: Sequence[str]) -> list[str]:
    """Return the engines that can be measured; one that was asked for by name must be there."""
    from recollect.bench.engines import ENGINES, why_missing  # noqa: PLC0415 (brings numpy)

    missing = {name: why_missing(name) for name in names or ENGINES}
    for name, problem in missing.items():
        if problem and names:
            raise ArgumentError("--engine", f"{name} cannot be measured: {problem}")
        if problem:
            terminal.warn(f"{name} is left out: {problem}")
    return [name for name, problem in missing.items() if not problem]


def _corpora(
    scratch: Path,
    progress: Progress,
    *,
    sizes: Sequence[int],
    notes: str | None,
    queries: int,
    seed: int,
    embedder: str,
) -> list[Callable[[], Corpus]]:
    """Return what makes each corpus when its turn comes."""
    from recollect.bench.corpus import generated_corpus  # noqa: PLC0415 (brings numpy)
    from recollect.bench.own_notes import corpus_of_folder  # noqa: PLC0415 (as above)

    told: dict[str, Any] = {"questions": queries, "seed": seed, "progress": progress}
    if notes is None:
        return [partial(generated_corpus, scratch, size, **told) for size in sizes]
    return [partial(corpus_of_folder, scratch, Path(notes), embedder=embedder, **told)]


def _show(results: Results, target: str | None, out: str | None) -> None:
    """Print the figures, and write what was asked for."""
    from recollect.bench.plot import PLOTS, latency_plot, lines_of  # noqa: PLC0415 (brings numpy)
    from recollect.bench.table import markdown  # noqa: PLC0415 (as above)

    tables = markdown(results)
    if out is not None:
        folder = Path(out)
        (folder / "bench.md").write_text(tables, encoding="utf-8")
        for name, title in PLOTS.items():
            if lines := lines_of(results, name):
                (folder / f"bench-{name}.svg").write_text(latency_plot(title, lines), encoding="utf-8")
    if target == "-":
        terminal.print_json(results.to_dict())
    else:
        click.echo(tables, nl=False)
