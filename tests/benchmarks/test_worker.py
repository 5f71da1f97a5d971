from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest
from benchmarks.peers.corpus import Corpus
from benchmarks.peers.worker import SIGN, main


@pytest.fixture
def files(corpus: Corpus, tmp_path: Path) -> list[str]:
    task = {"engine": "bm25s-numpy", "corpus": str(corpus.folder), "folder": str(tmp_path / "index"), "seconds": 0.01}
    (tmp_path / "task.json").write_text(json.dumps(task), encoding="utf-8")
    return [str(tmp_path / "task.json"), str(tmp_path / "result.json")]


def test_a_step_is_done_and_told_of(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["build", *files])
    assert json.loads(Path(files[1]).read_text(encoding="utf-8"))["disk_bytes"] > 0
    assert capsys.readouterr().out == f"{SIGN}1 1 taking in\n"


def test_it_is_a_program(files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["worker", "build", *files])
    monkeypatch.delitem(sys.modules, "benchmarks.peers.worker")
    runpy.run_module("benchmarks.peers.worker", run_name="__main__")
    assert Path(files[1]).exists()
