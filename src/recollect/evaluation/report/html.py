"""A report as one HTML page that needs nothing else: no script, no font, no picture from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files

from recollect import __version__
from recollect.evaluation.comparison import ALL, ComparisonResult
from recollect.evaluation.report.content import SHOWN, Report
from recollect.evaluation.report.drawing import STYLE
from recollect.evaluation.report.markup import escaped
from recollect.evaluation.report.pictures import Pictures, pictures
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
from recollect.evaluation.win_loss import QuestionDifference, WinLoss

__all__ = ["html_report"]


def html_report(report: Report) -> str:
    """Return the whole page."""
    drawn = pictures(report, styled=False)
    sections = [_findings(report), _measures(report), _bars(drawn), _strata(report, drawn), _trust(report, drawn)]
    sections += [_sweeps(report, drawn), _contests(report), _systems(report), _method(report), _figures(report)]
    style = files("recollect.evaluation.report").joinpath("page.css").read_text(encoding="utf-8") + STYLE
    # A server knows a report by how it begins and ends: recollect.server.reports.
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="Recollect {__version__}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escaped(report.dataset.name)}: evaluation</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
{_header(report)}
<main>
{"".join(section for section in sections if section)}</main>
<footer><p class="note">Written by Recollect.</p></footer>
</body>
</html>
"""


def _header(report: Report) -> str:
    facts = [
        ("Questions", f"{report.questions:,}"),
        ("Notes", f"{report.dataset.notes:,}" if report.dataset.notes else ""),
        ("Collections", f"{len(report.dataset.collections):,}" if report.dataset.notes else ""),
        ("Systems", f"{len(report.outcomes)}"),
        ("Embedder", ", ".join(report.embedders)),
        ("Date", report.date),
    ]
    shown = "".join(f"<div><dt>{name}</dt><dd>{escaped(fact)}</dd></div>" for name, fact in facts if fact)
    banner = ""
    if report.dataset.synthetic:
        banner = (
            '<p class="banner" role="note"><strong>Synthetic questions.</strong> Questions and judgements were made by '
            "rule from the notes themselves. Figures compare systems on them; they do not say how well real questions "
            "are answered.</p>"
        )
    remarks = "".join(f"<li>{escaped(remark)}</li>" for remark in report.dataset.remarks)
    remarked = f'<ul class="remarks">{remarks}</ul>' if remarks else ""
    return (
        f'<header>\n<p class="kicker">Retrieval evaluation</p>\n<h1>{escaped(report.dataset.name)}</h1>\n'
        f'<dl class="facts">{shown}</dl>\n{banner}{remarked}\n</header>'
    )


def _findings(report: Report) -> str:
    found = findings(report.comparison)
    if not found:
        return ""
    items = "".join(f"<li><strong>{escaped(system)}.</strong> {escaped(said)}</li>" for system, said in found)
    return f'<section>\n<h2>Findings</h2>\n<ul class="findings">{items}</ul>\n</section>\n'


def _measures(report: Report) -> str:
    comparison = report.comparison
    heads = ["Measure", *comparison.systems]
    rows = []
    for measure in comparison.measures:
        cells = [f'<th scope="row">{escaped(measure)}</th>']
        best = max(format_fraction(comparison.of(system, measure).value) for system in comparison.systems)
        for system in comparison.systems:
            low, high = report.intervals[system, measure][1:]
            standing = comparison.of(system, measure)
            value = format_fraction(standing.value)
            shown = f"<strong>{value}</strong>" if value == best else value
            own = f'<span class="small">{format_fraction(low)} to {format_fraction(high)}</span>'
            cells.append(f"<td>{shown}{own if standing.difference is None else _against(standing)}</td>")
        rows.append(cells)
    against = f"; below it the difference to {comparison.baseline}" if comparison.compared_systems else ""
    note = f"The mean over all questions, the highest in bold{against}, with its 95 % interval."
    return _section("Measures", note, _table("Measures", heads, rows))


