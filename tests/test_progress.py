from __future__ import annotations

import sys
from io import StringIO

import pytest

from recollect.progress import shown_progress


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_bar_on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with shown_progress("Reading") as progress:
        progress(1, 3, "tea.md")
        progress(3, 3, "bike.md")
    assert "Reading" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()


def test_no_progress_without_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress("Reading") as progress:
        progress(1, 3, "tea.md")
    assert capsys.readouterr().err == ""
