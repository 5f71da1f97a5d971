"""A store is opened, begun, found damaged, and shared."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from recollect import clock
from recollect.errors import StoreBusyError, StoreDamagedError, StoreError, StoreReadOnlyError, StoreVersionError
from recollect.model import Draft, Filters
from recollect.query import parse
from recollect.stores.base import Model, Shelf
from recollect.stores.milvus import journal, keys, rows, session
from recollect.stores.milvus.address import read_address
from recollect.stores.milvus.client import Client
from recollect.stores.milvus.embedding import keep_state
from recollect.stores.milvus.generations import Generation, State
from recollect.stores.milvus.journal import Work, record
from recollect.stores.milvus.schema import RECORDS, records_index, records_schema
from recollect.stores.milvus.session import Session
from recollect.stores.milvus.store import MilvusStore
from tests.stores.milvus.looking import client_of, collection_of, entries_of

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def contents(store: MilvusStore, namespace: str = "default") -> list[str]:
    return [note.content for note in store.notes(namespace=namespace)]


def counts(store: MilvusStore, *words: str) -> list[int]:
    return store.note_counts([parse(word) for word in words], namespace="default")[1]


class TestOpening:
    def address(self, folder: Path) -> str:
        return f"milvus://{folder}/memory.db"

    def test_a_store_of_a_newer_version(self, tmp_path: Path) -> None:
        store = MilvusStore(self.address(tmp_path))
        keep_state(client_of(store), store._session.state()._replace(version=2))
        store.close()
        with pytest.raises(StoreVersionError, match="memory.db has schema 2; this Recollect knows 1: upgrade it"):
            MilvusStore(self.address(tmp_path))
        Client(read_address(self.address(tmp_path))).close()  # the folder was let go of

    def test_a_collection_that_is_lost(self, tmp_path: Path) -> None:
        store = MilvusStore(self.address(tmp_path))
        client_of(store).drop("notes_1")
        store.close()
        with pytest.raises(StoreDamagedError, match="has lost its collection notes_1; restore a backup"):
            MilvusStore(self.address(tmp_path))

    def test_collections_of_another_program(self, tmp_path: Path) -> None:
        client = Client(read_address(self.address(tmp_path)))
        client.create("photographs", records_schema(), records_index())
        client.close()
        with pytest.raises(StoreDamagedError, match="holds collections of another program; name another database"):
            MilvusStore(self.address(tmp_path))

    def test_one_that_was_begun_and_not_finished_is_begun_anew(self, tmp_path: Path) -> None:
        client = Client(read_address(self.address(tmp_path)))
        for name in ("notes_1", RECORDS):
            client.create(name, records_schema(), records_index())
        client.close()
        store = MilvusStore(self.address(tmp_path))
        store.write([{"content": "tea"}])
        assert contents(store) == ["tea"]
        store.close()

    def test_notes_come_behind_those_before_though_the_clock_went_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = MilvusStore(self.address(tmp_path))
        store.write([{"content": "first"}, {"content": "second"}])
        store.close()
        monkeypatch.setattr(keys, "time", SimpleNamespace(time=lambda: 1_600_000_000.0))
        store = MilvusStore(self.address(tmp_path))
        store.write([{"content": "third"}])
        assert contents(store) == ["first", "second", "third"]
        store.close()

    def test_a_name_that_cannot_be_told_from_another(self, lite: MilvusStore, monkeypatch: pytest.MonkeyPatch) -> None:
        lite.write([{"content": "tea", "namespace": "alice"}])
        home = rows.namespace_key("alice")
        monkeypatch.setattr("recollect.stores.milvus.writing.namespace_key", lambda _: home)
        with pytest.raises(StoreError, match="namespace 'bob' cannot be told from 'alice' here; choose another name"):
            lite.write([{"content": "tea", "namespace": "bob"}])
        assert [note.namespace for note in lite.notes()] == ["alice"]


class TestShelving:
    def test_documents_of_one_namespace_are_shelved_at_once(self, lite: MilvusStore) -> None:
        first, second = (note.id for note in lite.write([{"content": "one"}, {"content": "two"}]))
        shelves = [Shelf("default", "/v", "a.md", "1", (first,)), Shelf("default", "/v", "b.md", "2", (second,))]
        lite.shelve(shelves)
        assert list(lite.shelves()) == shelves
        lite.shelve([shelves[0]._replace(notes=(first, second)), shelves[1]])  # the last that has a note keeps it
        assert list(lite.shelves()) == shelves
        assert counts(lite, "one", "two") == [1, 1]

    def test_what_is_due_stands_on_no_shelf(self, lite: MilvusStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(clock, "now", lambda: NOW)
        (note,) = lite.write([{"content": "one", "expires_at": NOW + timedelta(days=1)}])
        shelf = Shelf("default", "/v", "a.md", "1", (note.id,))
        lite.shelve([shelf])
        assert list(lite.shelves()) == [shelf]
        monkeypatch.setattr(clock, "now", lambda: NOW + timedelta(days=2))
        assert list(lite.shelves()) == [shelf._replace(notes=())]


class TestExpiring:
    def test_it_costs_no_look_where_nothing_can_be_due(
        self, lite: MilvusStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(clock, "now", lambda: NOW)
        lite.write([{"content": "tea", "expires_at": NOW + timedelta(days=1)}, {"content": "milk"}])
        with monkeypatch.context() as patched:
            patched.setattr("recollect.stores.milvus.expiry.is_due", None)
            patched.setattr("recollect.stores.milvus.expiry.remove", None)
            assert lite.expire(NOW) == 0
            lite.write([{"content": "water"}])
        monkeypatch.setattr(clock, "now", lambda: NOW + timedelta(days=2))
        assert contents(lite) == ["milk", "water"]
        lite.write([{"content": "rum"}])
        with monkeypatch.context() as patched:
            patched.setattr("recollect.stores.milvus.expiry.remove", None)
            lite.write([{"content": "gin"}])
        assert lite.stats().expiring == 0

    def test_what_was_deleted_before_is_looked_for_once(
        self, lite: MilvusStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(clock, "now", lambda: NOW)
        lite.write([{"content": "tea", "path": "a", "expires_at": NOW + timedelta(days=1)}])
        lite.delete(["a"], namespace="default")
        assert lite.expire(NOW + timedelta(days=2)) == 0
        monkeypatch.setattr(clock, "now", lambda: NOW + timedelta(days=2))
        lite.write([{"content": "milk"}])
        monkeypatch.setattr("recollect.stores.milvus.expiry.remove", None)
        lite.write([{"content": "water"}])
        assert contents(lite) == ["milk", "water"]

    def test_it_does_not_wait(self, lite: MilvusStore) -> None:
        lite.write([{"content": "tea", "expires_at": datetime(2999, 1, 1, tzinfo=UTC)}])
        later = datetime(2999, 1, 2, tzinfo=UTC)
        with lite._session.turns.writing(), pytest.raises(StoreBusyError, match="others kept the store busy"):
            lite.expire(later)
        assert lite.expire(later) == 1


class TestThreads:
    def test_nobody_sees_half_of_a_batch(self, lite: MilvusStore) -> None:
        def drafts(version: int) -> list[Draft]:
            return [
                {"path": path, "content": f"version v{version}", "namespace": namespace}
                for path in ("a", "b")
                for namespace in ("alice", "bob")
            ]

        lite.write(drafts(0))
        stop, torn, looks = threading.Event(), list[object](), list[int]()

        def look() -> None:
            while not stop.is_set():
                seen = {note.content for note in lite.get(["a", "b"], namespace="alice") if note is not None}
                total, (found,) = lite.note_counts([parse("version")], namespace="bob")
                hits = lite.search_text(parse("version"), 9, namespace="bob", filters=Filters())
                if (len(seen), total, found, len({hit.content for hit in hits})) != (1, 2, 2, 1):
                    torn.append((seen, total, found, hits))
                looks.append(1)

        threads = [threading.Thread(target=look) for _ in range(3)]
        for thread in threads:
            thread.start()
        for version in range(1, 25):
            lite.write(drafts(version))
        stop.set()
        for thread in threads:
            thread.join()
        assert torn == []
        assert len(looks) > 3
        assert {note.content for note in lite.notes()} == {"version v24"}

    def test_all_that_several_write_is_there(self, lite: MilvusStore) -> None:
        def write(writer: int) -> None:
            for number in range(10):
                lite.write(
                    [
                        {"content": f"note {writer} {number}", "path": f"{writer}/{number}"},
                        {"content": "x", "path": "shared"},
                    ]
                )

        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(list(lite.notes())) == 41
        assert not any(finding.problem for finding in lite.check())


def test_a_closed_store_has_no_model_either(lite: MilvusStore) -> None:
    lite.close()
    with pytest.raises(StoreError, match="is closed; open it again to use it"):
        assert lite.model


class TestSharing:
    """Two stores on one server, as two processes have them; it is Lite that answers, in the words of a cluster."""

    def test_each_sees_what_the_other_writes(self, server: str) -> None:
        one, other = MilvusStore(server), MilvusStore(server)
        one.write([{"content": "green tea", "path": "a"}])
        assert counts(other, "tea", "milk") == [1, 0]
        assert counts(one, "tea") == [1]
        other.write([{"content": "milk tea", "path": "b"}, {"content": "milk", "path": "a"}])
        assert counts(one, "tea", "milk") == counts(other, "tea", "milk") == [1, 2]
        one.write([{"content": "water", "path": "c"}])
        assert counts(one, "water") == counts(other, "water") == [1]
        assert contents(other) == ["milk", "milk tea", "water"]
        assert one.delete(["b"], namespace="default") == 1
        assert [note and note.path for note in other.get(["a", "b"], namespace="default")] == ["a", None]
        found = other.search_text(parse("water"), 5, namespace="default", filters=Filters())
        assert [hit.path for hit in found] == ["c"]
        for store in (one, other):
            assert not any(finding.problem for finding in store.check())
            assert entries_of(store) == []
            store.close()

    def test_a_model_of_one_is_the_model_of_all(self, server: str) -> None:
        one, other = MilvusStore(server), MilvusStore(server)
        assert (one.model, other.model) == (None, None)
        one.write([{"content": "tea", "path": "a", "vector": [1, 0]}])
        assert other.model == Model("given", 2)
        other.write([{"content": "milk", "path": "b", "vector": [0, 1]}])
        assert one.stats().vectors == {"given": 2}
        assert one.stats().engine.startswith("Milvus ")
        assert one.stats().bytes == 0
        one.close()
        other.close()

    def test_keys_tell_who_made_them(self, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(keys, "time", SimpleNamespace(time=lambda: 1_800_000_000.0))
        one, other = MilvusStore(server), MilvusStore(server)
        made = [store._session.keys.new() >> 10 for store in (one, other)]
        assert {key >> 10 for key in made} == {made[0] >> 10}  # at the same time
        assert all(0 <= key % 1024 < session.WRITERS for key in made)
        one.close()
        other.close()

    def test_what_another_is_in_the_middle_of_is_left_alone_for_a_while(
        self, server: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = MilvusStore(server)
        work = Work()
        work.upsert(RECORDS, [record("namespace/7", "namespace", 7, json.dumps({"name": "x", "last": 0}))])
        journal.write_down(client_of(store), store._session.keys.new(), work)
        MilvusStore(server).close()
        assert len(entries_of(store)) == 1
        monkeypatch.setattr(session, "ABANDONED", -60.0)
        reader = MilvusStore(server, read_only=True)
        assert len(entries_of(store)) == 1
        reader.close()
        MilvusStore(server).close()
        assert entries_of(store) == []
        store.close()

    def test_an_error_is_recovered_from(self, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
        store = MilvusStore(server)
        store.write([{"content": "tea", "path": "a"}])

        def fail(*_: object) -> None:
            raise StoreError("the server is gone")

        with monkeypatch.context() as patched:
            patched.setattr(journal, "strike_out", fail)
            with pytest.raises(StoreError, match="the server is gone"):
                store.write([{"content": "milk", "path": "b"}])
        assert contents(store) == ["tea", "milk"]
        assert counts(store, "milk") == [1]
        store.close()

    def test_who_recovers_from_an_error_leaves_the_entries_of_others_alone(
        self, server: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = MilvusStore(server)
        work = Work()
        work.upsert(RECORDS, [record("namespace/7", "namespace", 7, json.dumps({"name": "x", "last": 0}))])
        (theirs,) = journal.write_down(client_of(store), store._session.keys.new(), work)

        def fail(*_: object) -> None:
            raise StoreError("the server is gone")

        with monkeypatch.context() as patched:
            patched.setattr(journal, "apply", fail)
            with pytest.raises(StoreError, match="the server is gone"):
                store.write([{"content": "milk", "path": "b"}])
        assert contents(store) == ["milk"]
        assert [row["key"] for row in entries_of(store)] == [theirs]
        store.close()

    def test_a_server_without_a_memory_is_not_begun_for_reading(self, server: str) -> None:
        with pytest.raises(StoreError, match="holds no memory"):
            MilvusStore(server, read_only=True)

    def test_expiry_is_asked_of_the_server(self, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
        one, other = MilvusStore(server), MilvusStore(server)
        monkeypatch.setattr(clock, "now", lambda: NOW)
        one.write([{"content": "tea", "expires_at": NOW + timedelta(days=1)}])
        monkeypatch.setattr(clock, "now", lambda: NOW + timedelta(days=2))
        assert contents(other) == []
        other.write([{"content": "milk"}])
        assert one.expire(NOW + timedelta(days=3)) == 0
        assert contents(one) == ["milk"]
        one.close()
        other.close()


def test_what_is_asked_of_a_cluster_is_written_in_its_own_words() -> None:
    from recollect.stores.milvus.schema import notes_index, notes_schema  # noqa: PLC0415 (brings Milvus)

    schema = notes_schema(3, lite=False)
    (words,) = (field for field in schema.fields if field.name == "words")
    assert words.params["analyzer_params"] == '{"tokenizer":"whitespace"}'
    indexed = {index.field_name for index in notes_index(lite=False)}
    assert {"sparse", "vector", "id", "path_hash", "document", "expires", "note"} == indexed


def test_generations() -> None:
    state = State((Generation(2, Model("tiny", 3)), Generation(5)))
    assert (state.active.collection, state.next_number) == ("notes_2", 6)
    assert state.of(Model("tiny", 3)) == state.active
    assert state.of(Model("tiny", 4)) is None
    assert [generation.dimension for generation in state.generations] == [3, 2]


def test_a_session_that_cannot_be_opened_lets_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = read_address(f"milvus://{tmp_path}/memory.db")
    with monkeypatch.context() as patched:
        patched.setattr(session, "Keys", None)
        with pytest.raises(TypeError):
            Session(address)
    Session(address).close()


def test_read_only_servers_refuse(server: str) -> None:
    MilvusStore(server).close()
    store = MilvusStore(server, read_only=True)
    with pytest.raises(StoreReadOnlyError):
        store.write([{"content": "x"}])
    assert collection_of(store) == "notes_1"
    store.close()
