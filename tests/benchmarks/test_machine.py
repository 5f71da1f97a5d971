from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest
from benchmarks import machine
from benchmarks.machine import disk_bytes, machine_info, process_memory


def test_machine_info() -> None:
    info = machine_info()
    assert info["python"] == platform.python_version()
    assert isinstance(info["cores"], int)
    assert info["cpu"]


def test_machine_info_without_system_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("_CPU_FILE", "_MEMORY_FILE", "_SYSTEM_FILE"):
        monkeypatch.setattr(machine, name, tmp_path / "nothing")
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    info = machine_info()
    assert info["memory_bytes"] is None
    assert info["system"] == platform.system()
    assert info["cores"] == os.cpu_count()


def test_process_memory_and_disk_bytes(tmp_path: Path) -> None:
    memory = process_memory()
    assert memory is None or memory.peak >= memory.now > memory.anonymous
    (tmp_path / "a").write_bytes(b"12345")
    assert disk_bytes(tmp_path) == 5
