"""``recollect add``, ``get`` and ``delete``: store, show and delete single notes."""

from __future__ import annotations

import sys
from typing import Any

import click

from recollect.cli import memories, options, terminal
from recollect.errors import NoteNotFoundError


@click.command()
@click.argument("text", nargs=-1)
@click.option("--path", metavar="PATH", help="The note's path; a note with this path is updated.")
@click.option("--id", metavar="ID", help="The note's id, by default a new one; a note with this id is updated.")
@click.option("--title", metavar="TEXT", help="The note's title.")
@click.option("--summary", metavar="TEXT", help="A one-sentence summary.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag. Repeatable.")
@click.option(
    "--importance",
    type=float,
    metavar="NUMBER",
    help="The importance from 0 to 1; for a new note by default 0.5. The presets memini and weighted-graph use it; the "
    "default preset does not.",
)
@click.option("--session", metavar="NAME", help="The conversation or document that the note belongs to.")
@click.option("--position", type=int, metavar="NUMBER", help="The note's position in the session, from 0.")
@click.option(
    "--created-at", callback=options.parse_date, metavar="DATE", help="Creation time in ISO 8601; by default now."
)
@click.option(
    "--expires",
    "expires_at",
    callback=options.parse_expiry,
    metavar="WHEN",
    help="Expiry: a day or time in ISO 8601 (UTC), or 12h, 30d or 8w from now; 'never' removes an expiry.",
)
@click.option(
    "--link",
    "links",
    metavar="KIND=TARGET",
    multiple=True,
    callback=options.parse_links,
    help="A link to a note by path, id or name; TARGET alone makes a link of the kind 'related'. Repeatable.",
)
@click.option(
    "--supersedes",
    metavar="KEY",
    multiple=True,
    help="The id or path of a note that this one replaces; searches rank the new note above it. Repeatable.",
)
@click.option(
    "--meta",
    "metadata",
    callback=options.parse_metadata,
    metavar="KEY=VALUE",
    multiple=True,
    help="A metadata entry; a value that is not JSON is stored as text. Repeatable.",
)
@options.namespace()
@options.embedder
@options.secrets()
@options.memory
def add(*, text: tuple[str, ...], embedder: str, secrets: str, db: str, as_json: bool, **fields: Any) -> None:
    """Store a note.

    Its content is TEXT, or standard input if TEXT is - or missing. A note with the same --path or --id is updated:
    fields that are not given stay as they are.
    """
    content = _read_content(text, is_update=bool(fields["id"] or fields["path"]))
    # An empty collection would clear the field of an existing note; None keeps it. Links without a value are None.
    repeatable = {name: fields.pop(name) or None for name in ("tags", "metadata", "supersedes")}
    with memories.open_or_create(db, embedder, secrets) as memory:
        memories.warn_if_lexical_only(memory)
        note = memory.add(content, **fields, **repeatable)
    if as_json:
        terminal.print_json(note.to_dict())
    elif terminal.is_quiet():
        click.echo(note.id)
    else:
        terminal.print_message(f"stored {note.path} ({note.id})" if note.path else f"stored {note.id}")


def _read_content(words: tuple[str, ...], *, is_update: bool) -> str | None:
    """Return the content from the arguments or standard input; ``None`` if an update leaves the content as it is."""
    requests_stdin = words == ("-",)
    if words and not requests_stdin:
        return " ".join(words)
    if requests_stdin or not sys.stdin.isatty():
        try:
            content = sys.stdin.buffer.read().decode("utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise click.UsageError(f"standard input is not UTF-8 text: {error.reason} at byte {error.start}") from None
        if requests_stdin or content:
            return content
    if is_update:
        return None
    raise click.UsageError("there is no text; pass it as TEXT or on standard input")


@click.command()
@click.argument("key")
@options.namespace()
@options.memory
def get(*, key: str, namespace: str | None, db: str, as_json: bool) -> None:
    """Show the note with this id or path.

    With --quiet, print only the note's content.
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
                terminal.print_field(name, ", ".join(f"{field}: {item}" for field, item in note.metadata.items()))
            elif name not in ("title", "content"):
                terminal.print_field(name, ", ".join(value) if isinstance(value, list) else value)
        click.echo()
    click.echo(terminal.sanitise(note.content))


@click.command()
@click.argument("keys", nargs=-1, required=True, metavar="KEY...")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@options.namespace()
@options.memory
@click.pass_context
def delete(
    context: click.Context, /, *, keys: tuple[str, ...], yes: bool, namespace: str | None, db: str, as_json: bool
) -> None:
    """Delete notes by id or path.

    Their vectors and links are deleted, too. In a terminal, the command asks for confirmation before it deletes more
    than one note. The exit code is 1 if a note does not exist.
    """
    with memories.open_existing(db, "none") as memory:
        unique_keys = tuple(dict.fromkeys(keys))
        existing_keys = [key for key in unique_keys if memory.get(key, namespace=namespace)]
        for key in unique_keys:
            if key not in existing_keys:
                terminal.print_error(f"there is no note {key!r} in namespace {namespace or 'default'!r}")
        needs_confirmation = len(existing_keys) > 1 and not yes and sys.stdin.isatty()
        if needs_confirmation and not click.confirm(f"Delete {len(existing_keys)} notes?", err=True):
            raise click.ClickException("nothing was deleted")
        deleted = memory.delete(*existing_keys, namespace=namespace)
    if as_json:
        terminal.print_json({"deleted": deleted})
    else:
        terminal.print_message(f"deleted {terminal.count(deleted, 'note')}")
    if len(existing_keys) < len(unique_keys):
        context.exit(1)
