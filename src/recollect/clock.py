"""The clock that expiry uses; tests replace it."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["now"]


def now() -> datetime:
    """Return the current time in UTC.

    >>> now().tzinfo
    datetime.timezone.utc
    """
    return datetime.now(UTC)
