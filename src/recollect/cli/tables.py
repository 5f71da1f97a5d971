"""Hits, explanations, presets and comparisons, printed with rich. Text of notes is never parsed as markup."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from recollect.cli import terminal
from recollect.retrieval.messages import (
    exclusion_message,
    fusion_summary,
    no_answer_message,
    retry_message,
)

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.model import Hit
    from recollect.retrieval import Preset, SearchResult

GAP = 2
"""The space between two columns."""
BAR_CELLS = 8
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_ASCII = str.maketrans({"█": "#", "▓": "+", "░": "-", "·": "|", "×": "x", "−": "-", "–": "-", "→": ">", "↳": ">"})
_ASCII |= dict.fromkeys(map(ord, "▏▎▍▌▋▊▉"), "#")
"""Replacements for an output without Unicode."""
MAX_EXPLANATION_WIDTH = 110
RANK_STYLES = {"▲": "green", "▼": "red", "n": "cyan", "–": "dim"}
MIN_COLUMN_WIDTH = 6
"""The width that the rank and the change of a note need."""


def new_table(*columns: str, header_style: str = "bold") -> Table:
    """Return a table without borders."""
    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style=header_style)
    for column in columns:
        table.add_column(Text(column))
    return table


def print_table(console: Console, table: Table) -> None:
    """Print a table without spaces at the ends of its lines."""
    for segments in console.render_lines(table, pad=False):
        line = Text.assemble(*((segment.text, segment.style or "") for segment in segments))
        line.rstrip()
        console.print(line, soft_wrap=True)


def print_hits(console: Console, hits: Iterable[Hit], *, weak: Iterable[Hit] = ()) -> None:
    """Print each hit in three lines: title, score and origin, and snippet; those in ``weak`` are marked as weak."""
    hits = list(hits)
    weak_ids = {hit.id for hit in weak}
    paths = {hit.id: terminal.sanitise_line(hit.path) for hit in hits}
    for hit in hits:
        title = terminal.sanitise_line(hit.title or hit.path or hit.id)
        console.print(Text.assemble((f"{hit.rank:>2}  ", "dim"), (title, "bold")))
        details = _hit_details(hit, paths, bars=_supports_blocks(console), weak=hit.id in weak_ids)
        console.print(Padding(details, (0, 0, 0, 4), expand=False))
        if hit.snippet:
            snippet = Text(terminal.sanitise_line(hit.snippet))
            for start, end in hit.highlights:
                snippet.stylize("bold yellow", start, end)
            console.print(Padding(snippet, (0, 0, 0, 4), expand=False))
        console.print()


def _hit_details(hit: Hit, paths: Mapping[str, str], *, bars: bool, weak: bool) -> Text:
    details = Text()
    if weak:
        details.append("weak ", "yellow")
    score = hit.relevance if hit.confidence is None else hit.confidence
    if score is not None:
        details.append(f"{score:.2f} ")
        if bars:
            details.append(score_bar(score), "cyan")
            details.append("  ")
    parts = [
        hit.created_at.date().isoformat() if hit.created_at else "",
        _leg_ranks(hit),
        terminal.sanitise_line(hit.path or hit.id) if hit.title else "",
        terminal.sanitise_line(" ".join(f"#{tag}" for tag in hit.tags)),
    ]
    details.append("  ".join(part for part in parts if part), "dim")
    if hit.superseded_by:
        newer = ", ".join(paths.get(note) or terminal.sanitise_line(note) for note in hit.superseded_by)
        details.append(f"  superseded by {newer}", "yellow")
    return details


def _leg_ranks(hit: Hit) -> str:
    """Return the rank of a hit in each leg; "graph" if no leg found it."""
    legs = " · ".join(f"{part.leg} {part.rank}" for part in hit.candidate.contributions)
    return legs or ("graph" if hit.candidate.steps else "")


def score_bar(share: float) -> str:
    """Return a bar with a resolution of an eighth of a cell.

    >>> score_bar(0.5)
    '████    '
    """
    eighths = round(min(1.0, max(0.0, share)) * BAR_CELLS * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).ljust(BAR_CELLS)[:BAR_CELLS]


def _supports_blocks(console: Console) -> bool:
    """Return whether the output can encode block characters."""
    return console.encoding.lower().startswith("utf")


def print_explanation(console: Console, result: SearchResult, *, limit: int | None = None) -> None:
    """Print what each part of the search did, and how each hit got its score."""
    text = terminal.sanitise(result.explain(limit=limit, width=min(console.width, MAX_EXPLANATION_WIDTH)))
    page = Text(text if _supports_blocks(console) else text.translate(_ASCII))
    for pattern, style in (
        (r"(?m)^[a-z]+( [a-z]+)?(?=  )", "dim"),
        (r"(?m)^warning.*$", "yellow"),
        (r"(?m)^failed.*$", "red"),
        (r"(?m)^ ?\d+  .*$", "bold"),
        ("[█▏▎▍▌▋▊▉]+", "cyan"),
        ("▓+", "green"),
        ("░+", "red"),
    ):
        page.highlight_regex(pattern, style)
    console.print(page, soft_wrap=True)


def print_exclusion(result: SearchResult) -> None:
    """Print what the query excludes."""
    if message := exclusion_message(result.trace):
        terminal.print_note(message)


def print_fallback(result: SearchResult) -> None:
    """Print which fallback query was used."""
    message = retry_message(result.trace)
    if message and message not in result.warnings:  # warnings are printed already
        terminal.print_note(message)


def print_summary(console: Console, result: SearchResult, shown: int) -> None:
    """Print in one line how many candidates are shown, how many each leg found, and the latency."""
    trace = result.trace
    legs = {
        "lexical": trace.bm25_count if trace.mode != "semantic" else None,
        "vector": trace.vector_count if trace.mode != "bm25" else None,
        "graph": trace.graph_count or None,
    }
    weak = len(result) - shown
    parts = [
        f"{shown} of {trace.fused_count}",
        f"{terminal.count(weak, 'weak candidate')} not shown (--show-weak)" if weak else "",
        ", ".join(f"{count} {leg}" for leg, count in legs.items() if count is not None),
        f"reranked by {terminal.sanitise_line(trace.rerank_provider)}" if trace.reranked else "",
        f"{trace.total_elapsed:.0f} ms",
    ]
    console.print(Text(" · ".join(part for part in parts if part), "dim"))


def print_comparison(console: Console, results: Mapping[str, SearchResult], *, summaries: bool) -> None:
    """Print a row for each note and a column for each preset with the note's rank, then a line for each preset."""
    table = new_table("", *map(terminal.sanitise_line, results))
    for column in table.columns[1:]:
        column.no_wrap, column.min_width = True, MIN_COLUMN_WIDTH
    for title, ranks in _comparison_rows(results):
        cells = [_rank_cell(ranks, column) for column in range(len(ranks))]
        styles = (next((style for sign, style in RANK_STYLES.items() if sign in cell), "") for cell in cells)
        table.add_row(Text(title), *map(Text, cells, styles))
    print_table(console, table)
    console.print()
    width = max(len(terminal.sanitise_line(name)) for name in results)
    for name, result in results.items() if summaries else ():
        trace = result.trace
        parts = [terminal.sanitise_line(fusion_summary(trace.fusion)), terminal.count(trace.fused_count, "candidate")]
        if trace.reranked:
            parts.append(f"reranked by {terminal.sanitise_line(trace.rerank_provider)}")
        parts.append(f"{trace.total_elapsed:.0f} ms")
        if result and not result.has_answer:
            parts.append(f"no answer: {no_answer_message(result.best_confidence, result.answer_threshold)}")
        console.print(Text.assemble(f"{terminal.sanitise_line(name):<{width}}  ", (" · ".join(parts), "dim")))


