"""``recollect get``: show one note."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from recollect.cli import opening, options, terminal

if TYPE_CHECKING:
    from recollect.model import Note

__all__ = ["command"]


@click.command("get")
@click.argument("key")
@options.namespace()
@options.database
@options.as_json
@options.quiet
def command(*, key: str, namespace: str | None, db: str, as_json: bool, quiet: bool) -> None:
    """Show the note with this id, or else with this path.

    With --quiet, its text alone.
    """
    from recollect.errors import NoteNotFoundError  # noqa: PLC0415 (brings the library)

    with opening.open_for_reading(db) as memory:
        note = memory.get(key, namespace=namespace)
    if note is None:
        raise NoteNotFoundError(f"there is no note {key!r} in namespace {namespace or 'default'!r}")
    if as_json:
        terminal.print_json(note.to_dict())
    elif quiet:
        click.echo(terminal.page(note.content))
    else:
        _draw(note)


def _draw(note: Note) -> None:
    from rich.text import Text  # noqa: PLC0415 (heavy, as all of rich)

    console = terminal.console()
    console.print(Text(terminal.line(note.title or note.path or note.id), "bold"))
    for name, value in _facts(note):
        console.print(Text.assemble((f"{name:<11}", "dim"), terminal.line(value)))
    console.print()
    console.print(Text(terminal.page(note.content)))


def _facts(note: Note) -> Iterator[tuple[str, str]]:
    """Yield the fields that say something."""
    yield "id", note.id
    if note.path:
        yield "path", note.path
    if note.summary:
        yield "summary", note.summary
    if note.tags:
        yield "tags", ", ".join(note.tags)
    for name in ("created_at", "updated_at", "last_accessed_at", "expires_at"):
        moment = getattr(note, name)
        if moment:
            yield name.removesuffix("_at").replace("last_accessed", "read"), f"{moment:%Y-%m-%d %H:%M} UTC"
    yield "importance", f"{note.importance:g}"
    if note.session:
        yield "session", note.session if note.position is None else f"{note.session}, position {note.position}"
    for link in note.links:
        yield "link", f"{link.kind} → {link.target}"
    for key, value in note.metadata.items():
        yield "metadata", f"{key} = {value}"
    if note.namespace != "default":
        yield "namespace", note.namespace
