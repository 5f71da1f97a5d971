"""What came of an evaluation, for people: one HTML page, Markdown, and plots as SVG files."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from recollect.errors import ArgumentError
from recollect.evaluation.dataset import Dataset
from recollect.evaluation.outcome import Outcome
from recollect.evaluation.report.content import Report, build_report
from recollect.evaluation.report.html import html_report
from recollect.evaluation.report.markdown import markdown_report
from recollect.evaluation.report.pictures import write_plots
from recollect.evaluation.report.saving import replace_text
from recollect.evaluation.sweep import Sweep

__all__ = [
    "Report",
    "build_report",
    "html_report",
    "markdown_report",
    "report_format",
    "save_report",
    "write_plots",
    "write_report",
]

_FORMATS = {".html": html_report, ".htm": html_report, ".md": markdown_report, ".markdown": markdown_report}


def report_format(path: str | PathLike[str]) -> str:
    """Return the ending of a report's path if it is one that reports are written in.

    >>> report_format("study.html")
    '.html'
    >>> report_format("study.pdf")
    Traceback (most recent call last):
        ...
    recollect.errors.ArgumentError: report: must end in .html or .md, got 'study.pdf'
    """
    ending = Path(path).suffix.lower()
    if ending not in _FORMATS:
        raise ArgumentError("report", f"must end in .html or .md, got {str(path)!r}")
    return ending


def write_report(
    path: str | PathLike[str],
    outcomes: Sequence[Outcome],
    dataset: Dataset,
    *,
    sweeps: Sequence[Sweep] = (),
    baseline: str | None = None,
    measure: str | None = None,
    date: str = "",
) -> Report:
    """Write a report on ``outcomes`` as HTML or Markdown, whichever ``path`` ends in, and return its figures.

    ``baseline`` names the system that the others are held against, the first if it is not given; ``measure`` is the
    one by which single questions are won and lost; ``date`` is printed as it is.

    >>> import numpy as np
    >>> from recollect.evaluation import Collection, Question, Ranking
    >>> asked = Question(id="q", text="which tea?", collection="home", relevant={"n7": 1})
    >>> dataset = Dataset(name="tiny", collections={"home": Collection(id="home", notes=())}, questions=(asked,))
    >>> def outcome(system: str, mrr: float, *ids: str) -> Outcome:
    ...     return Outcome(dataset="tiny", system=system, preset=system, mode="auto", embedder="none", strata={},
    ...         rankings={"q": Ranking(ids, (1.0,) * len(ids), 1.0)}, values={"mrr": np.array([mrr])})
    >>> outcomes = [outcome("old", 0.5, "n3", "n7"), outcome("new", 1.0, "n7")]
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     report = write_report(f"{folder}/tiny.md", outcomes, dataset)
    ...     print(Path(folder, "tiny.md").read_text(encoding="utf-8").splitlines()[6])
    - **new.** Against old: inconclusive on mrr.
    """
    report_format(path)
    report = build_report(outcomes, dataset, sweeps=sweeps, baseline=baseline, measure=measure, date=date)
    save_report(path, report)
    return report


def save_report(path: str | PathLike[str], report: Report) -> None:
    """Write a report whose figures are worked out already, as HTML or Markdown, whichever ``path`` ends in.

    It is there as a whole or not at all: who reads it meanwhile finds the one before.
    """
    text = _FORMATS[report_format(path)](report)
    try:
        replace_text(Path(path), text)
    except OSError as error:
        raise ArgumentError("report", f"cannot be written to {str(path)!r}: {error.strerror}") from error
