"""``recollect export``: all notes as lines of JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from recollect.cli import opening, options, terminal

__all__ = ["command"]


@click.command("export")
@click.argument("target", metavar="[FILE]", default="-", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--no-vectors", is_flag=True, help="Leave the vectors out; whoever imports the notes embeds them.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@options.namespace("Only this namespace; all if none is named.")
@options.database
@options.quiet
def command(
    *,
    target: str,
    no_vectors: bool,
    force: bool,
    namespace: str | None,
    db: str,
    quiet: bool,  # noqa: ARG001 (the terminal asks for it)
) -> None:
    """Write all notes as lines of JSON.

    Each note, with its vector, is a line of FILE or of standard output. FILE appears when it is
    complete, or not at all. `recollect import` reads it back without loss.
    """
    with opening.open_for_reading(db) as memory:
        lines = memory.export(namespace=namespace, vectors=not no_vectors)
        if target == "-":
            _write(sys.stdout.buffer, lines)
            return
        path = opening.free_target(target, force=force)
        with _replacing(path) as file:
            count = _write(file, lines)
    terminal.say(f"exported {count} {'note' if count == 1 else 'notes'} to {path}")


def _write(file: BinaryIO, lines: Iterable[str]) -> int:
    count = 0
    for count, each in enumerate(lines, start=1):  # noqa: B007 (the last number is how many there were)
        file.write(f"{each}\n".encode())
    file.flush()
    return count


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a file that takes the place of ``path`` when all is written; a device or a pipe is written to as it is."""
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    goal = path.resolve()  # a link keeps pointing to where it did
    partial = goal.with_name(f".{goal.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(goal)
    finally:
        partial.unlink(missing_ok=True)
