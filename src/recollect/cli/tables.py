"""Print hits, explanations, presets and comparisons with rich. Text of notes is never parsed as markup."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from recollect.cli import terminal
from recollect.retrieval.messages import fusion_summary, no_answer_message

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.model import Hit
    from recollect.retrieval import Preset, SearchResult

COLUMN_GAP = 2  # spaces between columns
BAR_WIDTH = 8  # characters
_PARTIAL_BLOCKS = " ▏▎▍▌▋▊▉█"  # the index is the number of eighths that are filled
MAX_EXPLANATION_WIDTH = 110
RANK_STYLES = {"▲": "green", "▼": "red", "new": "cyan", "–": "dim"}
"""Colours of a rank: better (▲), worse (▼) or new compared with the first preset; – if the note was not found."""
MIN_RANK_WIDTH = 6  # the width of a rank and its change, such as "12 ▲10"


def new_table(*columns: str, header_style: str = "bold") -> Table:
    """Return a table without borders."""
    table = Table(box=None, padding=(0, COLUMN_GAP, 0, 0), pad_edge=False, header_style=header_style)
    for column in columns:
        table.add_column(Text(column))
    return table


def print_table(console: Console, table: Table) -> None:
    """Print a table without spaces at the ends of its lines."""
    for segments in console.render_lines(table, pad=False):
        line = Text.assemble(*((segment.text, segment.style or "") for segment in segments))
        line.rstrip()
        console.print(line, soft_wrap=True)


def print_hits(console: Console, result: SearchResult, *, show_weak: bool) -> None:
    """Print each hit in three lines (title; confidence, legs and path; snippet), then a summary unless quiet."""
    hits = list(result.hits if show_weak else result.strong_hits)
    weak_ids = {hit.id for hit in result.weak_hits}
    paths = {hit.id: terminal.sanitise_line(hit.path) for hit in hits}
    for hit in hits:
        title = terminal.sanitise_line(hit.title or hit.path or hit.id)
        console.print(Text.assemble((f"{hit.rank:>2}  ", "dim"), (title, "bold")))
        details = _hit_details(hit, paths, weak=hit.id in weak_ids)
        console.print(Padding(details, (0, 0, 0, 4), expand=False))
        if hit.snippet:
            snippet = Text(terminal.sanitise_line(hit.snippet))
            for start, end in hit.highlights:
                snippet.stylize("bold yellow", start, end)
            console.print(Padding(snippet, (0, 0, 0, 4), expand=False))
        console.print()
    if not terminal.is_quiet():
        console.print(Text(_summary(result, len(hits)), "dim"))


def _hit_details(hit: Hit, paths: Mapping[str, str], *, weak: bool) -> Text:
    """Return the second line of a hit; ``paths`` maps the ids of the shown hits to their paths."""
    details = Text()
    if weak:
        details.append("weak ", "yellow")
    score = hit.relevance if hit.confidence is None else hit.confidence
    if score is not None:
        details.append(f"{score:.2f} ").append(f"{score_bar(score)}  ", "cyan")
    legs = " · ".join(f"{part.leg} {part.rank}" for part in hit.candidate.contributions)
    if not legs and hit.candidate.steps:
        legs = "graph"  # no leg found the note: it was added as a neighbour of another note
    parts = [
        hit.created_at.date().isoformat() if hit.created_at else "",
        legs,
        terminal.sanitise_line(hit.path or hit.id) if hit.title else "",
        terminal.sanitise_line(" ".join(f"#{tag}" for tag in hit.tags)),
    ]
    details.append("  ".join(part for part in parts if part), "dim")
    if hit.superseded_by:
        newer = ", ".join(paths.get(note_id) or terminal.sanitise_line(note_id) for note_id in hit.superseded_by)
        details.append(f"  superseded by {newer}", "yellow")
    return details


def score_bar(score: float) -> str:
    """Return a bar for a score from 0 to 1, with a resolution of an eighth of a character."""
    eighths = round(min(1.0, max(0.0, score)) * BAR_WIDTH * 8)
    return ("█" * (eighths // 8) + _PARTIAL_BLOCKS[eighths % 8]).ljust(BAR_WIDTH)[:BAR_WIDTH]


def print_explanation(console: Console, result: SearchResult, *, limit: int | None = None) -> None:
    """Print what each part of the search did, and how each of the first ``limit`` hits got its score."""
    width = min(console.width, MAX_EXPLANATION_WIDTH)
    text = Text(terminal.sanitise(result.explain(limit=limit, width=width)))
    for pattern, style in (
        (r"(?m)^[a-z]+( [a-z]+)?(?=  )", "dim"),  # a label of one or two words
        (r"(?m)^warning.*$", "yellow"),
        (r"(?m)^failed.*$", "red"),
        (r"(?m)^ ?\d+  .*$", "bold"),  # rank and title of a hit
        ("[█▏▎▍▌▋▊▉]+", "cyan"),  # the bar of a score
        ("▓+", "green"),  # the bar of a gain
        ("░+", "red"),  # the bar of a loss
    ):
        text.highlight_regex(pattern, style)
    console.print(text, soft_wrap=True)


def _summary(result: SearchResult, shown: int) -> str:
    """Return a line: how many candidates are shown, how many each leg returned, and how long the search took."""
    trace = result.trace
    leg_counts = {
        "lexical": trace.bm25_count if trace.mode != "semantic" else None,
        "vector": trace.vector_count if trace.mode != "bm25" else None,
        "graph": trace.graph_count or None,
    }
    hidden = len(result) - shown
    parts = [
        f"{shown} of {trace.fused_count}",
        f"{terminal.count(hidden, 'weak candidate')} not shown (--show-weak)" if hidden else "",
        ", ".join(f"{count} {leg}" for leg, count in leg_counts.items() if count is not None),
        f"reranked by {terminal.sanitise_line(trace.rerank_provider)}" if trace.reranked else "",
        f"{trace.total_elapsed:.0f} ms",
    ]
    return " · ".join(part for part in parts if part)


def print_comparison(console: Console, results: Mapping[str, SearchResult], *, summaries: bool) -> None:
    """Print a table of notes with a column of ranks for each preset; ``summaries`` adds a line about each preset."""
    table = new_table("", *map(terminal.sanitise_line, results))
    for column in table.columns[1:]:
        column.no_wrap, column.min_width = True, MIN_RANK_WIDTH
    for title, ranks in _comparison_rows(results):
        table.add_row(Text(title), *(_rank_cell(rank, ranks[0]) for rank in ranks))
    print_table(console, table)
    console.print()
    if not summaries:
        return
    width = max(len(terminal.sanitise_line(name)) for name in results)
    for name, result in results.items():
        trace = result.trace
        parts = [terminal.sanitise_line(fusion_summary(trace.fusion)), terminal.count(trace.fused_count, "candidate")]
        if trace.reranked:
            parts.append(f"reranked by {terminal.sanitise_line(trace.rerank_provider)}")
        parts.append(f"{trace.total_elapsed:.0f} ms")
        if result and not result.has_answer:
            parts.append(f"no answer: {no_answer_message(result.best_confidence, result.answer_threshold)}")
        console.print(Text.assemble(f"{terminal.sanitise_line(name):<{width}}  ", (" · ".join(parts), "dim")))


def _comparison_rows(results: Mapping[str, SearchResult]) -> Iterator[tuple[str, tuple[int | None, ...]]]:
    """Yield the title of each note and its ranks, one for each preset; ``None`` if the preset does not find the note.

    Notes are sorted by their rank with the first preset, and notes that it does not find by their best rank. A note
    without a title, or with the title of another note in the table, is named by its path.
    """
    rankings = [{hit.id: hit.rank for hit in result} for result in results.values()]
    hits = {hit.id: hit for result in results.values() for hit in result}
    title_counts = Counter(hit.title for hit in hits.values())
    ranks = {note_id: tuple(ranking.get(note_id) for ranking in rankings) for note_id in hits}
    best_rank = {note_id: min(rank for rank in ranks[note_id] if rank) for note_id in hits}
    for note_id in sorted(hits, key=lambda note_id: (ranks[note_id][0] or len(hits) + 1, best_rank[note_id])):
        hit = hits[note_id]
        title = hit.title if title_counts[hit.title] == 1 else ""
        yield terminal.sanitise_line(title or hit.path or hit.id), ranks[note_id]


def _rank_cell(rank: int | None, first_rank: int | None) -> Text:
    """Return a note's rank with a preset, and the difference from its rank with the first preset."""
    if rank is None:
        return Text(" –", RANK_STYLES["–"])
    if rank == first_rank:
        return Text(f"{rank:>2}")
    if first_rank is None:
        return Text(f"{rank:>2} new", RANK_STYLES["new"])
    arrow = "▲" if rank < first_rank else "▼"
    return Text(f"{rank:>2} {arrow}{abs(first_rank - rank)}", RANK_STYLES[arrow])


