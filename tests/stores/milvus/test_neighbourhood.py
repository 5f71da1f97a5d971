"""Connections are those that SQLite finds, whatever changes while they are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import clock
from recollect.errors import StoreError
from recollect.model import Edge, draft_of
from recollect.stores.milvus import mentions
from recollect.stores.milvus.store import MilvusStore
from recollect.stores.sqlite import mentions as sqlite_mentions
from recollect.stores.sqlite.store import SQLiteStore

Stores = tuple[SQLiteStore, MilvusStore]

LONG = "word " * 30_000


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    both = SQLiteStore(tmp_path / "memory.db"), MilvusStore(f"milvus://{tmp_path}/milvus.db")
    yield both
    for store in both:
        store.close()


def write(stores: Stores, *notes: dict[str, Any]) -> None:
    for store in stores:
        store.write([draft_of({"content": "x", **note}) for note in notes])


def edges(stores: Stores, ids: Sequence[str], kinds: Sequence[str] | None = None) -> set[tuple[str, str]]:
    """Return the connections of notes, which are the same in both, as pairs of ids."""
    found: list[list[Edge]] = [store.edges(ids, namespace="default", kinds=kinds) for store in stores]
    assert found[0] == found[1]
    return {(each.source, each.target) for each in found[1]}


def test_titles_that_come_later_are_found_in_what_is_known(stores: Stores) -> None:
    write(stores, {"id": "plan", "content": "To Kyoto in spring, then Osaka castle."}, {"id": "t", "title": "Tokyo"})
    assert edges(stores, ["plan"]) == set()
    write(stores, {"id": "kyoto", "title": "Kyoto"}, {"id": "castle", "title": "Osaka Castle"})
    assert edges(stores, ["plan", "kyoto"]) == {("plan", "kyoto"), ("plan", "castle"), ("kyoto", "plan")}
    write(stores, {"id": "late", "content": "Kyotos castles"}, {"id": "nara", "title": "Nara"})
    assert edges(stores, ["late", "nara"]) == set()


@pytest.mark.parametrize("known", [False, True])
def test_what_an_error_interrupts_is_read_again(
    stores: Stores, monkeypatch: pytest.MonkeyPatch, *, known: bool
) -> None:
    write(stores, {"id": "kyoto", "title": "Kyoto"})
    if known:
        assert edges(stores, ["kyoto"]) == set()
    write(stores, {"id": "plan", "content": "To Kyoto in spring."})

    def fail(*_: object) -> None:
        raise StoreError("the server is gone")

    with monkeypatch.context() as patched:
        patched.setattr(mentions, "_texts", fail)
        with pytest.raises(StoreError, match="the server is gone"):
            stores[1].edges(["plan"], namespace="default")
    assert edges(stores, ["plan"]) == {("plan", "kyoto")}


def test_many_titles_at_once(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mentions, "MOST_SOUGHT", 2)
    places = ["kyoto", "osaka", "nagoya", "sapporo"]
    write(stores, {"id": "plan", "content": " ".join(places)}, {"id": "t", "title": "Tokyo"})
    assert edges(stores, ["plan"]) == set()
    write(stores, *({"id": place, "title": place.title()} for place in places))
    assert edges(stores, ["plan"]) == {("plan", place) for place in places}


def test_titles_come_and_go(stores: Stores) -> None:
    write(stores, {"id": "plan", "content": "To Kyoto."}, {"id": "kyoto", "title": "Kyoto"}, {"id": "other"})
    assert edges(stores, ["plan"]) == {("plan", "kyoto")}
    write(stores, {"id": "kyoto", "title": "Nara"}, {"id": "other", "title": "Kyoto"})
    assert edges(stores, ["plan"]) == {("plan", "other")}
    write(stores, {"id": "other", "title": "Kyoto (city)"})
    assert edges(stores, ["plan"]) == {("plan", "other")}
    for store in stores:
        store.delete(["other"], namespace="default")
    assert edges(stores, ["plan", "kyoto"]) == set()
    write(stores, {"id": "third", "title": "Kyoto"})
    assert edges(stores, ["plan"]) == {("plan", "third")}


def test_a_title_that_too_many_name_says_nothing(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mentions, "MOST_NAMERS", 3)
    monkeypatch.setattr(sqlite_mentions, "MOST_NAMERS", 3)
    write(stores, {"id": "kyoto", "title": "Kyoto"}, *({"id": f"n{number}", "content": "Kyoto"} for number in range(3)))
    assert len(edges(stores, ["kyoto"])) == 3
    write(stores, {"id": "n3", "content": "Kyoto"})
    assert edges(stores, ["kyoto", "n0"]) == set()
    write(stores, {"id": "n4", "content": "Kyoto"})
    for store in stores:
        store.delete(["n2", "n3", "n4"], namespace="default")
    assert edges(stores, ["kyoto", "n0"]) == set()
    for store in stores:
        store.delete(["kyoto"], namespace="default")
    write(stores, {"id": "again", "title": "Kyoto"})
    assert edges(stores, ["again"]) == {("again", "n0"), ("again", "n1")}


def test_more_than_too_many_at_once(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mentions, "MOST_NAMERS", 3)
    monkeypatch.setattr(sqlite_mentions, "MOST_NAMERS", 3)
    write(stores, {"id": "kyoto", "title": "Kyoto"}, *({"id": f"n{number}", "content": "Kyoto"} for number in range(9)))
    assert edges(stores, ["kyoto", "n8"]) == set()


def test_a_title_at_the_end_of_a_book(stores: Stores) -> None:
    write(stores, {"id": "book", "content": f"{LONG} Kyoto and Nara."}, {"id": "kyoto", "title": "Kyoto"})
    assert edges(stores, ["book"]) == {("book", "kyoto")}
    write(stores, {"id": "nara", "title": "Nara"})
    assert edges(stores, ["book", "nara"]) == {("book", "kyoto"), ("book", "nara"), ("nara", "book")}


def test_where_nothing_is_called_anything(stores: Stores) -> None:
    write(stores, {"id": "one"}, {"id": "two"})
    assert edges(stores, ["one"]) == set()
    assert edges(stores, ["nobody"]) == set()
    write(stores, {"id": "three"})
    assert edges(stores, ["three"], ["mention"]) == set()


def test_what_is_due_is_no_neighbour(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    soon = clock.now() + timedelta(hours=1)
    metadata = {"entities": ["Ines"]}
    write(
        stores,
        {"id": "a", "session": "s", "position": 1, "metadata": metadata, "content": "Kyoto", "links": ["b.md", "c"]},
        {"id": "b", "path": "x/b.md", "session": "s", "position": 2, "metadata": metadata, "expires_at": soon},
        {"id": "c", "path": "y/b.md", "session": "s", "position": 3, "title": "Kyoto", "links": ["a"]},
        {"id": "d", "path": "z/c.md", "links": ["b"], "expires_at": soon, "title": "Kyoto"},
    )
    assert edges(stores, ["a"]) == {("a", "b"), ("a", "c"), ("a", "d")}
    monkeypatch.setattr(clock, "now", lambda: soon)
    assert edges(stores, ["a", "b", "c"]) == {("a", "c"), ("c", "a")}
    assert edges(stores, ["a", "b", "c"], ["related"]) == {("a", "c"), ("c", "a")}


@pytest.mark.parametrize("many", [0, 300])
def test_links_by_whatever_they_call_a_note(stores: Stores, many: int) -> None:
    write(
        stores,
        {"id": "a.md", "path": "x/Tea.md"},
        {"id": "b", "path": "y/long/tea.md"},
        {"id": "c", "path": "tea#1"},
        {"id": "from", "links": ["a", "x/Tea", "TEA", "x/tea.md", "b", "tea#1", "nowhere", "z/tea"]},
        {"id": "many", "links": [f"nowhere-{number}" for number in range(many)]},
    )
    for kinds in (None, ["related"], ["unknown"]):
        assert edges(stores, ["a.md", "b", "c", "from"], kinds) or kinds == ["unknown"]
