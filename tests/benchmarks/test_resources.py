from __future__ import annotations

from pathlib import Path

from benchmarks.peers.resources import disk_bytes, resident


def test_what_a_process_has_in_memory(tmp_path: Path) -> None:
    told = "Name:\tpython\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\nRssAnon:\t   512 kB\nThreads:\t1\n"
    (tmp_path / "status").write_text(told, encoding="utf-8")
    found = resident(tmp_path)
    assert found is not None
    assert found == (1024 * 1024, 2048 * 1024, 512 * 1024)


def test_files_below_a_folder_count(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_bytes(b"12")
    (tmp_path / "b").write_bytes(b"3")
    assert disk_bytes(tmp_path) == 3
