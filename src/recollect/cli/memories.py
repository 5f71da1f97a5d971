"""Helpers of the commands: open a memory to create, change or read it; check output paths; show progress."""

from __future__ import annotations

import os
import warnings
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect.cli import terminal
from recollect.errors import ArgumentError, RecollectWarning
from recollect.stores import is_url

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.progress import Progress


def open_or_create(db: str, embedder: str, secrets: str = "none", **arguments: Any) -> Memory:
    """Open or create the memory; if it has no vectors and the model of auto is missing, offer to download the model."""
    memory = open_to_serve(db, embedder, secrets, **arguments)
    if embedder == "auto":
        from recollect.cli.downloads import offer_download  # noqa: PLC0415 (needed by few commands)

        try:
            offer_download(memory)
        except BaseException:
            memory.close()
            raise
    return memory


def open_to_serve(db: str, embedder: str, secrets: str, **arguments: Any) -> Memory:
    """Open the memory, or create it; pass ``arguments`` on to :func:`recollect.open`."""
    return _open(db, embedder, secrets=None if secrets == "none" else secrets, **arguments)


def open_existing(db: str, embedder: str) -> Memory:
    """Open a memory to change it; raise a usage error if it does not exist."""
    _require_existing(db)
    return _open(db, embedder)


def open_for_reading(db: str, embedder: str = "none", **arguments: Any) -> Memory:
    """Open a memory to read it, even if its file or folder is read-only.

    A writable file is opened for writing, so that SQLite can remove its ``-wal`` and ``-shm`` files and a memory of an
    older version is migrated. A memory on a server is opened read-only.
    """
    _require_existing(db)
    path = Path(db).expanduser()
    writable = not is_url(db) and os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    return _open(db, embedder, read_only=not writable, **arguments)


def open_for_search(params: dict[str, Any]) -> Memory:
    """Open the memory for a command that has the search options."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecollectWarning)  # the search itself reports problems with vectors
        return open_for_reading(
            params["db"], params["embedder"], aliases=params["aliases"], reranker=params["reranker"]
        )


def warn_if_lexical_only(memory: Memory) -> None:
    """Warn that searches are lexical only, if an embedder was requested and none is installed."""
    if memory.embedder_warning:
        terminal.warn(memory.embedder_warning)


def output_path(target: str, *, force: bool) -> Path:
    """Return the path of a file to write; raise a usage error if the file exists and ``force`` is false."""
    if is_url(target):
        raise click.UsageError("this command writes a file; recollect copy writes to a server")
    path = Path(target).expanduser()
    if path.exists() and not force:
        raise click.UsageError(f"{path} exists; choose another name, or overwrite it with --force")
    if not path.parent.is_dir():
        raise click.UsageError(f"the folder {path.parent} does not exist; create it first")
    return path


def progress_bar(label: str) -> AbstractContextManager[Progress]:
    """Return a context with a progress bar; with --quiet, nothing is shown."""
    from recollect.progress import shown_progress  # noqa: PLC0415 (part of the library)

    return nullcontext(lambda *_: None) if terminal.is_quiet() else shown_progress(label)


def _require_existing(db: str) -> None:
    if not is_url(db) and not Path(db).expanduser().exists():
        raise click.UsageError(f"there is no memory at {db}; recollect add creates one, --db chooses another")


def _open(db: str, embedder: str, **arguments: Any) -> Memory:
    from recollect.opening import open as open_memory  # noqa: PLC0415 (imports SQLite and numpy)

    try:
        return open_memory(db, embedder=embedder, **arguments)
    except ArgumentError as error:
        if error.argument == "target":
            raise ArgumentError("--db", error.problem) from None  # users know the argument as --db
        raise
