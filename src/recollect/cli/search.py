"""``recollect search``: find notes by words, by meaning and by connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from recollect.cli import asking, terminal

if TYPE_CHECKING:
    from recollect.retrieval import SearchResult

__all__ = ["answer", "command"]


@click.command("search")
@click.option("--explain", is_flag=True, help="Draw how each hit came by its score, as recollect explain does.")
@asking.preset
@asking.question
@click.pass_context
def command(context: click.Context, /, *, explain: bool, as_json: bool, quiet: bool, **asked: Any) -> None:
    """Find notes by words and by meaning.

    The words of QUERY are one query: "a phrase", AND, OR, NOT, tea* for a prefix. A query that begins with a dash
    comes after --.
    """
    with asking.open_asked(asked) as memory:
        result = asking.find(memory, asked)
    answer(result, explain=explain, as_json=as_json, quiet=quiet)
    if not result:
        context.exit(1)


def answer(result: SearchResult, *, explain: bool, as_json: bool, quiet: bool) -> None:
    """Show what was found: as JSON, as an explanation, or as hits."""
    if as_json or not explain:  # an explanation tells its warnings itself
        for warning in result.warnings:
            terminal.warn(warning)
    if as_json:
        terminal.print_json(result.to_dict())
    elif result or explain:
        _draw(result, explain=explain, quiet=quiet)
    if not result and not as_json:
        terminal.say_aside(f"nothing was found for {result.query!r}; try other words, or fewer filters")


def _draw(result: SearchResult, *, explain: bool, quiet: bool) -> None:
    from recollect.cli import drawing  # noqa: PLC0415 (brings rich, which is heavy)

    console = terminal.console()
    if explain:
        drawing.draw_explanation(console, result)
        return
    drawing.draw_retry(result)
    drawing.draw_hits(console, result)
    if not quiet:
        drawing.draw_summary(console, result)
