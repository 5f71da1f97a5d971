from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.peers import measuring
from benchmarks.peers.corpus import Corpus
from benchmarks.peers.measuring import Task, _first, _until_found, _written, ask, build
from benchmarks.peers.resources import Resident

from recollect.errors import RecollectError


def test_an_engine_is_built_and_asked(corpus: Corpus, tmp_path: Path) -> None:
    task = Task("sqlite-vec", str(corpus.folder), str(tmp_path / "index"), 0.05)
    told: list[tuple[int, int, str]] = []
    built = build(task, lambda *each: told.append(each))
    assert told == [(1, 1, "taking in")]
    assert built["notes_per_second"] > 10
    assert built["disk_bytes"] > corpus.notes * corpus.dimension * 4
    asked = ask(task, lambda *each: told.append(each))
    assert [what for _, _, what in told[1:]] == ["opening", "words", "vectors", "both, rrf", "writing"]
    assert asked["first_answer_ms"] > 0
    assert asked["words"]["queries"] == len(asked["found"]["words"]) <= 12
    assert all(len(found) == 60 for found in asked["found"]["vectors"])
    assert all(len(found) == 10 for found in asked["found"]["hybrid_rrf"])
    assert asked["hybrid_rrf"]["per_second_2"] > 0
    assert asked["write"]["visible_ms"] >= asked["write"]["written_ms"] > 0


def test_importing_is_no_taking_in(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    def clock() -> float:
        events.append("clock")
        return float(len(events))

    monkeypatch.setattr(measuring, "import_packages", events.append)
    monkeypatch.setattr(measuring, "perf_counter", clock)
    build(Task("bm25s-numpy", str(corpus.folder), str(tmp_path / "index"), 0.01), lambda *_: None)
    assert events == ["bm25s-numpy", "clock", "clock"]


def test_what_an_engine_lacks_is_not_asked_for(corpus: Corpus, tmp_path: Path) -> None:
    task = Task("bm25s-numpy", str(corpus.folder), str(tmp_path / "index"), 0.01)
    build(task, lambda *_: None)
    assert "write" not in ask(task, lambda *_: None)


@pytest.mark.parametrize("known", [None, Resident(1, 2, 3)])
def test_memory_is_told_where_the_kernel_tells(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: Resident | None
) -> None:
    monkeypatch.setattr(measuring, "resident", lambda: known)
    task = Task("bm25s-numpy", str(corpus.folder), str(tmp_path / "index"), 0.01)
    assert build(task, lambda *_: None)["build_rss_peak"] == (known and 2)
    asked = ask(task, lambda *_: None)
    assert (asked["rss_before"], asked["rss_anonymous"]) == ((1, 3) if known else (None, None))


class Vectors:
    """An engine that can do less than any that comes with Recollect and is tested here: it knows vectors alone."""

    legs = ("vectors",)
    hybrids = ()
    durable = False

    def __init__(self) -> None:
        self.held: list[int] = []

    def search_vectors(self, *_: object) -> list[int]:
        return self.held

    def add(self, number: int, *_: object) -> None:
        self.held.append(number)


def test_an_engine_of_vectors_alone_is_asked_and_written_to(corpus: Corpus, tmp_path: Path) -> None:
    engine = Vectors()
    _first(engine, corpus.queries()[0])  # type: ignore[arg-type]
    told = _written(engine, corpus)  # type: ignore[arg-type]
    assert told["durable"] is False
    assert len(engine.held) == measuring.WRITES

    class OfVectors(Vectors):
        writes = True

        def __init__(self, *_: object) -> None:
            super().__init__()

        def open(self) -> None: ...

        def close(self) -> None: ...

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "engine_named", lambda _: OfVectors)
        asked = ask(Task("x", str(corpus.folder), str(tmp_path), 0.01), lambda *_: None)
    assert set(asked["found"]) == {"vectors"}


def test_a_note_that_never_appears_is_given_up() -> None:
    with pytest.raises(RecollectError, match=r"was not found within 0.01 seconds"):
        _until_found(7, list, patience=0.01)
