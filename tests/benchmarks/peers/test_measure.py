from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import pytest
from benchmarks.machine import ProcessMemory
from benchmarks.peers import measure
from benchmarks.peers.corpus import Corpus
from benchmarks.peers.measure import (
    PROGRESS_SIGN,
    Task,
    TimedIterator,
    _first_search,
    _measure_writes,
    _wait_until_found,
    build,
    main,
    search,
    throughput,
    timed_queries,
)

from recollect.errors import RecollectError


def test_build_and_search(corpus: Corpus, tmp_path: Path) -> None:
    task = Task("sqlite-vec", str(corpus.folder), str(tmp_path / "index"), 0.05)
    events: list[tuple[int, int, str]] = []
    built = build(task, lambda *event: events.append(event))
    assert events == [(1, 1, "ingesting")]
    assert built["notes_per_second"] > 10
    assert built["disk_bytes"] > corpus.notes * corpus.dimension * 4
    result = search(task, lambda *event: events.append(event))
    assert [name for _, _, name in events[1:]] == [
        *("opening", "lexical search", "vector search", "hybrid search, rrf", "writing")
    ]
    assert result["first_answer_ms"] > 0
    assert result["words"]["queries"] == len(result["found"]["words"]) <= 12
    assert all(len(ids) == 60 for ids in result["found"]["vectors"])
    assert all(len(ids) == 10 for ids in result["found"]["hybrid_rrf"])
    assert result["hybrid_rrf"]["per_second_2"] > 0
    assert result["write"]["visible_ms"] >= result["write"]["written_ms"] > 0


def test_build_time_excludes_imports(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    def clock() -> float:
        events.append("clock")
        return float(len(events))

    monkeypatch.setattr(measure, "import_packages", events.append)
    monkeypatch.setattr(measure, "perf_counter", clock)
    build(Task("bm25s-numpy", str(corpus.folder), str(tmp_path / "index"), 0.01), lambda *_: None)
    assert events[0] == "bm25s-numpy"


def test_engine_without_writes(corpus: Corpus, tmp_path: Path) -> None:
    task = Task("bm25s-numpy", str(corpus.folder), str(tmp_path / "index"), 0.01)
    build(task, lambda *_: None)
    assert "write" not in search(task, lambda *_: None)


@pytest.mark.parametrize("memory", [None, ProcessMemory(1, 2, 3)])
def test_memory_is_reported_if_available(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: ProcessMemory | None
) -> None:
    monkeypatch.setattr(measure, "process_memory", lambda: memory)
    task = Task("bm25s-numpy", str(corpus.folder), str(tmp_path / "index"), 0.01)
    assert build(task, lambda *_: None)["build_rss_peak"] == (memory and 2)
    result = search(task, lambda *_: None)
    assert (result["rss_before"], result["rss_anonymous"]) == ((1, 3) if memory else (None, None))


class VectorEngine:
    """An engine with vector search only."""

    legs = ("vectors",)
    hybrids = ()
    durable = False

    def __init__(self) -> None:
        self.notes: list[int] = []

    def search_vectors(self, *_: object) -> list[int]:
        return self.notes

    def add(self, number: int, *_: object) -> None:
        self.notes.append(number)


def test_engine_with_vectors_only(corpus: Corpus, tmp_path: Path) -> None:
    engine = VectorEngine()
    _first_search(engine, corpus.queries()[0])  # type: ignore[arg-type]
    writes = _measure_writes(engine, corpus)  # type: ignore[arg-type]
    assert writes["durable"] is False
    assert len(engine.notes) == measure.WRITES

    class OpenableVectorEngine(VectorEngine):
        writes = True

        def __init__(self, *_: object) -> None:
            super().__init__()

        def open(self) -> None: ...

        def close(self) -> None: ...

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "engine_class", lambda _: OpenableVectorEngine)
        result = search(Task("x", str(corpus.folder), str(tmp_path), 0.01), lambda *_: None)
    assert set(result["found"]) == {"vectors"}


def test_missing_note_times_out() -> None:
    with pytest.raises(RecollectError, match=r"was not found within 0.01 seconds"):
        _wait_until_found(7, list, timeout=0.01)


def test_timed_iterator_excludes_the_consumer() -> None:
    def items() -> Iterator[int]:
        sleep(0.02)
        yield 1
        yield 2

    calls: list[bool] = []
    iterator = TimedIterator(items(), lambda: calls.append(True))
    for _ in iterator:
        sleep(0.05)
    assert 0.02 <= iterator.seconds < 0.07
    assert len(calls) == 2


def test_timed_queries_runs_all_within_the_limit() -> None:
    results, seconds = timed_queries([3, 1], lambda number: [number], limit=60)
    assert results == [[3], [1]]
    assert len(seconds) == 2


def test_throughput_uses_all_threads() -> None:
    seen: set[int] = set()

    def run(_: int) -> None:
        seen.add(threading.get_ident())
        sleep(0.001)

    assert throughput([1, 2, 3], run, threads=2, seconds=0.05) > 0
    assert len(seen) == 2


def test_main_runs_a_step(corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = {"engine": "bm25s-numpy", "corpus": str(corpus.folder), "folder": str(tmp_path / "index"), "seconds": 0.01}
    (tmp_path / "task.json").write_text(json.dumps(task), encoding="utf-8")
    main(["build", str(tmp_path / "task.json"), str(tmp_path / "result.json")])
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["disk_bytes"] > 0
    assert capsys.readouterr().out == f"{PROGRESS_SIGN}1 1 ingesting\n"