def print_presets(console: Console, presets: Sequence[Preset]) -> None:
    """Print the name and the description of each preset."""
    table = Table.grid(padding=(0, COLUMN_GAP, 0, 0))
    for preset in presets:
        table.add_row(Text(preset.name, "bold"), Text(preset.about))
    print_table(console, table)


def print_preset(console: Console, preset: Preset, default: Preset) -> None:
    """Print every setting of a preset; where the preset ``default`` has another value, print that value, too."""
    console.print(Text(terminal.sanitise_line(preset.name), "bold"))
    if preset.about:
        console.print(Text(terminal.sanitise_line(preset.about), "dim"))
    console.print()
    default_settings = _settings(default)
    table = Table.grid(padding=(0, COLUMN_GAP, 0, 0))
    table.add_column(min_width=max(map(len, default_settings)))
    for name, value in _settings(preset).items():
        is_default = value == default_settings[name]
        default_text = "" if is_default else f"default: {default_settings[name]}"
        table.add_row(Text(name, "dim"), Text(value, "" if is_default else "bold"), Text(default_text, "dim"))
    print_table(console, table)


def _settings(preset: Preset) -> dict[str, str]:
    """Return the text of each setting by its name, such as ``fusion.k``; the stages are one setting."""
    data = preset.to_dict()
    stages = [{**stage} for stage in data.pop("stages")]  # copies, since the names are removed below
    settings: dict[str, str] = {}
    for name, value in data.items():
        if isinstance(value, Mapping):
            settings |= {f"{name}.{key}": setting_value(item) for key, item in value.items()}
        elif name not in ("name", "about"):
            settings[name] = setting_value(value)
    # Of a stage without settings, the line has only the name.
    lines = [f"{stage.pop('stage')}: {setting_value(stage)}".removesuffix(": –") for stage in stages]
    return settings | {"stages": "\n".join(lines) or "none"}


def setting_value(value: Any) -> str:
    """Return the value of a setting as text; an empty mapping is ``–``."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {setting_value(item)}" for name, item in value.items()) or "–"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
