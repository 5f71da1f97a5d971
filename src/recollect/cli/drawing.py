"""Hits and explanations, drawn with rich. Nothing in a note is taken for markup."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from recollect.cli import terminal

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.model import Hit
    from recollect.retrieval import SearchResult

__all__ = ["bar", "draw_explanation", "draw_hits", "draw_summary"]

CELLS = 8
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_BARS = "[█▏▎▍▌▋▊▉]+"
_LEGS = {"lexical": "words", "vector": "meaning"}


def draw_hits(console: Console, hits: Iterable[Hit], *, indent: int = 0) -> None:
    """Draw each hit in three lines: what it is, how it was found, and the piece that fits the query."""
    for hit in hits:
        # The first line is what the eye jumps to; the rank hangs to its left.
        title = Text.assemble((f"{hit.rank:>2}  ", "dim"), (terminal.line(hit.title or hit.path or hit.id), "bold"))
        console.print(Padding(title, (0, 0, 0, indent), expand=False))
        console.print(Padding(_facts(hit, blocks=_knows_blocks(console)), (0, 0, 0, indent + 4), expand=False))
        if hit.snippet:
            console.print(Padding(_snippet(hit), (0, 0, 0, indent + 4), expand=False))
        console.print()


def draw_explanation(console: Console, result: SearchResult, *, limit: int | None = None) -> None:
    """Draw what each leg gave to each hit and what each stage did to it."""
    drawing = Text(terminal.page(result.explain(limit=limit)))
    drawing.highlight_regex(r"(?m)^ *\d+  .*$", "bold")
    drawing.highlight_regex(_BARS, "cyan")
    console.print(drawing, soft_wrap=True)
    console.print()


def draw_summary(console: Console, result: SearchResult) -> None:
    """Draw in one line what was searched, and how long it took."""
    trace = result.trace
    ways = {
        "hybrid": f"{trace.bm25_count} by words, {trace.vector_count} by meaning",
        "bm25": f"{trace.bm25_count} by words",
        "semantic": f"{trace.vector_count} by meaning",
    }
    summary = f"{len(result)} of {trace.fused_count} · {ways[trace.mode]} · {trace.total_elapsed:.0f} ms"
    console.print(Text(summary, "dim"))


def bar(share: float) -> str:
    """Return a bar of eighths of a cell.

    >>> bar(0.5)
    '████    '
    """
    eighths = round(min(1.0, max(0.0, share)) * CELLS * 8)
    full = "█" * (eighths // 8)
    return (full + _EIGHTHS[eighths % 8]).ljust(CELLS)[:CELLS]


def _facts(hit: Hit, *, blocks: bool) -> Text:
    facts = Text()
    if hit.relevance is not None:
        facts.append(f"{hit.relevance:.2f} ")
        if blocks:
            facts.append(bar(hit.relevance), "cyan")
            facts.append("  ")
    ways = [f"{_LEGS.get(part.leg, part.leg)} {part.rank}" for part in hit.candidate.contributions]
    told = [
        hit.created_at.date().isoformat() if hit.created_at else "",
        " · ".join(ways),
        terminal.line(hit.path or hit.id) if hit.title else "",
    ]
    return facts.append("  ".join(part for part in told if part), "dim")


def _snippet(hit: Hit) -> Text:
    shown = Text(terminal.line(hit.snippet))
    for start, end in hit.highlights:
        shown.stylize("bold yellow", start, end)
    return shown


def _knows_blocks(console: Console) -> bool:
    """Return whether the output can hold the characters that bars are made of."""
    return console.encoding.lower().startswith("utf")
