"""The figures of an evaluation, drawn as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from recollect.cli import terminal
from recollect.cli.columns import GAP, draw_table
from recollect.evaluation.comparison import ALL, compare_outcomes
from recollect.evaluation.dataset import format_count
from recollect.evaluation.report.text import TRUST_HEADS, difference_fields, trust_fields, verdict_text

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.evaluation import Dataset, Outcome, Sweep

__all__ = ["draw_differences", "draw_figures", "draw_heading", "draw_strata", "draw_sweep", "draw_trust"]

_STYLES = {"better": "green", "worse": "red"}


def draw_heading(console: Console, dataset: Dataset, outcome: Outcome) -> None:
    """Draw in one line what was asked of what, and with which embedder."""
    told = [format_count(len(dataset.answerable), "question")]
    if dataset.unanswerable:
        told.append(f"{len(dataset.unanswerable):,} without an answer")
    asked = {question.collection for question in dataset.questions}
    if dataset.notes:
        held = sum(len(dataset.collections[name].notes) for name in asked)
        told.append(format_count(held, "note") + (f" in {len(asked):,} collections" if len(asked) > 1 else ""))
    told.append("no embedder" if outcome.embedder == "none" else outcome.embedder)
    if dataset.synthetic:
        told.append("synthetic: made by rule, they say little about other questions")
    console.print(Text.assemble((terminal.line(dataset.name), "bold"), "  ", terminal.line(" · ".join(told))))
    console.print()


def draw_figures(console: Console, outcomes: Sequence[Outcome]) -> None:
    """Draw a row for each system and a column for each measure; the best of each is bold."""
    table = _table("", *outcomes[0].values, "p50 ms", "p95 ms")
    best = {measure: max(outcome.mean(measure) for outcome in outcomes) for measure in outcomes[0].values}
    for outcome in outcomes:
        table.add_row(
            Text(terminal.line(outcome.system)),
            *(_figure(outcome.mean(measure), best[measure]) for measure in outcome.values),
            *(Text(f"{outcome.latency(percentile):.1f}") for percentile in (50, 95)),
        )
    draw_table(console, table)


def draw_sweep(console: Console, sweeps: Sequence[Sweep]) -> None:
    """Draw a row for each value of a constant and a column for each measure; the best of each is bold."""
    lines = {sweep.measure: line for sweep in sweeps for line in sweep.lines.values()}
    table = _table(sweeps[0].parameter, *lines)
    for points in zip(*lines.values(), strict=True):
        best = [max(point.mean for point in line) for line in lines.values()]
        table.add_row(
            Text(f"{points[0].x:g}"), *(_figure(point.mean, most) for point, most in zip(points, best, strict=True))
        )
    console.print(Text(terminal.line(f"{sweeps[0].title}: {sweeps[0].parameter} turned"), "bold"))
    console.print()
    draw_table(console, table)


def draw_differences(console: Console, outcomes: Sequence[Outcome]) -> None:
    """Draw how far each other system is from the first, with the interval of the difference and what it means.

    Intervals are those of the paired bootstrap, p-values those of the randomisation test, corrected by Holm's method
    for as many systems as are compared.
    """
    comparison = compare_outcomes(outcomes, strata=[ALL])
    chance = "p" if len(comparison.compared_systems) == 1 else "p, Holm"
    table = _table(f"against {terminal.line(comparison.baseline)}", "", "difference", "95 % interval", chance, "")
    table.columns[1].justify = table.columns[5].justify = "left"
    for system in comparison.compared_systems:
        for measure in comparison.measures:
            standing = comparison.of(system, measure)
            difference, interval, _, p = difference_fields(standing)
            said = verdict_text(standing)
            name = Text(terminal.line(system) if measure == comparison.measures[0] else "")
            table.add_row(name, measure, difference, interval, p, Text(said, _STYLES.get(said, "dim")))
    draw_table(console, table)


def draw_strata(console: Console, outcomes: Sequence[Outcome]) -> None:
    """Draw for each kind of question a row for each system."""
    table = _table("", "questions", "", *outcomes[0].values)
    table.columns[2].justify = "left"
    for stratum, places in outcomes[0].strata.items():
        best = {measure: max(outcome.mean(measure, stratum) for outcome in outcomes) for measure in outcomes[0].values}
        for outcome in outcomes:
            is_first = outcome is outcomes[0]
            table.add_row(
                Text(terminal.line(stratum) if is_first else ""),
                f"{len(places):,}" if is_first else "",
                Text(terminal.line(outcome.system)),
                *(_figure(outcome.mean(measure, stratum), best[measure]) for measure in outcome.values),
            )
    draw_table(console, table)


def draw_trust(console: Console, outcomes: Sequence[Outcome]) -> None:
    """Draw how far the confidence of each system can be trusted, a row for each system whose confidences are known."""
    table = _table("trust", *TRUST_HEADS)
    for outcome in outcomes:
        if outcome.trust:
            table.add_row(Text(terminal.line(outcome.system)), *trust_fields(outcome.trust))
    draw_table(console, table)


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold")
    table.add_column(first)
    for name in others:
        table.add_column(Text(name), justify="right", no_wrap=True)
    return table


def _figure(value: float, best: float) -> Text:
    return Text(f"{value:.3f}", "bold" if value == best else "")
