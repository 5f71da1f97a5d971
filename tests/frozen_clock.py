"""A clock that stands still until a test sets it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 4, 18, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class FrozenClock:
    """The replacement of the real clock that the fixture ``frozen_clock`` installs."""

    def __init__(self) -> None:
        self.time = NOON

    def now(self) -> datetime:
        return self.time
