"""Reports are written atomically."""

from __future__ import annotations

import stat
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from recollect.errors import ArgumentError
from recollect.evaluation import report


@pytest.fixture(autouse=True)
def _reports_are_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write reports that are plain texts."""
    monkeypatch.setitem(report._FORMATS, ".html", lambda content: content)


def _write(path: Path, content: Any) -> None:
    report.write_report(path, content)


def test_reports_are_replaced_atomically(tmp_path: Path) -> None:
    path = tmp_path / "study.html"
    texts = {letter * 1_000_000 for letter in "ab"}
    _write(path, "a" * 1_000_000)
    seen, stop = set(), Event()

    def read() -> None:
        while not stop.is_set():
            seen.add(path.read_text(encoding="utf-8"))

    reader = Thread(target=read)
    reader.start()
    try:
        for _ in range(20):
            for text in sorted(texts):
                _write(path, text)
    finally:
        stop.set()
        reader.join()
    assert seen <= texts
    assert [entry.name for entry in tmp_path.iterdir()] == ["study.html"]


def test_replacing_keeps_permissions(tmp_path: Path) -> None:
    path = tmp_path / "study.html"
    _write(path, "old")
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode
    path.chmod(0o600)
    _write(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_replacing_keeps_symbolic_links(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "study.html"
    link.symlink_to(tmp_path / "elsewhere" / "study.html")
    _write(link, "tea")
    assert link.is_symlink()
    assert (tmp_path / "elsewhere" / "study.html").read_text() == "tea"


def test_failed_write_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "study.html").mkdir()
    with pytest.raises(ArgumentError, match=r"cannot be written to .*study\.html"):
        _write(tmp_path / "study.html", "tea")
    with pytest.raises(UnicodeEncodeError):
        _write(tmp_path / "other.html", "half a character: \ud800")
    assert [entry.name for entry in tmp_path.iterdir()] == ["study.html"]
