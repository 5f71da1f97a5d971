"""Which plots a report has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from recollect.evaluation.comparison import ALL
from recollect.evaluation.report.content import Report
from recollect.evaluation.report.plots import Bar, bars, difference_map, sweep_lines, value_map
from recollect.evaluation.report.reliability import reliability_diagram

__all__ = ["Pictures", "pictures", "write_plots"]


@dataclass(frozen=True, slots=True)
class Pictures:
    """The plots of a report, each an SVG."""

    bars: Mapping[str, str]
    """By measure."""
    strata: Mapping[str, str]
    """By system, the baseline first; empty where questions are of one kind."""
    sweeps: Mapping[str, str]
    """By place and title."""
    reliability: Mapping[str, str]
    """By system whose confidences are known."""


def pictures(report: Report, *, styled: bool = True) -> Pictures:
    """Draw all plots of a report; without their style (``styled``) they are for a page that has it."""
    return Pictures(
        bars={measure: _bars(report, measure, styled=styled) for measure in report.comparison.measures},
        strata=_strata(report, styled=styled) if len(report.comparison.strata) > 1 else {},
        sweeps={
            f"{place} {sweep.title}": sweep_lines(sweep, styled=styled) for place, sweep in enumerate(report.sweeps, 1)
        },
        reliability={
            outcome.system: reliability_diagram(outcome.system, outcome.trust, styled=styled)
            for outcome in report.outcomes
            if outcome.trust
        },
    )


def write_plots(folder: str | PathLike[str], report: Report) -> list[Path]:
    """Write each plot as an SVG file into ``folder``, which is made if it is missing, and return their paths.

    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from recollect.evaluation import Dataset, Outcome, Ranking, build_report
    >>> outcome = Outcome(dataset="tiny", system="default", preset="default", mode="auto", embedder="none",
    ...     rankings={"q": Ranking((), (), 1.0)}, values={"any@5": np.array([0.0])}, strata={"exact": np.array([0])})
    >>> report = build_report([outcome], Dataset(name="tiny", collections={}, questions=()))
    >>> with TemporaryDirectory() as folder:
    ...     print([path.name for path in write_plots(folder, report)])
    ['bars-any-5.svg', 'strata-default.svg']
    """
    drawn = pictures(report)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    kinds = {"bars": drawn.bars, "strata": drawn.strata, "sweep": drawn.sweeps, "reliability": drawn.reliability}
    for kind, plots in kinds.items():
        for place, (name, svg) in enumerate(plots.items(), 1):
            simple = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or str(place)
            path = target / f"{kind}-{simple}.svg"
            if path in written:
                path = target / f"{kind}-{simple}-{place}.svg"
            path.write_text(svg, encoding="utf-8")
            written.append(path)
    return written


def _bars(report: Report, measure: str, *, styled: bool) -> str:
    rows = {
        system: Bar(report.intervals[system, measure], report.comparison.of(system, measure))
        for system in report.comparison.systems
    }
    return bars(measure, rows, styled=styled)


def _strata(report: Report, *, styled: bool) -> dict[str, str]:
    comparison = report.comparison
    first = comparison.baseline
    counts = {stratum: comparison.of(first, comparison.measures[0], stratum).questions for stratum in comparison.strata}
    labels = {
        stratum: f"{'all questions' if stratum == ALL else stratum} ({count:,})" for stratum, count in counts.items()
    }
    rows, columns = list(labels.values()), comparison.measures
    values = {
        (labels[stratum], measure): comparison.of(first, measure, stratum).value
        for stratum in comparison.strata
        for measure in columns
    }
    drawn = {first: value_map(f"{first}: values", rows, columns, values, styled=styled)}
    sure = [each.difference.mean for each in comparison.standings.values() if each.difference and each.significant]
    scale = max(map(abs, sure), default=0.0)
    for system in comparison.compared_systems:
        found = {
            (labels[stratum], measure): comparison.of(system, measure, stratum)
            for stratum in comparison.strata
            for measure in columns
        }
        title = f"{system}: differences to {first}"
        drawn[system] = difference_map(title, rows, columns, found, scale=scale, styled=styled)
    return drawn
