"""``recollect compare``: search with several presets and compare the ranks of the notes."""

from __future__ import annotations

from typing import Any

import click

from recollect.cli import memories, options, terminal


@click.command()
@click.argument("query", nargs=-1, required=True)
@options.presets("A preset: a name or a TOML file. Repeatable; by default all presets.")
@options.search
@click.pass_context
def compare(context: click.Context, /, *, presets: tuple[str, ...], as_json: bool, **params: Any) -> None:
    """Compare presets on one query.

    Shows the rank of each note with each preset, and the change from its rank with the first preset. recollect eval
    compares presets on a dataset.
    """
    query = " ".join(params["query"])
    with memories.open_for_search(params) as memory:
        results = memory.compare(query, presets or None, **options.search_arguments(params))
    for warning in dict.fromkeys(warning for result in results.values() for warning in result.warnings):
        terminal.warn(warning)
    if as_json:
        terminal.print_json({name: result.to_dict() for name, result in results.items()})
    elif any(results.values()):
        from recollect.cli import tables  # noqa: PLC0415 (imports rich)

        tables.print_comparison(terminal.console(), results, summaries=not terminal.is_quiet())
    else:
        terminal.print_info(f"no note matches {query!r}; try other terms, or fewer filters")
    if not any(results.values()):
        context.exit(1)
