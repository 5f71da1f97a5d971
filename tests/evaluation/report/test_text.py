"""Verdicts and numbers of reports."""

from __future__ import annotations

import pytest

from recollect.evaluation.comparison import ComparisonResult
from recollect.evaluation.report.text import (
    difference_fields,
    format_signed,
    verdict_mark,
    verdict_text,
)
from recollect.evaluation.significance import Difference

BETTER = Difference(0.1, 0.05, 0.15, p=0.001)
WORSE = Difference(-0.1, -0.15, -0.05, p=0.03)
INCONCLUSIVE = Difference(0.1, -0.05, 0.25, p=0.2)


@pytest.mark.parametrize(
    ("result", "message", "mark"),
    [
        (ComparisonResult(9, 0.5), "baseline", ""),
        (ComparisonResult(9, 0.5, BETTER, adjusted_p=0.002), "better", "▲"),
        (ComparisonResult(9, 0.5, BETTER, adjusted_p=0.05), "better, not significant after correction", "△"),
        (ComparisonResult(9, 0.5, WORSE, adjusted_p=0.03), "worse", "▼"),
        (ComparisonResult(9, 0.5, WORSE, adjusted_p=0.06), "worse, not significant after correction", "▽"),
        (ComparisonResult(9, 0.5, INCONCLUSIVE, adjusted_p=0.2), "inconclusive", "≈"),
        (ComparisonResult(9, 0.5, Difference(0.0, 0.0, 0.0, p=1.0)), "inconclusive (no difference)", "≈"),
    ],
)
def test_verdicts(result: ComparisonResult, message: str, mark: str) -> None:
    assert (verdict_text(result), verdict_mark(result)) == (message, mark)


def test_format_signed_small_values() -> None:
    assert [format_signed(number) for number in (0.0004, -0.00049, 0.0005, 0.0)] == [
        "+0.0004",
        "−0.0005",
        "+0.001",
        "0.000",
    ]


def test_difference_fields_of_the_baseline() -> None:
    assert difference_fields(ComparisonResult(9, 0.5)) == ("", "", "", "")
