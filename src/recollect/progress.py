"""Progress of long work, shown as a bar on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int, str], None]
"""A function that long work calls with the number of finished items, their total, and the name of the current item."""


@contextmanager
def shown_progress(label: str) -> Iterator[Progress]:
    """Yield a callback that draws a progress bar if standard error is a terminal, and else does nothing."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console  # noqa: PLC0415 (heavy: imported for a terminal only)
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415 (as above)
    from rich.progress import Progress as Bars  # noqa: PLC0415 (as above)

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("[dim]{task.fields[name]}"),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=None, name="")
        # The end of a long path is shown, because it has the file's name.
        yield lambda done, total, name: bars.update(task, completed=done, total=total, name=name[-40:])