Ranks = tuple[int | None, ...]
"""The rank of a note with each preset; ``None`` if it was not found."""


def _comparison_rows(results: Mapping[str, SearchResult]) -> Iterator[tuple[str, Ranks]]:
    """Yield title and ranks of each note, by the first preset's rank, then by the best rank.

    A note is named by its title, or by its path if another note in the table has the same title.
    """
    rankings = [{hit.id: hit.rank for hit in result} for result in results.values()]
    notes = {hit.id: hit for result in results.values() for hit in result}
    titles = Counter(hit.title for hit in notes.values())
    rows = [(hit, tuple(ranking.get(note) for ranking in rankings)) for note, hit in notes.items()]
    rows.sort(key=lambda row: (row[1][0] or len(notes) + 1, min(rank for rank in row[1] if rank)))
    for hit, ranks in rows:
        title = hit.title if titles[hit.title] == 1 else ""
        yield terminal.sanitise_line(title or hit.path or hit.id), ranks


def _rank_cell(ranks: Ranks, preset: int) -> str:
    first, rank = ranks[0], ranks[preset]
    if rank is None:
        return " –"
    if preset == 0 or rank == first:
        return f"{rank:>2}"
    if first is None:
        return f"{rank:>2} new"
    return f"{rank:>2} {'▲' if rank < first else '▼'}{abs(first - rank)}"


