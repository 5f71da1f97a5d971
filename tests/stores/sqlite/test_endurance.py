"""No acknowledged write is lost: not by a crash, nor by concurrent processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import recollect
from tests.stores.sqlite.crashes import embed

ROOT = Path(__file__).parents[3]
FULL = os.environ.get("HYPOTHESIS_PROFILE") == "full"
KILLS = 2000 if FULL else 200
SECONDS = 120 if FULL else 30


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
def test_killed_writer_loses_no_commit(tmp_path: Path) -> None:
    completed = subprocess.run(
        [sys.executable, "-m", "tests.stores.sqlite.crashes", str(tmp_path), str(KILLS), "1"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert completed.returncode == 0, completed.stderr[-2000:]
    report = json.loads(completed.stdout)
    assert report["rounds"] == KILLS
    assert report["calls"] > KILLS / 4  # many children finish a call, even on a busy machine
    assert report["interrupted"] > KILLS / 10  # many are killed during a call


def test_many_processes_share_one_file(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.stores.sqlite.concurrency", str(file), f"p{number}", "8", str(SECONDS)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    expected: dict[str, str] = {}
    for process in processes:
        out, err = process.communicate()
        assert process.returncode == 0, err[-2000:]
        report = json.loads(out)
        assert report["errors"] == []
        assert report["calls"] > 0
        expected |= report["notes"]
    with recollect.open(file, embedder=embed) as memory:
        assert {note.path: note.content.removeprefix("about ") for note in memory.notes()} == expected
        assert not any(finding.problem for finding in memory.doctor())
