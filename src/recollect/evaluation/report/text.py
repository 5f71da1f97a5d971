"""Numbers, verdicts and sentences of reports, the same in every format."""

from __future__ import annotations

from recollect.evaluation.calibration import TrustMetrics
from recollect.evaluation.comparison import Comparison, ComparisonResult
from recollect.evaluation.dataset import format_count
from recollect.evaluation.report.content import Report

TRUST_HEADS = ("threshold", "right first", "of these below", "unanswerable recognised", "ECE", "95 % interval")
"""The column headings of :func:`trust_fields`."""

TRUST_NOTE = (
    "Right first: the first hit is relevant. Of these below: the fraction of them whose best confidence is below the "
    "threshold. Unanswerable recognised: the fraction of queries without an answer whose best confidence is below it. "
    "ECE: the expected calibration error of the first hit's confidence, over bins of equal mass."
)

_MARKS = {"better": ("△", "▲"), "worse": ("▽", "▼"), "inconclusive": ("≈", "≈")}
"""By verdict: the mark without and with significance after correction."""


def format_fraction(value: float) -> str:
    """Return a value with three digits."""
    return f"{value:.3f}"


def format_signed(value: float) -> str:
    """Return a difference with its sign; a small one has four digits, so that it does not look like zero."""
    digits = 4 if 0 < abs(value) < 0.0005 else 3
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text if value else text[1:]


def format_interval(low: float, high: float) -> str:
    """Return an interval of differences."""
    return f"{format_signed(low)} to {format_signed(high)}"


def format_p(p: float) -> str:
    """Return a p-value."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def format_ms(milliseconds: float) -> str:
    """Return a latency in milliseconds."""
    return f"{milliseconds:.1f}" if milliseconds < 100 else f"{milliseconds:,.0f}"


def join_names(names: list[str]) -> str:
    """Return names as in a sentence."""
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last


def verdict_text(result: ComparisonResult) -> str:
    """Return the verdict on a difference."""
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
    """Return a mark for the verdict, so that it does not depend on colour; hollow if it is not significant."""
    return "" if result.difference is None else _MARKS[result.difference.verdict][result.significant]


def difference_fields(result: ComparisonResult) -> tuple[str, str, str, str]:
    """Return the difference, its interval, and its p-value before and after correction; blank for the baseline."""
    difference = result.difference
    if difference is None:
        return "", "", "", ""
    interval = format_interval(difference.low, difference.high)
    return format_signed(difference.mean), interval, format_p(difference.p), format_p(result.adjusted_p)


def describe_difference(result: ComparisonResult) -> str:
    """Return the difference, its interval and the verdict in one line."""
    difference, interval, *_ = difference_fields(result)
    return f"{difference} ({interval}), {verdict_text(result)}" if difference else verdict_text(result)


def trust_fields(trust: TrustMetrics) -> tuple[str, ...]:
    """Return the trust metrics in the order of ``TRUST_HEADS``; a dash if there is nothing to measure."""
    fractions = trust.right_first, trust.answered_right_first_below_threshold, trust.unanswerable_recognised
    return (
        f"{trust.threshold:g}",
        *("–" if fraction is None else format_fraction(fraction) for fraction in fractions),
        format_fraction(trust.ece.mean),
        f"{format_fraction(trust.ece.low)}–{format_fraction(trust.ece.high)}",
    )


def bar_labels(report: Report, measure: str) -> dict[str, str]:
    """Return the label of each system's bar: mean, interval and verdict."""
    labels = {}
    for system in report.comparison.systems:
        mean, low, high = map(format_fraction, report.intervals[system, measure])
        labels[system] = (
            f"{system}: {mean} ({low} to {high}), {verdict_text(report.comparison.result(system, measure))}"
        )
    return labels


def reliability_labels(trust: TrustMetrics) -> list[str]:
    """Return the label of each bin of a reliability diagram."""
    return [
        f"confidence {format_fraction(bin_.confidence)}: {format_fraction(bin_.accuracy)} of {bin_.count:,} relevant"
        for bin_ in trust.bins
    ]


def findings(comparison: Comparison) -> list[tuple[str, str]]:
    """Return each system but the baseline, with a sentence on its verdicts over all questions."""
    return [(system, _finding(comparison, system)) for system in comparison.compared_systems]


def _finding(comparison: Comparison, system: str) -> str:
    by_verdict: dict[str, list[str]] = {}
    for measure in comparison.measures:
        verdict = verdict_text(comparison.result(system, measure)).replace(" (no difference)", "")
        by_verdict.setdefault(verdict, []).append(measure)
    ordered = sorted(by_verdict.items(), key=lambda item: (item[0].startswith("inconclusive"), item[0]))
    if len(by_verdict) == 1 and len(comparison.measures) > 1:
        ordered = [(ordered[0][0], [f"all {len(comparison.measures)} measures"])]
    clauses = []
    for verdict, measures in ordered:
        word, comma, reservation = verdict.partition(", ")
        clauses.append(f"{word}{f', but {reservation},' if comma else ''} on {join_names(measures)}")
    return f"Against {comparison.baseline}: {'; '.join(clauses)}."


def method_notes(report: Report) -> list[str]:
    """Return how the numbers were computed, in sentences."""
    questions, resamples = format_count(report.questions, "question"), report.resamples
    system_count = len(report.comparison.compared_systems)
    notes = [
        f"Every system was asked {questions}; rankings of up to {format_count(report.depth, 'note')} were judged.",
        f"Intervals are 95 % percentile intervals of the bootstrap over questions, {resamples:,} resamples. Those of "
        "differences are paired: a question is drawn with the values of both systems.",
        f"p is that of the two-sided paired randomisation test: answers swapped at random {resamples:,} times, or in "
        "all ways where there are fewer.",
    ]
    if system_count > 1:
        notes.append(
            f"p, Holm is p after Holm's correction for the {system_count} systems compared on one measure and kind of "
            "question. Measures and kinds of question are not corrected for."
        )
    if left_out := [name for name in report.outcomes[0].values if name not in report.comparison.measures]:
        notes.append(
            f"Left out because its values are no fractions of 1, or not all systems have it: {join_names(left_out)}."
        )
    return [
        *notes,
        "A difference whose interval crosses or touches zero is called inconclusive. One whose interval lies off zero "
        "but whose p, corrected where there are several systems, is 0.05 or more is marked as not significant.",
        f"Embedder: {join_names(report.embedders)}. Random numbers come from a fixed seed: the same outcomes give the "
        "same report.",
    ]
