"""``recollect compare``: the same query under several presets."""

from __future__ import annotations

from typing import Any

import click

from recollect.cli import asking, terminal

__all__ = ["command"]


@click.command("compare")
@click.option(
    "--preset",
    "presets",
    metavar="NAME|FILE",
    multiple=True,
    help="A preset to compare, by name or as a TOML file; can be given several times. By default all there are.",
)
@asking.question
@click.pass_context
def command(context: click.Context, /, *, presets: tuple[str, ...], as_json: bool, quiet: bool, **asked: Any) -> None:
    """Compare presets: the same query under each.

    Shows the place of each note under each preset, and how far it moved against the first.
    """
    with asking.open_asked(asked) as memory:
        results = memory.compare(asking.words(asked), presets or None, **asking.search_arguments(asked))
    for warning in dict.fromkeys(warning for result in results.values() for warning in result.warnings):
        terminal.warn(warning)
    found = any(results.values())
    if as_json:
        terminal.print_json({name: result.to_dict() for name, result in results.items()})
    elif found:
        from recollect.cli import comparison  # noqa: PLC0415 (brings rich, which is heavy)

        console = terminal.console()
        comparison.draw_places(console, results)
        if not quiet:
            comparison.draw_summaries(console, results)
    else:
        terminal.say_aside(f"nothing was found for {asking.words(asked)!r}; try other words, or fewer filters")
    if not found:
        context.exit(1)
