"""How often somebody may ask: a bucket of tokens each, which fills again with time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic

__all__ = ["Rates"]

MOST = 10_000
"""How many buckets are kept; who has not asked for longest has a full one again soon anyway."""


class Rates:
    """Lets each name do ``rate`` things a second, and ``burst`` at once; a rate of 0 lets everybody do anything.

    >>> rates = Rates(rate=2, burst=1, clock=lambda: 0.0)
    >>> rates.wait("ines"), rates.wait("ines"), rates.wait("omar")
    (0.0, 0.5, 0.0)
    """

    def __init__(self, *, rate: float, burst: float, clock: Callable[[], float] = monotonic) -> None:
        """Begin with full buckets."""
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, name: str) -> float:
        """Take a token, and return 0, or, where there is none, how many seconds to wait for one."""
        if not self._rate:
            return 0.0
        now = self._clock()
        left, since = self._buckets.pop(name, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        allowed = left >= 1
        self._buckets[name] = (left - 1 if allowed else left, now)
        if len(self._buckets) > MOST:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate
