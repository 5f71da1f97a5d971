"""A copy is what it is a copy of, however often and wherever it was interrupted."""

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
from recollect.model import Document, Link, draft_of
from recollect.stores import copying, iteration, open_store
from recollect.stores.base import DocumentRecord, Model, Store
from recollect.stores.comparison import compare_stores
from recollect.stores.copying import Copied, copy_store
from recollect.stores.sqlite.store import SQLiteStore
from tests.frozen_clock import HOUR, FrozenClock
from tests.stores.engines import ENGINES, release
from tests.stores.full import MODEL, Breaking, fill, held

ROUND = sorted(ENGINES, key=["sqlite", "postgres"].index)
PAIRS = [(ROUND[0], ROUND[0]), *zip(ROUND, [*ROUND[1:], ROUND[0]], strict=True)]
"""Each engine is once a source and once a target for another."""


@pytest.fixture(params=PAIRS, ids="-to-".join)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    stores = []
    for place, engine in zip(("source", "target"), request.param, strict=True):
        (tmp_path / place).mkdir()
        stores.append(ENGINES[engine](tmp_path / place))
    yield stores[0], stores[1]
    for store in stores:
        store.close()
    for place in ("source", "target"):
        release(tmp_path / place)


@pytest.fixture
def filled(pair: tuple[Store, Store]) -> tuple[Store, Store]:
    fill(pair[0])
    return pair


def counts(copied: Copied) -> dict[str, int]:
    names = ("added", "updated", "unchanged", "removed", "kept", "documents")
    return {name: count for name in names if (count := getattr(copied, name))}


