"""How hard hypothesis tries, and what tests anywhere may ask for.

In CI the generated cases are the same every time, so that no change fails for another's fault.
"""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from recollect import clock
from tests.hands import Clock

# What a shell runs in the background ignores interrupts, and so would every process that a test starts and interrupts.
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
settings.register_profile("full", settings.get_profile("default"), max_examples=2_000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Stop the clock by which notes expire."""
    stopped = Clock()
    monkeypatch.setattr(clock, "now", stopped.now)
    return stopped
