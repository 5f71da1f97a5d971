"""``recollect get``: show one note."""

from __future__ import annotations

import click

from recollect.cli import memories, options, terminal
from recollect.errors import NoteNotFoundError


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
        for name, value in note.to_dict().items():
            if name == "links":
                terminal.print_field(name, ", ".join(f"{link.kind} → {link.target}" for link in note.links))
            elif name == "metadata":
                terminal.print_field(name, ", ".join(f"{key}: {item}" for key, item in note.metadata.items()))
            elif name not in ("title", "content"):
                terminal.print_field(name, ", ".join(value) if isinstance(value, list) else value)
        click.echo()
    click.echo(terminal.sanitise(note.content))
