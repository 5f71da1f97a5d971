"""A report as Markdown: the same tables, for a pull request or a page of documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recollect.evaluation.comparison import ALL, ComparisonResult
from recollect.evaluation.dataset import format_count
from recollect.evaluation.report.content import Report
from recollect.evaluation.report.markup import escaped_markdown
from recollect.evaluation.report.text import (
    TRUST_HEADS,
    TRUST_NOTE,
    difference_fields,
    findings,
    format_fraction,
    format_ms,
    format_number,
    format_rank,
    format_signed,
    method_notes,
    trust_fields,
    verdict_mark,
    verdict_text,
)

__all__ = ["markdown_report"]

_SHOWN = 10
"""How many won and how many lost questions are listed for each system: who reads Markdown cannot fold them away."""


def markdown_report(report: Report) -> str:
    """Return the whole text."""
    parts = [_head(report), _findings(report), _measures(report), _differences(report)]
    parts += [_strata(report), _trust(report), _sweeps(report), _contests(report), _systems(report), _method(report)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(report: Report) -> str:
    dataset = report.dataset
    facts = [format_count(report.questions, "question")]
    if dataset.notes:
        facts.append(f"{format_count(dataset.notes, 'note')} in {format_count(len(dataset.collections), 'collection')}")
    facts += [f"embedder {escaped_markdown(', '.join(report.embedders))}"]
    facts += [escaped_markdown(report.date)] if report.date else []
    lines = [f"# {escaped_markdown(dataset.name)}", ", ".join(facts) + "."]
    if dataset.synthetic:
        lines.append(
            "> **Synthetic questions.** Questions and judgements were made by rule from the notes themselves. Figures "
            "compare systems on them; they do not say how well real questions are answered."
        )
    if dataset.remarks:
        lines.append(_list(escaped_markdown(remark) for remark in dataset.remarks))
    return "\n\n".join(lines)


def _findings(report: Report) -> str:
    found = findings(report.comparison)
    said = _list(f"**{escaped_markdown(system)}.** {escaped_markdown(sentence)}" for system, sentence in found)
    return f"## Findings\n\n{said}" if found else ""


def _measures(report: Report) -> str:
    comparison = report.comparison
    rows = [
        [escaped_markdown(system), *(_own(report, system, measure) for measure in comparison.measures)]
        for system in comparison.systems
    ]
    return "## Measures\n\nThe mean over all questions, with its 95 % interval.\n\n" + _table(
        ["system", *map(escaped_markdown, comparison.measures)], rows
    )


def _own(report: Report, system: str, measure: str) -> str:
    mean, low, high = report.intervals[system, measure]
    return f"{format_fraction(mean)} ({format_fraction(low)}–{format_fraction(high)})"


def _differences(report: Report) -> str:
    comparison = report.comparison
    if not comparison.compared_systems:
        return ""
    rows = [
        [
            escaped_markdown(measure),
            escaped_markdown(system),
            *difference_fields(standing),
            f"{verdict_mark(standing)} {verdict_text(standing)}",
        ]
        for measure in comparison.measures
        for system in comparison.compared_systems
        for standing in [comparison.of(system, measure)]
    ]
    heads = ["measure", "system", "difference", "95 % interval", "p", "p, Holm", "verdict"]
    return f"## Differences to {escaped_markdown(comparison.baseline)}\n\n{_table(heads, rows)}"


def _strata(report: Report) -> str:
    comparison = report.comparison
    if len(comparison.strata) < 2:
        return ""
    parts = [
        "## Kinds of question\n\nMeans; ▲ better and ▼ worse than the baseline by an interval that lies off zero, "
        "△ and ▽ where that is not significant after correction, ≈ inconclusive."
    ]
    for stratum in comparison.strata:
        if stratum == ALL:
            continue
        count = comparison.of(comparison.baseline, comparison.measures[0], stratum).questions
        rows = [
            [escaped_markdown(system), *(_marked(comparison.of(system, name, stratum)) for name in comparison.measures)]
            for system in comparison.systems
        ]
        heads = ["system", *map(escaped_markdown, comparison.measures)]
        parts.append(f"### {escaped_markdown(stratum)} ({count:,})\n\n{_table(heads, rows)}")
    return "\n\n".join(parts)


def _marked(standing: ComparisonResult) -> str:
    value = format_fraction(standing.value)
    if standing.difference is None:
        return value
    return f"{value} {verdict_mark(standing)} {format_signed(standing.difference.mean)}"


def _trust(report: Report) -> str:
    rows = [
        [escaped_markdown(outcome.system), *trust_fields(outcome.trust)] for outcome in report.outcomes if outcome.trust
    ]
    return f"## Trust\n\n{TRUST_NOTE}\n\n{_table(['system', *TRUST_HEADS], rows)}" if rows else ""


def _sweeps(report: Report) -> str:
    parts = ["## Sweeps"]
    for sweep in report.sweeps:
        rows = [
            [
                escaped_markdown(name),
                format_number(point.x),
                f"{format_fraction(point.mean)} ({format_fraction(point.low)}–{format_fraction(point.high)})",
            ]
            for name, points in sweep.lines.items()
            for point in points
        ]
        heads = ["series", escaped_markdown(sweep.parameter), escaped_markdown(sweep.measure)]
        parts.append(f"### {escaped_markdown(sweep.title)}\n\n{_table(heads, rows)}")
    return "\n\n".join(parts) if report.sweeps else ""


def _contests(report: Report) -> str:
    parts = []
    for contest in report.contests:
        counts = f"{len(contest.wins):,} won, {len(contest.losses):,} lost, {len(contest.ties):,} alike"
        text = f"### {escaped_markdown(contest.system)}\n\n{counts}, by {escaped_markdown(contest.measure)}."
        listed = [*contest.wins[:_SHOWN], *contest.losses[:_SHOWN]]
        rows = [
            [
                escaped_markdown(each.question.text),
                format_rank(each.baseline_rank),
                format_rank(each.rank),
                format_signed(each.gain),
            ]
            for each in listed
        ]
        heads = ["question", f"{escaped_markdown(contest.baseline)}, rank", "rank", "difference"]
        parts.append(f"{text}\n\n{_table(heads, rows)}" if listed else text)
    if not parts:
        return ""
    intro = f"The largest differences, up to {_SHOWN} each way; ranks are those of the first right note."
    return "\n\n".join(["## Question by question", intro, *parts])


def _systems(report: Report) -> str:
    rows = [
        [
            *map(escaped_markdown, (outcome.system, outcome.preset, outcome.mode, outcome.embedder)),
            *map(format_ms, report.latencies[outcome.system]),
        ]
        for outcome in report.outcomes
    ]
    heads = ["system", "preset", "mode", "embedder", "p50, ms", "p95, ms"]
    return f"## Systems and latency\n\n{_table(heads, rows)}"


def _method(report: Report) -> str:
    return f"## How this was computed\n\n{_list(escaped_markdown(line) for line in method_notes(report))}"


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
