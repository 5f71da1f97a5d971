from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest
from benchmarks.peers import machine
from benchmarks.peers.machine import described_machine


def test_this_machine() -> None:
    told = described_machine()
    assert told["python"] == platform.python_version()
    assert isinstance(told["cores"], int)
    assert told["cpu"]


def test_a_machine_that_tells_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("_CPU", "_MEMORY", "_SYSTEM"):
        monkeypatch.setattr(machine, name, tmp_path / "nothing")
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    told = described_machine()
    assert told["memory_bytes"] is None
    assert told["system"] == platform.system()
    assert told["cores"] == os.cpu_count()
