"""``recollect import``: notes from lines of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

import click

from recollect.cli import opening, options, terminal

if TYPE_CHECKING:
    from recollect.progress import Progress

__all__ = ["command"]


@click.command("import")
@click.argument("file", type=click.File("rb"))
@options.namespace("Put all notes into this namespace; each into its own if none is named.")
@options.embedder
@options.secrets
@options.database
@options.as_json
@options.quiet
def command(
    *, file: BinaryIO, namespace: str | None, embedder: str, secrets: str, db: str, as_json: bool, quiet: bool
) -> None:
    """Store notes from lines of JSON.

    FILE, or - for standard input, holds one object a line, as export writes them. Vectors are taken over where they
    are of the model in use here; other notes are embedded. A line that cannot be read ends the import with its number;
    what was stored before it stays.
    """
    with opening.open_or_create(db, embedder, secrets) as memory, _progress(file, quiet=quiet) as told:
        opening.warn_if_lexical_only(memory)
        count = memory.load(file, namespace=namespace, progress=told)
    if as_json:
        terminal.print_json({"imported": count})
    else:
        terminal.say(f"imported {count} {'note' if count == 1 else 'notes'}")


@contextmanager
def _progress(file: BinaryIO, *, quiet: bool) -> Iterator[Progress]:
    """Give a progress that knows how many lines there are, if the file can be read twice."""
    from recollect.progress import shown_progress  # noqa: PLC0415 (like all of the library)

    if quiet:
        yield opening.no_progress
        return
    lines = 0
    if file.seekable():
        lines = sum(1 for _ in file)
        file.seek(0)
    with shown_progress("Importing") as told:
        yield lambda done, _total, name: told(done, max(done, lines), name)