def _against(standing: ComparisonResult) -> str:
    difference, interval, *_ = difference_fields(standing)
    return f'<span class="small">{difference} ({interval})</span><span class="small">{_verdict(standing)}</span>'


def _verdict(standing: ComparisonResult) -> str:
    said = verdict_text(standing)
    kind = standing.difference.verdict if standing.difference else "baseline"
    sure = "" if standing.significant or kind not in ("better", "worse") else " unsure"
    sign = f'<span aria-hidden="true">{verdict_mark(standing)}</span> ' if standing.difference else ""
    return f'<span class="verdict {kind}{sure}">{sign}{said}</span>'


def _bars(drawn: Pictures) -> str:
    note = "Each bar is a mean from 0 to 1, the line across its end its 95 % interval. "
    note += "Whether two systems differ is said by the signs, which compare question by question, not by the lines."
    return _section("Means and intervals", note, f'<div class="bars">{"".join(drawn.bars.values())}</div>')


def _strata(report: Report, drawn: Pictures) -> str:
    if len(report.comparison.strata) < 2:
        return ""
    note = "Values of the baseline by kind of question"
    if report.comparison.compared_systems:
        note += (
            "; then differences to it. Filled cells have an interval that lies off zero, with ▲ or ▼ where that is "
            "significant after correction and △ or ▽ where not; open cells with ≈ are inconclusive"
        )
    pictured = "".join(_scroll(f"Strata of {system}", svg) for system, svg in drawn.strata.items())
    return _section("Kinds of question", f"{note}.", pictured)


def _trust(report: Report, drawn: Pictures) -> str:
    rows = [
        [
            f'<th scope="row">{escaped(outcome.system)}</th>',
            *(f'<td class="number">{text}</td>' for text in trust_fields(outcome.trust)),
        ]
        for outcome in report.outcomes
        if outcome.trust
    ]
    heads = ["System", *(f"{head[0].upper()}{head[1:]}" for head in TRUST_HEADS)]
    table = _table("Trust", heads, rows, numbers=len(TRUST_HEADS))
    pictured = f'<div class="sweeps">{"".join(drawn.reliability.values())}</div>'
    return _section("Trust", TRUST_NOTE, table + pictured) if rows else ""


def _sweeps(report: Report, drawn: Pictures) -> str:
    pictured = f'<div class="sweeps">{"".join(drawn.sweeps.values())}</div>' if report.sweeps else ""
    return (
        _section("Sweeps", "One constant turned, all else the same; bands are 95 % intervals.", pictured)
        if pictured
        else ""
    )


def _contests(report: Report) -> str:
    if not report.contests:
        return ""
    measure = report.contests[0].measure
    note = f"Questions won and lost against {report.comparison.baseline} by {measure}, the largest differences first. "
    note += "Ranks are those of the first right note."
    body = "".join(_contest(contest) for contest in report.contests)
    return _section("Question by question", note, body)


def _contest(contest: WinLoss) -> str:
    counts = f"{len(contest.wins):,} won, {len(contest.losses):,} lost, {len(contest.ties):,} alike"
    parts = []
    for name, answered in (("won", contest.wins), ("lost", contest.losses)):
        heading = f"{len(answered):,} {name}"
        more = f", the first {SHOWN} shown" if len(answered) > SHOWN else ""
        heads = ["Question", f"{contest.baseline}, rank", f"{contest.system}, rank", "Difference"]
        table = _table(f"{contest.system}: {heading}", heads, [_answered(each) for each in answered[:SHOWN]], numbers=3)
        parts.append(
            f"<details><summary>{escaped(heading)}{more}</summary>{table}</details>"
            if answered
            else f'<p class="note">None {name}.</p>'
        )
    return f'<h3>{escaped(contest.system)}</h3><p class="note">{counts}</p>{"".join(parts)}'


