"""Hypothesis profiles, the quick tier, and fixtures for all tests.

HYPOTHESIS_PROFILE chooses the tier: ``quick`` for every edit, ``default`` for CI, ``full`` for the longest. CI
generates the same cases every time, so that a change never fails because of another one.
"""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from recollect import arguments
from tests.frozen_clock import FrozenClock

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")

SLOW_FIXTURES = frozenset({"browser", "database", "fragile", "postgres", "postgres_server"})
SLOW_PATHS = (
    *("benchmarks/", "docs/", "server/web/", "tests/evaluation/tuning"),
    *("any_history", "browser", "concurrency", "crash", "endurance", "faults", "fuzz", "hostile", "million"),
    *("process", "screenshots", "test_eval_reports", "test_serv", "stdio"),
)
"""Parts of paths; tests in these files, with PostgreSQL or with a slow fixture are not in the quick tier."""

# Background jobs of a shell ignore SIGINT, and so would processes that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "default",
    deadline=None,
    max_examples=200,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
    database=None if "CI" in os.environ else settings.get_profile("default").database,
)
settings.register_profile("quick", settings.get_profile("default"), max_examples=10, derandomize=True)
settings.register_profile("full", settings.get_profile("default"), max_examples=2_000, derandomize=False)
settings.load_profile(PROFILE)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drop slow tests from the quick tier."""
    if PROFILE != "quick":
        return
    slow = [item for item in items if _is_slow(item)]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if not _is_slow(item)]


def _is_slow(item: pytest.Item) -> bool:
    path = item.nodeid.partition("::")[0]
    if "postgres" in item.nodeid or any(part in path for part in SLOW_PATHS):
        return True
    return not SLOW_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


@pytest.fixture
def frozen_clock(monkeypatch: pytest.MonkeyPatch) -> FrozenClock:
    """Replace the current time by one that the test sets."""
    stopped = FrozenClock()
    monkeypatch.setattr(arguments, "now", stopped.now)
    return stopped
