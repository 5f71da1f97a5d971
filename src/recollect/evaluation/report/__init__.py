"""Evaluation reports as HTML and Markdown, from the Jinja templates in ``templates``."""

from __future__ import annotations

import html
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from recollect import __version__
from recollect.errors import ArgumentError, RecollectError
from recollect.evaluation.comparison import ALL_QUESTIONS, Comparison, WinLoss, compare_outcomes, win_loss
from recollect.evaluation.dataset import Dataset, format_count
from recollect.evaluation.outcome import Outcome
from recollect.evaluation.report import text
from recollect.evaluation.significance import RESAMPLES, Interval, interval
from recollect.inference.runtime import require_module
from recollect.text import well_formed

if TYPE_CHECKING:
    from jinja2 import Environment

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
"""Control characters and noncharacters, which XML forbids or browsers warn of."""
_MARKDOWN_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#&$!])")  # characters that have a meaning in Markdown
_CHARACTER_WIDTH = 6.4  # the approximate width of a character in pixels, at a font size of 12 pixels


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A dataset, the outcomes of systems on it, and all numbers that a report shows."""

    dataset: Dataset
    outcomes: tuple[Outcome, ...]
    comparison: Comparison
    intervals: Mapping[tuple[str, str], Interval]
    """For each (system, measure), the mean over all questions with its 95 % interval."""
    win_losses: tuple[WinLoss, ...]
    """The comparison of each system with the baseline, question by question; the baseline itself is left out."""
    date: str
    resamples: int

    @property
    def questions(self) -> int:
        """The number of answerable questions."""
        return len(self.outcomes[0].rankings)

    @property
    def depth(self) -> int:
        """The length of the longest ranking."""
        return max(len(ranking.ids) for outcome in self.outcomes for ranking in outcome.rankings.values())

    @property
    def embedders(self) -> list[str]:
        """The embedders of the systems, each once."""
        return list(dict.fromkeys(outcome.embedder for outcome in self.outcomes))

    def bar_labels(self, measure: str) -> dict[str, str]:
        """Return the label of each system's bar: mean, interval and verdict."""
        labels = {}
        for system in self.comparison.systems:
            mean, low, high = map(text.format_fraction, self.intervals[system, measure])
            verdict = text.verdict_text(self.comparison.result(system, measure))
            labels[system] = f"{system}: {mean} ({low} to {high}), {verdict}"
        return labels


def build_report(
    outcomes: Sequence[Outcome], dataset: Dataset, *, date: str = "", resamples: int = RESAMPLES
) -> Report:
    """Compute all numbers of a report. The first outcome is the baseline; ``date`` is printed without changes.

    >>> import numpy as np
    >>> from recollect.evaluation import Question, Ranking
    >>> question = Question(id="q", text="which tea?", collection="tea", relevant={"n7": 1})
    >>> dataset = Dataset(name="tiny", collections={}, questions=(question,))
    >>> def outcome(system: str, mrr: float, *ids: str) -> Outcome:
    ...     return Outcome(dataset="tiny", system=system, preset=system, mode="auto", embedder="none", strata={},
    ...         rankings={"q": Ranking(ids, (1.0,) * len(ids), 1.0)}, values={"mrr": np.array([mrr])})
    >>> report = build_report([outcome("old", 0.5, "n3", "n7"), outcome("new", 1.0, "n7")], dataset)
    >>> report.comparison.result("new", "mrr").difference.mean
    0.5
    """
    comparison = compare_outcomes(outcomes, resamples=resamples)
    if outcomes[0].dataset != dataset.name:
        raise ArgumentError("dataset", f"must be {outcomes[0].dataset!r}, the outcomes' dataset, got {dataset.name!r}")
    # Wins and losses are counted by a measure that can have more values than 0 and 1, if possible.
    measure = next((name for name in ("ndcg@10", "mrr") if name in comparison.measures), comparison.measures[0])
    return Report(
        dataset=dataset,
        outcomes=tuple(outcomes),
        comparison=comparison,
        intervals={
            (outcome.system, name): interval(outcome.values[name], resamples=resamples)
            for outcome in outcomes
            for name in comparison.measures
        },
        win_losses=tuple(win_loss(outcome, outcomes[0], dataset.questions, measure) for outcome in outcomes[1:]),
        date=date,
        resamples=resamples,
    )


def html_report(report: Report) -> str:
    """Return a report as one HTML page without scripts or external resources.

    Keep its first and last lines: ``recollect.server.http.operator_routes`` recognises reports by them.
    """
    css = read_template("report.css") + read_template("plot.css")
    template = _environment(escape_markup).get_template("report.html.jinja")
    return template.render(report=report, comparison=report.comparison, css=css, max_questions=50, version=__version__)


