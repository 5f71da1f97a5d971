"""A comparison finds whatever is not the same, and names it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.errors import ArgumentError
from recollect.model import Link, Note
from recollect.stores import comparison
from recollect.stores.base import DocumentRecord, Model, Store
from recollect.stores.comparison import QuerySample, SearchAgreement, StoreComparison, compare_stores
from recollect.stores.copying import copy_store
from tests.frozen_clock import HOUR, FrozenClock
from tests.stores.engines import ENGINES
from tests.stores.full import MODEL, Breaking, fill
from tests.stores.test_copying import PAIRS


@pytest.fixture(params=PAIRS[::2], ids="-to-".join)  # every engine takes part
def copied(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    stores = []
    for place, engine in zip(("source", "target"), request.param, strict=True):
        (tmp_path / place).mkdir()
        stores.append(ENGINES[engine](tmp_path / place))
    source, target = stores
    fill(source)
    copy_store(source, target)
    yield source, target
    for store in stores:
        store.close()


def problems(found: StoreComparison) -> list[tuple[str, ...]]:
    assert found.difference_count == len(found.differences)
    assert not found.same
    return [tuple(each) for each in found.differences]


def test_a_copy_is_the_same(copied: tuple[Store, Store]) -> None:
    found = compare_stores(*copied)
    assert found.same
    assert (found.difference_count, found.differences, found.models) == (0, (), (MODEL, MODEL))
    assert {name: ours.notes for name, (ours, _) in found.namespaces.items()} == {"default": 17, "work": 12}
    assert all(ours == theirs for ours, theirs in found.namespaces.values())
    assert found.lexical.searches == found.lexical.same > 20
    assert found.vector == SearchAgreement(24, 24)
    told = found.to_dict()
    assert told["same"] is True
    assert told["namespaces"]["work"]["source"] == told["namespaces"]["work"]["target"]
    assert told["models"]["target"] == {"name": "tiny", "dimension": 3, "precision": "float32"}
    assert told["searches"]["vector"] == {"searches": 24, "same": 24, "overlap": 1.0}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"content": "Prefers black tea."}, "content, vector"),
        ({"title": "Teas"}, "title, vector"),
        ({"summary": "Black"}, "summary, vector"),
        ({"path": "elsewhere.md"}, "path"),
        ({"tags": ("drinks",)}, "tags"),
        ({"created_at": datetime(2026, 4, 18, 7, 30, 1, 123457, UTC)}, "created_at"),
        ({"updated_at": datetime(2026, 4, 20, tzinfo=UTC)}, "updated_at"),
        ({"last_accessed_at": None}, "last_accessed_at"),
        ({"expires_at": None}, "expires_at"),
        ({"importance": 0.5}, "importance"),
        ({"session": "t"}, "session"),
        ({"position": 8}, "position"),
        ({"links": (Link("related", "memory/coffee.md"), Link("supersedes", "later"))}, "links"),
        ({"metadata": {"n": [True, 2.5, None, {"ä": 1}], "entities": ["Ines Weber"]}}, "metadata"),
        ({"vector": np.array([0, 1, 0], dtype=np.float32)}, "vector"),
        ({"vector": np.eye(3, dtype=np.float32)}, "vector"),
    ],
)
def test_whatever_differs_of_a_note(copied: tuple[Store, Store], change: dict[str, Any], problem: str) -> None:
    source, target = copied
    kept = {"updated_at": datetime(2026, 4, 19, tzinfo=UTC)}
    target.write([{**kept, "id": "full", **change}])
    found = compare_stores(source, target)
    assert problems(found) == [("note", "default", "full", problem)]
    ours, theirs = found.namespaces["default"]
    assert (ours.notes, theirs.notes) == (17, 17)
    assert ours.digest != theirs.digest
    assert found.namespaces["work"][0] == found.namespaces["work"][1]


def _delete(target: Store) -> None:
    target.delete(["plain0", "later"], namespace="default")


def _add(target: Store) -> None:
    target.write(
        [{"id": "mine", "content": "mine", "namespace": "work"}, {"id": "alone", "content": "x", "namespace": "new"}]
    )


def _move(target: Store) -> None:
    (note,) = target.get(["plain3"], namespace="work")
    assert note is not None
    _, (vector,) = target.vectors_of([note])
    target.delete(["plain3"], namespace="work")
    target.write(
        [
            {
                **{
                    name: getattr(note, name)
                    for name in ("id", "namespace", "content", "session", "created_at", "updated_at")
                },
                "vector": vector,
            }
        ],
        model=MODEL,
    )


def _forget(target: Store) -> None:
    target.set_document_notes([DocumentRecord("default", "/vault", "empty.md", "2", ())])
    target.remove_documents("/vault", ["empty.md"], namespace="default")


def _refile(target: Store) -> None:
    (record,) = [each for each in target.document_records() if each.name == "a.md"]
    target.set_document_notes([record._replace(fingerprint="2", notes=record.notes[1:])])


def _invent(target: Store) -> None:
    target.set_document_notes([DocumentRecord("work", "/vault", "c.md", "2", ())])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_delete, [("note", "default", "later", "missing"), ("note", "default", "plain0", "missing")]),
        (_add, [("note", "work", "mine", "extra"), ("note", "new", "alone", "extra")]),
        (_move, [("note", "work", "plain3", "order")]),
        (_forget, [("document", "default", "/vault/empty.md", "missing")]),
        (_refile, [("document", "default", "/vault/a.md", "fingerprint, notes")]),
        (_invent, [("document", "work", "/vault/c.md", "extra")]),
    ],
)
def test_whatever_differs_of_a_store(
    copied: tuple[Store, Store], change: Callable[[Store], None], expected: list[tuple[str, ...]]
) -> None:
    change(copied[1])
    found = compare_stores(*copied)
    assert problems(found) == expected
    assert any(ours.digest != theirs.digest for ours, theirs in found.namespaces.values())


def test_a_vector_that_is_missing(copied: tuple[Store, Store]) -> None:
    source, target = copied
    (waiting, *_) = source.pending(MODEL, 1)
    source.embed(MODEL, [(waiting, np.array([1, 0, 0], dtype=np.float32))])
    assert problems(compare_stores(source, target)) == [("note", "default", "pending", "vector")]


def test_another_model(copied: tuple[Store, Store]) -> None:
    source, target = copied
    other = Model("other", 2)
    target.embed(other, [(each, np.array([3, 4], dtype=np.float32)) for each in target.pending(other, 100)])
    target.activate(other)
    found = compare_stores(source, target)
    assert problems(found)[0] == ("store", "", "other", "not searched with tiny")
    assert {each.problem for each in found.differences[1:]} == {"vector"}
    assert found.difference_count == 25
    assert found.vector == SearchAgreement()


def test_notes_of_which_the_beginning_is_missing_are_in_order(
    copied: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "BATCH_NOTES", 2)
    source, target = copied
    gone = [note.id for note in source.notes(namespace="default")][:9]
    target.delete(gone, namespace="default")
    found = compare_stores(source, target)
    assert [each.name for each in found.differences if each.problem == "missing"] == gone
    assert found.difference_count == 9


def test_a_note_that_comes_much_too_early(copied: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "BATCH_NOTES", 2)
    source, target = copied
    source.delete(["later"], namespace="default")
    vector = np.array([0, 1, 0], dtype=np.float32)
    (note,) = target.get(["later"], namespace="default")
    assert isinstance(note, Note)
    source.write(
        [
            {
                "id": "later",
                "content": note.content,
                "created_at": note.created_at,
                "updated_at": note.updated_at,
                "vector": vector,
            }
        ],
        model=MODEL,
    )
    found = compare_stores(source, target)
    assert {each.problem for each in found.differences} == {"order"}
    assert "later" not in {each.name for each in found.differences}


def test_more_differences_than_are_named(copied: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "MAX_DIFFERENCES", 3)
    source, target = copied
    target.delete([note.id for note in source.notes(namespace="work")], namespace="work")
    found = compare_stores(source, target)
    assert (found.difference_count, len(found.differences)) == (13, 3)


def test_what_was_merged(copied: tuple[Store, Store]) -> None:
    source, target = copied
    _add(target)
    _invent(target)
    found = compare_stores(source, target, merged=True)
    assert found.same
    assert found.namespaces["work"][0] == found.namespaces["work"][1]
    assert (found.lexical, found.vector) == (SearchAgreement(), SearchAgreement())


def test_what_changes_between_two_looks_does_not_count(copied: tuple[Store, Store], frozen_clock: FrozenClock) -> None:
    source, target = copied
    for store in copied:
        store.write(
            [
                {
                    "id": "fair",
                    "content": "The fair is on.",
                    "expires_at": frozen_clock.time + HOUR,
                    "created_at": frozen_clock.time,
                    "updated_at": frozen_clock.time,
                }
            ]
        )

    def two_hours_later() -> None:
        frozen_clock.time += 2 * HOUR

    late = Breaking(source, "notes", instead=two_hours_later)
    assert compare_stores(late, target).differences == ()

    def catch_up() -> None:
        source.write([{"id": "later", "content": "Drank tea."}])
        copy_store(source, target)

    meanwhile = Breaking(target, "vectors_of", instead=catch_up)
    assert compare_stores(source, meanwhile).differences == ()


def test_an_index_that_finds_something_else(copied: tuple[Store, Store]) -> None:
    source, target = copied

    class Forgetful:
        def __getattr__(self, name: str) -> Any:
            return (lambda *_, **__: []) if name == "search_text" else getattr(target, name)

    found = compare_stores(source, Forgetful())
    assert (found.difference_count, found.same) == (0, False)
    assert found.lexical.same < found.lexical.searches
    assert found.vector.overlap == 1


def test_how_far_it_is_is_told(copied: tuple[Store, Store]) -> None:
    told: list[tuple[int, int, str]] = []
    compare_stores(*copied, sample=2, report=lambda *each: told.append(each))
    assert told == [(0, 29, "comparing"), (29, 29, "comparing"), *((done, 2, "searching") for done in range(3))]


def test_without_searches(copied: tuple[Store, Store]) -> None:
    found = compare_stores(*copied, sample=0, namespaces=["work"])
    assert (found.lexical, found.vector, list(found.namespaces)) == (SearchAgreement(), SearchAgreement(), ["work"])
    with pytest.raises(ArgumentError, match="^sample: "):
        compare_stores(*copied, sample=-1)


def test_a_sample_is_spread_over_all_notes() -> None:
    sample = QuerySample(100)
    for number in range(10_000):
        sample.offer(Note(content="", namespace=str(number)), None)
    places = sorted(int(each.namespace) for each in sample.queries)
    assert len(set(places)) == 100
    assert 4000 < sum(places) / 100 < 6000
    assert {query.text for query in sample.queries} == {""}


def test_notes_of_numbers_and_short_words_are_searched_for_too() -> None:
    sample = QuerySample(2)
    sample.offer(Note(content="w5 _ 17"), None)
    sample.offer(Note(content="w5 tea kettle"), None)
    assert [sorted(query.text.split()) for query in sample.queries] == [["17", "w5"], ["kettle"]]
