from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.inference.retries import seconds_to_wait

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0),
        (" 7 ", 7.0),
        ("3600", 60.0),
        ("Sun, 01 Mar 2026 12:00:05 GMT", 5.0),
        ("Sun, 01 Mar 2026 12:00:05 -0000", 5.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("Sun, 01 Mar 2027 12:00:00 GMT", 60.0),
    ],
)
def test_what_the_server_asks_for_is_heeded_up_to_a_minute(header: str, seconds: float) -> None:
    assert seconds_to_wait(5, header, backoff=0.5, now=NOW) == seconds


@pytest.mark.parametrize("header", [None, "soon", "", "-3", "²"])
@pytest.mark.parametrize(("attempt", "longest"), [(0, 0.5), (1, 1.0), (4, 8.0), (20, 8.0), (2000, 8.0)])
def test_otherwise_the_wait_doubles_up_to_8_seconds(header: str | None, attempt: int, longest: float) -> None:
    waits = {seconds_to_wait(attempt, header, backoff=0.5) for _ in range(50)}
    assert all(longest / 2 <= wait <= longest for wait in waits)
    assert len(waits) > 1
