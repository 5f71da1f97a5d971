"""Hypothesis profiles, the quick tier, and fixtures for all tests.

HYPOTHESIS_PROFILE chooses the tier: ``quick`` for every edit, ``default`` for CI, ``full`` for a long search for
failures. CI generates the same cases in every run, so that a commit fails only because of its own changes.
"""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from recollect import arguments
from tests.frozen_clock import FrozenClock

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")

SLOW_FIXTURES = frozenset({"browser", "database", "killable_server", "postgres", "postgres_server"})
SLOW_PATHS = (
    *("benchmarks/", "docs/", "server/web/", "tests/evaluation/tuning"),
    *("any_history", "browser", "concurrency", "crash", "endurance", "faults", "fuzz", "hostile", "million"),
    *("process", "screenshots", "test_eval_reports", "test_serv", "stdio"),
)
"""Tests in files whose path contains one of these are not in the quick tier, nor are tests with slow fixtures."""

# A shell starts background jobs with SIGINT ignored, and processes that tests start and interrupt would inherit that.
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
    if "postgres" in item.nodeid or any(fragment in path for fragment in SLOW_PATHS):
        return True
    return not SLOW_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


@pytest.fixture
def frozen_clock(monkeypatch: pytest.MonkeyPatch) -> FrozenClock:
    """Replace the clock of ``recollect.arguments.now`` by a clock that the test sets."""
    clock = FrozenClock()
    monkeypatch.setattr(arguments, "now", clock.now)
    return clock
