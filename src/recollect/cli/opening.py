"""Opening a memory for a command: to change it, to change one that must be there, or to read it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect.cli import terminal
from recollect.errors import ArgumentError
from recollect.stores import is_url

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.progress import Progress

__all__ = [
    "free_target",
    "no_progress",
    "open_existing",
    "open_for_reading",
    "open_or_create",
    "silence_if",
    "warn_if_lexical_only",
]


def open_or_create(db: str, embedder: str, secrets: str = "none", **more: Any) -> Memory:
    """Open the memory, which is created where it is missing.

    ``secrets`` is as the option of that name has it, ``more`` is for :func:`recollect.open`.
    """
    return _open(db, embedder, secrets=None if secrets == "none" else secrets, **more)


def warn_if_lexical_only(memory: Memory) -> None:
    """Say in a line that vector search is off, if an embedder was wanted and none is installed."""
    if memory.embedder_warning:
        terminal.warn(memory.embedder_warning)


def open_existing(db: str, embedder: str) -> Memory:
    """Open a memory to change it; a missing one is wrong use, and stays missing."""
    _require(db)
    return _open(db, embedder)


def open_for_reading(
    db: str,
    embedder: str = "none",
    *,
    aliases: Mapping[str, Sequence[str]] | None = None,
    reranker: str | None = None,
) -> Memory:
    """Open a memory to read it, also where nothing may be written.

    Where a file can be written, SQLite's own files beside it are tidied up at the end, and a memory of an older version
    is brought up to date. On a server, reading leaves everything as it is: a database that was named by mistake, too.
    """
    _require(db)
    return _open(db, embedder, aliases=aliases, reranker=reranker, read_only=is_url(db) or not _is_writable(db))


def free_target(target: str, *, force: bool) -> Path:
    """Return the path of a file that can be written, and does not replace another unless that is wanted."""
    if is_url(target):
        raise click.UsageError("this command writes a file; recollect copy writes to a server")
    path = Path(target).expanduser()
    if path.exists() and not force:
        raise click.UsageError(f"{path} exists; choose another name, or overwrite it with --force")
    if not path.parent.is_dir():
        raise click.UsageError(f"the folder {path.parent} does not exist; create it first")
    return path


def silence_if(quiet: bool) -> Progress | None:  # noqa: FBT001 (the flag of the command)
    """Return the progress for the library: its own bar, or none."""
    return no_progress if quiet else None


def no_progress(done: int, total: int, name: str) -> None:
    """Show nothing."""


def _is_writable(db: str) -> bool:
    path = Path(db).expanduser()
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _require(db: str) -> None:
    if not is_url(db) and not Path(db).expanduser().exists():
        raise click.UsageError(f"there is no memory at {db}; add a note to create one, or name another with --db")


def _open(db: str, embedder: str, **more: Any) -> Memory:
    from recollect.opening import open as open_memory  # noqa: PLC0415 (brings SQLite and numpy)

    try:
        return open_memory(db, embedder=embedder, **more)
    except ArgumentError as error:
        if error.argument == "target":
            raise ArgumentError("--db", error.problem) from None
        raise
