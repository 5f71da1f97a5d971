"""A memory moves to another store: all that it holds is copied, and the copy is held against it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

from recollect import arguments
from recollect.errors import ArgumentError
from recollect.progress import Progress, shown_progress
from recollect.stores import open_store
from recollect.stores.base import Store
from recollect.stores.copying import BATCH_NOTES, Copied, Others, copy_store
from recollect.stores.verifying import SAMPLE, Comparison, compare_stores

__all__ = ["CopyReport", "copy"]


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What was copied, and how the copy compares with what it is a copy of."""

    copied: Copied
    verified: Comparison | None
    """``None`` where that was not wanted."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        return {"copied": asdict(self.copied), "verified": self.verified and self.verified.to_dict()}


def copy(
    source: str | PathLike[str],
    target: str | PathLike[str],
    *,
    namespaces: Sequence[str] | None = None,
    others: Others = "refuse",
    batch: int = BATCH_NOTES,
    verify: bool = True,
    sample: int = SAMPLE,
    progress: Progress | None = None,
) -> CopyReport:
    """Copy the memory at ``source`` to ``target``, which is created where it is missing, and compare the two.

    Notes go with every field, their links, vectors and documents, in their order, ``batch`` at a time; nothing is
    embedded. ``source`` is only read. What ``target`` holds already is passed over: after an interruption the same call
    goes on where it was, and later it catches up with what changed. Where ``target`` holds what ``source`` has not,
    ``others`` says what to do: ``"refuse"`` to copy, ``"merge"`` to keep it, or ``"mirror"`` to delete it.
    ``namespaces`` are those to copy, all if none are named. Unless ``verify`` is false, everything is read again and
    compared at the end, with ``sample`` notes whose words and vectors are searched for on both sides; whether all is
    well, ``verified.same`` of what is returned says. Without ``progress``, a bar is drawn if standard error is a
    terminal.

    >>> from tempfile import TemporaryDirectory
    >>> import recollect
    >>> with TemporaryDirectory() as folder:
    ...     with recollect.open(f"{folder}/memory.db", embedder=None) as memory:
    ...         _ = memory.add("Prefers green tea.", path="memory/tea.md")
    ...     report = copy(f"{folder}/memory.db", f"{folder}/other.db")
    >>> report.copied.added, report.verified.same
    (1, True)
    """
    chosen = None if namespaces is None else arguments.names("namespaces", namespaces)
    most, sampled = arguments.at_least_one("batch", batch), arguments.count("sample", sample)
    shown = shown_progress("Copying") if progress is None else nullcontext(progress)
    with (
        closing(_opened(source)) as read,
        closing(open_store(target)) as written,
        shown as told,
    ):
        copied = copy_store(read, written, namespaces=chosen, others=others, batch=most, report=told)
        verified = (
            compare_stores(read, written, namespaces=chosen, merged=others == "merge", sample=sampled, report=told)
            if verify
            else None
        )
    return CopyReport(copied, verified)


def _opened(source: str | PathLike[str]) -> Store:
    """Open a store to read it; what is wrong with its address is told of the argument that the caller knows."""
    try:
        return open_store(source, read_only=True)
    except ArgumentError as error:
        raise type(error)("source", error.problem) from None
