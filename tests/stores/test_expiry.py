"""What every store must do with notes that expire: from that instant on they are not there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from recollect.errors import NoteNotFoundError
from recollect.model import Document, Draft, Filters, Link, Note, draft_of
from recollect.query import parse
from recollect.stores.base import Model, Store

HOME = "default"
EVERYTHING = Filters()
PAST = datetime(2020, 2, 2, tzinfo=UTC)
LATER = datetime(2999, 1, 1, tzinfo=UTC)
FOREVER = datetime(9999, 1, 1, tzinfo=UTC)
UP = np.array([1, 0], dtype=np.float32)


def put(store: Store, *notes: dict[str, Any] | Note) -> list[Note]:
    return store.write([draft_of(note) for note in notes]).notes


def ids(store: Store, **where: Any) -> list[str]:
    return [note.id for note in store.notes(**where)]


@pytest.fixture
def fair(store: Store) -> Store:
    """Fill a store with two notes that stay, and one between them whose time is over but that was not removed."""
    turn = {"session": "s", "metadata": {"entities": ["fair"]}, "vector": UP}
    put(
        store,
        {
            "id": "a",
            "path": "tea.md",
            "title": "Green tea",
            "content": "Tea at the Lantern Fair.",
            "position": 0,
            **turn,
        },
        {
            "id": "b",
            "path": "lantern.md",
            "title": "Lantern Fair",
            "content": "Green tea and xylophones on Friday.",
            "position": 1,
            "links": ["a"],
            "expires_at": PAST,
            **turn,
        },
        {"id": "c", "path": "mug.md", "content": "A mug for green tea.", "position": 2, "links": ["b"], **turn},
    )
    return store


class TestReading:
    def test_it_is_neither_got_nor_walked_over_nor_counted(self, fair: Store) -> None:
        assert [note and note.id for note in fair.get(["a", "b", "lantern.md", "c"], namespace=HOME)] == [
            "a",
            None,
            None,
            "c",
        ]
        assert ids(fair) == ids(fair, namespace=HOME) == ["a", "c"]
        assert ids(fair, filters=Filters(path_prefix="lantern")) == []
        stats = fair.stats()
        assert (stats.notes, stats.links, stats.expiring, sum(stats.vectors.values())) == ({HOME: 2}, 1, 0, 2)

    @pytest.mark.parametrize("limit", [1, 2, 10])
    def test_no_leg_finds_it_and_it_takes_no_place(self, fair: Store, limit: int) -> None:
        results = fair.search_text(parse("green tea"), limit, namespace=HOME, filters=EVERYTHING)
        assert {candidate.id for candidate in results} <= {"a", "c"}
        assert len(results) == min(limit, 2)
        assert fair.search_text(parse("xylophones"), limit, namespace=HOME, filters=EVERYTHING) == []
        near = fair.search_vectors(UP, limit, namespace=HOME, filters=EVERYTHING)
        assert [candidate.id for candidate in near] == ["c", "a"][:limit]
        near = fair.search_vectors(UP, limit, namespace=HOME, filters=Filters(session="s"))
        assert [candidate.id for candidate in near] == ["c", "a"][:limit]
        for titles in (False, True):
            assert fair.search_names(["lantern"], limit, namespace=HOME, filters=EVERYTHING, titles=titles) == []

    def test_nor_is_it_a_candidate_or_near(self, fair: Store) -> None:
        results = fair.candidates(["b", "a"], namespace=HOME, filters=EVERYTHING)
        assert [candidate.id for candidate in results] == ["a"]
        assert fair.similarities(UP, ["a", "b"], namespace=HOME) == {"a": 1.0}
        assert fair.text_scores(parse("tea xylophones"), ["a", "b"], namespace=HOME).keys() == {"a"}

    def test_its_words_are_not_suggested(self, fair: Store) -> None:
        assert fair.similar_words(["xylophonse"], namespace=HOME) == {}
        assert fair.similar_words(["gren"], namespace=HOME) == {"gren": ("green",)}

    def test_nothing_leads_to_it_and_it_stands_between_nobody(self, fair: Store) -> None:
        edges = fair.edges(["a", "b", "c"], namespace=HOME)
        assert "b" not in {end for edge in edges for end in (edge.source, edge.target)}
        assert ("a", "c", "next") in {(edge.source, edge.target, edge.kind) for edge in edges}
        assert {neighbour.note.id for neighbour in fair.neighbours("a", namespace=HOME)} == {"c"}
        with pytest.raises(NoteNotFoundError, match="there is no note 'b'"):
            fair.neighbours("b", namespace=HOME)

    def test_it_is_not_embedded(self, fair: Store) -> None:
        assert len(fair.pending(Model("other", 2), 10)) == 2

    def test_one_whose_time_comes_is_there_until_then(self, store: Store) -> None:
        (note,) = put(store, {"content": "Tea.", "expires_at": LATER})
        assert note.expires_at == LATER
        assert store.get([note.id], namespace=HOME) == [note]
        assert store.stats().expiring == 1
        assert len(store.search_text(parse("tea"), 1, namespace=HOME, filters=EVERYTHING)) == 1


class TestWriting:
    def test_its_path_is_free(self, fair: Store) -> None:
        (note,) = put(fair, {"path": "lantern.md", "content": "Another fair."})
        assert note.id != "b"
        assert (note.title, note.links, note.expires_at) == ("", (), None)
        assert ids(fair) == ["a", "c", note.id]

    def test_it_cannot_be_changed_any_more(self, fair: Store) -> None:
        with pytest.raises(NoteNotFoundError):
            fair.write([{"id": "b", "expires_at": LATER}], create=False)
        with pytest.raises(NoteNotFoundError):
            fair.link("b", Link("related", "a"), namespace=HOME)
        with pytest.raises(NoteNotFoundError):
            fair.unlink("b", Link("related", "a"), namespace=HOME)
        assert fair.delete(["b"], namespace=HOME) == 0

    def test_a_new_model_does_not_wait_for_it(self, fair: Store) -> None:
        model = Model("other", 2)
        assert not fair.activate(model)
        pending = fair.pending(model, 10)
        assert fair.embed(model, [(note, UP) for note in pending]) == 2
        assert fair.activate(model)

    def test_another_time_or_none(self, store: Store) -> None:
        put(store, {"id": "a", "content": "Tea.", "expires_at": LATER})
        assert put(store, {"id": "a", "title": "Tea", "expires_at": None})[0].expires_at == LATER
        assert put(store, {"id": "a", "expires_at": FOREVER})[0].expires_at == FOREVER
        assert put(store, {"id": "a", "expires_at": "never"})[0].expires_at is None
        put(store, {"id": "a", "expires_at": LATER})
        assert put(store, Note(id="a", content="Tea."))[0].expires_at is None

    def test_a_document_says_all_of_its_notes(self, store: Store) -> None:
        draft: Draft = {"path": "tea.md", "content": "Tea."}
        expiring = Document("root", "tea.md", "1", [draft | {"expires_at": LATER}])
        store.write_documents([expiring], namespace=HOME)
        assert [note.expires_at for note in store.notes()] == [LATER]
        written = store.write_documents([Document("root", "tea.md", "2", [draft])], namespace=HOME).counts
        assert written.updated == 1
        assert [note.expires_at for note in store.notes()] == [None]

    def test_the_notes_of_a_document_that_expired_are_not_missed(self, store: Store) -> None:
        draft: Draft = {"path": "tea.md", "content": "Tea.", "expires_at": PAST}
        store.write_documents([Document("root", "tea.md", "1", [draft])], namespace=HOME)
        assert store.documents("root", namespace=HOME) == {"tea.md": "1"}
        assert [(record.name, record.notes) for record in store.document_records()] == [("tea.md", ())]
        assert store.remove_documents("root", ["tea.md"], namespace=HOME) == 0


class TestRemoving:
    def test_from_the_very_instant_on(self, store: Store) -> None:
        put(store, {"id": "a", "content": "Tea.", "expires_at": LATER}, {"id": "b", "content": "Mug."})
        assert store.expire(LATER - timedelta(microseconds=1)) == 0
        assert ids(store) == ["a", "b"]
        assert store.expire(LATER) == 1
        assert store.expire(FOREVER) == 0
        assert ids(store) == ["b"]

    def test_with_all_that_hangs_on_it_in_every_namespace(self, fair: Store) -> None:
        put(
            fair,
            {"id": "d", "content": "green fig", "expires_at": LATER, "namespace": "x", "links": ["a"], "vector": UP},
        )
        put(fair, {"id": "e", "content": "green tea", "expires_at": LATER, "links": ["a"], "vector": UP})
        assert fair.note_counts([parse("green")], namespace=HOME) == (3, [3])  # writing removed what was due
        assert fair.expire(LATER) == 2
        stats = fair.stats()
        assert (stats.notes, stats.links, sum(stats.vectors.values())) == ({HOME: 2, "x": 0}, 1, 2)
        assert fair.note_counts([parse("green")], namespace=HOME) == (2, [2])
        assert not any(finding.problem for finding in fair.check())

    def test_not_more_than_is_wanted_the_oldest_first(self, store: Store) -> None:
        day = timedelta(days=1)
        put(store, *({"id": str(n), "content": "Tea.", "expires_at": LATER - n * day} for n in range(5)))
        assert store.expire(FOREVER, most=2) == 2
        assert ids(store) == ["0", "1", "2"]
        assert store.expire(FOREVER, most=9) == 3