def print_presets(console: Console, presets: Sequence[Preset]) -> None:
    """Print a column for each preset and a row for each part; what equals the first preset is dim."""
    summaries = [_preset_summary(preset) for preset in presets]
    table = new_table("", *(preset.name for preset in presets))
    for column, summary in zip(table.columns[1:], summaries, strict=True):
        column.min_width = max(len(word) for text in summary.values() for word in text.split())
    for part in summaries[0]:
        row = [summary[part] for summary in summaries]
        styles = ["dim" if column and text == row[0] else "" for column, text in enumerate(row)]
        table.add_row(Text(part, "dim"), *map(Text, row, styles))
    print_table(console, table)
    console.print()
    descriptions = Table.grid(padding=(0, 2, 0, 0))
    for preset in presets:
        descriptions.add_row(Text(preset.name, "bold"), Text(preset.about))
    print_table(console, descriptions)


def print_preset(console: Console, preset: Preset, default: Preset) -> None:
    """Print every setting of a preset, and the default's value where it differs."""
    console.print(Text(terminal.sanitise_line(preset.name), "bold"))
    if preset.about:
        console.print(Text(terminal.sanitise_line(preset.about), "dim"))
    console.print()
    default_settings = dict(_settings(default))
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(min_width=max(map(len, default_settings)))
    for name, value in _settings(preset):
        same = value == default_settings[name]
        other = "" if same else f"default: {default_settings[name]}"
        table.add_row(Text(name, "dim"), Text(value, "" if same else "bold"), Text(other, "dim"))
    print_table(console, table)


def _preset_summary(preset: Preset) -> dict[str, str]:
    ladder, query = preset.ladder, preset.query
    names = "names and titles" if ladder.titles else "names"
    agree = preset.rerank.agree_min
    return {
        "query": f"{query.semantics}, {'any term' if query.match == 'any' else 'all terms, then any'}",
        "fusion": fusion_summary(preset.fusion.to_dict()),
        "depth": f"{preset.candidate_k} per leg",
        "graph": preset.graph.use,
        "stages": "\n".join(stage.name for stage in preset.stages) or "none",
        "ladder": f"{names}, spelling" if ladder.on and ladder.vocabulary else names if ladder.on else "off",
        "rerank": "off" if not preset.rerank.on else f"unless {agree} of 3 agree" if agree else "always",
        "shown": f"confidence ≥ {preset.min_confidence:g}" if preset.min_confidence else "all",
        "answer": f"confidence ≥ {preset.answer_threshold:g}" if preset.answer_threshold else "any hit",
    }


def _settings(preset: Preset) -> Iterator[tuple[str, str]]:
    """Yield each setting by its full name."""
    data = preset.to_dict()
    for name in ("candidate_k", "min_confidence", "answer_threshold"):
        yield name, _setting_value(data[name])
    for section in ("query", "ladder", "fusion", "graph", "rerank"):
        for name, value in data[section].items():
            yield f"{section}.{name}", _setting_value(value)
    stages = []
    for stage in data["stages"]:
        constants = ", ".join(f"{name} {_setting_value(value)}" for name, value in stage.items() if name != "stage")
        stages.append(f"{stage['stage']}: {constants}" if constants else str(stage["stage"]))
    yield "stages", "\n".join(stages) or "none"


def _setting_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {weight:g}" for name, weight in value.items()) or "–"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
