"""``recollect search``: find notes by words and by meaning."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import click

from recollect.cli import opening, options, terminal
from recollect.errors import RecollectWarning

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.retrieval import SearchResult

__all__ = ["command", "find"]

MODES = ("auto", "hybrid", "bm25", "semantic")
MOST = 100_000
"""More hits than anyone reads, and few enough for every engine."""


@click.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option("-k", "--top-k", type=click.IntRange(1, MOST), default=10, show_default=True, help="How many to show.")
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default="auto",
    show_default=True,
    help="hybrid: by words and by meaning; bm25: by words alone; semantic: by meaning alone; auto: the best there is.",
)
@click.option(
    "--candidate-k",
    type=click.IntRange(1, MOST),
    default=60,
    show_default=True,
    help="How deep each leg looks before the lists are fused.",
)
@click.option("--path", metavar="PREFIX", default="", help="Only notes whose path begins so.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Only notes with this tag; several: with all.")
@click.option("--session", metavar="NAME", help="Only notes of this conversation or document.")
@click.option(
    "--since", callback=options.parsed_date, metavar="DATE", help="Only notes made on or after this day or instant."
)
@click.option(
    "--until",
    callback=options.parsed_end,
    metavar="DATE",
    help="Only notes made up to this day, or before this instant.",
)
@click.option(
    "--where",
    callback=options.parsed_values,
    metavar="KEY=VALUE",
    multiple=True,
    help="Only notes whose metadata says so; the value is JSON, or else text. Several: all of them.",
)
@click.option(
    "--alias",
    "aliases",
    metavar="TERM=NAME,NAME",
    multiple=True,
    callback=options.parsed_aliases,
    help="Other names that take a term's place; name the term itself to keep it. Can be given several times.",
)
@click.option("--explain", is_flag=True, help="Draw how each hit came by its score.")
@options.namespace()
@options.embedder
@options.database
@options.as_json
@options.quiet
@click.pass_context
def command(context: click.Context, /, *, explain: bool, as_json: bool, quiet: bool, **asked: Any) -> None:
    """Find notes by words and by meaning.

    The words of QUERY are one query: "a phrase", AND, OR, NOT, tea* for a prefix. A query that begins with a dash
    comes after --.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecollectWarning)  # what is amiss with vectors is told by the search itself
        memory = opening.open_for_reading(asked["db"], asked["embedder"], aliases=asked["aliases"])
    with memory:
        result = find(memory, asked)
    for warning in result.warnings:
        terminal.warn(warning)
    if as_json:
        terminal.print_json(result.to_dict())
    elif result:
        _draw(result, explain=explain, quiet=quiet)
    else:
        terminal.say_aside(f"nothing was found for {result.query!r}; try other words, or fewer filters")
    if not result:
        context.exit(1)


def find(memory: Memory, asked: dict[str, Any]) -> SearchResult:
    """Search as the options of the command ask."""
    return memory.search(
        " ".join(asked["query"]),
        top_k=asked["top_k"],
        mode=asked["mode"],
        candidate_k=asked["candidate_k"],
        filters={
            "path_prefix": asked["path"],
            "tags": asked["tags"],
            "session": asked["session"],
            "created_after": asked["since"],
            "created_before": asked["until"],
            "metadata": asked["where"],
        },
        namespace=asked["namespace"],
    )


def _draw(result: SearchResult, *, explain: bool, quiet: bool) -> None:
    from recollect.cli import drawing  # noqa: PLC0415 (brings rich, which is heavy)

    console = terminal.console()
    if explain:
        drawing.draw_explanation(console, result)
    else:
        drawing.draw_hits(console, result)
    if not quiet:
        drawing.draw_summary(console, result)
