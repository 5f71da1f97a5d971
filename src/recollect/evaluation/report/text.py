"""Numbers and verdicts as a reader meets them, the same in every report."""

from __future__ import annotations

from recollect.evaluation.calibration import TrustMetrics
from recollect.evaluation.comparison import Comparison, ComparisonResult
from recollect.evaluation.dataset import format_count
from recollect.evaluation.report.content import Report

__all__ = [
    "TRUST_HEADS",
    "TRUST_NOTE",
    "describe_difference",
    "difference_fields",
    "findings",
    "format_fraction",
    "format_interval",
    "format_ms",
    "format_number",
    "format_p",
    "format_rank",
    "format_signed",
    "listed",
    "method_notes",
    "trust_fields",
    "verdict_mark",
    "verdict_text",
]

TRUST_HEADS = ("threshold", "right first", "of these below", "unanswerable recognised", "ECE", "95 % interval")
"""The column headings of :func:`trust_fields`."""

TRUST_NOTE = (
    "Right first: the first hit is relevant. Of these below: the fraction of them whose best confidence is below the "
    "threshold. Unanswerable recognised: the fraction of queries without an answer whose best confidence is below it. "
    "ECE: the expected calibration error of the first hit's confidence, over bins of equal mass."
)

_MARKS = {"better": ("△", "▲"), "worse": ("▽", "▼"), "inconclusive": ("≈", "≈")}
"""For each verdict: the mark without and with significance after correction."""


def format_fraction(number: float) -> str:
    """Return a value with three digits.

    >>> format_fraction(0.61251)
    '0.613'
    """
    return f"{number:.3f}"


def format_signed(number: float) -> str:
    """Return a difference with its sign; what is small but not zero does not look like zero.

    >>> format_signed(0.0312), format_signed(-0.25), format_signed(0.0), format_signed(0.00031)
    ('+0.031', '−0.250', '0.000', '+0.0003')
    """
    digits = 4 if 0 < abs(number) < 0.0005 else 3
    shown = f"{number:+.{digits}f}".replace("-", "−")
    return shown[1:] if not number else shown


def format_interval(low: float, high: float) -> str:
    """Return an interval of differences.

    >>> format_interval(-0.01, 0.052)
    '−0.010 to +0.052'
    """
    return f"{format_signed(low)} to {format_signed(high)}"


