from __future__ import annotations

import sys

import pytest

from recollect.cli.pace import Pace, shown_pace
from tests.test_progress import Terminal

PARTS = {"notes": "copying notes"}


def test_a_terminal_sees_a_bar_for_each_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with shown_pace(PARTS, quiet=False) as pace:
        pace(1, 3, "notes")
        pace(3, 3, "notes")
        pace(1, 1, "documents")
    shown = terminal.getvalue()
    assert "copying notes" in shown
    assert "documents" in shown
    assert "/s" in shown
    assert pace.reached == {"notes": (3, 3), "documents": (1, 1)}


def test_a_quiet_command_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_pace(PARTS, quiet=True) as pace:
        pace(1, 3, "notes")
    assert capsys.readouterr().err == ""


def test_rate_and_rest_are_of_the_part_that_is_being_done(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    lines: list[str] = []
    pace = Pace(PARTS, lambda pace: lines.append(pace.line()))
    pace(1000, 4000, "notes")
    now += 2
    pace(2000, 4000, "notes")
    now += 2
    pace(0, 10, "documents")
    now += 2
    pace(10, 10, "documents")
    assert lines == [
        "copying notes: 1,000 of 4,000",
        "copying notes: 2,000 of 4,000, 500 a second, 4 s left",
        "documents: 0 of 10",
        "documents: 10 of 10, 5 a second, 0 s left",
    ]
