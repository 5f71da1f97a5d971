"""A copy has the contents of its source, however often and wherever it was interrupted."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import ArgumentError, StoreError, StoreReadOnlyError
from recollect.model import Document, Link, Note, draft_of
from recollect.stores import copying, open_store
from recollect.stores.base import DocumentRecord, Model, Store
from recollect.stores.comparison import compare_stores
from recollect.stores.copying import CopyCounts, copy_store
from recollect.stores.sqlite.store import SQLiteStore
from tests.frozen_clock import HOUR, FrozenClock
from tests.stores.engines import ENGINES, release
from tests.stores.full import MODEL, FailingStore, contents, fill

ENGINE_NAMES = sorted(ENGINES, key=["sqlite", "postgres"].index)
PAIRS = [(ENGINE_NAMES[0], ENGINE_NAMES[0]), *zip(ENGINE_NAMES, [*ENGINE_NAMES[1:], ENGINE_NAMES[0]], strict=True)]
"""Every engine is once a source and once a target of another."""


@pytest.fixture(params=PAIRS, ids="-to-".join)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    stores = []
    for side, engine in zip(("source", "target"), request.param, strict=True):
        (tmp_path / side).mkdir()
        stores.append(ENGINES[engine](tmp_path / side))
    yield stores[0], stores[1]
    for store in stores:
        store.close()
    for side in ("source", "target"):
        release(tmp_path / side)


@pytest.fixture
def filled(pair: tuple[Store, Store]) -> tuple[Store, Store]:
    fill(pair[0])
    return pair


@pytest.fixture
def batch_notes(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> int:
    """Copy in batches of this many notes."""
    monkeypatch.setattr(copying, "BATCH_NOTES", request.param)
    size: int = request.param
    return size


def counts(copied: CopyCounts) -> dict[str, int]:
    names = ("added", "updated", "unchanged", "documents")
    return {name: count for name in names if (count := getattr(copied, name))}


def _by_id(store: Store) -> dict[str, Any]:
    notes, _, _, vectors = contents(store)
    return {note.id: (note, vector) for note, vector in zip(notes, vectors, strict=True)}


class TestCopy:
    @pytest.mark.usefixtures("batch_notes")
    @pytest.mark.parametrize("batch_notes", [1, 3, 1000], indirect=True)
    def test_copy_has_the_contents_of_the_source(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        before = contents(source)
        copied = copy_store(source, target)
        assert counts(copied) == {"added": 29, "documents": 3}
        assert copied.seconds > 0
        assert contents(target) == contents(source) == before
        assert target.stats().notes == source.stats().notes
        assert not any(finding.problem for finding in target.check())
        assert compare_stores(source, target).same

    @pytest.mark.usefixtures("batch_notes")
    @pytest.mark.parametrize("batch_notes", [2], indirect=True)
    def test_copy_has_the_edges_of_the_source(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target)

        def edges(store: Store, key: str) -> list[tuple[str, str, str]]:
            neighbours = store.neighbours(key, namespace="default")
            return [(neighbour.note.id, neighbour.kind, neighbour.direction) for neighbour in neighbours]

        for key in ("full", "later", "pending", "plain4"):
            assert edges(target, key) == edges(source, key)
        assert ("later", "supersedes", "out") in edges(target, "full")

    def test_second_copy_changes_nothing(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        assert not copy_store(source, target).nothing_to_do
        again = copy_store(source, FailingStore(target, "write"))
        assert again.nothing_to_do
        assert counts(again) == {"unchanged": 29}

    def test_copy_of_a_copy(self, filled: tuple[Store, Store], tmp_path: Path) -> None:
        source, target = filled
        copy_store(source, target)
        third = open_store(str(tmp_path / "third.db"))
        copy_store(target, third)
        assert contents(third) == contents(source)
        third.close()

    def test_copy_of_some_namespaces(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        assert counts(copy_store(source, target, namespaces=["work"])) == {"added": 12, "documents": 1}
        assert set(target.stats().notes) == {"work"}
        assert compare_stores(source, target, namespaces=["work"]).same
        assert counts(copy_store(source, target, namespaces=["work", "default"])) == {
            "added": 17,
            "unchanged": 12,
            "documents": 2,
        }
        assert compare_stores(source, target).same
        with pytest.raises(ArgumentError, match="^namespaces: there is no 'nowhere' in "):
            copy_store(source, target, namespaces=["nowhere"])

    def test_copy_of_an_empty_store(self, pair: tuple[Store, Store]) -> None:
        assert copy_store(*pair).nothing_to_do
        assert compare_stores(*pair).same

    def test_copy_of_the_model_of_notes_without_vectors(self, pair: tuple[Store, Store]) -> None:
        source, target = pair
        source.activate(MODEL)
        source.write([{"content": "tea"}])
        copy_store(source, target)
        assert target.model == MODEL

    def test_copy_of_vectors_of_half_precision(self, pair: tuple[Store, Store]) -> None:
        source, target = pair
        random = np.random.default_rng(1)
        half = Model("half", 50, "float16")
        for number in range(40):
            vector = random.normal(size=50).astype(np.float32)
            source.write([{"content": f"note {number}", "vector": vector}], model=half)
        copy_store(source, target)
        assert target.model == half
        assert contents(target) == contents(source)
        assert copy_store(source, target).nothing_to_do

    def test_copied_documents_can_be_ingested_again(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target)
        assert target.documents("/vault", namespace="default") == {"a.md": "1", "empty.md": "2"}
        changed = [draft_of({"path": f"a.md#{index}", "content": f"chunk {index} anew"}) for index in range(2)]
        written = target.write_documents([Document("/vault", "a.md", "4", changed)], namespace="default").counts
        assert (written.updated, written.removed) == (2, 1)

    def test_copy_of_expiring_notes(self, pair: tuple[Store, Store], frozen_clock: FrozenClock) -> None:
        source, target = pair
        source.write(
            [{"id": "soon", "content": "The fair is on.", "expires_at": frozen_clock.time + HOUR}, {"content": "tea"}]
        )
        copy_store(source, target)
        assert contents(source) == contents(target)
        frozen_clock.time += 2 * HOUR
        assert [note.content for note in target.notes()] == ["tea"]
        assert copy_store(source, target).nothing_to_do
        assert compare_stores(source, target).same

    def test_backup_of_a_store_by_copying(self, tmp_path: Path) -> None:
        class CopyingStore(SQLiteStore):
            def backup(self, target: Path, *, overwrite: bool = False) -> None:
                assert not overwrite
                copy = SQLiteStore(target)
                copy_store(self, copy)
                copy.close()

        store = CopyingStore(tmp_path / "memory.db")
        fill(store)
        store.backup(tmp_path / "backup.db")
        copy = SQLiteStore(tmp_path / "backup.db", read_only=True)
        assert contents(copy) == contents(store)
        copy.close()
        store.close()


def test_batches_are_limited_by_the_length_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "BATCH_BYTES", 2000)
    texts = ["short", "long " * 50_000, "short again", "ö" * 600, "ö" * 600]
    batches = copying.note_batches(Note(content=text) for text in texts)
    assert [[len(note.content) for note in batch] for batch in batches] == [[5], [250_000], [11, 600], [600]]


class TestCatchUp:
    def test_copy_of_new_changed_and_linked_notes(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target)
        source.write([{"id": "later", "content": "Drank tea.", "last_accessed_at": datetime(2026, 5, 1, tzinfo=UTC)}])
        source.write([{"content": "new", "vector": np.ones(3, dtype=np.float32)}], model=MODEL)
        source.link("plain0", Link("related", "full"), namespace="default")
        source.touch({"plain1": datetime(2026, 6, 1, tzinfo=UTC)}, namespace="work")
        assert counts(copy_store(source, target)) == {"added": 1, "updated": 3, "unchanged": 26}
        assert contents(target) == contents(source)

    def test_copy_of_new_vectors(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target)
        pending = source.pending(MODEL, 100)
        source.embed(MODEL, [(note, np.array([3, 4, 0], dtype=np.float32)) for note in pending])
        assert counts(copy_store(source, target)) == {"updated": 5, "unchanged": 24}
        assert contents(target) == contents(source)

    def test_copy_of_a_new_model(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target)
        new_model = Model("other", 2)
        source.embed(new_model, [(note, np.array([3, 4], dtype=np.float32)) for note in source.pending(new_model, 100)])
        assert source.activate(new_model)
        assert counts(copy_store(source, target)) == {"updated": 29}
        assert target.model == new_model
        assert contents(target) == contents(source)

    def test_copy_of_the_first_model(self, pair: tuple[Store, Store]) -> None:
        source, target = pair
        source.write([{"id": name, "content": name} for name in ("one", "two", "three")])
        copy_store(source, target)
        pending = source.pending(MODEL, 2)
        source.embed(MODEL, [(note, np.array([3, 4, 0], dtype=np.float32)) for note in pending])
        assert counts(copy_store(source, target)) == {"updated": 2, "unchanged": 1}
        assert contents(target) == contents(source)

    def test_copy_keeps_vectors_missing_in_the_source(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target)
        pending = target.pending(MODEL, 100)
        target.embed(MODEL, [(note, np.array([3, 4, 0], dtype=np.float32)) for note in pending])
        assert copy_store(source, target).nothing_to_do
        assert compare_stores(source, target).same
        assert target.pending(MODEL, 1) == []

    def test_copy_reverts_changes_of_the_target(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target)
        target.touch(
            {"pieces": datetime(2030, 1, 1, tzinfo=UTC), "full": datetime(2030, 1, 1, tzinfo=UTC)}, namespace="default"
        )
        target.write([{"id": "later", "metadata": {"flag": 1}}, {"id": "plain0", "metadata": {"x": 1}, "tags": ("x",)}])
        source.write([{"id": "later", "metadata": {"flag": True}}])
        assert counts(copy_store(source, target)) == {"updated": 4, "unchanged": 25}
        assert contents(target) == contents(source)

    @pytest.mark.usefixtures("batch_notes")
    @pytest.mark.parametrize("batch_notes", [4], indirect=True)
    def test_copy_restores_deleted_notes(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target)
        target.delete(["plain0", "plain2"], namespace="default")
        assert counts(copy_store(source, target)) == {"added": 2, "unchanged": 27}
        assert _by_id(target) == _by_id(source)
        assert [difference.problem for difference in compare_stores(source, target).differences] == ["order"]

    def test_copy_of_changed_documents(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target)
        drafts = [draft_of({"path": f"a.md#{index}", "content": f"chunk {index}"}) for index in range(4)]
        moved = [Document("/vault", "a.md", "9", drafts[:1]), Document("/vault", "new.md", "1", drafts[1:])]
        source.write_documents(moved, namespace="default")
        assert counts(copy_store(source, target)) == {"added": 1, "unchanged": 29, "documents": 2}
        assert contents(target) == contents(source)

    def test_copy_of_notes_with_swapped_paths(self, pair: tuple[Store, Store]) -> None:
        source, target = pair
        vector = np.array([1, 0, 0], dtype=np.float32)
        notes = [{"id": str(number), "path": f"{number}.md", "content": f"note {number}"} for number in range(6)]
        source.write([{**note, "vector": vector} for note in notes], model=MODEL)
        source.write([{"id": "pending", "path": "pending.md", "content": "pending"}])
        copy_store(source, target)
        names = [str(number) for number in range(6)] + ["pending"]
        source.write([{"id": name, "path": f"{names[index - 1]}.md"} for index, name in enumerate(names)])
        assert counts(copy_store(source, target)) == {"updated": 7}
        assert contents(target) == contents(source)
        assert compare_stores(source, target).same

    def test_copy_of_a_note_at_a_reused_path(self, pair: tuple[Store, Store]) -> None:
        source, target = pair
        source.write([{"id": "1", "path": "a", "content": "one", "last_accessed_at": datetime(2026, 1, 1, tzinfo=UTC)}])
        source.write([{"id": "0", "content": "zero"}])
        copy_store(source, target)
        source.write([{"id": "1", "path": "b"}, {"id": "2", "path": "a", "content": "two"}])
        copy_store(source, target)
        assert contents(target) == contents(source)

    @pytest.mark.usefixtures("batch_notes")
    @pytest.mark.parametrize("batch_notes", [1], indirect=True)
    def test_copy_refuses_the_path_of_a_later_note(self, pair: tuple[Store, Store]) -> None:
        source, target = pair
        source.write([{"id": "1", "path": "a", "content": "one"}, {"id": "2", "path": "b", "content": "two"}])
        copy_store(source, target)
        source.write([{"id": "1", "path": "b"}, {"id": "2", "path": "a"}])
        with pytest.raises(ArgumentError, match="^target: 'b' is the path of another note there, '2'; delete that, or"):
            copy_store(source, target)
        target.delete(["2"], namespace="default")
        copy_store(source, target)
        assert contents(target) == contents(source)

    @pytest.mark.usefixtures("batch_notes")
    @pytest.mark.parametrize("batch_notes", [6], indirect=True)
    def test_copy_during_writes_to_the_source(self, filled: tuple[Store, Store]) -> None:
        source, target = filled

        def write() -> None:
            source.delete(["plain2"], namespace="default")
            source.write(
                [{"id": "pending", "path": "elsewhere.md"}, {"id": "new", "path": "memory/coffee.md", "content": "x"}]
            )

        with pytest.raises(ArgumentError, match="'memory/coffee.md' is the path of another note there, 'pending'"):
            copy_store(source, FailingStore(target, "write", after=3, instead=write))
        with pytest.raises(ArgumentError, match="has the note 'plain2', which"):
            copy_store(source, target)
        target.delete(["plain2"], namespace="default")
        copy_store(source, target)
        assert {note.id: note for note in target.notes()} == {note.id: note for note in source.notes()}

    @settings(max_examples=25)
    @given(data=st.data())
    def test_any_history_is_copied(self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
        folder = tmp_path_factory.mktemp("history")
        source, target = open_store(folder / "one.db"), open_store(folder / "two.db")
        note_id = st.sampled_from(["1", "2", "3", "4"])
        vector = st.sampled_from([(1, 0, 0), (0, 1, 0), (0, 0, 1)]).map(lambda row: np.array(row, dtype=np.float32))
        draft = st.fixed_dictionaries(
            {"id": note_id, "content": st.text("xyz ", max_size=3)}, optional={"vector": vector}
        )
        deletions = st.lists(note_id, max_size=2)
        for _ in range(data.draw(st.integers(1, 4))):
            for fields in data.draw(st.lists(draft, max_size=4)):
                source.write([{**fields, "path": f"{fields['id']}.md"}])
            target.delete(data.draw(deletions), namespace="default")
            copy_store(source, target)
            source_notes, target_notes = _by_id(source), _by_id(target)
            assert {name: note for name, (note, _) in target_notes.items()} == {
                name: note for name, (note, _) in source_notes.items()
            }
            assert all(
                target_notes[name][1] == vector for name, (_, vector) in source_notes.items() if vector is not None
            )
            problems = {difference.problem for difference in compare_stores(source, target).differences}
            assert problems <= {"order"}
        source.close()
        target.close()


class TestRefusals:
    def test_target_with_other_notes_is_refused(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        target.write([{"id": "mine", "content": "mine"}, {"id": "full", "content": "mine too"}])
        before = contents(target)
        with pytest.raises(ArgumentError, match="^target: .* has the note 'mine', which .* lacks; choose an empty"):
            copy_store(source, target)
        assert contents(target) == before
        target.delete(["mine"], namespace="default")
        target.write([{"id": "memory/tea.md", "content": "an id like a path"}])
        with pytest.raises(ArgumentError, match="^target: .* has the note 'memory/tea.md', which "):
            copy_store(source, target)

    def test_other_notes_in_other_namespaces_are_allowed(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        target.write([{"id": "mine", "content": "mine", "namespace": "private"}])
        copy_store(source, target, namespaces=["work", "default"])
        assert compare_stores(source, target, namespaces=["work", "default"]).same
        assert not compare_stores(source, target).same

    def test_merge_keeps_other_notes(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        target.write([{"id": "mine", "content": "mine"}])
        target.set_document_notes([DocumentRecord("default", "/vault", "mine.md", "1", ("mine",))])
        assert counts(copy_store(source, target, merge=True)) == {"added": 29, "documents": 3}
        assert [note.id for note in target.notes()] == ["mine", *(note.id for note in source.notes())]
        assert DocumentRecord("default", "/vault", "mine.md", "1", ("mine",)) in list(target.document_records())
        assert compare_stores(source, target, merged=True).same
        assert not compare_stores(source, target).same
        assert counts(copy_store(source, target, merge=True)) == {"unchanged": 29}

    def test_merge_does_not_replace_other_notes(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        target.write([{"id": "mine", "path": "memory/tea.md", "content": "mine"}])
        with pytest.raises(ArgumentError, match="^target: 'memory/tea.md' is the path of another note there, 'mine'; "):
            copy_store(source, target, merge=True)

    def test_target_of_another_model(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        target.write(
            [{"id": "full", "content": "mine", "vector": np.ones(2, dtype=np.float32)}], model=Model("other", 2)
        )
        with pytest.raises(
            ArgumentError, match=r"^target: the vectors of .* are of other \(2 numbers in float32\), those"
        ):
            copy_store(source, target, merge=True)
        with pytest.raises(ArgumentError, match="reindex one of them, or choose an empty target$"):
            copy_store(source, target, namespaces=["work"])
        copy_store(source, target)
        (difference,) = [part for part in compare_stores(source, target).differences if part.part == "store"]
        assert (difference.name, difference.problem) == ("other", "the source has the model tiny")
        pending = [note.id for note in source.notes() if source.vectors_of([note])[1][0] is None]
        for store in (source, target):
            store.delete(pending, namespace="default")
            store.delete(["b"], namespace="work")
        copy_store(source, target)
        assert target.model == source.model

    def test_model_of_another_dimension_is_refused(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        target.write([{"id": "full", "content": "x", "vector": np.ones(2, dtype=np.float32)}], model=Model("tiny", 2))
        with pytest.raises(ArgumentError, match="reindex one of them, or choose an empty target$"):
            copy_store(source, target)

    def test_source_itself_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        store, same = open_store("memory.db"), open_store(tmp_path / "memory.db")
        for target in (store, same):
            with pytest.raises(ArgumentError, match="^target: .*memory.db is the source itself; choose another"):
                copy_store(store, target)
        store.close()
        same.close()

    def test_read_only_target_is_refused(self, tmp_path: Path) -> None:
        source = open_store(tmp_path / "one.db")
        source.write([{"content": "tea"}])
        open_store(tmp_path / "two.db").close()
        target = open_store(tmp_path / "two.db", read_only=True)
        with pytest.raises(StoreReadOnlyError):
            copy_store(source, target)
        source.close()
        target.close()


class TestInterruptions:
    @pytest.mark.parametrize("batch_notes", [5], indirect=True)
    @pytest.mark.parametrize(
        ("side", "method", "after"),
        [
            ("source", "notes", 0),
            ("source", "vectors_of", 3),
            ("source", "document_records", 0),
            ("target", "activate", 0),
            ("target", "get", 3),
            ("target", "vectors_of", 2),
            *(("target", "write", after) for after in range(6)),
            ("target", "set_document_notes", 0),
        ],
    )
    def test_copy_continues_after_an_error(
        self, filled: tuple[Store, Store], side: str, method: str, after: int, batch_notes: int
    ) -> None:
        source, target = filled
        stores: list[Any] = [source, target]
        index = ("source", "target").index(side)
        stores[index] = FailingStore(stores[index], method, after=after)
        with pytest.raises(StoreError, match="^the server is gone$"):
            copy_store(*stores)
        copied = copy_store(source, target)
        if method == "write":
            assert copied.unchanged == batch_notes * after
        assert contents(target) == contents(source)
        assert compare_stores(source, target).same

    @pytest.mark.parametrize("after", [0, 1, 4])
    def test_copy_continues_after_a_kill(self, tmp_path: Path, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(copying, "BATCH_NOTES", 20)
        source = open_store(tmp_path / "one.db")
        fill(source, plain=300)
        source.close()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                ours, theirs = open_store(tmp_path / "one.db", read_only=True), open_store(tmp_path / "two.db")
                os.write(writing, b"started\n")

                def report(done: int, _total: int, _phase: str) -> None:
                    if done:
                        os.write(writing, f"{done}\n".encode())

                copy_store(ours, theirs, report=report)
                signal.pause()
            finally:
                os._exit(1)
        os.close(writing)
        with os.fdopen(reading) as reports:
            for _ in range(1 + after):
                assert reports.readline()
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        source, target = open_store(tmp_path / "one.db", read_only=True), open_store(tmp_path / "two.db")
        copied = copy_store(source, target)
        assert copied.unchanged >= 20 * after
        assert copied.added + copied.unchanged == 309
        assert contents(target) == contents(source)
        assert not any(finding.problem for finding in target.check())
        source.close()
        target.close()


def test_copy_reports_progress(filled: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = filled
    reports: list[tuple[int, int, str]] = []
    monkeypatch.setattr(copying, "BATCH_NOTES", 10)
    copy_store(source, target, report=lambda *report: reports.append(report))
    assert reports == [(done, 29, "notes") for done in (0, 10, 20, 29)]
    reports.clear()
    monkeypatch.setattr(copying, "BATCH_NOTES", 20)
    copy_store(source, target, namespaces=["work"], report=lambda *report: reports.append(report))
    assert reports == [(12, 12, "others"), (0, 12, "notes"), (12, 12, "notes")]