def _answered(each: QuestionDifference) -> list[str]:
    return [
        f'<td class="question">{escaped(each.question.text)} <code>{escaped(each.question.id)}</code></td>',
        f'<td class="number">{format_rank(each.baseline_rank)}</td>',
        f'<td class="number">{format_rank(each.rank)}</td>',
        f'<td class="number">{format_signed(each.gain)}</td>',
    ]


def _systems(report: Report) -> str:
    heads = ["System", "Preset", "Mode", "Embedder", "p50, ms", "p95, ms"]
    rows = [
        [
            f'<th scope="row">{escaped(outcome.system)}</th>',
            *(f"<td>{escaped(part)}</td>" for part in (outcome.preset, outcome.mode, outcome.embedder)),
            *(f'<td class="number">{format_ms(time)}</td>' for time in report.latencies[outcome.system]),
        ]
        for outcome in report.outcomes
    ]
    note = "How long a search took: half of them at most p50, 95 of 100 at most p95."
    return _section("Systems and latency", note, _table("Systems", heads, rows, numbers=2))


def _method(report: Report) -> str:
    said = "".join(f"<li>{escaped(line)}</li>" for line in method_notes(report))
    return f"<section>\n<h2>How this was computed</h2>\n<ul>{said}</ul>\n</section>\n"


def _figures(report: Report) -> str:
    """Return every figure there is, folded away."""
    comparison = report.comparison
    heads = ["Measure", "Questions", "System", "n", "Mean", "Difference", "95 % interval", "p", "p, Holm", "Verdict"]
    rows = []
    for measure in comparison.measures:
        for stratum in comparison.strata:
            for system in comparison.systems:
                standing = comparison.of(system, measure, stratum)
                names = (measure, "all" if stratum == ALL else stratum, system)
                rows.append([*(f"<td>{escaped(name)}</td>" for name in names), *_figure(standing)])
    table = _table("All figures", heads, rows)
    parts = [f"<details><summary>Every measure, kind of question and system</summary>{table}</details>"]
    for sweep in report.sweeps:
        points = [
            [f"<td>{escaped(name)}</td>", *(f'<td class="number">{text}</td>' for text in shown)]
            for name, line in sweep.lines.items()
            for point in line
            for shown in [(format_number(point.x), *(format_fraction(value) for value in point[1:]))]
        ]
        heads = ["Series", sweep.parameter, sweep.measure, "Low", "High"]
        parts.append(
            f"<details><summary>Sweep: {escaped(sweep.title)}</summary>"
            f"{_table(sweep.title, heads, points, numbers=4)}</details>"
        )
    return _section("All figures", "Each number behind the tables and plots above.", "".join(parts))


def _figure(standing: ComparisonResult) -> Iterable[str]:
    numbers = [f"{standing.questions:,}", format_fraction(standing.value), *difference_fields(standing)]
    return [*(f'<td class="number">{text}</td>' for text in numbers), f"<td>{_verdict(standing)}</td>"]


def _section(title: str, note: str, body: str) -> str:
    said = escaped(note).replace(" %", "&nbsp;%")
    return f'<section>\n<h2>{escaped(title)}</h2>\n<p class="note">{said}</p>\n{body}\n</section>\n'


def _scroll(label: str, body: str) -> str:
    """Return what may be wider than a phone in a frame that scrolls by itself, by keyboard as well."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escaped(label)}">{body}</div>\n'


def _table(label: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int = 0) -> str:
    """Return a table; the last ``numbers`` columns are numbers."""
    names = "".join(
        f'<th scope="col"{" class=number" if place >= len(heads) - numbers else ""}>{escaped(head)}</th>'
        for place, head in enumerate(heads)
    )
    lines = "".join(f"<tr>{''.join(row)}</tr>\n" for row in rows)
    return _scroll(label, f"<table><thead><tr>{names}</tr></thead><tbody>\n{lines}</tbody></table>")
