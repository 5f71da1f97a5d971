"""``recollect demo``: a tour of searches over a year of sample notes."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from recollect.cli import memories, options, terminal
from recollect.cli.search import print_if_no_answer, run_search, search
from recollect.stores import redact_secrets

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.memory import Memory
    from recollect.retrieval import SearchResult


class Example(NamedTuple):
    """The arguments of ``recollect search`` and what they show; by default what the sample says about the query."""

    arguments: tuple[str, ...]
    why: str = ""


TOUR = (
    Example(("ERR_4021",)),
    Example(("--mode", "bm25", '"measure the reveal"')),
    Example(("deploy NOT friday",)),
    Example(("postgre*",)),
    Example(("which medicine is dangerous for my daughter?",)),
    Example(("why did the checksum fail on B-17 and B-22?",)),
    Example(
        ("--tag", "preference", "what does Maren drink in the morning?"),
        "With a tag, only her preferences: the tea that she drinks now is first.",
    ),
    Example(
        ("--since", "2026-03-01", "--path", "people/", "Mum's phone number"),
        "From March on, in one folder: the new number without the one that it replaced.",
    ),
)
EXPLAINED = Example(("can Mum manage the stairs at the inn in Kanazawa?",), "Every result can explain its rank.")
HITS = 3
RULE_WIDTH = 100


@click.command()
@click.argument("query", nargs=-1)
@click.option(
    "--db",
    type=click.Path(dir_okay=False),
    metavar="PATH",
    help="Keep the sample memory in this file; by default it is temporary.",
)
@options.embedder
@options.as_json
@options.quiet
@click.pass_context
def demo(context: click.Context, /, *, query: tuple[str, ...], db: str | None, embedder: str, as_json: bool) -> None:
    """Show searches over a sample memory.

    The sample is a year of a data engineer's life and work. With QUERY, search the sample for it instead; its words
    are one query, as for search.
    """
    with ExitStack() as stack:
        folder = "" if db else stack.enter_context(TemporaryDirectory(prefix="recollect-demo-"))
        path = db or str(Path(folder, "demo.db"))
        memory = stack.enter_context(memories.open_or_create(path, embedder))
        seconds = _fill(memory, path)
        examples = (Example(("--", " ".join(query))),) if query else TOUR
        if as_json:
            results = [(example, _run(memory, path, example)) for example in examples]
            terminal.print_json(
                [{"arguments": [*item.arguments], "why": _why(item), **result.to_dict()} for item, result in results]
            )
            return
        console = terminal.console()
        if not terminal.is_quiet():
            stats = memory.stats()
            notes, vectors = sum(stats.store.notes.values()), sum(stats.store.vectors.values())
            counts = f"{notes} notes, {stats.store.links} links, {vectors} vectors"
            _print(console, ("Recollect", "bold cyan"), (" · a year of Maren Oduya's life and work", "bold"))
            _print(console, (f"{counts}, ready in {seconds:.1f} s", "dim"))
            _print(console, (f"embedder: {terminal.sanitise_line(stats.embedder)}\n", "dim"))
        answered = [_print_example(console, memory, path, example, tour=not query) for example in examples]
        if not query:
            _print_explained(console, memory, path)
        if not terminal.is_quiet():
            _print_next_steps(console, db or "")
    if query and not any(answered):
        context.exit(1)


def _fill(memory: Memory, path: str) -> float:
    """Store the sample unless it is there; return the seconds. A memory of other notes is not changed."""
    from recollect.sample import sample_notes  # noqa: PLC0415 (part of the library)

    notes = list(sample_notes())
    if any(memory.stats().store.notes.values()) and memory.get(notes[0]["path"]) is None:
        raise click.UsageError(f"{redact_secrets(path)} contains other notes; choose a new file for the sample")
    started = perf_counter()
    with memories.progress_bar("Storing the sample") as progress:
        memory.add_many(notes, progress=progress)
    return perf_counter() - started


def _run(memory: Memory, path: str, example: Example) -> SearchResult:
    """Search with the arguments of an example, as ``recollect search`` parses them."""
    arguments = ["--top-k", str(HITS), "--db", path, *example.arguments]
    with search.make_context("search", arguments) as context:
        return run_search(memory, context.params)


def _why(example: Example) -> str:
    from recollect.sample import sample_queries  # noqa: PLC0415 (part of the library)

    by_query: dict[str, str] = {query["query"]: query["why"] for query in sample_queries()}
    return example.why or by_query.get(example.arguments[-1], "")


def _print(console: Console, *parts: Any) -> None:
    from rich.text import Text  # noqa: PLC0415 (heavy)

    console.print(Text.assemble(*parts))


def _print_example(console: Console, memory: Memory, path: str, example: Example, *, tour: bool) -> bool:
    """Print an example with its first hits; return whether there is an answer.

    The tour also shows weak candidates: without a model, some of its searches find nothing better.
    """
    from recollect.cli import tables  # noqa: PLC0415 (imports rich)

    _print_heading(console, "search", example)
    result = _run(memory, path, example)
    for warning in result.warnings:
        terminal.warn(warning)
    tables.print_exclusion(result)
    tables.print_fallback(result)
    if result.has_answer or tour:
        tables.print_hits(console, result.hits if tour else result.strong_hits, weak=result.weak_hits)
    if not (result and tour):
        print_if_no_answer(result, weak_shown=tour)
    return result.has_answer


def _print_explained(console: Console, memory: Memory, path: str) -> None:
    from recollect.cli import tables  # noqa: PLC0415 (imports rich)

    _print_heading(console, "explain", EXPLAINED)
    tables.print_explanation(console, _run(memory, path, EXPLAINED), limit=HITS)
    console.print()


def _print_heading(console: Console, command: str, example: Example) -> None:
    _print(console, ("─" * min(console.width, RULE_WIDTH), "dim"))
    if why := _why(example):
        _print(console, (why, "bold"))
    words = example.arguments
    words = words[1:] if words[0] == "--" and not words[1].startswith("-") else words
    _print(console, ("$ ", "dim"), (terminal.sanitise_line(shlex.join(["recollect", command, *words])), "green"))
    console.print()


def _print_next_steps(console: Console, path: str) -> None:
    db = shlex.quote(redact_secrets(path) or "demo.db")
    steps = [] if path else [("recollect demo --db demo.db", "keep the sample")]
    steps += [
        (f"recollect explain --db {db} 'does Maren like coriander?'", "explain a ranking"),
        (f"recollect compare --db {db} 'what does Maren drink?'", "compare presets"),
        (f"recollect serve --db {db}", "open the web UI at http://127.0.0.1:7700"),
        ("recollect add 'Prefers green tea.' --path memory/tea.md", "start your own memory"),
        ("recollect ingest ~/notes", "or ingest a folder"),
    ]
    _print(console, ("─" * min(console.width, RULE_WIDTH), "dim"))
    _print(console, ("Next steps", "bold"))
    width = max(len(command) for command, _ in steps)
    for command, purpose in steps:
        _print(console, ("$ ", "dim"), (f"{command:<{width}}", "green"), (f"  {purpose}", "dim"))
