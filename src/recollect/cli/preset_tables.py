"""Presets, drawn so that one sees where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from recollect.cli import terminal
from recollect.cli.columns import GAP, draw_table, fitting
from recollect.retrieval.wording import fusion_in_words

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.retrieval import Preset

__all__ = ["draw_preset", "draw_presets"]


def draw_presets(console: Console, presets: Sequence[Preset]) -> None:
    """Draw a column for each preset and a row for each part; what is as in the first is dim."""
    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold")
    facts = [_facts(preset) for preset in presets]
    texts = [(preset.name, *told.values()) for preset, told in zip(presets, facts, strict=True)]
    widths = fitting(
        [max(len(line) for text in each for line in text.splitlines()) for each in texts],
        [max(len(word) for text in each for word in text.split()) for each in texts],
        console.width - max(map(len, facts[0])),
    )
    table.add_column("")
    for preset, width in zip(presets, widths, strict=True):
        table.add_column(preset.name, width=width)
    for part in facts[0]:
        row = [each[part] for each in facts]
        styles = ["" if place == 0 or each != row[0] else "dim" for place, each in enumerate(row)]
        table.add_row(Text(part, "dim"), *map(Text, row, styles))
    draw_table(console, table)
    widest = max(len(preset.name) for preset in presets)
    about = Table.grid(padding=(0, 2, 0, 0))
    for preset in presets:
        about.add_row(Text(f"{preset.name:<{widest}}", "bold"), Text(preset.about))
    console.print()
    draw_table(console, about)


def draw_preset(console: Console, preset: Preset, default: Preset) -> None:
    """Draw every setting of a preset, and what the default has where that is different."""
    console.print(Text(terminal.line(preset.name), "bold"))
    if preset.about:
        console.print(Text(terminal.line(preset.about), "dim"))
    console.print()
    usual = dict(_settings(default))
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, value in _settings(preset):
        other = usual[name]
        table.add_row(
            Text(name, "dim"),
            Text(value, "" if value == other else "bold"),
            Text("" if value == other else f"default: {other}", "dim"),
        )
    draw_table(console, table)


def _facts(preset: Preset) -> dict[str, str]:
    graph, ladder, query = preset.graph, preset.ladder, preset.query
    names = "names and titles" if ladder.titles else "names"
    agree = preset.rerank.agree_min
    return {
        "query": f"{query.reading}, {'any word' if query.match == 'any' else 'all words, then any'}",
        "fusion": fusion_in_words(preset.fusion.to_dict()),
        "depth": f"{preset.candidate_k} per leg",
        "graph": "off" if graph.use == "off" else f"{graph.use}, {graph.spread.replace('_', ' ')}",
        "stages": "\n".join(stage.stage for stage in preset.stages) or "none",
        "ladder": f"{names}, spelling" if ladder.on and ladder.vocabulary else names if ladder.on else "off",
        "rerank": "off" if not preset.rerank.on else f"unless {agree} of 3 agree" if agree else "always",
        "shown": f"confidence ≥ {preset.min_confidence:g}" if preset.min_confidence else "all",
        "answer": f"confidence ≥ {preset.answer_threshold:g}" if preset.answer_threshold else "any hit",
    }


def _settings(preset: Preset) -> Iterator[tuple[str, str]]:
    """Yield each setting by its full name."""
    told = preset.to_dict()
    for name in ("candidate_k", "min_confidence", "answer_threshold"):
        yield name, _value(told[name])
    for section in ("query", "ladder", "fusion", "graph", "rerank"):
        for name, value in told[section].items():
            yield f"{section}.{name}", _value(value)
    yield "stages", "\n".join(_stage(stage) for stage in told["stages"]) or "none"


def _stage(told: Mapping[str, Any]) -> str:
    constants = ", ".join(f"{name} {_value(value)}" for name, value in told.items() if name != "stage")
    return f"{told['stage']}: {constants}" if constants else str(told["stage"])


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {weight:g}" for name, weight in value.items()) or "–"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
