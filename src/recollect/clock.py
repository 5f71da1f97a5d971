"""What time it is: the one clock by which notes expire."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["now"]


def now() -> datetime:
    """Return the present in UTC.

    >>> now().tzinfo
    datetime.timezone.utc
    """
    return datetime.now(UTC)
