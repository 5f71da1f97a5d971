from __future__ import annotations

from io import StringIO

from rich.console import Console

from recollect import Candidate, Hit
from recollect.cli.drawing import draw_hits


def test_a_hit_that_was_never_fused_has_no_relevance_to_show() -> None:
    console = Console(file=StringIO(), width=80)
    draw_hits(console, [Hit(1, Candidate("n1", title="Tea"))], indent=2)
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue() == "   1  Tea\n      n1\n\n"
