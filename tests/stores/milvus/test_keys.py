from __future__ import annotations

import time

import pytest

from recollect.stores.milvus.keys import Keys, made_at
from recollect.stores.milvus.schema import PARTS


def test_they_grow_though_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Keys(writer=1023)
    first = keys.new()
    monkeypatch.setattr(time, "time", lambda: 1_600_000_000.0)
    second = keys.new()
    assert first < second <= keys.last < Keys(last=keys.last).new()
    assert first % PARTS == second % PARTS == 0


def test_they_tell_when_they_were_made() -> None:
    before = made_at(time.time())
    key = Keys(writer=5).new()
    assert before <= key < made_at(time.time() + 1)


def test_they_are_enough_for_decades() -> None:
    assert made_at(2089 * 365.2425 * 86400 - 1970 * 365.2425 * 86400) < 2**63
