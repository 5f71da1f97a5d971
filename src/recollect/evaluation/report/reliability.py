"""The reliability diagram: how often first hits of a given confidence are relevant."""

from __future__ import annotations

from recollect.evaluation.calibration import ReliabilityBin, TrustMetrics
from recollect.evaluation.report.drawing import cut, frame, number, words
from recollect.evaluation.report.markup import escaped
from recollect.evaluation.report.text import format_fraction, format_number

__all__ = ["reliability_diagram"]

_WIDTH, _SIDE = 340, 260
_LEFT, _TOP = 56, 40
_TICKS = (0, 0.25, 0.5, 0.75, 1)


def reliability_diagram(system: str, trust: TrustMetrics, *, styled: bool = True) -> str:
    """Draw the accuracy of each bin over its mean confidence; a calibrated system lies on the diagonal.

    The dashed line is the threshold below which the system says that nothing fits.

    >>> from recollect.evaluation.significance import Interval
    >>> bins = (ReliabilityBin(10, 0.9, 0.8),)
    >>> trust = TrustMetrics(threshold=0.5, queries=10, unanswerable_queries=0, right_first=0.8,
    ...     ece=Interval(0.1, 0, 0.3), answered_right_first_below_threshold=0.0, bins=bins,
    ...     unanswerable_recognised=None)
    >>> "confidence 0.900: 0.800 of 10 relevant" in reliability_diagram("default", trust)
    True
    """
    title = f"{system}: reliability, ECE {format_fraction(trust.ece.mean)}"
    bottom, right = _TOP + _SIDE, _LEFT + _SIDE
    body = [words(8, 20, cut(title, _WIDTH - 16, 14), "head")]
    for tick in _TICKS:
        body.append(f'<path class="grid" d="M{_LEFT} {number(_up(tick))}H{right}"/>')
        body.append(words(_LEFT - 8, _up(tick) + 4, format_number(tick), "soft", "end"))
        body.append(words(_across(tick), bottom + 18, format_number(tick), "soft", "middle"))
    threshold = number(_across(trust.threshold))
    points = " ".join(f"{number(_across(each.confidence))},{number(_up(each.accuracy))}" for each in trust.bins)
    body += [
        f'<path class="axis" d="M{_LEFT} {bottom}L{right} {_TOP}"/>',
        f'<path class="axis" stroke-dasharray="4 4" d="M{threshold} {_TOP}V{bottom}"/>',
        f'<g class="s1"><polyline class="trace" points="{points}"/>',
        *(_dot(each) for each in trust.bins),
        "</g>",
        words((_LEFT + right) / 2, bottom + 36, "confidence of the first hit", "strong", "middle"),
        words(_LEFT + 6, _TOP + 12, "fraction relevant", "soft"),
    ]
    description = "; ".join(_described(each) for each in trust.bins)
    return frame(_WIDTH, bottom + 46, title, description, body, styled=styled)


def _dot(each: ReliabilityBin) -> str:
    position = f'cx="{number(_across(each.confidence))}" cy="{number(_up(each.accuracy))}"'
    return f'<circle class="dot" {position} r="4.5"><title>{escaped(_described(each))}</title></circle>'


def _described(each: ReliabilityBin) -> str:
    return f"confidence {format_fraction(each.confidence)}: {format_fraction(each.accuracy)} of {each.count:,} relevant"


def _across(value: float) -> float:
    return _LEFT + value * _SIDE


def _up(value: float) -> float:
    return _TOP + (1 - value) * _SIDE
