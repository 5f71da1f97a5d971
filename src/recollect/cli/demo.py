"""``recollect demo``: store the sample notes in a memory and show example searches."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from recollect.cli import memories, options, terminal
from recollect.cli.search import print_result, run_search, search
from recollect.stores import redact_secrets

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.retrieval import SearchResult

EXAMPLES = (
    (("ERR_4021",), "An exact error code finds its whole story: first sighting, wrong theory, real cause."),
    (("--mode", "bm25", '"measure the reveal"'), "A quoted phrase must be in the text word for word."),
    (("deploy NOT friday",), "Exclusion drops the old rule and the incident, and leaves the current rule."),
    (("postgre*",), "A prefix matches every spelling of the database's name."),
    (
        ("which medicine is dangerous for my daughter?",),
        "The answer says amoxicillin, hives and Liv, and shares no content word with the question.",
    ),
    (
        ("--tag", "preference", "what does Maren drink in the morning?"),
        "The tag limits the search to her preferences: the tea that she drinks now is first.",
    ),
    (
        ("--since", "2026-03-01", "--path", "people/", "Mum's phone number"),
        "In one folder, from March on, the search finds the new number, but not the one that it replaced.",
    ),
)
"""The example searches: arguments of ``recollect search``, and a sentence on what the results show."""
EXPLAIN_ARGUMENTS = ("can Mum manage the stairs at the inn in Kanazawa?",)
NEXT_STEPS = (  # {} is the path of the memory
    "recollect demo --db {}    # keep the sample",
    "recollect explain --db {} 'does Maren like coriander?'",
    "recollect serve --db {}   # open the web UI at http://127.0.0.1:7700",
    "recollect add 'Prefers green tea.' --path memory/tea.md    # start your own memory",
    "recollect ingest ~/notes    # or ingest a folder",
)
HITS_PER_SEARCH = 3
SEPARATOR = "─" * 72


@click.command()
@click.argument("query", nargs=-1)
@click.option(
    "--db",
    type=click.Path(dir_okay=False),
    metavar="PATH",
    help="Keep the sample memory in this file; by default, it is deleted at the end.",
)
@options.embedder
@options.as_json
@options.quiet
@click.pass_context
def demo(context: click.Context, /, *, query: tuple[str, ...], db: str | None, embedder: str, as_json: bool) -> None:
    """Show searches over a sample memory.

    The sample is a year of a data engineer's life and work. With QUERY, this search replaces the examples; the words
    of QUERY are one query, as for recollect search.
    """
    from recollect.cli import tables  # noqa: PLC0415 (imports rich)

    query_text = " ".join(query)
    query_arguments = ("--", query_text) if query_text.startswith("-") else (query_text,)
    with ExitStack() as stack:
        path = db or str(Path(stack.enter_context(TemporaryDirectory(prefix="recollect-demo-")), "demo.db"))
        memory = stack.enter_context(memories.open_or_create(path, embedder))
        _store_sample(memory, path)
        examples = ((query_arguments, ""),) if query else EXAMPLES
        if as_json:
            data = [
                {"arguments": arguments, "why": caption, **_search(memory, path, arguments).to_dict()}
                for arguments, caption in examples
            ]
            terminal.print_json(data)
            return
        if not terminal.is_quiet():
            store = memory.stats().store
            notes, vectors = sum(store.notes.values()), sum(store.vectors.values())
            click.echo(terminal.style("Recollect · a year of Maren Oduya's life and work", bold=True))
            click.echo(f"{notes} notes, {store.links} links, {vectors} vectors\n")
        has_answer = True
        for arguments, caption in examples:
            _print_heading("search", arguments, caption)
            result = _search(memory, path, arguments)
            for warning in result.warnings:
                terminal.warn(warning)
            print_result(result, show_weak=not query)  # an example shows its hits even if they are weak
            has_answer = result.has_answer  # needed only with QUERY, when this is the only search
            click.echo()
        if not query:
            _print_heading("explain", EXPLAIN_ARGUMENTS, "Every result can explain its rank.")
            result = _search(memory, path, EXPLAIN_ARGUMENTS)
            tables.print_explanation(terminal.console(), result, limit=HITS_PER_SEARCH)
        if not terminal.is_quiet():
            shown_path = shlex.quote(redact_secrets(db or "demo.db"))
            click.echo(terminal.style(f"{SEPARATOR}\nNext steps", bold=True))
            for step in NEXT_STEPS[1:] if db else NEXT_STEPS:  # the first step advises to pass --db
                click.echo(f"$ {step.format(shown_path)}")
    if query and not has_answer:
        context.exit(1)


def _store_sample(memory: Memory, path: str) -> None:
    """Store the sample in the memory; raise a usage error if the memory has notes, but not the first sample note."""
    from recollect.sample import sample_notes  # noqa: PLC0415 (part of the library)

    notes = list(sample_notes())
    if any(memory.stats().store.notes.values()) and memory.get(notes[0]["path"]) is None:
        raise click.UsageError(f"{redact_secrets(path)} contains other notes; choose a new file for the sample")
    with memories.progress_bar("Storing the sample") as progress:
        memory.add_many(notes, progress=progress)


def _search(memory: Memory, path: str, arguments: tuple[str, ...]) -> SearchResult:
    """Parse ``arguments`` as ``recollect search`` does, and search with them."""
    with search.make_context("search", ["--top-k", str(HITS_PER_SEARCH), "--db", path, *arguments]) as context:
        return run_search(memory, context.params)


def _print_heading(command: str, arguments: tuple[str, ...], caption: str) -> None:
    click.echo(terminal.style(SEPARATOR, dim=True))
    if caption:
        click.echo(terminal.style(caption, bold=True))
    line = terminal.sanitise_line(shlex.join(["recollect", command, *arguments]))
    click.echo(f"$ {terminal.style(line, fg='green')}\n")
