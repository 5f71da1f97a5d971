"""A comparison lists every difference between two stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.model import Link, Note
from recollect.stores import comparison, copying
from recollect.stores.base import DocumentRecord, Model, Store
from recollect.stores.comparison import SearchAgreement, StoreComparison, compare_stores
from recollect.stores.copying import copy_store
from tests.frozen_clock import HOUR, FrozenClock
from tests.stores.engines import ENGINES
from tests.stores.full import MODEL, FailingStore, fill
from tests.stores.test_copying import PAIRS


@pytest.fixture(params=PAIRS[::2], ids="-to-".join)  # every engine takes part
def copied(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    stores = []
    for side, engine in zip(("source", "target"), request.param, strict=True):
        (tmp_path / side).mkdir()
        stores.append(ENGINES[engine](tmp_path / side))
    source, target = stores
    fill(source)
    copy_store(source, target)
    yield source, target
    for store in stores:
        store.close()


def problems(comparison: StoreComparison) -> list[tuple[str, ...]]:
    assert not comparison.same
    return [astuple(difference) for difference in comparison.differences]


def test_copy_is_the_same(copied: tuple[Store, Store]) -> None:
    result = compare_stores(*copied)
    assert result.same
    assert (result.notes, result.differences) == (29, [])
    assert result.searches["lexical"] == SearchAgreement(28, 28)  # "b" is no query
    assert result.searches["vector"] == SearchAgreement(24, 24)
    data = result.to_dict()
    assert (data["same"], data["notes"]) == (True, 29)
    assert data["searches"]["vector"] == {"searches": 24, "same": 24, "overlap": 1.0}


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
def test_difference_of_a_note(copied: tuple[Store, Store], change: dict[str, Any], problem: str) -> None:
    source, target = copied
    target.write([{"updated_at": datetime(2026, 4, 19, tzinfo=UTC), "id": "full", **change}])
    assert problems(compare_stores(source, target)) == [("note", "default", "full", problem)]


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


def _remove_document(target: Store) -> None:
    target.set_document_notes([DocumentRecord("default", "/vault", "empty.md", "2", ())])
    target.remove_documents("/vault", ["empty.md"], namespace="default")


def _change_document(target: Store) -> None:
    (record,) = [record for record in target.document_records() if record.name == "a.md"]
    target.set_document_notes([record._replace(fingerprint="2", notes=record.notes[1:])])


def _add_document(target: Store) -> None:
    target.set_document_notes([DocumentRecord("work", "/vault", "c.md", "2", ())])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_delete, [("note", "default", "later", "missing"), ("note", "default", "plain0", "missing")]),
        (_add, [("note", "work", "mine", "extra"), ("note", "new", "alone", "extra")]),
        (_move, [("note", "work", "plain3", "order")]),
        (_remove_document, [("document", "default", "/vault/empty.md", "missing")]),
        (_change_document, [("document", "default", "/vault/a.md", "fingerprint or notes")]),
        (_add_document, [("document", "work", "/vault/c.md", "extra")]),
    ],
)
def test_difference_of_a_store(
    copied: tuple[Store, Store], change: Callable[[Store], None], expected: list[tuple[str, ...]]
) -> None:
    change(copied[1])
    assert problems(compare_stores(*copied)) == expected


def test_missing_vector(copied: tuple[Store, Store]) -> None:
    source, target = copied
    (pending, *_) = source.pending(MODEL, 1)
    source.embed(MODEL, [(pending, np.array([1, 0, 0], dtype=np.float32))])
    assert problems(compare_stores(source, target)) == [("note", "default", "pending", "vector")]


def test_another_model(copied: tuple[Store, Store]) -> None:
    source, target = copied
    new_model = Model("other", 2)
    target.embed(new_model, [(note, np.array([3, 4], dtype=np.float32)) for note in target.pending(new_model, 100)])
    target.activate(new_model)
    result = compare_stores(source, target)
    assert problems(result)[0] == ("store", "", "other", "the source has the model tiny")
    assert {difference.problem for difference in result.differences[1:]} == {"vector"}
    assert len(result.differences) == 25
    assert result.searches["vector"] == SearchAgreement()


def test_missing_notes_do_not_change_the_order(copied: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "BATCH_NOTES", 2)
    source, target = copied
    missing = [note.id for note in source.notes(namespace="default")][:9]
    target.delete(missing, namespace="default")
    assert problems(compare_stores(source, target)) == [("note", "default", name, "missing") for name in missing]


def test_limit_of_differences(copied: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "MAX_DIFFERENCES", 3)
    source, target = copied
    target.delete([note.id for note in source.notes(namespace="work")], namespace="work")
    assert [part for part, *_ in problems(compare_stores(source, target))] == ["note"] * 3 + ["document"]


def test_merged_store_may_have_other_notes(copied: tuple[Store, Store]) -> None:
    source, target = copied
    _add(target)
    _add_document(target)
    result = compare_stores(source, target, merged=True)
    assert result.same
    assert result.searches == {"lexical": SearchAgreement(), "vector": SearchAgreement()}
    target.delete(["later"], namespace="default")
    assert problems(compare_stores(source, target, merged=True)) == [("note", "default", "later", "missing")]


def test_changes_between_two_reads_are_no_difference(copied: tuple[Store, Store], frozen_clock: FrozenClock) -> None:
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

    def wait() -> None:
        frozen_clock.time += 2 * HOUR

    assert compare_stores(source, FailingStore(target, "notes", instead=wait)).differences == []

    def catch_up() -> None:
        source.write([{"id": "later", "content": "Drank tea."}])
        copy_store(source, target)

    assert compare_stores(source, FailingStore(target, "notes", instead=catch_up)).differences == []


def test_different_search_results(copied: tuple[Store, Store]) -> None:
    source, target = copied

    class StoreWithoutResults:
        def __getattr__(self, name: str) -> Any:
            return (lambda *_, **__: []) if name == "search_text" else getattr(target, name)

    result = compare_stores(source, StoreWithoutResults())
    assert (result.differences, result.same) == ([], False)
    assert result.searches["lexical"].same < result.searches["lexical"].searches
    assert result.searches["vector"].overlap == 1


def test_comparison_reports_progress(copied: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "SAMPLE", 2)
    reports: list[tuple[int, int, str]] = []
    compare_stores(*copied, report=lambda *report: reports.append(report))
    assert reports == [(29, 29, "comparing"), (1, 2, "searching"), (2, 2, "searching")]


def test_comparison_of_some_namespaces(copied: tuple[Store, Store]) -> None:
    source, target = copied
    target.delete(["later"], namespace="default")
    result = compare_stores(source, target, namespaces=["work"])
    assert (result.notes, result.same) == (12, True)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("w5 _ 17", "17 w5"),
        ("w5 tea kettle", "kettle"),
        ("the green teapot of Ines Weber", "teapot green weber"),
        ("", ""),
    ],
)
def test_sampled_queries_have_the_longest_words(content: str, words: str) -> None:
    assert comparison._query_text(Note(content=content)) == words
