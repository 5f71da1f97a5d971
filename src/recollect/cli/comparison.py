"""The same query under several presets, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from recollect.cli import terminal
from recollect.cli.columns import GAP, fitted, fitting

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.retrieval import SearchResult

__all__ = ["draw_places", "draw_summaries"]

Results = Mapping[str, "SearchResult"]

TITLES = 20
"""The room that titles get before the names of presets are shortened for them."""
LEAST = 6
"""What is left of a preset's name, and wide enough for most places."""


def draw_places(console: Console, results: Results) -> None:
    """Draw a row for each note that any preset found, and a column for each preset with the note's place there."""
    rows = list(_rows(results))
    names = [terminal.line(name) for name in results]
    table = [[_cell(row.places, preset) for preset in range(len(names))] for row in rows]
    needed = [max(LEAST, *map(len, column)) for column in zip(*table, strict=True)]
    widths = fitting(
        [max(len(name), least) for name, least in zip(names, needed, strict=True)], needed, console.width - TITLES
    )
    longest = max(cell_len(row.title) for row in rows)
    room = min(longest, max(TITLES // 2, console.width - sum(widths) - GAP * len(widths)))
    _draw_line(console, Text(" " * room), names, widths, heading=True)
    for row, cells in zip(rows, table, strict=True):
        _draw_line(console, fitted(row.title, room, keep_end=row.is_path), cells, widths)
    console.print()


def draw_summaries(console: Console, results: Results) -> None:
    """Draw for each preset in one line how it fuses, how many candidates there were, and how long it took."""
    from recollect.retrieval.wording import fusion_in_words, no_answer_in_words  # noqa: PLC0415 (brings numpy)

    widest = max(len(terminal.line(name)) for name in results)
    for name, result in results.items():
        trace = result.trace
        candidates = "1 candidate" if trace.fused_count == 1 else f"{trace.fused_count} candidates"
        told = [terminal.line(fusion_in_words(trace.fusion)), candidates]
        if trace.reranked:
            told.append(f"reranked by {terminal.line(trace.rerank_provider)}")
        told.append(f"{trace.total_elapsed:.0f} ms")
        if result and not result.has_answer:
            told.append(f"no answer: {no_answer_in_words(result.best_confidence, result.answer_threshold)}")
        console.print(Text.assemble(f"{terminal.line(name):<{widest}}  ", (" · ".join(told), "dim")))


Places = tuple[int | None, ...]
"""The place of a note under each preset; ``None`` where it was not found."""


class _Row(NamedTuple):
    title: str
    is_path: bool
    places: Places


def _rows(results: Results) -> Iterator[_Row]:
    """Yield the notes with their places, in the order of the first preset, then of the best place elsewhere.

    A note goes by its title, unless others in the table have the same.
    """
    places = [{hit.id: hit.rank for hit in result} for result in results.values()]
    notes = {hit.id: hit for result in results.values() for hit in result}
    titles = Counter(hit.title for hit in notes.values())
    found = [(hit, tuple(ranks.get(note) for ranks in places)) for note, hit in notes.items()]
    found.sort(key=lambda row: (row[1][0] or len(notes) + 1, min(rank for rank in row[1] if rank)))
    for hit, ranks in found:
        title = hit.title if titles[hit.title] == 1 else ""
        yield _Row(terminal.line(title or hit.path or hit.id), not title, ranks)


def _draw_line(
    console: Console, line: Text, cells: Sequence[str], widths: Sequence[int], *, heading: bool = False
) -> None:
    for cell, width in zip(cells, widths, strict=True):
        line.append(" " * GAP).append_text(fitted(cell, width, "bold" if heading else _style(cell)))
    line.rstrip()
    console.print(line, soft_wrap=True)


def _cell(places: Places, preset: int) -> str:
    first, here = places[0], places[preset]
    if here is None:
        return " –"
    if preset == 0 or here == first:
        return f"{here:>2}"
    if first is None:
        return f"{here:>2} new"
    return f"{here:>2} {'▲' if here < first else '▼'}{abs(first - here)}"


def _style(cell: str) -> str:
    styles = {"▲": "green", "▼": "red", "n": "cyan", "–": "dim"}
    return next((style for sign, style in styles.items() if sign in cell), "")
