"""How long to wait before a question is asked again."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["is_passing", "seconds_to_wait"]

_LONGEST_BACKOFF = 8.0
_LONGEST_REQUEST = 60.0
"""The longest that a server is believed when it says how long to wait."""


def is_passing(status: int) -> bool:
    """Return whether an HTTP status tells of a trouble that may be over soon.

    >>> [status for status in (200, 400, 401, 408, 429, 500, 503) if is_passing(status)]
    [408, 429, 500, 503]
    """
    return status in (408, 429) or status >= 500


def seconds_to_wait(attempt: int, retry_after: str | None, *, backoff: float, now: datetime | None = None) -> float:
    """Return how long to wait after the failed ``attempt``, counted from 0.

    What the server asked for in ``Retry-After``, seconds or a date, is heeded up to a minute. Otherwise the wait
    doubles from ``backoff`` up to 8 seconds, and a random half of it is left out, so that many clients that were turned
    away at once do not come back at once.

    >>> seconds_to_wait(0, "2", backoff=0.5)
    2.0
    >>> 2.0 <= seconds_to_wait(3, None, backoff=0.5) <= 4.0
    True
    """
    from random import uniform  # noqa: PLC0415 (only who has to wait pays for it)

    asked = None if retry_after is None else _asked(retry_after, now or datetime.now(UTC))
    if asked is not None:
        return min(max(asked, 0.0), _LONGEST_REQUEST)
    longest = min(backoff * 2.0 ** min(attempt, 64), _LONGEST_BACKOFF)
    return uniform(longest / 2, longest)  # noqa: S311 (nothing here is a secret)


def _asked(value: str, now: datetime) -> float | None:
    """Return the seconds that a ``Retry-After`` header asks for, or ``None`` if it cannot be read."""
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 (only who has to wait pays for it)

    if value.strip().isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds()
