"""Reports as HTML and Markdown, from the Jinja templates in ``templates``."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from os import PathLike
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from recollect import __version__
from recollect.errors import ArgumentError, RecollectError
from recollect.evaluation.comparison import ALL
from recollect.evaluation.dataset import Dataset, format_count
from recollect.evaluation.outcome import Outcome
from recollect.evaluation.report import text
from recollect.evaluation.report.charts import heat_maps, sweep_chart
from recollect.evaluation.report.content import Report, build_report
from recollect.evaluation.report.plot import (
    clean_text,
    escape_markup,
    format_coordinate,
    read_template,
    text_width,
    truncate_to_width,
)
from recollect.evaluation.sweep import Sweep
from recollect.inference.runtime import require_module

if TYPE_CHECKING:
    from jinja2 import Environment


_MARKDOWN_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#&$!])")


def html_report(report: Report) -> str:
    """Return a report as one HTML page without scripts or external resources.

    The server recognises reports by their first and last lines, see ``recollect.server.reports``.
    """
    css = read_template("report.css") + read_template("plot.css")
    return _render("report.html.jinja", escape_markup, report, css=css, max_questions=50, version=__version__)


def markdown_report(report: Report) -> str:
    """Return a report as Markdown, for a pull request or a documentation page."""
    return _render("report.md.jinja", _escape_markdown, report, max_questions=10)  # they cannot be folded away


def _render(template: str, escape: Callable[[str], str], report: Report, **context: Any) -> str:
    environment = _environment(escape)
    return environment.get_template(template).render(report=report, comparison=report.comparison, **context)


def _escape_markdown(text: str) -> str:
    r"""Return a text in one line, escaped for a cell of a Markdown table."""
    return _MARKDOWN_SPECIAL.sub(r"\\\1", " ".join(clean_text(text).split()))


@cache
def _environment(escape: Callable[[str], str]) -> Environment:
    """Return a Jinja environment that escapes every value of a template by ``escape``, once."""
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
        capitalised=lambda head: head[0].upper() + head[1:],
        coordinate=format_coordinate,
        joined="; ".join,
        text_width=text_width,
        truncated=truncate_to_width,
    )
    environment.globals.update(vars(text))
    environment.globals.update(ALL=ALL, format_count=format_count, heat_maps=heat_maps)
    environment.globals.update(sweep_chart=lambda sweep: markup(sweep_chart(sweep, styled=False)))
    return environment


_FORMATS = {".html": html_report, ".htm": html_report, ".md": markdown_report, ".markdown": markdown_report}


def report_format(path: str | PathLike[str]) -> str:
    """Return the suffix of a report's path; raise ``ArgumentError`` if it is not that of a report."""
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMATS:
        raise ArgumentError("report", f"must end in .html or .md, got {str(path)!r}")
    return suffix


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
    """Write a report on ``outcomes`` as HTML or Markdown, by the suffix of ``path``, and return its numbers.

    ``baseline`` names the system that the others are compared with, by default the first; wins and losses are counted
    by ``measure``; ``date`` is printed as it is.

    >>> import numpy as np
    >>> from recollect.evaluation import Collection, Question, Ranking
    >>> question = Question(id="q", text="which tea?", collection="tea", relevant={"n7": 1})
    >>> dataset = Dataset(name="tiny", collections={"tea": Collection(id="tea", notes=())}, questions=(question,))
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
    """Write a report as HTML or Markdown, by the suffix of ``path``; an existing file is replaced atomically."""
    content = _FORMATS[report_format(path)](report)
    try:
        _replace_file(Path(path), content)
    except OSError as error:
        raise ArgumentError("report", f"cannot be written to {str(path)!r}: {error.strerror}") from error


def _replace_file(path: Path, content: str) -> None:
    target = Path(os.path.realpath(path))  # a symbolic link stays one
    temporary = target.with_name(f".{token_hex(8)}.part")
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as file:
            if target.exists():
                shutil.copymode(target, temporary)  # keep the permissions
            file.write(content)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
