"""A batch is whole, whenever the process that writes it is killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from recollect.errors import StoreError
from recollect.model import Document, Filters, draft_of
from recollect.query import parse
from recollect.stores.base import Model
from recollect.stores.milvus import journal
from recollect.stores.milvus.client import MOST_RESULTS, Client
from recollect.stores.milvus.journal import Work, record
from recollect.stores.milvus.rows import cut
from recollect.stores.milvus.schema import LONGEST_TEXT, NEVER, RECORDS
from recollect.stores.milvus.store import MilvusStore
from tests.stores.milvus.looking import client_of, collection_of, entries_of

T = TypeVar("T")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MilvusStore]:
    opened = MilvusStore(f"milvus://{tmp_path}/memory.db")
    yield opened
    opened.close()


def texts(store: MilvusStore) -> list[str]:
    return sorted(f"{note.namespace} {note.path} {note.content}" for note in store.notes())


def killed(tmp_path: Path, work: str) -> Iterator[MilvusStore]:
    """Yield what is left of a store that is killed before each step of some work, and at last of one that was not."""
    prepared, folder = tmp_path / "prepared.db", tmp_path / "killed"
    folder.mkdir()
    store = MilvusStore(f"milvus://{prepared}")
    drafts = [draft_of({"content": "old", "path": f"{name}.md", "vector": [1, 0]}) for name in ("one", "two")]
    store.write_documents([Document("/vault", "a.md", "1", drafts)], namespace="default")
    store.close()
    command = [sys.executable, "-m", "tests.stores.milvus.crashes", str(prepared), str(folder), work]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for path in sorted(folder.iterdir()):
        store = MilvusStore(f"milvus://{path}")
        assert not any(finding.problem for finding in store.check())
        assert entries_of(store) == []
        yield store
        store.close()


def changes(states: list[T]) -> list[T]:
    """Return what states follow each other."""
    return [state for place, state in enumerate(states) if place == 0 or states[place - 1] != state]


def test_a_batch_is_whole_or_not_there_after_a_kill(tmp_path: Path) -> None:
    found = []
    for store in killed(tmp_path, "batches"):
        found.append((texts(store), store.documents("/vault", namespace="default")))
        hits = store.search_text(parse("old new here"), 9, namespace="default", filters=Filters())
        assert sorted(hit.path for hit in hits) == sorted(note.path for note in store.notes(namespace="default"))
    old = ["default one.md old", "default two.md old"]
    new = ["default both.md here", "default new.md new", "work both.md there"]
    assert len(found) > 10
    assert changes(found) == [(old, {"a.md": "1"}), ([new[1]], {"a.md": "2"}), (new, {"a.md": "2"})]


def test_a_model_takes_over_or_not_after_a_kill(tmp_path: Path) -> None:
    found = []
    for store in killed(tmp_path, "model"):
        model, vectors = store.vectors_of(list(store.notes()))
        assert [vector is not None for vector in vectors] == [True, True]
        found.append(model)
        store.write([{"content": "afterwards", "path": "three.md"}])
        assert len(texts(store)) == 3
    assert len(found) > 5
    assert changes(found) == [Model("given", 2), Model("other", 3)]


class TestWork:
    def test_it_is_the_same_when_it_was_written_down(self) -> None:
        work = Work()
        work.upsert("notes_1", [{"key": 1, "body": "\0 é 🍵", "marks": [2**62], "vector": [0.1, 1e-30]}])
        work.delete("notes_1", range(7, 9))
        work.notices["x"] = record("x", "namespace", 3, "{}")
        read = Work.read(work.text())
        assert read.deletes == {"notes_1": {7: None, 8: None}}
        assert read.notices == work.notices
        (row,) = read.upserts["notes_1"].values()
        assert row["vector"] == [float(np.float32(0.1)), float(np.float32(1e-30))]
        assert {**row, "vector": 0} == {**work.upserts["notes_1"][1], "vector": 0}

    def test_what_lite_does_at_once(self) -> None:
        def one(upserts: list[dict[str, object]], deletes: int = 0, collection: str = "notes_1") -> bool:
            work = Work()
            work.upsert("notes_1", upserts)
            work.delete(collection, range(deletes))
            return work.is_one_step()

        rows: list[dict[str, object]] = [{"key": 1, "namespace": 7}, {"key": 2, "namespace": 7}]
        assert one(rows)
        assert one([], 3)
        assert one([], MOST_RESULTS)
        assert not one(rows, 1)
        assert not one([*rows, {"key": 3, "namespace": 8}])
        assert not one([{"key": key, "namespace": 7, "body": "x" * 5_000_000} for key in (1, 2)])
        assert not one([], MOST_RESULTS + 1)
        assert not Work()
        empty = Work()
        empty.upsert("notes_1", [])
        empty.delete("notes_1", [])
        assert not empty


class TestRecovering:
    def test_an_entry_that_is_not_whole_was_never_begun(self, store: MilvusStore) -> None:
        store.write([{"content": "tea", "path": "tea.md"}])
        client, work = client_of(store), Work()
        work.delete(collection_of(store), [row["key"] for row in client.rows(collection_of(store), "key > 0", ["key"])])
        work.delete("filler", [f"{number:020}" for number in range(5000)])
        keys = journal.write_down(client, 9, work)
        assert len(keys) > 1
        journal.strike_out(client, keys[1:2])
        assert journal.recover(client, NEVER) == 0
        assert entries_of(store) == []
        assert texts(store) == ["default tea.md tea"]

    def test_a_whole_one_is_done_in_turn_but_for_what_is_no_longer_there(self, store: MilvusStore) -> None:
        client = client_of(store)
        for number in (9, 10):
            work = Work()
            work.upsert("notes_99", [{"key": 1, "vector": [1.0]}])
            work.delete("notes_99", [2])
            work.upsert(RECORDS, [record("x", "document", 0, f'["{number}"]')])
            journal.write_down(client, number, work)
        assert journal.recover(client, 10) == 1
        assert [row["key"][:28] for row in entries_of(store)] == [f"journal/{10:020}"]
        assert journal.recover(client, NEVER) == 1
        assert client.get(RECORDS, ["x"], ["body"])[0]["body"] == '["10"]'

    def test_what_an_error_interrupts_is_finished_by_the_next_call(
        self, store: MilvusStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.write_documents([Document("/v", "a", "1", [{"content": "old", "path": "a.md"}])], namespace="default")
        assert store.note_counts([parse("old")], namespace="default") == (1, [1])

        def fail(*_: object) -> None:
            raise StoreError("the server is gone")

        with monkeypatch.context() as patched:
            patched.setattr(Client, "delete", fail)
            with pytest.raises(StoreError, match="the server is gone"):
                store.write_documents([Document("/v", "a", "2", [{"content": "new"}])], namespace="default")
        assert store.note_counts([parse("old"), parse("new")], namespace="default") == (1, [0, 1])
        assert [note.content for note in store.notes()] == ["new"]
        assert entries_of(store) == []

    def test_by_a_write_as_well(self, store: MilvusStore, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(journal, "strike_out", fail_once)
            with pytest.raises(KeyboardInterrupt):
                store.write([{"content": "one", "path": "one.md"}])
        store.write([{"content": "two", "path": "two.md"}])
        assert texts(store) == ["default one.md one", "default two.md two"]
        assert entries_of(store) == []


def fail_once(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_text_is_cut_where_a_field_ends() -> None:
    assert cut("tea") == ["tea"]
    assert list(map(len, cut("x" * (LONGEST_TEXT + 1)))) == [LONGEST_TEXT, 1]
    assert len(cut("é" * (LONGEST_TEXT // 2))) == 1
    parts = cut("🍵" * LONGEST_TEXT)
    assert "".join(parts) == "🍵" * LONGEST_TEXT
    assert max(len(part.encode()) for part in parts) <= LONGEST_TEXT
