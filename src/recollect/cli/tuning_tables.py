"""What came of tuning, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from recollect.cli import terminal
from recollect.cli.columns import GAP, draw_table
from recollect.evaluation.dataset import format_count

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.evaluation import Dataset
    from recollect.evaluation.tuning import TuningResult

__all__ = ["draw_tuning"]


def draw_tuning(console: Console, found: TuningResult, dataset: Dataset, measure: str) -> None:
    """Draw what was asked, which settings would change, and the verdict."""
    told = [
        format_count(found.questions, "question"),
        f"{found.start.name} {measure} {found.before:.3f}",
        f"{format_count(found.settings, 'setting')} tried",
        f"{found.folds} folds",
    ]
    if dataset.synthetic:
        told.append("synthetic: made by rule, they say little about other questions")
    console.print(Text.assemble((terminal.line(dataset.name), "bold"), "  ", terminal.line(" · ".join(told))))
    console.print()
    if found.changes:
        table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="dim")
        for heading in ("setting", "before", "after", "chosen in"):
            table.add_column(heading)
        for change in found.changes:
            table.add_row(
                Text(terminal.line(change.path)),
                Text(_value(change.before)),
                Text(_value(change.after), "bold"),
                Text(f"{change.agreeing} of {found.folds} folds"),
            )
        draw_table(console, table)
        console.print()
    console.print(Text(found.verdict, "green" if found.recommended else "yellow"), soft_wrap=True)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"
