from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.peers import running
from benchmarks.peers.corpus import Corpus
from benchmarks.peers.engines.catalogue import ENGINES, Entry
from benchmarks.peers.measuring import Task
from benchmarks.peers.results import Results
from benchmarks.peers.running import Settings, run


class Run:
    """A run whose progress, savings and complaints are kept."""

    def __init__(self, corpus: Corpus, scratch: Path, results: Results, *engines: str, again: bool = False) -> None:
        self.progress: list[tuple[int, int, str]] = []
        self.saved: list[int] = []
        self.failed: list[str] = []
        run(
            [lambda: corpus],
            Settings(engines, 0.05, scratch, again),
            results,
            progress=lambda *told: self.progress.append(told),
            measured=lambda told: self.saved.append(len(told.figures)),
            failed=self.failed.append,
        )


def test_engines_are_measured_in_processes_of_their_own(corpus: Corpus, tmp_path: Path) -> None:
    results = Results()
    told = Run(corpus, tmp_path, results, "sqlite-vec", "recollect")
    assert told.saved == [1, 2]
    assert told.failed == []
    done = [done for done, _, _ in told.progress]
    assert done == sorted(done)
    assert {total for _, total, _ in told.progress} == {1000}
    assert told.progress[0][2] == "300 sqlite-vec: taking in"
    by_hand, ours = results.figures
    assert (by_hand["words_recall_60"], by_hand["vectors_recall_10"]) == (1, 1)
    assert (ours["words_recall_10"], ours["vectors_recall_60"]) == (1, 1)
    assert ours["target_found_default"] > 0.8
    assert ours["build_rss_peak"] > 10e6
    assert set(ours["packages"]) == {"recollectdb", "numpy", "apsw"}
    assert not list(tmp_path.glob("index-*"))


def test_what_is_known_is_not_measured_again(corpus: Corpus, tmp_path: Path) -> None:
    results = Results()
    results.put({"engine": "bm25s-numpy", "corpus": corpus.name, "notes": corpus.notes})
    assert Run(corpus, tmp_path, results, "bm25s-numpy").saved == []
    assert Run(corpus, tmp_path, results, "bm25s-numpy", again=True).saved == [1]
    assert results.figures[0]["target_found_rrf"] > 0.8


def test_an_engine_that_fails_is_told_of_and_the_others_go_on(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The worker, in a process of its own, does not know the name.
    known = {**ENGINES, "unheard-of": Entry("bm25s_numpy", "Bm25sNumpy", {})}
    monkeypatch.setattr(running, "ENGINES", known)
    monkeypatch.setattr("benchmarks.peers.engines.catalogue.ENGINES", known)
    results = Results()
    told = Run(corpus, tmp_path, results, "unheard-of", "bm25s-numpy")
    (problem,) = told.failed
    assert problem.startswith(
        "unheard-of with 300 notes is left out: recollect.errors.ArgumentError: --engine: must be"
    )
    assert [each["engine"] for each in results.figures] == ["bm25s-numpy"]


def test_an_interrupt_leaves_nothing_but_corpora(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = running._answered

    def interrupted(step: str, *told: Any) -> Any:
        if step == "ask":
            raise KeyboardInterrupt
        return begun(step, *told)

    monkeypatch.setattr(running, "_answered", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Run(corpus, tmp_path, Results(), "bm25s-numpy")
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_dies_silently_is_told_of(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    told = Run(corpus, tmp_path, Results(), "bm25s-numpy")
    assert told.failed == ["bm25s-numpy with 300 notes is left out: its process ended with 1"]


def test_what_an_engine_prints_is_no_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho hello\nprintf '\\0361 2 going on\\n'\necho '{}' > \"$5\"\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    task = Task("bm25s-numpy", "", "", 1.0)
    told: list[tuple[int, int, str]] = []
    assert running._worked("build", task, tmp_path, lambda *each: told.append(each)) == {}
    assert told == [(1, 2, "going on")]
