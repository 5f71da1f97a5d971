from __future__ import annotations

import pytest
from benchmarks.peers.engines import catalogue, engine_named, why_missing
from benchmarks.peers.engines.catalogue import ENGINES, Entry

from recollect.errors import ArgumentError


def test_a_missing_engine_is_told_of_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = Entry("x", "X", {"no_such_module": "no-such-package", "numpy": "numpy"})
    monkeypatch.setattr(catalogue, "ENGINES", {"x": lacking})
    assert why_missing("x") == "no-such-package must be installed: pip install 'recollectdb[bench]'"


def test_an_engine_that_nobody_knows() -> None:
    with pytest.raises(ArgumentError, match="engine: must be one of recollect, lancedb, .*, got 'qdrant'"):
        engine_named("qdrant")


def test_each_engine_says_what_it_can() -> None:
    for name in ENGINES:
        kind = engine_named(name)
        assert kind.about
        assert "vectors" in kind.legs
        assert ("words" in kind.legs) == bool(kind.hybrids)
        assert not kind.durable or kind.writes
