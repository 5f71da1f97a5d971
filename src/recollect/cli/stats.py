"""``recollect stats``: what a memory holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from recollect.cli import opening, options, terminal

if TYPE_CHECKING:
    from recollect.memory import MemoryStats

__all__ = ["command"]


@click.command("stats")
@options.embedder
@options.database
@options.as_json
@options.quiet
def command(
    *,
    embedder: str,
    db: str,
    as_json: bool,
    quiet: bool,  # noqa: ARG001 (the terminal asks for it)
) -> None:
    """Show what the memory holds, and what it embeds with."""
    with opening.open_for_reading(db, embedder) as memory:
        stats = memory.stats()
    if as_json:
        terminal.print_json(stats.to_dict())
        return
    for name, value in _lines(stats):
        click.echo(f"{terminal.styled(f'{name:<10}', dim=True)} {terminal.line(value)}")


def _lines(stats: MemoryStats) -> Iterator[tuple[str, str]]:
    store = stats.store
    spaces = ", ".join(f"{count} in {name}" for name, count in store.notes.items())
    yield "memory", f"{store.location} ({terminal.size(store.bytes)}, {store.engine})"
    yield "notes", f"{sum(store.notes.values())}" + (f" ({spaces})" if len(store.notes) > 1 else "")
    if store.expiring:
        yield "", f"{store.expiring} of them {'expires' if store.expiring == 1 else 'expire'}"
    yield "links", str(store.links)
    yield "documents", str(store.documents)
    for model, count in store.vectors.items():
        searched = "" if store.model and store.model.name == model else ", not searched yet"
        yield "vectors", f"{count} of {model}{searched}"
    yield "embedder", stats.embedder
    if stats.unembedded:
        yield "", f"{stats.unembedded} notes have no vector of it; recollect reindex makes them"
