"""How far long work has come, how fast it goes and how long it takes yet: a bar, or a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from recollect.cli import terminal

__all__ = ["Pace", "shown_pace"]

EVERY_SECONDS = 5.0
"""How often a line is written where there is no terminal."""


class Pace:
    """Work in parts, each with so much done of so much; what is shown of it, ``show`` says.

    >>> lines = []
    >>> pace = Pace({"notes": "copying notes"}, lambda pace: lines.append(pace.line()))
    >>> pace(500, 1000, "notes")
    >>> lines
    ['copying notes: 500 of 1,000']
    """

    def __init__(self, parts: Mapping[str, str], show: Callable[[Pace], None]) -> None:
        """Begin with nothing; ``parts`` has a person's words for the names of the parts."""
        self._parts = parts
        self._show = show
        self._begun = time.monotonic()
        self._first = 0
        self.part = ""
        self.done = 0
        self.total = 0
        self.reached: dict[str, tuple[int, int]] = {}
        """How far each part came, and how much it is."""

    def __call__(self, done: int, total: int, part: str) -> None:
        """Take in how far a part has come."""
        if part != self.part:
            self.part, self._begun, self._first = part, time.monotonic(), done
        self.done, self.total = done, total
        self.reached[part] = done, total
        self._show(self)

    @property
    def label(self) -> str:
        """What is being done, in words."""
        return self._parts.get(self.part, self.part)

    @property
    def rate(self) -> float:
        """How many a second, since the part began; what was done by then does not count."""
        return (self.done - self._first) / max(time.monotonic() - self._begun, 1e-3)

    def line(self) -> str:
        """Return all of this in one line."""
        rate = self.rate
        speed = f", {rate:,.0f} a second, {(self.total - self.done) / rate:,.0f} s left" if rate else ""
        return f"{self.label}: {self.done:,} of {self.total:,}{speed}"


@contextmanager
def shown_pace(parts: Mapping[str, str], *, quiet: bool) -> Iterator[Pace]:
    """Give a progress that draws a bar if standard error is a terminal, and else writes a line now and then."""
    if quiet:
        yield Pace(parts, lambda _: None)
    elif sys.stderr.isatty():
        with _bar() as show:
            yield Pace(parts, show)
    else:
        yield Pace(parts, _lines())


def _lines() -> Callable[[Pace], None]:
    last = time.monotonic()

    def show(pace: Pace) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY_SECONDS:
            last = time.monotonic()
            terminal.say_aside(pace.line())

    return show


@contextmanager
def _bar() -> Iterator[Callable[[Pace], None]]:
    from rich.console import Console  # noqa: PLC0415 (only a terminal needs it)
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415 (heavy: only who sees a bar pays for it)

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None, rate="")
        shown = ""

        def show(pace: Pace) -> None:
            nonlocal shown
            if pace.part != shown:
                shown = pace.part
                bars.reset(task)
            told = f"{pace.rate:,.0f}/s" if pace.rate >= 1 else ""
            bars.update(task, description=pace.label, completed=pace.done, total=pace.total, rate=told)

        yield show