def format_p(p: float) -> str:
    """Return a p-value as it is usually printed.

    >>> format_p(0.0123), format_p(0.0001)
    ('0.012', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def format_number(number: float) -> str:
    """Return a constant as a person would write it.

    >>> format_number(60.0), format_number(0.25)
    ('60', '0.25')
    """
    return f"{number:g}"


def verdict_text(standing: ComparisonResult) -> str:
    """Return what is to be said of a difference.

    >>> from recollect.evaluation.significance import Difference
    >>> verdict_text(ComparisonResult(200, 0.5, Difference(0.04, 0.01, 0.07, p=0.02), adjusted=0.06))
    'better, not significant after correction'
    """
    difference = standing.difference
    if difference is None:
        return "baseline"
    if difference.verdict == "inconclusive":
        return "inconclusive (no difference)" if difference.low == difference.high else "inconclusive"
    if standing.significant:
        return difference.verdict
    corrected = " after correction" if standing.adjusted != difference.p else ""
    return f"{difference.verdict}, not significant{corrected}"


def verdict_mark(standing: ComparisonResult) -> str:
    """Return what is seen before a verdict is read, whatever the colours; open where it does not hold after correction.

    >>> from recollect.evaluation.significance import Difference
    >>> better = Difference(0.04, 0.01, 0.07, p=0.02)
    >>> [verdict_mark(ComparisonResult(200, 0.5, better, adjusted)) for adjusted in (0.02, 0.06)]
    ['▲', '△']
    """
    return "" if standing.difference is None else _MARKS[standing.difference.verdict][standing.significant]


def describe_difference(standing: ComparisonResult) -> str:
    """Return a difference, its interval and the verdict in one line.

    >>> from recollect.evaluation.significance import Difference
    >>> describe_difference(ComparisonResult(200, 0.5, Difference(0.04, -0.01, 0.09, p=0.12), adjusted=0.12))
    '+0.040 (−0.010 to +0.090), inconclusive'
    >>> describe_difference(ComparisonResult(200, 0.5))
    'baseline'
    """
    difference, interval, *_ = difference_fields(standing)
    return f"{difference} ({interval}), {verdict_text(standing)}" if difference else verdict_text(standing)


def difference_fields(standing: ComparisonResult) -> tuple[str, str, str, str]:
    """Return a difference, its interval, and its p-value before and after correction; nothing for the baseline.

    >>> from recollect.evaluation.significance import Difference
    >>> difference_fields(ComparisonResult(200, 0.5, Difference(0.04, -0.01, 0.09, p=0.12), adjusted=0.24))
    ('+0.040', '−0.010 to +0.090', '0.120', '0.240')
    """
    difference = standing.difference
    if difference is None:
        return "", "", "", ""
    adjusted = format_p(standing.adjusted)
    return (
        format_signed(difference.mean),
        format_interval(difference.low, difference.high),
        format_p(difference.p),
        adjusted,
    )


def trust_fields(trust: TrustMetrics) -> tuple[str, ...]:
    """Return the measures of trust in the order of ``TRUST_HEADS``; a dash where there is nothing to measure.

    >>> from recollect.evaluation.significance import Interval
    >>> trust_fields(TrustMetrics(threshold=0.4, queries=80, unanswerable_queries=0, right_first=0.9, bins=(),
    ...     answered_right_first_below_threshold=0.025, unanswerable_recognised=None, ece=Interval(0.03, 0.02, 0.07)))
    ('0.4', '0.900', '0.025', '–', '0.030', '0.020–0.070')
    """
    shares = trust.right_first, trust.answered_right_first_below_threshold, trust.unanswerable_recognised
    return (
        format_number(trust.threshold),
        *("–" if share is None else format_fraction(share) for share in shares),
        format_fraction(trust.ece.mean),
        f"{format_fraction(trust.ece.low)}–{format_fraction(trust.ece.high)}",
    )


def findings(comparison: Comparison) -> list[tuple[str, str]]:
    """Return each system but the baseline, with what can be said of it over all questions, in one sentence."""
    return [(system, _finding(comparison, system)) for system in comparison.compared_systems]


def _finding(comparison: Comparison, system: str) -> str:
    said: dict[str, list[str]] = {}
    for measure in comparison.measures:
        said.setdefault(verdict_text(comparison.of(system, measure)).replace(" (no difference)", ""), []).append(
            measure
        )
    ordered = sorted(said.items(), key=lambda item: (item[0].startswith("inconclusive"), item[0]))
    if len(said) == 1 and len(comparison.measures) > 1:
        ordered = [(ordered[0][0], [f"all {len(comparison.measures)} measures"])]
    clauses = [f"{_phrase(words)} on {listed(measures)}" for words, measures in ordered]
    return f"Against {comparison.baseline}: {'; '.join(clauses)}."


def _phrase(words: str) -> str:
    """Turn a verdict with its reservation into what can stand before "on"."""
    word, comma, reservation = words.partition(", ")
    return f"{word}, but {reservation}," if comma else word


def listed(names: list[str]) -> str:
    """Return names as in a sentence.

    >>> listed(["any@1"]), listed(["any@1", "any@5", "mrr"])
    ('any@1', 'any@1, any@5 and mrr')
    """
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last


def format_rank(place: int | None) -> str:
    """Return a rank, or a dash where there is none.

    >>> format_rank(3), format_rank(None)
    ('3', '–')
    """
    return "–" if place is None else str(place)


def format_ms(time: float) -> str:
    """Return a time with as many digits as mean something.

    >>> format_ms(3.14159), format_ms(1234.5)
    ('3.1', '1,234')
    """
    return f"{time:.1f}" if time < 100 else f"{time:,.0f}"


def method_notes(report: Report) -> list[str]:
    """Return how the figures came about, in sentences."""
    asked, resamples, compared_systems = (
        format_count(report.questions, "question"),
        report.resamples,
        len(report.comparison.compared_systems),
    )
    said = [
        f"Every system was asked {asked}; rankings of up to {format_count(report.depth, 'note')} were judged.",
        f"Intervals are 95 % percentile intervals of the bootstrap over questions, {resamples:,} resamples. Those of "
        "differences are paired: a question is drawn with the values of both systems.",
        f"p is that of the two-sided paired randomisation test: answers swapped at random {resamples:,} times, or in "
        "all ways where there are fewer.",
    ]
    if compared_systems > 1:
        said.append(
            f"p, Holm is p after Holm's correction for the {compared_systems} systems compared on one measure and kind "
            "of question. Measures and kinds of question are not corrected for."
        )
    if left_out := [name for name in report.outcomes[0].values if name not in report.comparison.measures]:
        said.append(
            f"Left out because its values are no fractions of 1, or not all systems have it: {listed(left_out)}."
        )
    return [
        *said,
        "A difference whose interval crosses or touches zero is called inconclusive. One whose interval lies off zero "
        "but whose p, corrected where there are several systems, is 0.05 or more is marked as not significant.",
        f"Embedder: {listed(report.embedders)}. Random numbers come from a fixed seed: the same outcomes give the same "
        "report.",
    ]
