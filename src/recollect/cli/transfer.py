"""``recollect export`` and ``recollect import``: write and read notes as JSONL."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from recollect.cli import memories, options, terminal
from recollect.errors import RecollectError, SecretFoundError


@click.command()
@click.argument("target", metavar="[FILE]", default="-", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--no-vectors", is_flag=True, help="Omit the vectors; import then embeds the notes.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@options.namespace("Only this namespace; by default all.")
@options.database
@options.quiet
def export(*, target: str, no_vectors: bool, force: bool, namespace: str | None, db: str) -> None:
    """Write all notes as JSONL.

    Each note, with its vector, is a line of FILE or of standard output. FILE appears only when it is complete.
    recollect import reads FILE without loss.
    """
    with memories.open_for_reading(db) as memory:
        lines = memory.export(namespace=namespace, vectors=not no_vectors)
        if target == "-":
            _write_lines(sys.stdout.buffer, lines)
            return
        path = memories.output_path(target, force=force)
        with _atomic_file(path) as file:
            count = _write_lines(file, lines)
    terminal.print_message(f"exported {terminal.count(count, 'note')} to {path}")


@click.command("import")
@click.argument("file", type=click.File("rb"))
@options.namespace("Put all notes into this namespace; by default, each note keeps its namespace.")
@options.embedder
@options.secrets()
@options.memory
def import_(*, file: BinaryIO, namespace: str | None, embedder: str, secrets: str, db: str, as_json: bool) -> None:
    """Store notes from JSONL.

    FILE has a JSON object on each line, as export writes them; - is standard input. If a line
    has a vector of the memory's model, it is used; otherwise the note is embedded. The import stops at the first line
    that cannot be stored, with an error that names its number; the notes before this line stay stored.
    """
    name = getattr(file, "name", "<stdin>")
    line_count = 0  # for the progress bar; a pipe, which cannot be read twice, keeps 0
    if file.seekable():
        line_count = sum(1 for _ in file)
        file.seek(0)
    with memories.open_or_create(db, embedder, secrets) as memory, memories.progress_bar("Importing") as show_progress:
        memories.warn_if_lexical_only(memory)

        def progress(done: int, *_: object) -> None:
            show_progress(done, max(done, line_count), "")

        try:
            count = memory.load(file, namespace=namespace, progress=progress)
        except SecretFoundError as error:
            raise SecretFoundError(f"{name}, {error.argument}", error.problem) from None
        except RecollectError as error:
            if str(error).startswith("line "):  # the error is about a line of the file
                raise RecollectError(f"{name}, {error}") from None
            raise
    if as_json:
        terminal.print_json({"imported": count})
    else:
        terminal.print_message(f"imported {terminal.count(count, 'note')}")


def _write_lines(file: BinaryIO, lines: Iterable[str]) -> int:
    """Write the lines and return how many there are."""
    count = 0
    for line in lines:
        file.write(f"{line}\n".encode())
        count += 1
    file.flush()
    return count


@contextmanager
def _atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a temporary file that replaces ``path`` at the end; a device or a pipe is written directly."""
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    target = path.resolve()  # replace the target of a symbolic link, not the link
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
