"""``recollect demo``: a short tour of searches over a year of somebody's notes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from recollect.cli import asking, opening, options, search, terminal
from recollect.stores import redact_secrets

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.memory import Memory
    from recollect.retrieval import SearchResult

__all__ = ["TOUR", "command"]


@dataclass(frozen=True, slots=True)
class Stop:
    """A search worth seeing: the arguments of ``recollect search``, and what it shows.

    An empty ``why`` is the one that the sample gives for its query.
    """

    arguments: tuple[str, ...]
    why: str = ""


TOUR = (
    Stop(("ERR_4021",)),
    Stop(("--mode", "bm25", '"measure the reveal"')),
    Stop(("deploy NOT friday",)),
    Stop(("postgre*",)),
    Stop(("which medicine is dangerous for my daughter?",)),
    Stop(("why did the checksum fail on B-17 and B-22?",)),
    Stop(
        ("--tag", "preference", "what does Maren drink in the morning?"),
        "With a tag, her own preferences alone: the tea that she drinks now comes first.",
    ),
    Stop(
        ("--since", "2026-03-01", "--path", "people/", "Mum's phone number"),
        "From March on, in one folder: the new number without the one that it replaced.",
    ),
)
EXPLAINED = Stop(("can Mum manage the stairs at the inn in Kanazawa?",))
SHOWN = 3
WIDTH = 100


@click.command("demo")
@click.argument("query", nargs=-1)
@click.option(
    "--db",
    type=click.Path(dir_okay=False),
    metavar="PATH",
    default=None,
    help="Keep the sample memory in this file; without it, it lives for as long as the tour.",
)
@click.option("--keep", is_flag=True, help="Keep the temporary file, and say where it is.")
@options.embedder
@options.as_json
@options.quiet
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    query: tuple[str, ...],
    db: str | None,
    keep: bool,
    embedder: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Take a tour of searches over a sample memory.

    It holds a year of a data engineer's life and work. With QUERY, search the sample for that instead; its
    words are one query, as for search.
    """
    with _home(db, keep=keep) as path, opening.open_or_create(path, embedder) as memory:
        seconds = _fill(memory, path, quiet=quiet)
        stops = (_asked(" ".join(query)),) if query else TOUR
        if as_json:
            terminal.print_json([_told(memory, path, stop) for stop in stops])
            return
        console = terminal.console()
        if not quiet:
            _draw_opening(console, memory, seconds)
        if query:
            found = _draw_search(console, memory, path, stops[0], show_weak=False)
        else:
            _draw_tour(console, memory, path)
            found = True
        if not quiet:
            _draw_next(console, path if db or keep else "")
    if not found:
        context.exit(1)


@contextmanager
def _home(db: str | None, *, keep: bool) -> Iterator[str]:
    """Give the path of the sample memory, which goes when the tour ends unless it was named or is to be kept."""
    if db is not None:
        yield db
    elif keep:
        yield str(Path(mkdtemp(prefix="recollect-demo-"), "demo.db"))
    else:
        with TemporaryDirectory(prefix="recollect-demo-") as folder:
            yield str(Path(folder, "demo.db"))


def _fill(memory: Memory, path: str, *, quiet: bool) -> float:
    """Store the sample, unless it is there; return how long that took. A memory of other notes is left alone."""
    from recollect.progress import shown_progress  # noqa: PLC0415 (like all of the library)
    from recollect.sample import sample_notes  # noqa: PLC0415 (brings the library)

    notes = list(sample_notes())
    if any(memory.stats().store.notes.values()) and memory.get(notes[0]["path"]) is None:
        raise click.UsageError(f"{redact_secrets(path)} holds other notes; choose a new file for the sample")
    started = perf_counter()
    if quiet:
        memory.add_many(notes)
    else:
        with shown_progress("Remembering a year") as told:
            memory.add_many(notes, progress=told)
    return perf_counter() - started


def _asked(query: str) -> Stop:
    return Stop(("--", query) if query.startswith("-") else (query,))


def _find(memory: Memory, path: str, stop: Stop) -> SearchResult:
    """Search with the arguments of the stop, read as ``recollect search`` reads them."""
    arguments = ["--top-k", str(SHOWN), "--db", path, *stop.arguments]
    with search.command.make_context("search", arguments) as context:
        return asking.find(memory, context.params)


