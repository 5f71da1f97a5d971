"""Markdown tables of means, with their differences to a baseline, paired intervals and verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from recollect.evaluation import paired_difference
from recollect.evaluation.report.text import format_fraction, format_interval, format_signed

__all__ = ["Values", "difference_table", "difference_text", "table"]

Values: TypeAlias = NDArray[np.float64]
"""The value of a measure for each question."""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown.

    >>> print(table(["k", "any@5"], [["5", "0.61"]]))
    | k | any@5 |
    |---|---|
    | 5 | 0.61 |
    """
    lines = [f"| {' | '.join(line)} |" for line in (heads, *rows)]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]])


def difference_text(values: Values, baseline: Values) -> str:
    """Return the mean of values, its difference to the baseline's mean with the interval, and the verdict.

    >>> import numpy as np
    >>> difference_text(np.array([1.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.0]))
    '0.667, the same'
    """
    difference = paired_difference(values, baseline)
    if difference.low == difference.high == 0:
        return f"{format_fraction(float(values.mean()))}, the same"
    mean, low, high = (round(value, 4) + 0.0 for value in (difference.mean, difference.low, difference.high))
    interval = f"{format_signed(mean)} ({format_interval(low, high)})"
    verdict = difference.verdict
    marked_verdict = verdict if verdict == "inconclusive" else f"**{verdict}**"
    return f"{format_fraction(float(values.mean()))}, {interval} {marked_verdict}"


def difference_table(
    heading: str,
    columns: Mapping[str, Mapping[str, Values]],
    baseline: str,
    rows: Sequence[str] = (),
    *,
    texts: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> str:
    """Return a table with a row for each system and a column for each collection; the baseline comes first.

    ``columns`` has the values by collection and system, ``heading`` is that of the first column, ``rows`` the order of
    the systems, and ``texts`` further columns, with a text for each system.
    """
    names = list(rows) or list(dict.fromkeys(name for column in columns.values() for name in column))
    body = []
    for name in [baseline, *(name for name in names if name != baseline)]:
        cells = []
        for column in columns.values():
            if name not in column:
                cells.append("–")
            elif name == baseline:
                cells.append(format_fraction(float(column[name].mean())))
            else:
                cells.append(difference_text(column[name], column[baseline]))
        body.append([name, *cells, *(column[name] for column in texts.values())])
    return table([heading, *columns, *texts], body)
