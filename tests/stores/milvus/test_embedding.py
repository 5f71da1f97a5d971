"""Generations: one collection for the vectors of each model."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.errors import ArgumentError
from recollect.model import Filters
from recollect.stores.base import Model
from recollect.stores.milvus import embedding
from recollect.stores.milvus.embedding import begin_generation
from recollect.stores.milvus.generations import Generation
from recollect.stores.milvus.store import MilvusStore
from tests.stores.milvus.looking import client_of

TINY, OTHER = Model("tiny", 3), Model("other", 2)


def collections(store: MilvusStore) -> list[str]:
    return sorted(name for name in client_of(store).collections() if name.startswith("notes"))


def nearest(store: MilvusStore, *vector: float) -> list[str]:
    asked = np.array(vector, dtype=np.float32)
    return [hit.path for hit in store.search_vectors(asked, 9, namespace="default", filters=Filters())]


def test_the_first_model_takes_the_notes_with_it(lite: MilvusStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "COPIED_AT_ONCE", 4)
    lite.write([{"content": f"note {number}", "path": f"{number}"} for number in range(10)])
    assert collections(lite) == ["notes_1"]
    lite.write([{"path": "3", "vector": [1, 0, 0]}], model=TINY)
    assert collections(lite) == ["notes_2"]
    assert [note.path for note in lite.notes()] == [f"{number}" for number in range(10)]
    assert nearest(lite, 1, 0, 0) == ["3"]
    assert lite.stats().vectors == {"tiny": 1}
    assert not any(finding.problem for finding in lite.check())


def test_a_note_of_more_pieces_than_there_is_room_for_is_named(lite: MilvusStore) -> None:
    lite.write([{"content": "tea", "id": "1", "namespace": "work"}])
    (waiting,) = lite.pending(OTHER, 9)
    problem = (
        "^content: in namespace 'work', note '1' has 3 characters in 1,025 pieces, and Milvus takes 1,024; split it$"
    )
    with pytest.raises(ArgumentError, match=problem):
        lite.embed(OTHER, [(waiting, np.ones((1025, 2), np.float32))])


def test_notes_go_into_every_generation_until_one_takes_over(lite: MilvusStore) -> None:
    lite.write([{"content": "one", "path": "1", "vector": [1, 0, 0]}], model=TINY)
    (waiting,) = lite.pending(OTHER, 9)
    assert lite.embed(OTHER, [(waiting, np.array([[0, 1], [1, 0]], np.float32))]) == 1
    assert collections(lite) == ["notes_2", "notes_3"]
    lite.write([{"content": "two", "path": "2", "vector": [0, 1, 0]}], model=TINY)
    lite.write([{"content": "three " * 50_000, "path": "3", "vector": [0, 0, 1]}], model=TINY)
    assert [pending.text[:3] for pending in lite.pending(OTHER, 9)] == ["two", "thr"]
    assert not lite.activate(OTHER)
    lite.delete(["3"], namespace="default")
    lite.write([{"path": "1", "tags": ["kept"]}])
    assert nearest(lite, 1, 0, 0) == ["1", "2"]
    assert not any(finding.problem for finding in lite.check())
    (waiting,) = lite.pending(OTHER, 9)
    assert lite.embed(OTHER, [(waiting, np.array([1, 1], np.float32))]) == 1
    assert lite.stats().vectors == {"other": 2, "tiny": 2}
    assert lite.activate(OTHER)
    assert lite.activate(OTHER)
    assert (collections(lite), lite.model, lite.stats().vectors) == (["notes_3"], OTHER, {"other": 2})
    assert nearest(lite, 0, 1) == ["1", "2"]
    lite.write([{"path": "1", "content": "changed"}])
    assert nearest(lite, 0, 1) == ["2"]
    assert not any(finding.problem for finding in lite.check())


def test_a_text_that_changed_is_not_given_an_old_vector(lite: MilvusStore) -> None:
    lite.write([{"content": "one", "path": "1"}])
    waiting = lite.pending(TINY, 1)
    lite.write([{"content": "changed", "path": "1"}])
    assert lite.embed(TINY, [(waiting[0], np.ones(3, np.float32))]) == 0
    lite.delete(["1"], namespace="default")
    assert lite.embed(TINY, [(waiting[0], np.ones(3, np.float32))]) == 0
    assert lite.model is None


def test_pending_goes_on_behind_a_note(lite: MilvusStore) -> None:
    lite.write([{"content": f"note {number}"} for number in range(5)])
    first, second = lite.pending(TINY, 2)
    rest = lite.pending(TINY, 9, after=second.key)
    assert [each.text for each in (first, second, *rest)] == [f"note {number}" for number in range(5)]


def test_a_store_without_notes_takes_any_model(lite: MilvusStore) -> None:
    assert lite.activate(TINY)
    assert (lite.model, collections(lite)) == (TINY, ["notes_2"])


def test_what_was_left_half_made_gives_way(lite: MilvusStore) -> None:
    begin_generation(client_of(lite), Generation(2, Model("of a process that is no more", 7)))
    lite.write([{"content": "one", "path": "1", "vector": [1, 0, 0]}])
    assert collections(lite) == ["notes_2"]
    assert nearest(lite, 1, 0, 0) == ["1"]


def test_vectors_of_half_precision(lite: MilvusStore) -> None:
    half = Model("half", 2, "float16")
    (note,) = lite.write([{"content": "one", "vector": [0.6, 0.8]}], model=half)
    model, (vector,) = lite.vectors_of([note])
    assert model == half
    assert vector is not None
    assert vector.tolist() == [float(np.float16(0.6)), float(np.float16(0.8))]


def test_a_vector_of_another_length_changes_nothing(lite: MilvusStore) -> None:
    with pytest.raises(ArgumentError, match="^vector: has 2 numbers; the model 'tiny' makes vectors of 3"):
        lite.write([{"content": "one", "vector": [1, 0]}], model=TINY)
    assert (list(lite.notes()), lite.model, collections(lite)) == ([], None, ["notes_1"])