def _why(stop: Stop) -> str:
    from recollect.sample import sample_queries  # noqa: PLC0415 (like all of the library)

    known = {each["query"]: each["why"] for each in sample_queries()}
    return stop.why or known.get(stop.arguments[-1], "")


def _told(memory: Memory, path: str, stop: Stop) -> dict[str, Any]:
    return {"arguments": list(stop.arguments), "why": _why(stop), **_find(memory, path, stop).to_dict()}


def _draw_opening(console: Console, memory: Memory, seconds: float) -> None:
    from rich.text import Text  # noqa: PLC0415 (heavy, as all of rich)

    stats = memory.stats()
    count = sum(stats.store.notes.values())
    console.print(Text.assemble(("Recollect", "bold cyan"), (" · a year of Maren Oduya's life and work", "bold")))
    facts = f"{count} notes, {stats.store.links} links, {sum(stats.store.vectors.values())} vectors, "
    console.print(Text(f"{facts}ready in {seconds:.1f} s", "dim"))
    console.print(Text(f"embedder: {terminal.line(stats.embedder)}", "dim"))
    console.print()


def _draw_tour(console: Console, memory: Memory, path: str) -> None:
    for stop in TOUR:
        _draw_search(console, memory, path, stop)
    _draw_heading(console, EXPLAINED, "Every result can say why it stands where it stands.", "explain")
    from recollect.cli import drawing  # noqa: PLC0415 (heavy, as all of rich)

    drawing.draw_explanation(console, _find(memory, path, EXPLAINED), limit=SHOWN)
    console.print()


def _draw_search(console: Console, memory: Memory, path: str, stop: Stop, *, show_weak: bool = True) -> bool:
    """Draw what a search shows, how it is asked for, and its first hits; return whether there is an answer.

    The tour shows weak candidates, too: without a model some of its searches find no better ones.
    """
    from recollect.cli import drawing  # noqa: PLC0415 (heavy, as all of rich)

    _draw_heading(console, stop, _why(stop))
    result = _find(memory, path, stop)
    for warning in result.warnings:
        terminal.warn(warning)
    drawing.draw_exclusion(result)
    drawing.draw_retry(result)
    if result.has_answer or show_weak:
        drawing.draw_hits(console, result.hits if show_weak else result.strong_hits, weak=result.weak_hits)
    if not (result and show_weak):
        search.say_if_nothing_fits(result, shown=show_weak)
    return result.has_answer


def _draw_heading(console: Console, stop: Stop, why: str, command: str = "search") -> None:
    from rich.text import Text  # noqa: PLC0415 (heavy, as all of rich)

    console.print(Text("─" * min(console.width, WIDTH), "dim"))
    if why:
        console.print(Text(why, "bold"))
    asked = shlex.join(["recollect", command, *stop.arguments])
    console.print(Text.assemble(("$ ", "dim"), (terminal.line(asked), "green")))
    console.print()


def _draw_next(console: Console, path: str) -> None:
    from rich.text import Text  # noqa: PLC0415 (heavy, as all of rich)

    kept = shlex.quote(redact_secrets(path) or "demo.db")
    lines = [] if path else [("recollect demo --db demo.db", "keep the sample to play with")]
    lines += [
        (f"recollect explain --db {kept} 'does Maren like coriander?'", "and see why"),
        (f"recollect compare --db {kept} 'what does Maren drink?'", "see where presets differ"),
        (f"recollect serve --db {kept}", "see both in a browser, at http://127.0.0.1:7700"),
        ("recollect add 'Prefers green tea.' --path memory/tea.md", "begin a memory of your own"),
        ("recollect ingest ~/notes", "or fill it from a folder"),
    ]
    console.print(Text("─" * min(console.width, WIDTH), "dim"))
    console.print(Text("What to type next", "bold"))
    widest = max(len(typed) for typed, _ in lines)
    for typed, what in lines:
        console.print(Text.assemble(("$ ", "dim"), (f"{typed:<{widest}}", "green"), (f"  {what}", "dim")))
