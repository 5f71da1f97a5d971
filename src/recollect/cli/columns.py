"""Columns that fit a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["GAP", "draw_table", "fitted", "fitting"]

GAP = 2
"""The space between two columns."""


def fitting(wanted: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Return widths of columns that fit into ``room``: the widest give first, and none less than its least.

    >>> fitting([7, 14, 8], [4, 6, 8], 26)
    [6, 6, 8]
    """
    widths = list(wanted)
    while sum(widths) + GAP * len(widths) > room:
        spare = [width if width > needed else 0 for width, needed in zip(widths, least, strict=True)]
        if not any(spare):
            break
        widths[spare.index(max(spare))] -= 1
    return widths


def fitted(text: str, width: int, style: str = "", *, keep_end: bool = False) -> Text:
    """Return ``text`` so many cells wide: cut at its end, or at its beginning where the end tells more, and padded.

    >>> fitted("memory/tea.md", 7).plain, fitted("memory/tea.md", 7, keep_end=True).plain
    ('memory…', '…tea.md')
    """
    if keep_end and cell_len(text) > width:
        while cell_len(text) > width - 1:
            text = text[1:]
        text = f"…{text}"
    made = Text(text, style)
    made.truncate(width, overflow="ellipsis", pad=True)
    return made


def draw_table(console: Console, table: Table) -> None:
    """Draw a table without the spaces behind its lines."""
    for segments in console.render_lines(table, pad=False):
        line = Text.assemble(*((segment.text, segment.style or "") for segment in segments))
        line.rstrip()
        console.print(line, soft_wrap=True)
