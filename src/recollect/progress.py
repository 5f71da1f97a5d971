"""How far long work has come, shown on a terminal and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

__all__ = ["Progress", "shown_progress"]

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with what is done, what there is to do, and what is being done."""


@contextmanager
def shown_progress(label: str) -> Iterator[Progress]:
    """Give a progress that draws a bar on standard error if that is a terminal, and does nothing if not.

    >>> with shown_progress("Embedding") as progress:
    ...     progress(1, 2, "first")
    """
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console  # noqa: PLC0415 (only a terminal needs it)
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415 (heavy: only who sees a bar pays for it)
    from rich.progress import Progress as Bars  # noqa: PLC0415 (heavy: only who sees a bar pays for it)

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("[dim]{task.fields[name]}"),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=None, name="")
        yield lambda done, total, name: bars.update(task, completed=done, total=total, name=name[-40:])