def markdown_report(report: Report) -> str:
    """Return a report as Markdown, for a pull request or a documentation page."""
    template = _environment(_escape_markdown).get_template("report.md.jinja")
    # Only a few questions are listed, because Markdown cannot collapse a list.
    return template.render(report=report, comparison=report.comparison, max_questions=10)


def read_template(name: str) -> str:
    """Return the text of a file in ``templates``."""
    return files("recollect.evaluation.report").joinpath("templates", name).read_text(encoding="utf-8")


def escape_markup(text: str) -> str:
    """Return a text escaped for HTML and SVG, in elements and in quoted attributes."""
    return html.escape(_clean_text(text))


def _escape_markdown(text: str) -> str:
    """Return a text in one line, escaped for a cell of a Markdown table."""
    return _MARKDOWN_SPECIAL.sub(r"\\\1", " ".join(_clean_text(text).split()))


def _clean_text(text: str) -> str:
    """Return a text in which U+FFFD replaces characters that XML or UTF-8 does not allow."""
    return _FORBIDDEN.sub("\ufffd", well_formed(text))


def format_coordinate(value: float) -> str:
    """Return a coordinate with at most two decimal places."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text_width(text: str) -> float:
    """Return the approximate width of a text in pixels, at a font size of 12 pixels."""
    return len(text) * _CHARACTER_WIDTH


def truncate_to_width(text: str, width: float, size: float = 12) -> str:
    """Return a text truncated to a width in pixels, with an ellipsis; ``size`` is the font size in pixels."""
    max_length = max(2, int(width / (_CHARACTER_WIDTH * size / 12)))
    return text if len(text) <= max_length else text[: max_length - 1] + "…"


@cache
def _environment(escape: Callable[[str], str]) -> Environment:
    """Return a Jinja environment that passes every value of a template through ``escape``, exactly once."""
    jinja2 = require_module("jinja2", RecollectError)
    markup = require_module("markupsafe", RecollectError).Markup

    def finalize(value: Any) -> Any:
        return value if isinstance(value, markup) else markup(escape(str(value)))

    environment: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader("recollect.evaluation.report", "templates"),
        autoescape=True,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(
        fraction=text.format_fraction,
        signed=text.format_signed,
        number="{:g}".format,
        ms=text.format_ms,
        count="{:,}".format,
        capitalised=lambda heading: heading[0].upper() + heading[1:],
        coordinate=format_coordinate,
        joined="; ".join,
        text_width=text_width,
        truncated=truncate_to_width,
    )
    # Templates call the functions of text.py.
    environment.globals.update(vars(text), ALL_QUESTIONS=ALL_QUESTIONS, format_count=format_count)
    return environment


_FORMATS = {".html": html_report, ".htm": html_report, ".md": markdown_report, ".markdown": markdown_report}


def report_format(path: str | PathLike[str]) -> Callable[[Report], str]:
    """Return the function that renders a report for a path's suffix; raise ``ArgumentError`` for an unknown suffix."""
    render = _FORMATS.get(Path(path).suffix.lower())
    if render is None:
        raise ArgumentError("report", f"must end in .html or .md, got {str(path)!r}")
    return render


def write_report(path: str | PathLike[str], report: Report) -> None:
    """Write a report as HTML or Markdown, by the suffix of ``path``; an existing file is replaced atomically.

    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from recollect.evaluation import Ranking
    >>> dataset = Dataset(name="tiny", collections={}, questions=())
    >>> outcome = Outcome(dataset="tiny", system="default", preset="default", mode="auto", embedder="none", strata={},
    ...     rankings={"q": Ranking(("n7",), (1.0,), 1.0)}, values={"mrr": np.array([1.0])})
    >>> with TemporaryDirectory() as folder:
    ...     write_report(f"{folder}/tiny.md", build_report([outcome], dataset))
    ...     print(Path(folder, "tiny.md").read_text(encoding="utf-8").splitlines()[0])
    # tiny
    """
    content = report_format(path)(report)
    target = Path(os.path.realpath(path))  # keep a symbolic link, replace the file it points to
    temporary = target.with_name(f".{token_hex(8)}.part")
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as file:
            if target.exists():
                shutil.copymode(target, temporary)  # keep the permissions
            file.write(content)
        temporary.replace(target)
    except OSError as error:
        raise ArgumentError("report", f"cannot be written to {str(path)!r}: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)
