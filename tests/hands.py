"""A clock that stands until it is set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 4, 18, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Clock:
    """What the fixture ``hands`` puts in the place of the real clock."""

    def __init__(self) -> None:
        self.time = NOON

    def now(self) -> datetime:
        return self.time
