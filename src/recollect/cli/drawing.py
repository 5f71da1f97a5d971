"""Hits and explanations, drawn with rich. Nothing in a note is taken for markup."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from recollect.cli import terminal

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.model import Hit
    from recollect.retrieval import SearchResult

__all__ = ["bar", "draw_exclusion", "draw_explanation", "draw_hits", "draw_retry", "draw_summary"]

CELLS = 8
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_BARS = "[█▏▎▍▌▋▊▉]+"
_LEGS = {"lexical": "words", "vector": "meaning"}
_PLAIN = str.maketrans({"█": "#", "▓": "+", "░": "-", "·": "|", "×": "x", "−": "-", "–": "-", "→": ">", "↳": ">"})
_PLAIN |= dict.fromkeys(map(ord, "▏▎▍▌▋▊▉"), "#")
"""What an output without Unicode gets instead."""
WIDEST = 110
"""How wide an explanation is at most: longer lines are hard to follow."""


def draw_hits(console: Console, hits: Iterable[Hit], *, indent: int = 0, weak: Iterable[Hit] = ()) -> None:
    """Draw each hit in three lines: what it is, how it was found, and the piece that fits the query.

    Those that are among ``weak`` are marked as candidates that are no answer.
    """
    shown = list(hits)
    marked = {hit.id for hit in weak}
    places = {hit.id: terminal.line(hit.path) for hit in shown}
    for hit in shown:
        # The first line is what the eye jumps to; the rank hangs to its left.
        title = Text.assemble((f"{hit.rank:>2}  ", "dim"), (terminal.line(hit.title or hit.path or hit.id), "bold"))
        console.print(Padding(title, (0, 0, 0, indent), expand=False))
        console.print(
            Padding(
                _facts(hit, places, blocks=_knows_blocks(console), weak=hit.id in marked),
                (0, 0, 0, indent + 4),
                expand=False,
            )
        )
        if hit.snippet:
            console.print(Padding(_snippet(hit), (0, 0, 0, indent + 4), expand=False))
        console.print()


def draw_explanation(console: Console, result: SearchResult, *, limit: int | None = None) -> None:
    """Draw what each part of the search did, and how each hit came by its score."""
    page = terminal.page(result.explain(limit=limit, width=min(console.width, WIDEST)))
    drawing = Text(page if _knows_blocks(console) else page.translate(_PLAIN))
    drawing.highlight_regex(r"(?m)^[a-z]+( [a-z]+)?(?=  )", "dim")
    drawing.highlight_regex(r"(?m)^warning.*$", "yellow")
    drawing.highlight_regex(r"(?m)^failed.*$", "red")
    drawing.highlight_regex(r"(?m)^ ?\d+  .*$", "bold")
    drawing.highlight_regex(_BARS, "cyan")
    drawing.highlight_regex("▓+", "green")
    drawing.highlight_regex("░+", "red")
    console.print(drawing, soft_wrap=True)


def draw_exclusion(result: SearchResult) -> None:
    """Say what the query excludes."""
    from recollect.retrieval.wording import exclusion_in_words  # noqa: PLC0415 (brings numpy)

    if message := exclusion_in_words(result.trace):
        terminal.say_aside(message)


def draw_retry(result: SearchResult) -> None:
    """Say what was done where the words of the query found nothing."""
    from recollect.retrieval.wording import retry_in_words  # noqa: PLC0415 (brings numpy)

    message = retry_in_words(result.trace)
    if message and message not in result.warnings:  # which were shown already
        terminal.say_aside(message)


def draw_summary(console: Console, result: SearchResult, shown: int) -> None:
    """Draw in one line how many of the candidates are shown, what was searched, and how long it took."""
    trace = result.trace
    ways = {
        "words": trace.bm25_count if trace.mode != "semantic" else None,
        "meaning": trace.vector_count if trace.mode != "bm25" else None,
        "connections": trace.graph_count or None,
    }
    told = [
        f"{shown} of {trace.fused_count}",
        _weak_in_words(len(result) - shown),
        ", ".join(f"{count} by {way}" for way, count in ways.items() if count is not None),
        f"reranked by {terminal.line(trace.rerank_provider)}" if trace.reranked else "",
        f"{trace.total_elapsed:.0f} ms",
    ]
    console.print(Text(" · ".join(part for part in told if part), "dim"))


def _weak_in_words(count: int) -> str:
    """Return how many weak candidates are not shown, and how to see them."""
    if not count:
        return ""
    return f"{count} weak candidate{'s' if count > 1 else ''} not shown (--show-weak)"


def bar(share: float) -> str:
    """Return a bar of eighths of a cell.

    >>> bar(0.5)
    '████    '
    """
    eighths = round(min(1.0, max(0.0, share)) * CELLS * 8)
    full = "█" * (eighths // 8)
    return (full + _EIGHTHS[eighths % 8]).ljust(CELLS)[:CELLS]


def _facts(hit: Hit, places: Mapping[str, str], *, blocks: bool, weak: bool) -> Text:
    facts = Text()
    if weak:
        facts.append("weak ", "yellow")
    sure = hit.relevance if hit.confidence is None else hit.confidence
    if sure is not None:
        facts.append(f"{sure:.2f} ")
        if blocks:
            facts.append(bar(sure), "cyan")
            facts.append("  ")
    told = [
        hit.created_at.date().isoformat() if hit.created_at else "",
        _ways(hit),
        terminal.line(hit.path or hit.id) if hit.title else "",
        terminal.line(" ".join(f"#{tag}" for tag in hit.tags)),
    ]
    facts.append("  ".join(part for part in told if part), "dim")
    if hit.superseded_by:
        heirs = ", ".join(places.get(heir) or terminal.line(heir) for heir in hit.superseded_by)
        facts.append(f"  replaced by {heirs}", "yellow")
    return facts


def _ways(hit: Hit) -> str:
    """Return the place that each leg gave a hit; one that no leg found by itself came by connections."""
    parts = hit.candidate.contributions
    if (parts and all(part.leg == "graph" for part in parts)) or (not parts and hit.candidate.steps):
        return "by connections"
    return " · ".join(f"{_LEGS.get(part.leg, part.leg)} {part.rank}" for part in parts)


def _snippet(hit: Hit) -> Text:
    shown = Text(terminal.line(hit.snippet))
    for start, end in hit.highlights:
        shown.stylize("bold yellow", start, end)
    return shown


def _knows_blocks(console: Console) -> bool:
    """Return whether the output can hold the characters that bars are made of."""
    return console.encoding.lower().startswith("utf")
