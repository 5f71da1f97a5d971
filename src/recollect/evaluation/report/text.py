"""Numbers and verdicts of evaluation results as text, the same in HTML, Markdown and the terminal."""

from __future__ import annotations

from recollect.evaluation.calibration import TrustMetrics
from recollect.evaluation.comparison import ComparisonResult

TRUST_HEADS = (
    "threshold",
    "right first",
    "right first, but below threshold",
    "unanswerable recognised",
    "ECE",
    "95 % interval",
)
"""The column headings of :func:`trust_fields`."""

_SIGNIFICANT_MARKS = {"better": "▲", "worse": "▼", "inconclusive": "≈"}
_OTHER_MARKS = {"better": "△", "worse": "▽", "inconclusive": "≈"}
"""The marks of verdicts that are not significant after Holm's correction."""


def format_fraction(value: float) -> str:
    """Return a value with three decimal places."""
    return f"{value:.3f}"


def format_signed(value: float) -> str:
    """Return a difference with its sign; a small one has four decimal places, so that it does not look like zero."""
    places = 4 if 0 < abs(value) < 0.0005 else 3
    text = f"{value:+.{places}f}".replace("-", "−")
    return text if value else text[1:]  # zero has no sign


def format_interval(low: float, high: float) -> str:
    """Return an interval of differences as ``low to high``."""
    return f"{format_signed(low)} to {format_signed(high)}"


def format_p(p: float) -> str:
    """Return a p-value with three decimal places, or ``< 0.001``."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def format_ms(milliseconds: float) -> str:
    """Return a latency in milliseconds, with one decimal place if it is below 100."""
    return f"{milliseconds:.1f}" if milliseconds < 100 else f"{milliseconds:,.0f}"


def verdict_text(result: ComparisonResult) -> str:
    """Return the verdict on a difference to the baseline in words."""
    difference = result.difference
    if difference is None:
        return "baseline"
    if difference.verdict == "inconclusive":
        return "inconclusive (no difference)" if difference.low == difference.high else "inconclusive"
    if result.significant:
        return difference.verdict
    correction = " after correction" if result.adjusted_p != difference.p else ""
    return f"{difference.verdict}, not significant{correction}"


def verdict_mark(result: ComparisonResult) -> str:
    """Return a mark for the verdict, hollow if it is not significant; it says the same without colours."""
    marks = _SIGNIFICANT_MARKS if result.significant else _OTHER_MARKS
    return "" if result.difference is None else marks[result.difference.verdict]


def difference_fields(result: ComparisonResult) -> tuple[str, str, str, str]:
    """Return four fields: difference, interval, and p-value before and after correction; empty for the baseline."""
    difference = result.difference
    if difference is None:
        return "", "", "", ""
    interval = format_interval(difference.low, difference.high)
    return format_signed(difference.mean), interval, format_p(difference.p), format_p(result.adjusted_p)


def trust_fields(trust: TrustMetrics) -> tuple[str, ...]:
    """Return the trust metrics in the order of ``TRUST_HEADS``; a dash stands for ``None``."""
    fractions = trust.right_first, trust.answered_right_first_below_threshold, trust.unanswerable_recognised
    return (
        f"{trust.threshold:g}",
        *("–" if fraction is None else format_fraction(fraction) for fraction in fractions),
        format_fraction(trust.ece.mean),
        f"{format_fraction(trust.ece.low)}–{format_fraction(trust.ece.high)}",
    )


def reliability_labels(trust: TrustMetrics) -> list[str]:
    """Return the label of each bin of a reliability diagram."""
    return [
        f"confidence {format_fraction(bin_.confidence)}: {format_fraction(bin_.accuracy)} of {bin_.count:,} relevant"
        for bin_ in trust.bins
    ]