class TestAllTravels:
    @pytest.mark.parametrize("batch", [1, 3, 1000])
    def test_a_copy_holds_what_the_source_holds(self, filled: tuple[Store, Store], batch: int) -> None:
        source, target = filled
        before = held(source)
        copied = copy_store(source, target, batch=batch)
        assert counts(copied) == {"added": 29, "documents": 3}
        assert copied.seconds > 0
        assert held(target) == held(source) == before
        assert target.stats().notes == source.stats().notes
        assert not any(finding.problem for finding in target.check())
        assert compare_stores(source, target).same

    def test_what_derives_from_notes_is_there_too(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target, batch=2)
        for key in ("full", "later", "pending", "plain4"):
            theirs = [(each.note.id, each.kind, each.direction) for each in target.neighbours(key, namespace="default")]
            ours = [(each.note.id, each.kind, each.direction) for each in source.neighbours(key, namespace="default")]
            assert theirs == ours
        assert ("later", "supersedes", "out") in [
            (each.note.id, each.kind, each.direction) for each in target.neighbours("full", namespace="default")
        ]

    def test_a_second_copy_has_nothing_to_do(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        assert not copy_store(source, target).nothing_to_do
        again = copy_store(source, Breaking(target, "write"))
        assert again.nothing_to_do
        assert counts(again) == {"unchanged": 29}

    def test_a_copy_of_a_copy(self, filled: tuple[Store, Store], tmp_path: Path) -> None:
        source, target = filled
        copy_store(source, target)
        third = open_store(str(tmp_path / "third.db"))
        copy_store(target, third)
        assert held(third) == held(source)
        third.close()

    def test_some_namespaces(self, filled: tuple[Store, Store]) -> None:
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

    def test_an_empty_store(self, pair: tuple[Store, Store]) -> None:
        assert copy_store(*pair).nothing_to_do
        assert compare_stores(*pair).same

    def test_the_model_of_notes_that_wait_for_their_vectors(self, pair: tuple[Store, Store]) -> None:
        source, target = pair
        source.activate(MODEL)
        source.write([{"content": "tea"}])
        copy_store(source, target)
        assert target.model == MODEL

    def test_half_precision(self, pair: tuple[Store, Store]) -> None:
        source, target = pair
        random = np.random.default_rng(1)
        half = Model("half", 50, "float16")
        for number in range(40):
            vector = random.normal(size=50).astype(np.float32)
            source.write([{"content": f"note {number}", "vector": vector}], model=half)
        copy_store(source, target)
        assert target.model == half
        assert held(target) == held(source)
        assert copy_store(source, target).nothing_to_do

    def test_documents_go_on_being_ingested(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target)
        assert target.documents("/vault", namespace="default") == {"a.md": "1", "empty.md": "2"}
        changed = [draft_of({"path": f"a.md#{place}", "content": f"chunk {place} anew"}) for place in range(2)]
        written = target.write_documents([Document("/vault", "a.md", "4", changed)], namespace="default").counts
        assert (written.updated, written.removed) == (2, 1)

    def test_notes_that_expire(self, pair: tuple[Store, Store], frozen_clock: FrozenClock) -> None:
        source, target = pair
        source.write(
            [{"id": "soon", "content": "The fair is on.", "expires_at": frozen_clock.time + HOUR}, {"content": "tea"}]
        )
        copy_store(source, target)
        assert held(source) == held(target)
        frozen_clock.time += 2 * HOUR
        assert [note.content for note in target.notes()] == ["tea"]
        assert copy_store(source, target).nothing_to_do
        assert compare_stores(source, target).same

    def test_long_notes_come_by_themselves(self, pair: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch) -> None:
        source, target = pair
        texts = ["short", "long " * 50_000, "short again", "ö" * 600, "ö" * 600]
        source.write([{"content": text} for text in texts])
        sizes: list[list[int]] = []
        usual = iteration.note_batches

        def seen(*args: Any) -> Iterator[list[Any]]:
            for batch in usual(*args):
                sizes.append([len(note.content) for note in batch])
                yield batch

        monkeypatch.setattr(copying, "note_batches", seen)
        monkeypatch.setattr(iteration, "BATCH_BYTES", 2000)
        copy_store(source, target)
        assert sizes == [[5], [250_000], [11, 600], [600]]
        assert held(target) == held(source)

    def test_from_inside_a_store(self, tmp_path: Path) -> None:
        class Elsewhere(SQLiteStore):
            def backup(self, target: Path, *, overwrite: bool = False) -> None:
                assert not overwrite
                copy = SQLiteStore(target)
                copy_store(self, copy)
                copy.close()

        store = Elsewhere(tmp_path / "memory.db")
        fill(store)
        store.backup(tmp_path / "backup.db")
        copy = SQLiteStore(tmp_path / "backup.db", read_only=True)
        assert held(copy) == held(store)
        copy.close()
        store.close()


class TestCatchingUp:
    def test_what_came_changed_and_was_linked_since(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target)
        source.write([{"id": "later", "content": "Drank tea.", "last_accessed_at": datetime(2026, 5, 1, tzinfo=UTC)}])
        source.write([{"content": "new", "vector": np.ones(3, dtype=np.float32)}], model=MODEL)
        source.link("plain0", Link("related", "full"), namespace="default")
        source.touch({"plain1": datetime(2026, 6, 1, tzinfo=UTC)}, namespace="work")
        assert counts(copy_store(source, target)) == {"added": 1, "updated": 3, "unchanged": 26}
        assert held(target) == held(source)

    def test_notes_that_were_embedded_since(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target)
        waiting = source.pending(MODEL, 100)
        source.embed(MODEL, [(each, np.array([3, 4, 0], dtype=np.float32)) for each in waiting])
        assert counts(copy_store(source, target)) == {"updated": 5, "unchanged": 24}
        assert held(target) == held(source)

    def test_another_model_since(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target)
        other = Model("other", 2)
        source.embed(other, [(each, np.array([3, 4], dtype=np.float32)) for each in source.pending(other, 100)])
        assert source.activate(other)
        assert counts(copy_store(source, target)) == {"updated": 29}
        assert target.model == other
        assert held(target) == held(source)

    def test_a_model_where_there_was_none(self, pair: tuple[Store, Store]) -> None:
        source, target = pair
        source.write([{"id": name, "content": name} for name in ("one", "two", "three")])
        copy_store(source, target)
        waiting = source.pending(MODEL, 2)
        source.embed(MODEL, [(each, np.array([3, 4, 0], dtype=np.float32)) for each in waiting])
        assert counts(copy_store(source, target)) == {"updated": 2, "unchanged": 1}
        assert held(target) == held(source)

    def test_vectors_that_the_target_made_are_left_alone(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target)
        waiting = target.pending(MODEL, 100)
        target.embed(MODEL, [(each, np.array([3, 4, 0], dtype=np.float32)) for each in waiting])
        assert copy_store(source, target).nothing_to_do
        assert compare_stores(source, target).same
        assert target.pending(MODEL, 1) == []

    def test_a_target_that_was_read_and_changed_becomes_the_source_again(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target)
        target.touch(
            {"pieces": datetime(2030, 1, 1, tzinfo=UTC), "full": datetime(2030, 1, 1, tzinfo=UTC)}, namespace="default"
        )
        target.write([{"id": "later", "metadata": {"flag": 1}}, {"id": "plain0", "metadata": {"x": 1}, "tags": ("x",)}])
        source.write([{"id": "later", "metadata": {"flag": True}}])
        assert counts(copy_store(source, target)) == {"updated": 4, "unchanged": 25}
        assert held(target) == held(source)

    def test_notes_that_the_target_lost(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target)
        target.delete(["plain0", "plain2"], namespace="default")
        assert counts(copy_store(source, target, batch=4)) == {"added": 2, "unchanged": 27}
        assert _by_id(target) == _by_id(source)
        found = compare_stores(source, target).differences
        assert [(each.name, each.problem) for each in found] == [("plain0", "order"), ("plain2", "order")]

    def test_documents_that_changed(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target)
        drafts = [draft_of({"path": f"a.md#{place}", "content": f"chunk {place}"}) for place in range(4)]
        moved = [Document("/vault", "a.md", "9", drafts[:1]), Document("/vault", "new.md", "1", drafts[1:])]
        source.write_documents(moved, namespace="default")
        assert counts(copy_store(source, target)) == {"added": 1, "unchanged": 29, "documents": 2}
        assert held(target) == held(source)

    def test_paths_that_went_round(self, pair: tuple[Store, Store]) -> None:
        source, target = pair
        vector = np.array([1, 0, 0], dtype=np.float32)
        notes = [{"id": str(place), "path": f"{place}.md", "content": f"note {place}"} for place in range(6)]
        source.write([{**note, "vector": vector} for note in notes], model=MODEL)
        source.write([{"id": "waits", "path": "waits.md", "content": "pending"}])
        copy_store(source, target)
        names = [str(place) for place in range(6)] + ["waits"]
        source.write([{"id": name, "path": f"{names[place - 1]}.md"} for place, name in enumerate(names)])
        copied = copy_store(source, target, batch=1)
        assert counts(copied) == {"updated": 7}
        assert held(target) == held(source)
        assert compare_stores(source, target).same

    def test_a_note_at_the_path_of_one_that_moved_on(self, pair: tuple[Store, Store]) -> None:
        source, target = pair
        source.write([{"id": "1", "path": "a", "content": "one", "last_accessed_at": datetime(2026, 1, 1, tzinfo=UTC)}])
        source.write([{"id": "0", "content": "zero"}])
        copy_store(source, target)
        source.write([{"id": "1", "path": "b"}, {"id": "2", "path": "a", "content": "two"}])
        copy_store(source, target)
        assert held(target) == held(source)

    def test_a_path_that_is_no_more(self, pair: tuple[Store, Store]) -> None:
        source, target = pair
        source.write([{"id": "1", "path": "a", "content": "one"}])
        copy_store(source, target)
        source.delete(["1"], namespace="default")
        source.write([{"id": "1", "content": "one"}])
        assert counts(copy_store(source, target)) == {"updated": 1}
        assert held(target) == held(source)

    def test_a_source_that_is_written_to_meanwhile(self, filled: tuple[Store, Store]) -> None:
        source, target = filled

        def meanwhile() -> None:
            source.delete(["plain2"], namespace="default")
            source.write(
                [{"id": "pending", "path": "elsewhere.md"}, {"id": "new", "path": "memory/coffee.md", "content": "x"}]
            )

        first = Breaking(target, "write", after=3, instead=meanwhile)
        with pytest.raises(ArgumentError, match="holds 1 note, such as 'plain2', that"):
            copy_store(source, first, batch=6), copy_store(source, target)
        copy_store(source, target, others="mirror")
        assert held(target)[0] != []
        assert {note.id: note for note in target.notes()} == {note.id: note for note in source.notes()}

    def test_a_path_whose_holder_left_the_source_meanwhile(self, pair: tuple[Store, Store]) -> None:
        source, target = pair
        source.write([{"id": "1", "path": "a", "content": "one"}, {"id": "2", "path": "b", "content": "two"}])
        copy_store(source, target)
        source.write([{"id": "2", "content": "two anew"}])

        def meanwhile() -> None:
            source.delete(["1"], namespace="default")
            source.write([{"id": "2", "path": "a"}])

        looking = Breaking(source, "document_records", instead=meanwhile)
        with pytest.raises(StoreError, match="^'a' in .* is the path of a note that is no longer in "):
            copy_store(looking, target)
        copy_store(source, target, others="mirror")
        assert held(target) == held(source)

    @settings(max_examples=25)
    @given(data=st.data())
    def test_any_history(self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
        folder = tmp_path_factory.mktemp("history")
        source, target = open_store(folder / "one.db"), open_store(folder / "two.db")
        name = st.sampled_from(["1", "2", "3", "4"])
        path = st.sampled_from(["a", "b", "c", "d"])
        vector = st.sampled_from([(1, 0, 0), (0, 1, 0), (0, 0, 1)]).map(lambda each: np.array(each, dtype=np.float32))
        draft = st.fixed_dictionaries(
            {"id": name, "content": st.text("xyz ", max_size=3)}, optional={"path": path, "vector": vector}
        )
        for _ in range(data.draw(st.integers(1, 4))):
            for drawn in data.draw(st.lists(draft, max_size=4)):
                try:
                    source.write([drawn])
                except ArgumentError:  # the path is another's
                    source.delete([str(drawn["id"])], namespace="default")
            copy_store(source, target, others="mirror", batch=data.draw(st.integers(1, 3)))
            ours, theirs = _by_id(source), _by_id(target)
            assert {name: note for name, (note, _) in theirs.items()} == {
                name: note for name, (note, _) in ours.items()
            }
            assert all(theirs[name][1] == vector for name, (_, vector) in ours.items() if vector is not None)
            assert not any(each.problem != "order" for each in compare_stores(source, target).differences)
        source.close()
        target.close()


def _by_id(store: Store) -> dict[str, Any]:
    notes, _, _, vectors = held(store)
    return {note.id: (note, vector) for note, vector in zip(notes, vectors, strict=True)}


class TestWhatTheSourceHasNot:
    def test_a_target_with_other_notes_is_refused(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        target.write([{"id": "mine", "content": "mine"}, {"id": "full", "content": "mine too"}])
        before = held(target)
        with pytest.raises(ArgumentError, match="^target: .* holds 1 note, such as 'mine', that .* has not; choose an"):
            copy_store(source, target)
        target.write([{"id": "memory/tea.md", "content": "an id like a path"}])
        with pytest.raises(
            ArgumentError, match="^target: .* holds 2 notes, such as 'mine', that .* has not; choose an"
        ):
            copy_store(source, target)
        target.delete(["memory/tea.md"], namespace="default")
        assert held(target) == before

    def test_a_target_with_other_documents_is_refused(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        target.set_document_notes([DocumentRecord("default", "/vault", "other.md", "1", ())])
        with pytest.raises(ArgumentError, match="^target: .* holds 1 document that .* has not; choose an empty"):
            copy_store(source, target)
        assert list(target.notes()) == []

    def test_other_notes_in_other_namespaces_do_not_matter_to_some(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        target.write([{"id": "mine", "content": "mine", "namespace": "home"}])
        copy_store(source, target, namespaces=["work", "default"])
        assert compare_stores(source, target, namespaces=["work", "default"]).same
        assert not compare_stores(source, target).same

    def test_merging_keeps_them(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        target.write([{"id": "mine", "content": "mine"}])
        target.set_document_notes([DocumentRecord("default", "/vault", "mine.md", "1", ("mine",))])
        assert counts(copy_store(source, target, others="merge")) == {"added": 29, "kept": 1, "documents": 3}
        assert [note.id for note in target.notes()] == ["mine", *(note.id for note in source.notes())]
        assert DocumentRecord("default", "/vault", "mine.md", "1", ("mine",)) in list(target.document_records())
        assert compare_stores(source, target, merged=True).same
        assert not compare_stores(source, target).same
        assert counts(copy_store(source, target, others="merge")) == {"unchanged": 29, "kept": 1}

    def test_merging_does_not_replace_them(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        target.write([{"id": "mine", "path": "memory/tea.md", "content": "mine"}])
        with pytest.raises(ArgumentError, match="^target: the path 'memory/tea.md' in .* is that of another note than"):
            copy_store(source, target, others="merge")

    def test_mirroring_deletes_them(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        copy_store(source, target)
        (chunk, *_) = target.get(["a.md#0"], namespace="default")
        assert chunk is not None
        target.write([{"id": "mine", "path": "mine.md", "content": "mine"}, {"content": "mine", "namespace": "home"}])
        target.set_document_notes([DocumentRecord("default", "/vault", "mine.md", "1", ("mine", "full"))])
        source.remove_documents("/else", ["b.md"], namespace="work")
        assert counts(copy_store(source, target, others="mirror")) == {"unchanged": 28, "removed": 3, "documents": 2}
        assert held(target) == held(source)

    def test_a_target_of_another_model(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        target.write(
            [{"id": "mine", "content": "mine", "vector": np.ones(2, dtype=np.float32)}], model=Model("other", 2)
        )
        with pytest.raises(
            ArgumentError, match=r"^target: the vectors of .* are of other \(2 numbers in float32\), those"
        ):
            copy_store(source, target, others="merge")
        with pytest.raises(ArgumentError, match="reindex one of them, or choose an empty target$"):
            copy_store(source, target, namespaces=["work"])
        copy_store(source, target, others="mirror")
        found = compare_stores(source, target)
        assert ("store", "", "other", "not searched with tiny") in found.differences  # some notes have no vector yet
        pending = [note.id for note in source.notes() if source.vectors_of([note])[1][0] is None]
        source.delete(pending, namespace="default")
        source.delete(["b"], namespace="work")
        copy_store(source, target, others="mirror")
        assert target.model == source.model

    def test_a_model_that_changed_its_dimension(self, filled: tuple[Store, Store]) -> None:
        source, target = filled
        target.write([{"id": "full", "content": "x", "vector": np.ones(2, dtype=np.float32)}], model=Model("tiny", 2))
        with pytest.raises(ArgumentError, match="reindex one of them, or choose an empty target$"):
            copy_store(source, target)

    def test_the_source_itself_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        store, same = open_store("memory.db"), open_store(tmp_path / "memory.db")
        for target in (store, same):
            with pytest.raises(ArgumentError, match="^target: .*memory.db is the source itself; choose another"):
                copy_store(store, target)
        store.close()
        same.close()

    def test_arguments(self, pair: tuple[Store, Store]) -> None:
        with pytest.raises(ArgumentError, match="^others: must be one of refuse, merge, mirror, got 'keep'"):
            copy_store(*pair, others="keep")  # type: ignore[arg-type]  # that is the point
        with pytest.raises(ArgumentError, match="^batch: "):
            copy_store(*pair, batch=0)

    def test_a_target_that_can_only_be_read(self, tmp_path: Path) -> None:
        source = open_store(tmp_path / "one.db")
        source.write([{"content": "tea"}])
        open_store(tmp_path / "two.db").close()
        target = open_store(tmp_path / "two.db", read_only=True)
        with pytest.raises(StoreReadOnlyError):
            copy_store(source, target)
        source.close()
        target.close()


class TestInterruptions:
    @pytest.mark.parametrize(
        ("side", "method", "after"),
        [
            ("source", "notes", 0),
            ("source", "get", 0),
            ("source", "vectors_of", 3),
            ("source", "document_records", 0),
            ("target", "activate", 0),
            ("target", "get", 3),
            ("target", "vectors_of", 2),
            *(("target", "write", after) for after in range(7)),
            ("target", "set_document_notes", 0),
            ("target", "set_document_notes", 1),
            ("target", "delete", 0),
            ("target", "remove_documents", 0),
        ],
    )
    def test_after_an_error_the_next_run_goes_on(
        self, filled: tuple[Store, Store], side: str, method: str, after: int
    ) -> None:
        source, target = filled
        if method in ("get", "delete", "remove_documents"):
            target.write([{"id": "mine", "content": "mine"}])
            target.set_document_notes([DocumentRecord("default", "/vault", "mine.md", "1", ("mine",))])
        stores: list[Any] = [source, target]
        place = ("source", "target").index(side)
        stores[place] = Breaking(stores[place], method, after=after)
        with pytest.raises(StoreError, match="^the server is gone$"):
            copy_store(*stores, batch=5, others="mirror")
        copied = copy_store(source, target, batch=5, others="mirror")
        if method == "write":
            # The first batch takes two: one of its notes has no vector.
            assert copied.unchanged == (0, 1, 5, 10, 15, 20, 25)[after]
        assert held(target) == held(source)
        assert compare_stores(source, target).same

    def test_an_interrupt_between_a_note_and_its_vector(self, pair: tuple[Store, Store]) -> None:
        source, target = pair
        fill(source, plain=0)
        breaking = Breaking(target, "write", after=1)
        with pytest.raises(StoreError):
            copy_store(source, breaking)
        assert len(list(target.notes())) == 9
        assert counts(copy_store(source, target)) == {"updated": 4, "unchanged": 5, "documents": 3}
        assert held(target) == held(source)

    @pytest.mark.parametrize("after", [0, 1, 4])
    def test_a_copy_that_is_killed_goes_on(self, tmp_path: Path, after: int) -> None:
        source = open_store(tmp_path / "one.db")
        fill(source, plain=300)
        source.close()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                ours, theirs = open_store(tmp_path / "one.db", read_only=True), open_store(tmp_path / "two.db")
                os.write(writing, b"begun\n")

                def told(done: int, _total: int, _part: str) -> None:
                    if done:
                        os.write(writing, f"{done}\n".encode())

                copy_store(ours, theirs, batch=20, report=told)
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
        copied = copy_store(source, target, batch=20)
        assert copied.unchanged >= 20 * after
        assert copied.added + copied.unchanged == 309
        assert held(target) == held(source)
        assert not any(finding.problem for finding in target.check())
        source.close()
        target.close()


def test_how_far_it_is_is_told(filled: tuple[Store, Store]) -> None:
    source, target = filled
    told: list[tuple[int, int, str]] = []
    copy_store(source, target, batch=10, report=lambda *each: told.append(each))
    notes = [(done, 29, "notes") for done in (0, 10, 20, 29)]
    assert told == [(0, 0, "others"), *notes, (0, 3, "documents"), (3, 3, "documents")]
    told.clear()
    copy_store(source, target, batch=20, namespaces=["work"], report=lambda *each: told.append(each))
    others = [(0, 12, "others"), (12, 12, "others")]
    assert told == [*others, (12, 12, "notes"), (0, 3, "documents"), (1, 3, "documents")]


def test_documents_come_in_batches(filled: tuple[Store, Store]) -> None:
    source, target = filled
    written: list[int] = []
    copy_store(
        source, target, batch=3, report=lambda done, _, part: written.append(done) if part == "documents" else None
    )
    assert written == [0, 1, 3]
