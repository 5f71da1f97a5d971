"""Download models with a progress bar, and offer to download the embedding model of a new memory."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli import terminal
from recollect.errors import ModelError
from recollect.inference.catalogue import CatalogueEntry

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from recollect.inference.weights import Weights
    from recollect.memory import Memory
    from recollect.progress import Progress

MEGABYTE = 10**6


def download_with_progress(entry: CatalogueEntry, progress_bar: AbstractContextManager[Progress]) -> Weights:
    """Download a model, and show the progress in megabytes, rounded up."""
    from recollect.inference.weights import download  # noqa: PLC0415 (help does not need it)

    with progress_bar as bar:
        return download(
            entry, progress=lambda done, total, file: bar(-(-done // MEGABYTE), -(-total // MEGABYTE), file)
        )


def offer_download(memory: Memory) -> None:
    """Offer to download the model that ``auto`` would choose for a memory without vectors, and use it.

    The question is asked in a terminal only, and never again after the answer no.
    """
    from recollect.embedders.registry import choose_embedder, embedder_to_download  # noqa: PLC0415 (part of the library)
    from recollect.progress import shown_progress  # noqa: PLC0415 (part of the library)

    if not _may_ask() or memory.vector_model is not None:
        return
    try:
        entry, refusal = embedder_to_download(None), _refusal_file()
    except ModelError:  # there is no folder for the model
        return
    if entry is None or refusal.exists():
        return
    question = (
        f"Download the embedding model {entry.name} ({entry.megabytes} MB)? Without it, the static model is used, "
        "which finds less."
    )
    if not click.confirm(question, default=True, err=True):
        with suppress(OSError):  # then the next command asks again
            refusal.parent.mkdir(parents=True, exist_ok=True)
            refusal.touch()
        terminal.print_info(f"it is not downloaded; recollect models download {entry.name} downloads it later")
        return
    try:
        download_with_progress(entry, shown_progress(f"{entry.name}, MB"))
        memory.set_embedder(choose_embedder(entry.name))
    except ModelError as error:
        terminal.warn(f"{error}; the static model is used")


def forget_refusal() -> None:
    """Forget that a download was refused, after models were downloaded."""
    with suppress(OSError):
        _refusal_file().unlink(missing_ok=True)


def _may_ask() -> bool:
    """Return whether somebody can answer a question: in a terminal, without --quiet and --json."""
    as_json = click.get_current_context().params.get("as_json")
    return not as_json and not terminal.is_quiet() and sys.stdin.isatty() and sys.stderr.isatty()


def _refusal_file() -> Path:
    """Return the file that records that a download was refused; raise ``ModelError`` if there is no cache folder."""
    from recollect.inference.weights import models_folder  # noqa: PLC0415 (help does not need it)

    return models_folder().with_name("download-refused")
