"""A report is there as a whole or not at all."""

from __future__ import annotations

import stat
from pathlib import Path
from threading import Event, Thread

import pytest

from recollect.evaluation.report.saving import replace_text


def test_who_reads_meanwhile_finds_the_old_or_the_new_and_never_half(tmp_path: Path) -> None:
    path = tmp_path / "study.html"
    texts = {letter * 1_000_000 for letter in "ab"}
    replace_text(path, "a" * 1_000_000)
    seen, stop = set(), Event()

    def read() -> None:
        while not stop.is_set():
            seen.add(path.read_text(encoding="utf-8"))

    reader = Thread(target=read)
    reader.start()
    try:
        for _ in range(20):
            for text in sorted(texts):
                replace_text(path, text)
    finally:
        stop.set()
        reader.join()
    assert seen <= texts
    assert [each.name for each in tmp_path.iterdir()] == ["study.html"]


def test_who_may_read_it_stays_the_same(tmp_path: Path) -> None:
    path = tmp_path / "study.html"
    replace_text(path, "old")
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode
    path.chmod(0o600)
    replace_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "study.html"
    link.symlink_to(tmp_path / "elsewhere" / "study.html")
    replace_text(link, "tea")
    assert link.is_symlink()
    assert (tmp_path / "elsewhere" / "study.html").read_text() == "tea"


def test_what_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "study.html").mkdir()
    with pytest.raises(OSError, match=r"study\.html"):
        replace_text(tmp_path / "study.html", "tea")
    with pytest.raises(UnicodeEncodeError):
        replace_text(tmp_path / "other.html", "half a character: \ud800")
    assert [each.name for each in tmp_path.iterdir()] == ["study.html"]
