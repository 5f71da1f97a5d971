from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.peers.command import main
from benchmarks.peers.engines import registry
from benchmarks.peers.engines.registry import EngineEntry
from benchmarks.peers.report import Results

from tests.benchmarks.peers.results import CHROMA

QUICK = ["--sizes", "100", "--queries", "2", "--seconds", "0.01", "--engine", "bm25s-numpy"]


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]), prepend=":")
    monkeypatch.chdir(tmp_path)


def test_peers_prints_tables_and_writes_plots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "--engine", "recollect", "--json", "bench.json", "--out", "out"]) == 0
    printed = capsys.readouterr().out
    assert "### 100 notes (generated, seed 0" in printed
    assert (tmp_path / "out" / "bench.md").read_text() == printed
    assert {path.name for path in (tmp_path / "out").glob("*.svg")} == {
        f"bench-{n}.svg" for n in ("hybrid", "words", "vectors")
    }
    results = json.loads((tmp_path / "bench.json").read_text())["figures"]
    assert [result["engine"] for result in results] == ["bm25s-numpy", "recollect"]


def test_peers_reuses_existing_results(tmp_path: Path) -> None:
    results = Results()
    results.put(CHROMA | {"engine": "bm25s-numpy", "notes": 100})
    results.save(tmp_path / "bench.json")
    before = (tmp_path / "bench.json").read_text()
    assert main([*QUICK, "--json", "bench.json"]) == 0
    assert (tmp_path / "bench.json").read_text() == before


def test_peers_skips_missing_engines_unless_requested(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engines = {"x": EngineEntry("x", "X", {"no_such_module": "no-such-package"}), **registry.ENGINES}
    for module in ("benchmarks.peers.engines.registry", "benchmarks.peers.command"):
        monkeypatch.setattr(f"{module}.ENGINES", engines)
    assert main(["--engine", "x"]) == 2
    assert "no-such-package must be installed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--sizes", "99"], "must be numbers from 100 to 100m"),
        (["--seconds", "0"], "must be more than 0, got 0"),
        (["--notes", "vault", "--sizes", "10k"], "not allowed with argument"),
    ],
)
def test_peers_rejects_wrong_options(options: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        main(options)
    assert error.value.code == 2
    assert problem in capsys.readouterr().err


def test_peers_rejects_unusable_files_and_folders(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", "nowhere/bench.json"]) == 2
    assert main(["--notes", "nowhere"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "--json: must be in an existing folder, got nowhere/bench.json",
        "--notes: must be a folder, got nowhere",
    ]
