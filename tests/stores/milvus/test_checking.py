"""What is damaged is found, and what is derived from the notes is rebuilt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from recollect.model import Document, Filters
from recollect.query import parse
from recollect.stores.base import Finding, Model
from recollect.stores.milvus.rows import namespace_key
from recollect.stores.milvus.schema import RECORDS, WHOLE_ROW
from recollect.stores.milvus.store import MilvusStore
from tests.stores.milvus.looking import client_of, collection_of


def damage(store: MilvusStore, place: str, **fields: Any) -> None:
    """Write other fields into row 0 of the note at a path."""
    key = key_of(store, place)
    client, collection = client_of(store), collection_of(store)
    (row,) = client.get(collection, [key], WHOLE_ROW)
    client.upsert(collection, [{**row, **fields}])


def key_of(store: MilvusStore, path: str) -> int:
    with store._session.reading() as reader:
        (found,) = reader.named(namespace_key("default"), [], [path])
    return found.row.key


def problems(findings: Sequence[Finding]) -> dict[str, str]:
    return {finding.part: finding.problem for finding in findings if finding.problem}


@pytest.fixture
def store(lite: MilvusStore) -> MilvusStore:
    lite.write(
        [
            {"id": "1", "content": "green tea", "path": "a", "vector": [[1, 0], [0, 1]]},
            {"id": "2", "content": "milk", "path": "b", "vector": [0, 1]},
            {"id": "3", "content": "water", "path": "c"},
        ]
    )
    assert problems(lite.check()) == {}
    return lite


@pytest.mark.parametrize(
    "fields",
    [{"words": " coffee "}, {"header": ""}, {"marks": [7]}, {"path": "ff"}, {"tokens": 9}, {"piece": -1}],
)
def test_rows_that_do_not_say_what_their_note_says(store: MilvusStore, fields: dict[str, Any]) -> None:
    damage(store, "b", **fields)
    assert problems(store.check()) == {"rows": "the words and filters of note 2 are not those of its text"}
    assert problems(store.repair()) == {}
    assert problems(store.check()) == {}
    hits = store.search_text(parse("milk"), 5, namespace="default", filters=Filters())
    assert [hit.path for hit in hits] == ["b"]


def test_when_a_note_was_accessed_is_told_by_its_first_row_alone(store: MilvusStore) -> None:
    client, collection, key = client_of(store), collection_of(store), key_of(store, "a")
    (row,) = client.get(collection, [key + 1], WHOLE_ROW)
    client.upsert(collection, [{**row, "accessed": 7}])
    assert problems(store.check()) == {}
    client.upsert(collection, [{**row, "created": 7}])
    assert problems(store.check()) == {"rows": "the words and filters of note 1 are not those of its text"}


def test_a_vector_that_stands_for_another_text(store: MilvusStore) -> None:
    damage(store, "b", digest="ff")
    assert problems(store.check()) == {"vectors": "the vector of note 2 stands for another text"}
    assert problems(store.repair()) == {}
    assert store.stats().vectors == {"given": 1}
    assert [pending.text for pending in store.pending(Model("given", 2), 9)] == ["milk", "water"]


@pytest.mark.parametrize("fields", [{"body": "no JSON"}, {"body": "[]"}, {"body": "7"}, {"parts": 3}])
def test_a_note_that_cannot_be_read(store: MilvusStore, fields: dict[str, Any]) -> None:
    key = key_of(store, "a")
    damage(store, "a", **fields)
    (finding,) = (finding for finding in store.check() if finding.problem)
    assert finding == Finding("notes", f"note {key} in notes_2 cannot be read", repairable=False)
    assert problems(store.repair()) == {"notes": finding.problem}


def test_two_notes_with_one_name(store: MilvusStore) -> None:
    client, collection = client_of(store), collection_of(store)
    (row,) = client.get(collection, [key_of(store, "c")], WHOLE_ROW)
    client.upsert(collection, [{**row, "key": row["key"] + 1024, "note": row["note"] + 1024}])
    client.upsert(collection, [{**row, "key": row["key"] + 2048, "note": row["note"] + 2048}])
    found = problems(store.check())
    assert found["names"].startswith(
        "two notes have the id 3; two notes have the path c; two notes have the id 3 and 1 "
    )
    assert problems(store.repair()) == {}
    notes = [note for note in store.notes() if note.content == "water"]
    assert (notes[0].id, [note.path for note in notes]) == ("3", ["c", "", ""])
    assert len({note.id for note in notes}) == 3


def test_what_belongs_to_nothing(store: MilvusStore) -> None:
    document = Document("/vault", "a.md", "1", [{"content": "page", "path": "p", "id": "4"}])
    store.write_documents([document], namespace="default")
    client = client_of(store)
    for row in client.rows(RECORDS, 'kind == "document"', ["key"]):
        client.delete(RECORDS, [row["key"]])
    assert problems(store.check()) == {"references": "note 4 belongs to a document that is not there"}
    assert problems(store.repair()) == {}
    for row in client.rows(RECORDS, 'kind == "namespace"', ["key"]):
        client.delete(RECORDS, [row["key"]])
    assert "the namespace of note 1 has no name" in problems(store.check())["references"]


def test_generations_that_differ(store: MilvusStore) -> None:
    other = Model("other", 3)
    waiting = store.pending(other, 1)
    store.embed(other, [(waiting[0], np.ones(3, np.float32))])
    client = client_of(store)
    spare, gone = key_of(store, "c"), key_of(store, "b")
    (row,) = client.get("notes_3", [spare], WHOLE_ROW)
    client.upsert("notes_3", [{**row, "key": spare + 1024, "note": spare + 1024}])
    client.delete("notes_3", [gone])
    assert problems(store.check())["references"] == "notes_3 has other notes than the one that is searched"
    assert problems(store.repair()) == {}
    assert store.stats().vectors == {"given": 2, "other": 1}


def test_long_notes_are_whole(lite: MilvusStore) -> None:
    text = "tea 🍵 " * 30_000
    (note,) = lite.write([{"content": text, "path": "long", "vector": [1, 0]}])
    assert lite.get(["long"], namespace="default") == [note]
    assert problems(lite.check()) == problems(lite.repair()) == {}
    lite.write([{"content": "short", "path": "long"}])
    assert problems(lite.check()) == {}
    assert len(client_of(lite).rows(collection_of(lite), "key > 0", ["key"])) == 1
