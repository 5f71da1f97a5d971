from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.peers import runner
from benchmarks.peers.corpus import Corpus
from benchmarks.peers.engines.registry import ENGINES, EngineEntry
from benchmarks.peers.measure import Task
from benchmarks.peers.report import Results
from benchmarks.peers.runner import Settings, run


class Run:
    """A run that records its callbacks."""

    def __init__(self, corpus: Corpus, scratch: Path, results: Results, *engines: str, again: bool = False) -> None:
        self.progress: list[tuple[int, int, str]] = []
        self.saved: list[int] = []
        self.failed: list[str] = []
        run(
            [lambda: corpus],
            Settings(engines, 0.05, scratch, again),
            results,
            progress=lambda *event: self.progress.append(event),
            on_result=lambda results: self.saved.append(len(results.measurements)),
            on_failure=self.failed.append,
        )


def test_run_measures_engines_in_processes(corpus: Corpus, tmp_path: Path) -> None:
    results = Results()
    record = Run(corpus, tmp_path, results, "sqlite-vec", "recollect")
    assert record.saved == [1, 2]
    assert record.failed == []
    done = [done for done, _, _ in record.progress]
    assert done == sorted(done)
    assert {total for _, total, _ in record.progress} == {1000}
    assert record.progress[0][2] == "300 sqlite-vec: ingesting"
    by_hand, ours = results.measurements
    assert (by_hand["words_recall_60"], by_hand["vectors_recall_10"]) == (1, 1)
    assert (ours["words_recall_10"], ours["vectors_recall_60"]) == (1, 1)
    assert ours["target_found_default"] > 0.8
    assert ours["build_rss_peak"] > 10e6
    assert set(ours["packages"]) == {"recollectdb", "numpy", "apsw"}
    assert not list(tmp_path.glob("index-*"))


def test_run_skips_existing_results(corpus: Corpus, tmp_path: Path) -> None:
    results = Results()
    results.put({"engine": "bm25s-numpy", "corpus": corpus.name, "notes": corpus.notes})
    assert Run(corpus, tmp_path, results, "bm25s-numpy").saved == []
    assert Run(corpus, tmp_path, results, "bm25s-numpy", again=True).saved == [1]
    assert results.measurements[0]["target_found_rrf"] > 0.8


def test_run_reports_a_failing_engine_and_goes_on(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The worker, in a process of its own, does not know the name.
    engines = {**ENGINES, "unheard-of": EngineEntry("bm25s_numpy", "Bm25sNumpy", {})}
    monkeypatch.setattr(runner, "ENGINES", engines)
    monkeypatch.setattr("benchmarks.peers.engines.registry.ENGINES", engines)
    results = Results()
    record = Run(corpus, tmp_path, results, "unheard-of", "bm25s-numpy")
    (problem,) = record.failed
    assert problem.startswith("skipping unheard-of with 300 notes: recollect.errors.ArgumentError: --engine: must be")
    assert [result["engine"] for result in results.measurements] == ["bm25s-numpy"]


def test_interrupt_leaves_no_index(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_step = runner._run_step

    def interrupted(step: str, *arguments: Any) -> Any:
        if step == "search":
            raise KeyboardInterrupt
        return run_step(step, *arguments)

    monkeypatch.setattr(runner, "_run_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Run(corpus, tmp_path, Results(), "bm25s-numpy")
    assert list(tmp_path.iterdir()) == []


def test_silent_failure_is_reported(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    record = Run(corpus, tmp_path, Results(), "bm25s-numpy")
    assert record.failed == ["skipping bm25s-numpy with 300 notes: its process ended with 1"]


def test_output_of_an_engine_is_not_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho hello\nprintf '\\0361 2 going on\\n'\necho '{}' > \"$5\"\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    task = Task("bm25s-numpy", "", "", 1.0)
    events: list[tuple[int, int, str]] = []
    assert runner._run_step("build", task, tmp_path, lambda *event: events.append(event)) == {}
    assert events == [(1, 2, "going on")]
