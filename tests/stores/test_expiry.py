"""The contract of a store for notes that expire: from that instant on they are hidden."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from recollect.errors import NoteNotFoundError
from recollect.model import Document, Draft, Filters, Link, Note, draft_of
from recollect.query import parse
from recollect.stores.base import Model, Store

NAMESPACE = "default"
EVERYTHING = Filters()
PAST = datetime(2020, 2, 2, tzinfo=UTC)
LATER = datetime(2999, 1, 1, tzinfo=UTC)
FOREVER = datetime(9999, 1, 1, tzinfo=UTC)
UP = np.array([1, 0], dtype=np.float32)


def put(store: Store, *notes: dict[str, Any] | Note) -> list[Note]:
    return store.write([draft_of(note) for note in notes]).notes


def ids(store: Store, **options: Any) -> list[str]:
    return [note.id for note in store.notes(**options)]


@pytest.fixture
def filled(store: Store) -> Store:
    """Write two notes that stay and, between them, an expired note that is not deleted yet."""
    common = {"session": "s", "metadata": {"entities": ["fair"]}, "vector": UP}
    put(
        store,
        {
            "id": "a",
            "path": "tea.md",
            "title": "Green tea",
            "content": "Tea at the Lantern Fair.",
            "position": 0,
            **common,
        },
        {
            "id": "b",
            "path": "lantern.md",
            "title": "Lantern Fair",
            "content": "Green tea and xylophones on Friday.",
            "position": 1,
            "links": ["a"],
            "expires_at": PAST,
            **common,
        },
        {"id": "c", "path": "mug.md", "content": "A mug for green tea.", "position": 2, "links": ["b"], **common},
    )
    return store


class TestReading:
    def test_get_notes_and_stats_skip_expired(self, filled: Store) -> None:
        assert [note and note.id for note in filled.get(["a", "b", "lantern.md", "c"], namespace=NAMESPACE)] == [
            "a",
            None,
            None,
            "c",
        ]
        assert ids(filled) == ids(filled, namespace=NAMESPACE) == ["a", "c"]
        assert ids(filled, filters=Filters(path_prefix="lantern")) == []
        stats = filled.stats()
        assert (stats.notes, stats.links, stats.expiring, sum(stats.vectors.values())) == ({NAMESPACE: 2}, 1, 0, 2)

    @pytest.mark.parametrize("limit", [1, 2, 10])
    def test_searches_skip_expired_before_the_limit(self, filled: Store, limit: int) -> None:
        results = filled.search_text(parse("green tea"), limit, namespace=NAMESPACE, filters=EVERYTHING)
        assert {candidate.id for candidate in results} <= {"a", "c"}
        assert len(results) == min(limit, 2)
        assert filled.search_text(parse("xylophones"), limit, namespace=NAMESPACE, filters=EVERYTHING) == []
        results = filled.search_vectors(UP, limit, namespace=NAMESPACE, filters=EVERYTHING)
        assert [candidate.id for candidate in results] == ["c", "a"][:limit]
        results = filled.search_vectors(UP, limit, namespace=NAMESPACE, filters=Filters(session="s"))
        assert [candidate.id for candidate in results] == ["c", "a"][:limit]
        for titles in (False, True):
            assert filled.search_names(["lantern"], limit, namespace=NAMESPACE, filters=EVERYTHING, titles=titles) == []

    def test_candidates_and_scores_skip_expired(self, filled: Store) -> None:
        results = filled.candidates(["b", "a"], namespace=NAMESPACE, filters=EVERYTHING)
        assert [candidate.id for candidate in results] == ["a"]
        assert filled.similarities(UP, ["a", "b"], namespace=NAMESPACE) == {"a": 1.0}
        assert filled.text_scores(parse("tea xylophones"), ["a", "b"], namespace=NAMESPACE).keys() == {"a"}

    def test_similar_words_skip_expired(self, filled: Store) -> None:
        assert filled.similar_words(["xylophonse"], namespace=NAMESPACE) == {}
        assert filled.similar_words(["gren"], namespace=NAMESPACE) == {"gren": ("green",)}

    def test_edges_skip_expired(self, filled: Store) -> None:
        edges = filled.edges(["a", "b", "c"], namespace=NAMESPACE)
        assert "b" not in {end for edge in edges for end in (edge.source, edge.target)}
        assert ("a", "c", "next") in {(edge.source, edge.target, edge.kind) for edge in edges}
        assert {neighbour.note.id for neighbour in filled.neighbours("a", namespace=NAMESPACE)} == {"c"}
        with pytest.raises(NoteNotFoundError, match="there is no note 'b'"):
            filled.neighbours("b", namespace=NAMESPACE)

    def test_pending_skips_expired(self, filled: Store) -> None:
        assert len(filled.pending(Model("other", 2), 10)) == 2

    def test_note_is_readable_until_expiry(self, store: Store) -> None:
        (note,) = put(store, {"content": "Tea.", "expires_at": LATER})
        assert note.expires_at == LATER
        assert store.get([note.id], namespace=NAMESPACE) == [note]
        assert store.stats().expiring == 1
        assert len(store.search_text(parse("tea"), 1, namespace=NAMESPACE, filters=EVERYTHING)) == 1


class TestWriting:
    def test_path_of_expired_note_is_free(self, filled: Store) -> None:
        (note,) = put(filled, {"path": "lantern.md", "content": "Another fair."})
        assert note.id != "b"
        assert (note.title, note.links, note.expires_at) == ("", (), None)
        assert ids(filled) == ["a", "c", note.id]

    def test_expired_note_cannot_be_changed(self, filled: Store) -> None:
        with pytest.raises(NoteNotFoundError):
            filled.write([{"id": "b", "expires_at": LATER}], create=False)
        with pytest.raises(NoteNotFoundError):
            filled.link("b", Link("related", "a"), namespace=NAMESPACE)
        with pytest.raises(NoteNotFoundError):
            filled.unlink("b", Link("related", "a"), namespace=NAMESPACE)
        assert filled.delete(["b"], namespace=NAMESPACE) == 0

    def test_activate_ignores_expired(self, filled: Store) -> None:
        model = Model("other", 2)
        assert not filled.activate(model)
        pending = filled.pending(model, 10)
        assert filled.embed(model, [(note, UP) for note in pending]) == 2
        assert filled.activate(model)

    def test_expiry_can_be_changed_or_removed(self, store: Store) -> None:
        put(store, {"id": "a", "content": "Tea.", "expires_at": LATER})
        assert put(store, {"id": "a", "title": "Tea", "expires_at": None})[0].expires_at == LATER
        assert put(store, {"id": "a", "expires_at": FOREVER})[0].expires_at == FOREVER
        assert put(store, {"id": "a", "expires_at": "never"})[0].expires_at is None
        put(store, {"id": "a", "expires_at": LATER})
        assert put(store, Note(id="a", content="Tea."))[0].expires_at is None

    def test_document_sets_and_clears_expiry(self, store: Store) -> None:
        draft: Draft = {"path": "tea.md", "content": "Tea."}
        expiring = Document("root", "tea.md", "1", [draft | {"expires_at": LATER}])
        store.write_documents([expiring], namespace=NAMESPACE)
        assert [note.expires_at for note in store.notes()] == [LATER]
        written = store.write_documents([Document("root", "tea.md", "2", [draft])], namespace=NAMESPACE).counts
        assert written.updated == 1
        assert [note.expires_at for note in store.notes()] == [None]

    def test_document_with_expired_notes(self, store: Store) -> None:
        draft: Draft = {"path": "tea.md", "content": "Tea.", "expires_at": PAST}
        store.write_documents([Document("root", "tea.md", "1", [draft])], namespace=NAMESPACE)
        assert store.documents("root", namespace=NAMESPACE) == {"tea.md": "1"}
        assert [(record.name, record.notes) for record in store.document_records()] == [("tea.md", ())]
        assert store.remove_documents("root", ["tea.md"], namespace=NAMESPACE) == 0


class TestRemoving:
    def test_expire_includes_the_exact_instant(self, store: Store) -> None:
        put(store, {"id": "a", "content": "Tea.", "expires_at": LATER}, {"id": "b", "content": "Mug."})
        assert store.expire(LATER - timedelta(microseconds=1)) == 0
        assert ids(store) == ["a", "b"]
        assert store.expire(LATER) == 1
        assert store.expire(FOREVER) == 0
        assert ids(store) == ["b"]

    def test_expire_removes_links_and_vectors_in_all_namespaces(self, filled: Store) -> None:
        put(
            filled,
            {"id": "d", "content": "green fig", "expires_at": LATER, "namespace": "x", "links": ["a"], "vector": UP},
        )
        put(filled, {"id": "e", "content": "green tea", "expires_at": LATER, "links": ["a"], "vector": UP})
        assert filled.note_counts([parse("green")], namespace=NAMESPACE) == (3, [3])  # the write removed expired notes
        assert filled.expire(LATER) == 2
        stats = filled.stats()
        assert (stats.notes, stats.links, sum(stats.vectors.values())) == ({NAMESPACE: 2, "x": 0}, 1, 2)
        assert filled.note_counts([parse("green")], namespace=NAMESPACE) == (2, [2])
        assert not any(finding.problem for finding in filled.check())

    def test_expire_limit_removes_oldest_first(self, store: Store) -> None:
        day = timedelta(days=1)
        put(store, *({"id": str(n), "content": "Tea.", "expires_at": LATER - n * day} for n in range(5)))
        assert store.expire(FOREVER, limit=2) == 2
        assert ids(store) == ["0", "1", "2"]
        assert store.expire(FOREVER, limit=9) == 3
