"""Tables of the study: a value, its difference to the right baseline with the paired interval, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchmarks.studies.laboratory import Values
from recollect.evaluation import paired_difference
from recollect.evaluation.report.wording import fraction, signed, span

__all__ = ["against", "best_of", "difference_table", "share", "table"]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown.

    >>> print(table(["k", "any@5"], [["5", "0.61"]]))
    | k | any@5 |
    |---|---|
    | 5 | 0.61 |
    """
    written = [f"| {' | '.join(line)} |" for line in (heads, *rows)]
    return "\n".join([written[0], "|---" * len(heads) + "|", *written[1:]])


def against(values: Values, baseline: Values) -> str:
    """Return a mean, how far it is above that of the baseline, and what can be said of that.

    >>> import numpy as np
    >>> against(np.array([1.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.0]))
    '0.667, the same'
    """
    difference = paired_difference(values, baseline)
    if difference.low == difference.high == 0:
        return f"{fraction(float(values.mean()))}, the same"
    mean, low, high = (round(each, 4) + 0.0 for each in (difference.mean, difference.low, difference.high))
    told = f"{signed(mean)} ({span(low, high)})"
    verdict = difference.verdict
    return f"{fraction(float(values.mean()))}, {told} {f'**{verdict}**' if verdict != 'inconclusive' else verdict}"


def difference_table(
    first: str, columns: Mapping[str, Mapping[str, Values]], baseline: str, rows: Sequence[str] = ()
) -> str:
    """Return a table with a row for each system and a column for each collection; the baseline comes first.

    ``columns`` holds the values by collection and system.
    """
    names = list(rows) or list(dict.fromkeys(name for column in columns.values() for name in column))
    body = []
    for name in [baseline, *(name for name in names if name != baseline)]:
        cells = []
        for column in columns.values():
            if name not in column:
                cells.append("–")
            elif name == baseline:
                cells.append(fraction(float(column[name].mean())))
            else:
                cells.append(against(column[name], column[baseline]))
        body.append([name, *cells])
    return table([first, *columns], body)


def best_of(values: Mapping[str, Values], names: Sequence[str]) -> str:
    """Return the one of ``names`` whose mean is highest."""
    return max(names, key=lambda name: float(values[name].mean()))


def share(part: int, whole: int) -> str:
    """Return a share in percent, with what it is a share of.

    >>> share(3, 8)
    '38 % (3 of 8)'
    """
    return f"{100 * part / whole:.0f} % ({part:,} of {whole:,})" if whole else "– (of 0)"
