"""``recollect get``: show one note."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from recollect.cli import memories, options, terminal
from recollect.errors import NoteNotFoundError

if TYPE_CHECKING:
    from recollect.model import Note


@click.command()
@click.argument("key")
@options.namespace()
@options.memory
def get(*, key: str, namespace: str | None, db: str, as_json: bool) -> None:
    """Show the note with this id or path.

    With --quiet, print only its content.
    """
    with memories.open_for_reading(db) as memory:
        note = memory.get(key, namespace=namespace)
    if note is None:
        raise NoteNotFoundError(f"there is no note {key!r} in namespace {namespace or 'default'!r}")
    if as_json:
        terminal.print_json(note.to_dict())
        return
    if not terminal.is_quiet():
        click.echo(terminal.style(terminal.sanitise_line(note.title or note.path or note.id), bold=True))
        for name, value in _fields(note):
            click.echo(f"{terminal.style(f'{name:<11}', dim=True)}{terminal.sanitise_line(value)}")
        click.echo()
    click.echo(terminal.sanitise(note.content))


def _fields(note: Note) -> Iterator[tuple[str, str]]:
    """Yield the fields that are not empty."""
    for name in ("id", "path", "summary"):
        if value := getattr(note, name):
            yield name, value
    if note.tags:
        yield "tags", ", ".join(note.tags)
    for name in ("created_at", "updated_at", "last_accessed_at", "expires_at"):
        if time := getattr(note, name):
            yield name.removesuffix("_at").replace("last_", ""), f"{time:%Y-%m-%d %H:%M} UTC"
    yield "importance", f"{note.importance:g}"
    if note.session:
        yield "session", note.session if note.position is None else f"{note.session}, position {note.position}"
    for link in note.links:
        yield "link", f"{link.kind} → {link.target}"
    for key, value in note.metadata.items():
        yield "metadata", f"{key} = {value}"
    if note.namespace != "default":
        yield "namespace", note.namespace
