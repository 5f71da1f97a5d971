"""The contract of a store. A new engine adds itself to ``engines.py`` and passes this suite."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.errors import ArgumentError, IngestError, NoteNotFoundError, StoreError
from recollect.model import Document, Edge, Filters, Link, Note, WriteCounts, draft_of
from recollect.model.note import text_digest
from recollect.query import parse
from recollect.query.expressions import Semantics
from recollect.retrieval.request import TermFrequencies, positive_terms, substitute
from recollect.stores.base import DocumentRecord, Model, ModelChangedError, Store

NAMESPACE = "default"
EVERYTHING = Filters()
TINY = Model("tiny", 3)


def put(store: Store, *notes: str | dict[str, Any] | Note, **options: Any) -> list[Note]:
    return store.write([draft_of(note) for note in notes], **options).notes


def search(store: Store, query: str, limit: int = 10, namespace: str = NAMESPACE, **conditions: Any) -> list[str]:
    results = store.search_text(parse(query), limit, namespace=namespace, filters=Filters.of(conditions))
    return [candidate.path or candidate.content for candidate in results]


def nearest(
    store: Store, vector: list[float], limit: int = 10, namespace: str = NAMESPACE, **conditions: Any
) -> list[str]:
    query_vector = np.array(vector, dtype=np.float32)
    results = store.search_vectors(query_vector, limit, namespace=namespace, filters=Filters.of(conditions))
    return [candidate.path or candidate.content for candidate in results]


class TestPages:
    def test_pages_cover_a_namespace(self, store: Store) -> None:
        put(store, *({"content": f"note {number}", "namespace": NAMESPACE} for number in range(5)))
        put(store, {"content": "elsewhere", "namespace": "work"})
        put(store, "note 5")
        seen: list[str] = []
        cursor: int | None = 0
        while cursor is not None:
            page = store.page(4, namespace=NAMESPACE, filters=EVERYTHING, after=cursor)
            seen += [note.content for note in page.notes]
            cursor = page.next
        assert seen == [f"note {number}" for number in range(6)]

    def test_last_page_has_no_cursor(self, store: Store) -> None:
        put(store, "tea", "milk")
        assert store.page(2, namespace=NAMESPACE, filters=EVERYTHING).next is None
        assert store.page(1, namespace=NAMESPACE, filters=EVERYTHING).next is not None
        assert store.page(2**70, namespace=NAMESPACE, filters=EVERYTHING, after=2**70) == ([], None)
        assert store.page(2, namespace="nowhere", filters=EVERYTHING) == ([], None)

    def test_cursor_survives_deletion_of_its_note(self, store: Store) -> None:
        put(store, "one", "two", "three")
        first = store.page(2, namespace=NAMESPACE, filters=EVERYTHING)
        assert first.next is not None
        store.delete([note.id for note in first.notes], namespace=NAMESPACE)
        rest = store.page(2, namespace=NAMESPACE, filters=EVERYTHING, after=first.next)
        assert [note.content for note in rest.notes] == ["three"]

    def test_page_filters(self, store: Store) -> None:
        put(store, {"content": "tea", "tags": ["a"]}, "milk", {"content": "rum", "tags": ["a"]})
        page = store.page(1, namespace=NAMESPACE, filters=Filters(tags=("a",)))
        assert [note.content for note in page.notes] == ["tea"]
        assert page.next is not None
        rest = store.page(1, namespace=NAMESPACE, filters=Filters(tags=("a",)), after=page.next)
        assert ([note.content for note in rest.notes], rest.next) == (["rum"], None)


class TestWriting:
    def test_note_round_trips(self, store: Store) -> None:
        note = Note(
            content="Prefers green tea.\n\nNever after six. 🍵 \0 end",
            id="n1",
            path="memory/tea.md",
            title="Tea",
            summary="Green, early",
            tags=("drinks", "two words"),
            created_at=datetime(2026, 4, 18, 7, 30, 1, 123456, UTC),
            updated_at=datetime(2026, 4, 19, tzinfo=UTC),
            last_accessed_at=datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
            expires_at=datetime(2999, 12, 31, 23, 59, 59, 999999, UTC),
            importance=0.8,
            session="s",
            position=7,
            links=(Link("supersedes", "memory/coffee.md"), Link("related", "shop")),
            metadata={"project": "x", "n": [1, 2.5, None, {"ä": True}]},
        )
        assert put(store, note) == [note]
        assert store.get(["n1", "memory/tea.md", "nowhere"], namespace=NAMESPACE) == [note, note, None]
        assert list(store.notes()) == [note]

    def test_defaults_of_a_note(self, store: Store) -> None:
        before = datetime.now(UTC)
        (note,) = put(store, "Prefers green tea.")
        after = datetime.now(UTC)
        assert note.created_at is not None
        assert before.replace(microsecond=0) <= note.created_at <= after
        assert note.updated_at == note.created_at
        assert (note.last_accessed_at, note.importance, note.path, note.namespace) == (None, 0.5, "", NAMESPACE)
        assert len(note.id) == 36

    def test_generated_ids_sort_by_time(self, store: Store) -> None:
        first, second = put(store, "one")[0].id, put(store, "two")[0].id
        assert first[:8] <= second[:8]
        assert first != second

    @pytest.mark.parametrize("name", ["id", "path"])
    def test_write_updates_existing_id_or_path(self, store: Store, name: str) -> None:
        (old,) = put(store, {name: "tea", "content": "green", "importance": 0.9, "tags": ["drinks"]})
        (new,) = put(store, {name: "tea", "content": "oolong"})
        assert (new.id, new.created_at, new.importance, new.tags) == (old.id, old.created_at, 0.9, ("drinks",))
        assert new.content == "oolong"
        assert new.updated_at is not None
        assert old.updated_at is not None
        assert new.updated_at >= old.updated_at
        assert search(store, "green") == []
        assert len(search(store, "oolong")) == 1

    def test_update_without_change_keeps_updated_at(self, store: Store) -> None:
        (old,) = put(store, {"path": "tea.md", "content": "green", "links": ["a"]})
        assert put(store, {"path": "tea.md", "content": "green"}, {"path": "tea.md", "links": ["a"]}) == [old, old]

    def test_last_accessed_at_can_be_reset(self, store: Store) -> None:
        put(store, {"id": "tea", "content": "green", "last_accessed_at": "2026-04-18"})
        ((note,), _) = store.write([{"id": "tea", "last_accessed_at": None}])
        assert note.last_accessed_at is None
        assert store.get(["tea"], namespace=NAMESPACE) == [note]

    def test_note_replaces_all_fields(self, store: Store) -> None:
        put(store, {"path": "tea.md", "content": "green", "tags": ["drinks"], "session": "s", "position": 1})
        (new,) = put(store, Note(path="tea.md", content="green"))
        assert (new.tags, new.session, new.position) == ((), "", None)

    def test_drafts_of_one_batch_are_merged(self, store: Store) -> None:
        first, second = put(store, {"path": "tea.md", "content": "green"}, {"path": "tea.md", "title": "Tea"})
        assert first == second == store.get(["tea.md"], namespace=NAMESPACE)[0]
        assert (second.title, second.content) == ("Tea", "green")

    def test_vector_is_dropped_if_its_text_changes_in_one_batch(self, store: Store) -> None:
        put(store, {"path": "a", "content": "green", "vector": [1, 0]}, {"path": "a", "tags": ["x"]})
        put(store, {"path": "b", "content": "green", "vector": [1, 0]}, {"path": "b", "content": "oolong"})
        assert nearest(store, [1, 0]) == ["a"]

    def test_notes_swap_paths_through_a_third_path(self, store: Store) -> None:
        put(store, {"id": "1", "path": "a", "content": "one"}, {"id": "2", "path": "b", "content": "two"})
        put(store, {"id": "1", "path": "c"}, {"id": "2", "path": "a"}, {"id": "1", "path": "b"})
        assert [note and note.content for note in store.get(["a", "b", "c"], namespace=NAMESPACE)] == [
            "two",
            "one",
            None,
        ]

    def test_notes_swap_paths_directly(self, store: Store) -> None:
        put(store, {"id": "1", "path": "a", "content": "one"}, {"id": "2", "path": "b", "content": "two"})
        put(store, {"id": "1", "path": "b"}, {"id": "2", "path": "a"})
        assert [note and note.content for note in store.get(["a", "b"], namespace=NAMESPACE)] == ["two", "one"]
        assert search(store, "one") == ["b"]

    def test_path_of_another_note_is_refused(self, store: Store) -> None:
        put(store, {"id": "1", "path": "a", "content": "one"}, {"id": "2", "path": "b", "content": "two"})
        with pytest.raises(ArgumentError, match="^path: 'b' is the path of another note, '2'; delete that first"):
            put(store, {"content": "three"}, {"id": "1", "path": "b"})
        assert len(list(store.notes())) == 2

    def test_new_id_for_an_existing_path(self, store: Store) -> None:
        put(store, {"id": "1", "path": "a", "content": "one"})
        put(store, {"id": "2", "path": "a", "content": "two"})
        assert [note.id for note in store.notes()] == ["2"]

    def test_new_note_needs_content(self, store: Store) -> None:
        with pytest.raises(ArgumentError, match="^content: is needed for a new note; 'a' does not exist yet"):
            put(store, "fine", {"path": "a", "title": "x"})
        with pytest.raises(ArgumentError, match="^content: is needed for a new note$"):
            put(store, {"title": "x"})
        assert list(store.notes()) == []

    def test_write_without_create(self, store: Store) -> None:
        with pytest.raises(NoteNotFoundError, match="there is no note 'a'"):
            put(store, {"path": "a", "content": "x"}, create=False)
        put(store, {"path": "a", "content": "x"})
        assert put(store, {"path": "a", "content": "y"}, create=False)[0].content == "y"

    def test_write_of_no_notes(self, store: Store) -> None:
        assert put(store) == []


class TestDeleting:
    def test_deleted_notes_are_not_found(self, store: Store) -> None:
        put(store, {"path": "a", "content": "green tea", "vector": [1, 0, 0]}, {"path": "b", "content": "tea"})
        put(store, {"path": "c", "content": "teapot", "vector": [1, 0.1, 0], "links": ["b"]})
        assert store.delete(["a", "a", "nowhere"], namespace=NAMESPACE) == 1
        assert search(store, "tea") == ["b"]
        assert nearest(store, [1, 0, 0]) == ["c"]
        assert store.delete(["c"], namespace=NAMESPACE) == 1
        assert store.stats().links == 0
        assert sum(store.stats().vectors.values()) == 0
        assert not any(finding.problem for finding in store.check())

    def test_delete_in_unknown_namespace(self, store: Store) -> None:
        assert store.delete(["a"], namespace="elsewhere") == 0


class TestTouch:
    def test_touch_keeps_the_latest_access(self, store: Store) -> None:
        first, second = datetime(2026, 4, 18, 7, 30, 1, 123456, UTC), datetime(2026, 4, 19, tzinfo=UTC)
        old = put(
            store,
            {"id": "1", "path": "a", "content": "tea", "vector": [1, 0]},
            {"id": "2", "content": "milk", "last_accessed_at": first, "links": ["a"]},
            {"id": "3", "content": "sugar", "last_accessed_at": second},
            {"id": "4", "content": "water"},
        )
        assert store.touch({"1": first, "2": second, "3": first, "nobody": first, "a": first}, namespace=NAMESPACE) == 2
        expected = [first, second, second, None]
        assert list(store.notes()) == [
            replace(note, last_accessed_at=accessed_at) for note, accessed_at in zip(old, expected, strict=True)
        ]
        assert store.touch({"1": first, "2": second}, namespace=NAMESPACE) == 0
        assert store.touch({}, namespace=NAMESPACE) == store.touch({"1": second}, namespace="nowhere") == 0
        assert search(store, "tea") == nearest(store, [1, 0]) == ["a"]
        assert not any(finding.problem for finding in store.check())

    def test_touch_of_long_notes(self, store: Store) -> None:
        accessed_at = datetime(2026, 4, 18, 7, 30, tzinfo=UTC)
        long = "Prefers green tea. " * 10_000
        put(store, {"id": "1", "path": "a", "content": long, "vector": [[1, 0], [0, 1], [1, 1], [-1, 0], [0, -1]]})
        put(store, {"id": "2", "path": "b", "content": long})
        assert store.touch({"1": accessed_at, "2": accessed_at}, namespace=NAMESPACE) == 2
        assert not any(finding.problem for finding in store.check())
        assert not any(finding.problem for finding in store.repair())
        assert [(note.content, note.last_accessed_at) for note in store.notes()] == [(long, accessed_at)] * 2
        assert nearest(store, [-1, 0]) == ["a"]

    def test_touch_is_limited_to_its_namespace(self, store: Store) -> None:
        put(store, {"id": "1", "content": "x", "namespace": "alice"}, {"id": "1", "content": "x"})
        assert store.touch({"1": datetime(2026, 4, 18, tzinfo=UTC)}, namespace="alice") == 1
        assert [note.last_accessed_at is not None for note in store.notes()] == [True, False]

    def test_store_is_not_read_only(self, store: Store) -> None:
        assert not store.read_only


class TestNamespaces:
    def test_namespaces_are_isolated(self, store: Store) -> None:
        for name in ("alice", "bob"):
            put(store, {"id": "1", "path": "tea.md", "content": f"tea of {name}", "namespace": name, "vector": [1, 0]})
        assert search(store, "tea", namespace="bob") == ["tea.md"]
        assert search(store, "alice", namespace="bob") == []
        assert search(store, "tea") == nearest(store, [1, 0]) == []
        assert nearest(store, [1, 0], namespace="alice") == ["tea.md"]
        assert store.delete(["1"], namespace="alice") == 1
        assert [note.content for note in store.notes()] == ["tea of bob"]
        assert list(store.notes(namespace="alice")) == []
        assert [note.namespace for note in store.notes(namespace="bob")] == ["bob"]
        assert store.get(["1"], namespace="alice") == [None]
        assert store.get(["1"], namespace="nowhere") == [None]

    def test_scores_do_not_depend_on_other_namespaces(self, store: Store) -> None:
        put(store, *({"content": text, "namespace": "alice"} for text in ("green tea", "black tea", "green door")))
        query = parse("green tea")

        def scores() -> list[float]:
            results = store.search_text(query, 10, namespace="alice", filters=EVERYTHING)
            return [candidate.score for candidate in results]

        before = scores()
        put(store, *({"content": f"tea {number} green green", "namespace": "bob"} for number in range(50)))
        assert scores() == before

    def test_links_do_not_cross_namespaces(self, store: Store) -> None:
        put(store, {"path": "a", "content": "x", "links": ["b"], "namespace": "alice"})
        put(store, {"path": "b", "content": "y", "namespace": "bob"})
        assert store.neighbours("a", namespace="alice") == []
        assert store.neighbours("b", namespace="bob") == []


class TestLexicalSearch:
    def test_title_outweighs_content(self, store: Store) -> None:
        put(store, {"path": "content", "content": "tea and more"}, {"path": "title", "title": "tea", "content": "x"})
        put(store, {"path": "summary", "summary": "tea", "content": "y"}, {"path": "none", "content": "coffee"})
        assert search(store, "tea") == ["title", "summary", "content"]

    def test_results_have_ranks_and_scores(self, store: Store) -> None:
        put(store, "green tea", "tea with a lot of other words in it", "coffee", "milk", "water")
        results = store.search_text(parse("tea"), 10, namespace=NAMESPACE, filters=EVERYTHING)
        assert [candidate.lexical_rank for candidate in results] == [1, 2]
        assert all(candidate.score == candidate.lexical_score for candidate in results)
        assert results[0].score > results[1].score > 0
        assert results[0].created_at is not None

    def test_candidates_have_session_and_position(self, store: Store) -> None:
        put(store, {"id": "1", "content": "tea", "session": "chat", "position": 7, "vector": [1, 0]})
        put(store, {"id": "2", "content": "milk", "vector": [0, 1]})
        in_session, without_session = store.search_vectors(
            np.array([1, 0.1]), 2, namespace=NAMESPACE, filters=EVERYTHING
        )
        assert (in_session.session, in_session.position, without_session.session, without_session.position) == (
            "chat",
            7,
            "",
            None,
        )
        (in_session,) = store.search_text(parse("tea"), 2, namespace=NAMESPACE, filters=EVERYTHING)
        assert (in_session.session, in_session.position) == ("chat", 7)
        (without_session,) = store.search_text(parse("milk"), 2, namespace=NAMESPACE, filters=EVERYTHING)
        assert (without_session.session, without_session.position) == ("", None)

    def test_ties_are_broken_by_path_then_id(self, store: Store) -> None:
        put(store, *({"path": path, "content": "tea"} for path in "dbeac"))
        put(store, {"id": "2", "content": "milk tea now"}, {"id": "1", "content": "milk tea now"})
        assert search(store, "tea") == [*"abcde", "milk tea now", "milk tea now"]
        assert search(store, "tea", 2) == ["a", "b"]
        results = store.search_text(parse("milk"), 10, namespace=NAMESPACE, filters=EVERYTHING)
        assert [candidate.id for candidate in results] == ["1", "2"]

    def test_smaller_limit_returns_a_prefix(self, store: Store) -> None:
        put(store, *({"path": f"{n:02}", "content": "tea " * (n % 3 + 1) + "x " * (n % 5)} for n in range(40)))
        results = search(store, "tea", 40)
        assert len(results) == 40
        for limit in (1, 5, 17, 39):
            assert search(store, "tea", limit) == results[:limit]

    def test_query_syntax(self, store: Store) -> None:
        put(store, {"path": "1", "content": "green tea, café"}, {"path": "2", "content": "tea that is green"})
        put(store, {"path": "3", "content": "node.js and error ERR_42"})
        assert search(store, '"green tea"') == ["1"]
        assert sorted(search(store, "tea")) == ["1", "2"]
        assert search(store, "tea NOT cafe") == ["2"]
        assert search(store, "gre*", 1) in (["1"], ["2"])
        assert search(store, "ERR_42") == search(store, "node.js") == ["3"]
        assert search(store, "cafe\u0301") == ["1"]
        assert search(store, "") == search(store, "the") == search(store, '"') == []
        assert search(store, "tea", 0) == []
        assert search(store, "tea", namespace="nowhere") == []

    def test_index_and_queries_are_normalised_alike(self, store: Store) -> None:
        put(store, {"path": "1", "content": "cafe\u0301 and ze\u200bro"})
        assert search(store, "café") == search(store, "zero") == ["1"]
        put(store, {"path": "1", "content": "tea"})
        assert search(store, "café") == []
        assert not any(finding.problem for finding in store.check())


class TestVectorSearch:
    def test_results_are_sorted_by_similarity(self, store: Store) -> None:
        put(
            store,
            {"path": "x", "content": "1", "vector": [2, 0, 0]},
            {"path": "y", "content": "2", "vector": [0, 3, 0]},
        )
        put(store, {"path": "xy", "content": "3", "vector": [5, 5, 0]}, {"path": "none", "content": "4"})
        results = store.search_vectors(np.array([10, 1, 0], np.float32), 10, namespace=NAMESPACE, filters=EVERYTHING)
        assert [candidate.path for candidate in results] == ["x", "xy", "y"]
        assert [candidate.vector_rank for candidate in results] == [1, 2, 3]
        expected = np.array([10, 11 / np.sqrt(2), 1]) / np.sqrt(101)
        assert [candidate.vector_similarity for candidate in results] == pytest.approx(expected)
        assert nearest(store, [10, 1, 0], 2) == ["x", "xy"]
        assert nearest(store, [10, 1, 0], 0) == nearest(store, [1, 0, 0], namespace="nowhere") == []

    def test_ties_are_broken_by_path(self, store: Store) -> None:
        put(store, *({"path": path, "content": path, "vector": [1, 2, 3]} for path in "dbeac"))
        assert nearest(store, [3, 2, 1]) == [*"abcde"]
        assert nearest(store, [3, 2, 1], 2) == ["a", "b"]

    def test_vector_search_is_exact(self, store: Store) -> None:
        rng = np.random.default_rng(7)
        rows = rng.standard_normal((500, 16)).astype(np.float32)
        put(store, *({"path": f"{n:03}", "content": str(n), "vector": row} for n, row in enumerate(rows)))
        unit = rows.astype(np.float64) / np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
        for query in rng.standard_normal((20, 16)):
            best = np.argsort(-(unit @ query))[:60]
            assert nearest(store, list(query), 60) == [f"{n:03}" for n in best]

    def test_limit_counts_existing_notes_only(self, store: Store) -> None:
        put(store, *({"path": f"{n:03}", "content": str(n), "vector": [100 - n, n]} for n in range(100)))
        assert nearest(store, [1, 0], 3) == ["000", "001", "002"]
        store.delete([f"{n:03}" for n in range(60)], namespace=NAMESPACE)
        assert nearest(store, [1, 0], 3) == ["060", "061", "062"]
        put(store, {"path": "new", "content": "new", "vector": [1, 0]})
        assert nearest(store, [1, 0], 2) == ["new", "060"]

    def test_changed_vector_is_searched(self, store: Store) -> None:
        put(store, {"path": "a", "content": "1", "vector": [1, 0]}, {"path": "b", "content": "2", "vector": [0, 1]})
        assert nearest(store, [1, 0], 1) == ["a"]
        put(store, {"path": "a", "vector": [-1, 0]})
        assert nearest(store, [1, 0], 1) == ["b"]

    def test_zero_vector(self, store: Store) -> None:
        put(store, {"path": "a", "content": "1", "vector": [0, 0]}, {"path": "b", "content": "2", "vector": [1, 1]})
        assert nearest(store, [1, 1]) == ["b", "a"]
        assert nearest(store, [0, 0]) == ["a", "b"]

    def test_huge_and_tiny_vectors(self, store: Store) -> None:
        put(
            store,
            {"path": "a", "content": "1", "vector": [3e30, 0]},
            {"path": "b", "content": "2", "vector": [0, 1e-30]},
        )
        assert nearest(store, [1e-30, 0], 1) == ["a"]
        assert nearest(store, [0, 3e38], 1) == ["b"]

    def test_vector_of_another_model_is_refused(self, store: Store) -> None:
        put(store, {"path": "a", "content": "1", "vector": [1, 0]})
        with pytest.raises(ModelChangedError, match="given"):
            store.search_vectors(
                np.ones(2, np.float32), 1, namespace=NAMESPACE, filters=EVERYTHING, model=Model("x", 2)
            )

    def test_name_search_excludes_terms(self, store: Store) -> None:
        notes = [{"path": f"{n}/kubernetes.md", "content": "secret"} for n in range(70)]
        store.write([*notes, {"path": "z/kubernetes.md", "content": "public"}])
        query = parse("kubernets NOT secret")
        results = store.search_names(["kubernets"], 60, namespace=NAMESPACE, filters=Filters(), exclusions=query)
        assert [candidate.path for candidate in results] == ["z/kubernetes.md"]

    def test_vector_of_wrong_dimension_is_refused(self, store: Store) -> None:
        put(store, {"path": "a", "content": "1", "vector": [1, 0]})
        with pytest.raises(ArgumentError, match="^vector: has 3 numbers; the model 'given' makes vectors of 2"):
            put(store, {"path": "b", "content": "2", "vector": [1, 0, 0]})
        with pytest.raises(ArgumentError, match="^vector: has 1 numbers; those of 'given' have 2"):
            nearest(store, [1])
        assert len(list(store.notes())) == 1


class TestChunks:
    """A note with several chunks has the similarity of its best chunk."""

    def test_score_of_the_best_chunk(self, store: Store) -> None:
        put(
            store,
            {"path": "whole", "content": "1", "vector": [1, 1, 0]},
            {"path": "pieces", "content": "2", "vector": [[0, 0, 2], [3, 4, 0], [0, 0, -1]]},
            {"path": "one", "content": "3", "vector": [[0, 5, 0]]},
        )
        results = store.search_vectors(np.array([1, 0, 0], np.float32), 10, namespace=NAMESPACE, filters=EVERYTHING)
        assert [candidate.path for candidate in results] == ["whole", "pieces", "one"]
        assert [candidate.score for candidate in results] == pytest.approx([2**-0.5, 0.6, 0.0])
        assert nearest(store, [0, 0, 1], 1) == ["pieces"]
        assert nearest(store, [0, 0, -1], 1) == ["pieces"]
        assert nearest(store, [0, 1, 0], 2) == ["one", "pieces"]

    def test_note_is_returned_once(self, store: Store) -> None:
        put(store, *({"path": f"{n}", "content": f"{n}", "vector": [[1, 0.01 * n]] * 5} for n in range(9)))
        assert nearest(store, [1, 0], 3) == ["0", "1", "2"]
        assert nearest(store, [1, 0], 100) == [str(n) for n in range(9)]

    def test_ties_are_broken_by_path(self, store: Store) -> None:
        put(store, *({"path": path, "content": path, "vector": [[0, 1], [1, 2]]} for path in "db"))
        put(store, *({"path": path, "content": path, "vector": [1, 2]} for path in "eac"))
        assert nearest(store, [1, 2], 3) == ["a", "b", "c"]

    def test_chunk_search_filters(self, store: Store) -> None:
        put(
            store,
            {"path": "a", "content": "green", "vector": [[1, 0], [0, 1]], "tags": ["x"]},
            {"path": "b", "content": "tea", "vector": [[1, 0], [1, 1], [0.9, 1]]},
            {"path": "c", "content": "pot", "vector": [0, 1], "tags": ["x"]},
        )
        assert nearest(store, [1, 0], tags=("x",)) == ["a", "c"]
        assert nearest(store, [0, 1], 1, tags=("x",)) == ["a"]
        query_vector = np.array([1, 0], np.float32)
        results = store.search_vectors(
            query_vector, 9, namespace=NAMESPACE, filters=EVERYTHING, exclusions=parse("pot NOT green")
        )
        assert [candidate.path for candidate in results] == ["b", "c"]

    def test_chunks_are_deleted_and_changed(self, store: Store) -> None:
        put(
            store,
            *(
                {"path": path, "content": path, "vector": [[0, 1, 0]] * index + [[1, 0, 0]]}
                for index, path in enumerate("abcd")
            ),
        )
        assert nearest(store, [0, 1, 0]) == ["b", "c", "d", "a"]
        store.delete(["b"], namespace=NAMESPACE)
        assert nearest(store, [0, 1, 0]) == ["c", "d", "a"]
        put(store, {"path": "c", "vector": [0, 0, 1]}, {"path": "a", "vector": [[0, 0, 1], [0, 1, 0]]})
        assert nearest(store, [0, 1, 0]) == ["a", "d", "c"]
        assert nearest(store, [0, 0, 1], 2) == ["a", "c"]
        put(store, {"path": "d", "content": "of another text"})
        assert nearest(store, [0, 1, 0]) == ["a", "c"]

    def test_chunks_added_after_a_search(self, store: Store) -> None:
        rows = np.random.default_rng(7).normal(size=(300, 3, 4)).astype(np.float32)
        drafts = [{"path": f"{n:03}", "content": str(n), "vector": row[: 1 + n % 3]} for n, row in enumerate(rows)]
        query_vector = np.array([1, -1, 0.5, 0], np.float32)
        put(store, *drafts[:100])
        store.search_vectors(query_vector, 300, namespace=NAMESPACE, filters=EVERYTHING)
        put(store, *drafts[100:])
        results = store.search_vectors(query_vector, 300, namespace=NAMESPACE, filters=EVERYTHING)
        unit = query_vector / np.linalg.norm(query_vector)
        best = {
            draft["path"]: float((draft["vector"] @ unit / np.linalg.norm(draft["vector"], axis=1)).max())
            for draft in drafts
        }
        assert {candidate.path: candidate.score for candidate in results} == pytest.approx(best, abs=1e-6)
        assert [candidate.score for candidate in results] == sorted(
            (candidate.score for candidate in results), reverse=True
        )

    def test_chunk_vectors_round_trip(self, store: Store) -> None:
        rows = np.random.default_rng(3).normal(size=(3, 5)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        three_chunks, flat, one_chunk = put(
            store,
            {"content": "many", "vector": rows},
            {"content": "one", "vector": rows[0]},
            {"content": "single", "vector": rows[1:2]},
        )
        _, (chunk_vectors, flat_vector, single_vector) = store.vectors_of([three_chunks, flat, one_chunk])
        assert chunk_vectors is not None
        assert flat_vector is not None
        assert single_vector is not None
        assert (chunk_vectors.shape, flat_vector.shape, single_vector.shape) == ((3, 5), (5,), (5,))
        assert chunk_vectors.tobytes() == rows.tobytes()
        assert (flat_vector.tobytes(), single_vector.tobytes()) == (rows[0].tobytes(), rows[1].tobytes())
        put(store, {"id": three_chunks.id, "vector": chunk_vectors})
        assert np.array_equal(store.vectors_of([three_chunks])[1][0], rows)  # type: ignore[arg-type]

    def test_another_model_may_split_into_other_chunks(self, store: Store) -> None:
        put(store, {"path": "a", "content": "a", "vector": [[1, 0, 0], [0, 1, 0]]}, model=TINY)
        put(store, {"path": "b", "content": "b", "vector": [0, 0, 1]}, model=TINY)
        assert store.stats().vectors == {"tiny": 2}
        new_model = Model("other", 2)
        first, second = store.pending(new_model, 10)
        vectors = [(first, np.array([1, 0], np.float32)), (second, np.array([[1, 1], [0, 1], [1, 3]], np.float32))]
        assert store.embed(new_model, vectors) == 2
        assert store.activate(new_model)
        assert nearest(store, [0, 1]) == ["b", "a"]
        assert nearest(store, [1, 0]) == ["a", "b"]
        assert store.stats().vectors == {"other": 2}

    def test_chunks_of_wrong_dimension_are_refused(self, store: Store) -> None:
        put(store, {"path": "a", "content": "1", "vector": [[1, 0], [0, 1]]})
        with pytest.raises(ArgumentError, match="^vector: has 3 numbers; the model 'given' makes vectors of 2"):
            put(store, {"path": "b", "content": "2", "vector": [[1, 0, 0], [0, 1, 0]]})
        with pytest.raises(ArgumentError, match="^vector: has 4 numbers; those of 'given' have 2"):
            store.search_vectors(np.eye(2, dtype=np.float32), 1, namespace=NAMESPACE, filters=EVERYTHING)
        assert [note.path for note in store.notes()] == ["a"]

    def test_check_and_repair_of_chunks(self, store: Store) -> None:
        put(store, {"path": "a", "content": "1", "vector": [[1, 0], [0, 1]]}, {"content": "2", "vector": [1, 0]})
        assert not any(finding.problem for finding in store.check())
        assert not any(finding.problem for finding in store.repair())
        assert nearest(store, [0, 1], 1) == ["a"]


class TestSimilarities:
    def test_similarities_equal_those_of_search_vectors(self, store: Store) -> None:
        rows = np.random.default_rng(5).normal(size=(60, 2, 7)).astype(np.float32)
        put(store, *({"id": f"{n}", "content": str(n), "vector": row[: 1 + n % 2]} for n, row in enumerate(rows)))
        query_vector = np.random.default_rng(6).normal(size=7).astype(np.float32)
        results = store.search_vectors(query_vector, 60, namespace=NAMESPACE, filters=EVERYTHING)
        similarities = {candidate.id: candidate.vector_similarity for candidate in results}
        assert store.similarities(query_vector, list(similarities), namespace=NAMESPACE) == similarities
        assert store.similarities(query_vector, ["7", "3", "7"], namespace=NAMESPACE) == {
            "7": similarities["7"],
            "3": similarities["3"],
        }

    def test_similarities_omit_notes_without_vector(self, store: Store) -> None:
        put(store, {"id": "a", "content": "1", "vector": [3, 4]}, {"id": "b", "content": "2"})
        put(store, {"id": "c", "content": "3", "vector": [3, 4], "namespace": "alice"})
        query_vector = np.array([1, 0], np.float32)
        assert store.similarities(query_vector, ["a", "b", "c", "d"], namespace=NAMESPACE) == pytest.approx({"a": 0.6})
        assert store.similarities(query_vector, [], namespace=NAMESPACE) == {}
        assert store.similarities(query_vector, ["a"], namespace="nowhere") == {}
        store.delete(["a"], namespace=NAMESPACE)
        assert store.similarities(query_vector, ["a"], namespace=NAMESPACE) == {}

    def test_similarities_without_model_or_with_another(self, store: Store) -> None:
        put(store, {"id": "a", "content": "1"})
        query_vector = np.array([1, 0, 0], np.float32)
        assert store.similarities(query_vector, ["a"], namespace=NAMESPACE) == {}
        put(store, {"id": "a", "vector": [2, 0, 0]}, model=TINY)
        assert store.similarities(query_vector, ["a"], namespace=NAMESPACE, model=TINY) == {"a": 1.0}
        assert store.similarities(query_vector, ["a"], namespace=NAMESPACE, model=Model("other", 3)) == {}

    def test_similarities_of_wrong_dimension_are_refused(self, store: Store) -> None:
        put(store, {"id": "a", "content": "1", "vector": [1, 0]})
        with pytest.raises(ArgumentError, match="^vector: has 3 numbers; those of 'given' have 2"):
            store.similarities(np.ones(3, np.float32), ["a"], namespace=NAMESPACE)


class TestTextScores:
    QUERIES = (
        "tea",
        "green tea milk",
        "tea tea",
        '"green tea"',
        '"green tea" OR milk',
        "mil*",
        "tea AND milk",
        "tea NOT milk",
        "(tea OR milk) AND sugar",
        "cafe.au sugar",
        "nothing here",
        "NOT tea",
        "?!",
    )

    @staticmethod
    def fill(store: Store) -> None:
        rng = random.Random(7)  # noqa: S311 (reproducible)
        vocabulary = ["green", "tea", "teas", "milk", "milky", "sugar", "cafe au", "the"]
        put(
            store,
            *(
                {
                    "id": f"n{number}",
                    "content": " ".join(rng.choices(vocabulary, k=rng.randint(1, 30))),
                    "title": rng.choice(["", "", "Green tea", "Milk"]),
                    "tags": [rng.choice(vocabulary)],
                }
                for number in range(60)
            ),
        )

    @pytest.mark.parametrize("semantics", ["strict", "literal"])
    def test_text_scores_equal_those_of_search_text(self, store: Store, semantics: Semantics) -> None:
        self.fill(store)
        ids = [f"n{number}" for number in range(60)]
        for text in self.QUERIES:
            query = parse(text)
            results = store.search_text(query, 100, namespace=NAMESPACE, filters=EVERYTHING, semantics=semantics)
            expected = {candidate.id: candidate.lexical_score for candidate in results}
            assert store.text_scores(query, ids, namespace=NAMESPACE, semantics=semantics) == expected
            last = [candidate.id for candidate in results[-3:]]
            assert store.text_scores(query, last, namespace=NAMESPACE, semantics=semantics) == {
                note: expected[note] for note in last
            }

    def test_text_scores_omit_non_matching_and_unknown_notes(self, store: Store) -> None:
        put(store, {"id": "a", "content": "green tea"}, {"id": "b", "content": "milk"}, {"id": "c", "content": "sugar"})
        put(store, {"id": "d", "content": "tea", "namespace": "alice"})
        scores = store.text_scores(parse("tea"), ["c", "a", "d", "nobody", "a"], namespace=NAMESPACE)
        (candidate,) = store.search_text(parse("tea"), 1, namespace=NAMESPACE, filters=EVERYTHING)
        assert scores == {"a": candidate.lexical_score}
        # idf is ln(2.5 / 1.5); the note has 2 words, notes have 4 / 3 on average: 0.5108 times 2.2 / (1 + 1.65)
        assert scores["a"] == pytest.approx(0.42408, abs=1e-5)
        assert store.text_scores(parse("tea"), ["b", "c"], namespace=NAMESPACE) == {}
        assert store.text_scores(parse("tea"), [], namespace=NAMESPACE) == {}
        assert store.text_scores(parse("tea"), ["a"], namespace="nowhere") == {}
        assert store.text_scores(parse(""), ["a"], namespace=NAMESPACE) == {}
        store.delete(["a"], namespace=NAMESPACE)
        assert store.text_scores(parse("tea"), ["a"], namespace=NAMESPACE) == {}

    def test_text_scores_after_a_write(self, store: Store) -> None:
        self.fill(store)
        query = parse("tea OR milk")
        before = store.text_scores(query, ["n1", "n2"], namespace=NAMESPACE)
        put(store, {"id": "n1", "content": "tea"}, {"id": "new", "content": "milk"})
        results = store.search_text(query, 100, namespace=NAMESPACE, filters=EVERYTHING)
        after = store.text_scores(query, [candidate.id for candidate in results], namespace=NAMESPACE)
        assert after == {candidate.id: candidate.lexical_score for candidate in results}
        assert "new" in after
        assert after["n1"] != before["n1"]


class TestNoteCounts:
    @staticmethod
    def counts(store: Store, *queries: str, namespace: str = NAMESPACE) -> tuple[int, list[int]]:
        return store.note_counts([parse(query) for query in queries], namespace=namespace)

    def test_counts_of_terms_and_phrases(self, store: Store) -> None:
        put(store, "green tea", "Greener teas", {"content": "pot", "title": "Tea"}, {"content": "pot", "tags": ["tea"]})
        assert self.counts(store, "tea", "green", "pot", "kettle") == (4, [4, 1, 2, 0])
        assert self.counts(store, "tea", '"green tea"', "gre*", "green OR pot") == (4, [4, 1, 2, 3])
        assert self.counts(store) == (4, [])
        assert self.counts(store, "", "?!") == (4, [0, 0])

    def test_substituted_forms_match(self, store: Store) -> None:
        put(store, "Rent 1,240", "Locker W-118", "chip 276098106234517", "Error 0x80070057", "Yılmaz", "Weiß", "Łódź")
        for text, form in (
            ("1240", "1 240"),
            ("W118", "w 118"),
            ("276 098 106 234 517", "276098106234517"),
            ("80070057", "0x80070057"),
            ("Yilmaz", "yılmaz"),
            ("Weiss", "weiß"),
            ("Lodz", "łodz"),
            ("W119", None),
        ):
            parsed = parse(text, keep_short=True)
            notes, counts = store.note_counts(list(positive_terms(parsed).values()), namespace=NAMESPACE)
            frequencies = TermFrequencies(notes, dict(zip(positive_terms(parsed), counts, strict=True)))
            query, substitutions = substitute(
                parsed, frequencies, lambda queries: store.note_counts(queries, namespace=NAMESPACE)[1]
            )
            assert [substitution.forms for substitution in substitutions] == ([(form,)] if form else [])
            assert len(store.search_text(query, 9, namespace=NAMESPACE, filters=Filters())) == len(substitutions)

    def test_counts_are_limited_to_the_namespace(self, store: Store) -> None:
        put(store, "tea", {"content": "tea", "namespace": "alice"}, {"content": "tea pot", "namespace": "alice"})
        assert self.counts(store, "tea", "pot") == (1, [1, 0])
        assert self.counts(store, "tea", "pot", namespace="alice") == (2, [2, 1])
        assert self.counts(store, "tea", namespace="nowhere") == (0, [0])

    def test_counts_after_changes(self, store: Store) -> None:
        put(store, {"path": "a", "content": "tea"})
        assert self.counts(store, "tea", "pot") == (1, [1, 0])
        assert self.counts(store, "tea", "pot") == (1, [1, 0])
        put(store, {"path": "b", "content": "tea"}, {"path": "a", "content": "pot"})
        assert self.counts(store, "tea", "pot") == (2, [1, 1])
        store.delete(["b"], namespace=NAMESPACE)
        assert self.counts(store, "tea", "pot") == (1, [0, 1])
        put(store, {"path": "a", "title": "Tea"})
        assert self.counts(store, "tea", "pot") == (1, [1, 1])

    def test_notes_without_terms_are_counted(self, store: Store) -> None:
        assert self.counts(store, "tea") == (0, [0])
        put(store, "tea")
        assert self.counts(store, "tea") == (1, [1])
        (empty, emoji) = put(store, "", "🍵")
        assert self.counts(store, "tea") == (3, [1])
        store.delete([empty.id], namespace=NAMESPACE)
        assert self.counts(store, "tea") == (2, [1])
        store.delete([emoji.id], namespace=NAMESPACE)
        assert self.counts(store, "tea") == (1, [1])

    def test_counts_equal_number_of_results(self, store: Store) -> None:
        put(store, *(f"{'tea ' * (n % 2)}{'pot ' * (n % 3)}{n}" for n in range(1, 30)))
        for query in ("tea", "pot", "tea pot", "7", "kettle", "tea AND pot", "tea NOT pot"):
            assert self.counts(store, query) == (29, [len(search(store, query, 100))])


class TestNameSearch:
    @staticmethod
    def search_names(store: Store, *words: str, limit: int = 10, titles: bool = False, **conditions: Any) -> list[str]:
        filters = Filters.of(conditions)
        results = store.search_names(words, limit, namespace=NAMESPACE, filters=filters, titles=titles)
        return [candidate.path or candidate.content for candidate in results]

    def test_names_are_sorted_by_similarity(self, store: Store) -> None:
        put(store, *({"path": f"{path}.md", "content": "x"} for path in ("b/kubernetes", "a/kubernetes", "kubernets")))
        put(store, {"path": "x/kubernetes-x.md", "content": "x"}, {"path": "bosch.md", "content": "kubernetes"})
        results = store.search_names(["nothing", "kubernets"], 10, namespace=NAMESPACE, filters=EVERYTHING)
        assert [candidate.path for candidate in results] == [
            "kubernets.md",
            "a/kubernetes.md",
            "b/kubernetes.md",
            "x/kubernetes-x.md",
        ]
        assert [candidate.score for candidate in results] == pytest.approx([1, 7 / 12, 7 / 12, 7 / 13])
        assert [candidate.lexical_score for candidate in results] == [candidate.score for candidate in results]
        assert [candidate.lexical_rank for candidate in results] == [1, 2, 3, 4]
        assert self.search_names(store, "kubernets", limit=2) == ["kubernets.md", "a/kubernetes.md"]
        assert (
            self.search_names(store, "kubernets", limit=0)
            == self.search_names(store)
            == self.search_names(store, "", "?!")
            == []
        )
        assert store.search_names(["kubernets"], 5, namespace="nowhere", filters=EVERYTHING) == []

    def test_note_without_path_has_only_a_title(self, store: Store) -> None:
        put(store, {"content": "kubernetes", "title": "kubernetes"})
        assert self.search_names(store, "kubernetes") == []
        assert self.search_names(store, "kubernetes", titles=True) == ["kubernetes"]

    def test_titles_and_their_words_are_names(self, store: Store) -> None:
        put(store, {"path": "1.md", "content": "x", "title": "Notes on Kubernetes clusters"})
        put(store, {"path": "kubernetes-for-everyone-in-the-house.md", "content": "x"})
        put(
            store,
            {"path": "2.md", "content": "x", "title": "KUBERNETS"},
            {"path": "3.md", "content": "x", "title": "ku"},
        )
        assert self.search_names(store, "kubernets") == []
        results = store.search_names(["kubernets"], 10, namespace=NAMESPACE, filters=EVERYTHING, titles=True)
        assert [candidate.path for candidate in results] == ["2.md", "1.md", "kubernetes-for-everyone-in-the-house.md"]
        assert [candidate.score for candidate in results] == pytest.approx([1, 7 / 12, 7 / 12])

    def test_similarity_threshold_of_words_and_names(self, store: Store) -> None:
        put(store, {"path": "1.md", "content": "x", "title": "tea of many kinds and colours"})
        put(store, {"path": "2.md", "content": "x", "title": "teas"})
        assert self.search_names(store, "tea", titles=True) == ["2.md"]  # 2 of 5 trigrams
        assert self.search_names(store, "colour", titles=True) == ["1.md"]  # 5 of 8
        assert self.search_names(store, "colonel", titles=True) == []  # 3 of 11
        assert self.search_names(store, "kins", titles=True) == []  # 2 of 7: too few for a word

    def test_title_ties_are_broken_by_path_then_id(self, store: Store) -> None:
        put(store, *({"id": name, "content": name, "title": "tea"} for name in "cab"))
        put(store, {"path": "d", "content": "d", "title": "Tea!"})
        assert self.search_names(store, "tea", titles=True) == [*"abcd"]

    def test_filters_apply_before_the_limit(self, store: Store) -> None:
        put(store, *({"path": f"a/{n}/tea.md", "content": "x"} for n in range(50)))
        put(store, {"path": "b/teas.md", "content": "x", "tags": ["wanted"]})
        assert self.search_names(store, "tea", limit=1, path_prefix="b/") == ["b/teas.md"]
        assert self.search_names(store, "tea", limit=1, tags=["wanted"]) == ["b/teas.md"]
        assert self.search_names(store, "tea", limit=1, tags=["unwanted"]) == []

    def test_name_search_after_changes(self, store: Store) -> None:
        put(store, {"id": "1", "path": "kubernetes.md", "content": "x"}, {"path": "bosch.md", "content": "x"})
        for titles in (False, True):
            assert self.search_names(store, "kubernets", titles=titles) == ["kubernetes.md"]
        put(store, {"id": "1", "path": "docker.md"})
        for titles in (False, True):
            assert self.search_names(store, "kubernets", titles=titles) == []
            assert self.search_names(store, "dockr", titles=titles) == ["docker.md"]
        put(store, {"id": "1", "title": "Kubernetes"})
        assert self.search_names(store, "kubernets", titles=True) == ["docker.md"]
        assert store.delete(["1"], namespace=NAMESPACE) == 1
        put(store, {"path": "new.md", "content": "x"})
        for titles in (False, True):
            assert self.search_names(store, "dockr", "kubernets", titles=titles) == []
            assert self.search_names(store, "new", titles=titles) == ["new.md"]

    def test_name_search_is_limited_to_the_namespace(self, store: Store) -> None:
        put(store, {"path": "tea.md", "content": "x", "namespace": "alice"})
        assert self.search_names(store, "tea") == []
        assert len(store.search_names(["tea"], 5, namespace="alice", filters=EVERYTHING)) == 1


class TestSimilarWords:
    @staticmethod
    def similar(store: Store, *words: str) -> dict[str, tuple[str, ...]]:
        return store.similar_words(words, namespace=NAMESPACE)

    def test_suggestions_for_unknown_words(self, store: Store) -> None:
        put(store, "The Kubernetes clusters are separate.", {"content": "x", "title": "Receive the calendar"})
        misspelt = ["kuberntes", "clusters", "seperate", "recieve", "calender", "kuberntes", "zebra", "are"]
        assert self.similar(store, *misspelt) == {
            "kuberntes": ("kubernetes",),
            "seperate": ("separate",),
            "recieve": ("receive",),
            "calender": ("calendar",),
        }
        assert self.similar(store) == self.similar(store, "", "?!", "two words", "node.js") == {}
        assert store.similar_words(["kuberntes"], namespace="nowhere") == {}

    def test_forms_of_indexed_words_are_known(self, store: Store) -> None:
        put(store, "running clusters")
        assert self.similar(store, "runs", "cluster", "clustering") == {}

    def test_max_edit_distance_of_suggestions(self, store: Store) -> None:
        put(store, "tea lamp", "planet", "kangaroo", "telephone")
        assert self.similar(store, "tee", "tex") == {}  # too short to be corrected
        assert self.similar(store, "lamb", "palnet", "plane", "planeet") == {
            "lamb": ("lamp",),
            "palnet": ("planet",),
            "plane": ("planet",),
            "planeet": ("planet",),
        }
        assert self.similar(store, "plumet", "paltne") == {}
        assert self.similar(store, "kagnaro", "kagnaroo", "kankarro", "kabgatoi") == {
            "kagnaroo": ("kangaroo",),
            "kankarro": ("kangaroo",),
        }

    def test_suggestions_are_sorted_by_distance_then_frequency(self, store: Store) -> None:
        put(store, *["stone"] * 3, *["stove"] * 5, "store", "shone", "wholesome", "holesomes")
        assert self.similar(store, "stoke") == {"stoke": ("stove", "stone", "store")}
        assert self.similar(store, "stobe", "shobe") == {"stobe": ("stove", "stone", "store"), "shobe": ("shone",)}

    def test_numbers_are_not_misspelt(self, store: Store) -> None:
        put(store, "2024 ERR42 python3")
        assert self.similar(store, "2025", "ERR43", "python") == {"python": ("python3",)}

    def test_suggestions_are_found_by_search(self, store: Store) -> None:
        put(store, "Agreed, happily: the universities' generalisations were relational.", "Größe über café résumé")
        put(store, "about these things")
        misspelt = [
            "argeed",
            "happilly",
            "univercities",
            "relatinal",
            "groesse",
            "grösse",
            "caffe",
            "resume",
            "resumee",
        ]
        suggested = self.similar(store, *misspelt, "theze", "abuot")
        assert suggested["argeed"] == ("agreed",)
        assert suggested["univercities"] == ("universities",)
        assert suggested["caffe"] == ("café",)
        assert suggested["resumee"] == ("résumé",)
        assert "theze" not in suggested  # "these" is not searched for
        for suggestions in suggested.values():
            assert all(search(store, suggestion) for suggestion in suggestions)

    def test_suggestions_after_changes(self, store: Store) -> None:
        put(store, {"path": "a", "content": "kubernetes"})
        assert self.similar(store, "kuberntes") == {"kuberntes": ("kubernetes",)}
        put(store, {"path": "a", "content": "docker"}, {"content": "kuberneten", "namespace": "alice"})
        assert self.similar(store, "kuberntes", "dokcer") == {"dokcer": ("docker",)}
        put(store, {"path": "b", "content": "dokcer"})
        assert self.similar(store, "dokcer") == {}
        store.delete(["b"], namespace=NAMESPACE)
        assert self.similar(store, "dokcer") == {"dokcer": ("docker",)}
        store.delete(["a"], namespace=NAMESPACE)
        assert self.similar(store, "dokcer") == {}


class TestEmbedding:
    def test_texts_to_embed_has_no_duplicates(self, store: Store) -> None:
        drafts = [draft_of(note) for note in ({"title": "Tea", "content": "green"}, "oolong", "oolong")]
        texts = store.texts_to_embed(drafts, model=TINY)
        assert texts == ["Tea\ngreen", "oolong"]
        assert list(store.notes()) == []
        vectors = {text_digest(text): np.ones(3, np.float32) for text in texts}
        assert store.write(drafts, model=TINY, vectors=vectors).pending == []
        assert store.model == TINY
        assert store.stats().vectors == {"tiny": 3}

    def test_texts_to_embed_skips_notes_with_vectors(self, store: Store) -> None:
        put(store, {"id": "1", "path": "a", "title": "T", "content": "x", "vector": [1, 0, 0]}, model=TINY)
        put(store, {"id": "2", "path": "b", "content": "y", "namespace": "alice"})

        def texts(*drafts: dict[str, Any]) -> list[str]:
            return list(store.texts_to_embed([draft_of(draft) for draft in drafts], model=TINY))

        assert texts({"path": "a", "content": "x"}, {"id": "1", "importance": 1}, {"id": "3", "content": "w"}) == ["w"]
        assert texts({"path": "a", "summary": "S"}, {"id": "1", "summary": "S2"}) == ["T\nS2\nx"]
        assert texts({"path": "a", "summary": "S", "vector": [1, 0, 0]}, {"id": "1", "importance": 1}) == []
        assert texts({"id": "new", "path": "n", "content": "one"}, {"path": "n", "content": "two"}) == ["two"]
        assert texts({"path": "b", "importance": 1, "namespace": "alice"}) == ["y"]
        assert texts({"path": "b", "content": "z", "namespace": "nobody"}) == ["z"]

    def test_note_without_vector_is_pending(self, store: Store) -> None:
        put(store, {"path": "a", "content": "green", "vector": [1, 0, 0]}, model=TINY)
        notes, pending = store.write([draft_of({"path": "a", "title": "Tea"})], model=TINY)
        assert [note.title for note in notes] == ["Tea"]
        assert [note.text for note in pending] == ["Tea\ngreen"]
        assert nearest(store, [1, 0, 0]) == []
        assert [note.text for note in store.pending(TINY, 10)] == ["Tea\ngreen"]
        assert store.embed(TINY, [(pending[0], np.array([0, 1, 0], np.float32))]) == 1
        assert nearest(store, [0, 1, 0]) == ["a"]

    def test_model_with_changed_dimension_is_refused(self, store: Store) -> None:
        put(store, {"path": "a", "content": "1", "vector": [1, 0, 0]}, model=TINY)
        with pytest.raises(
            ArgumentError, match="^embedder: makes vectors of 2 numbers; those of tiny .* have 3; reindex"
        ):
            put(store, {"path": "b", "content": "2", "vector": [1, 0]}, model=Model("tiny", 2))
        assert len(list(store.notes())) == 1

    def test_unchanged_text_keeps_its_vector(self, store: Store) -> None:
        put(store, {"path": "a", "content": "green", "vector": [1, 0, 0]}, model=TINY)
        unchanged = draft_of({"path": "a", "content": "green", "tags": ["x"], "importance": 1})
        assert store.write([unchanged], model=TINY).pending == []
        assert nearest(store, [1, 0, 0]) == ["a"]

    def test_changed_text_loses_its_vector(self, store: Store) -> None:
        put(store, {"path": "a", "content": "green", "vector": [1, 0, 0]}, model=TINY)
        put(store, {"path": "a", "content": "oolong"})
        assert nearest(store, [1, 0, 0]) == []
        assert [(pending.text) for pending in store.pending(TINY, 10)] == ["oolong"]

    def test_activate_needs_all_notes_embedded(self, store: Store) -> None:
        put(store, *({"path": path, "content": path, "vector": [1, 0, 0]} for path in "abc"), model=TINY)
        new_model = Model("other", 2)
        first = store.pending(new_model, 2)
        assert [pending.text for pending in first] == ["a", "b"]
        assert store.embed(new_model, [(pending, np.array([0, 1], np.float32)) for pending in first]) == 2
        assert not store.activate(new_model)
        assert not store.activate(Model("third", 5))
        assert store.model == TINY
        assert "third" not in store.stats().vectors
        assert nearest(store, [1, 0, 0]) == ["a", "b", "c"]
        (last,) = store.pending(new_model, 10)
        put(store, {"path": "c", "content": "changed meanwhile"})
        assert store.embed(new_model, [(last, np.array([0, 1], np.float32))]) == 0
        (last,) = store.pending(new_model, 10)
        assert store.pending(new_model, 10, after=last.key) == []
        assert store.embed(new_model, [(last, np.array([0, 1], np.float32))]) == 1
        assert store.activate(new_model)
        assert store.model == new_model
        assert nearest(store, [0, 1]) == ["a", "b", "c"]
        assert store.stats().vectors == {"other": 3}

    def test_vectors_of_notes(self, store: Store) -> None:
        (with_vector, without_vector) = put(store, {"content": "a", "vector": [3, 4]}, {"content": "b"})
        model, (vector, missing) = store.vectors_of([with_vector, without_vector])
        assert model == Model("given", 2)
        assert vector is not None
        assert vector.tolist() == pytest.approx([0.6, 0.8])
        assert missing is None
        put(store, {"id": with_vector.id, "content": "changed", "vector": [1, 0]})
        assert store.vectors_of([with_vector]) == (model, [None])

    def test_vectors_without_model(self, store: Store) -> None:
        (note,) = put(store, "a")
        assert store.vectors_of([note]) == (None, [None])
        assert nearest(store, [1, 0]) == []


class TestFilters:
    @pytest.fixture(autouse=True)
    def _notes(self, store: Store) -> None:
        put(
            store,
            {"path": "work/a.md", "content": "tea", "tags": ["x", "y"], "created_at": "2026-01-01", "vector": [1, 0]},
            {"path": "work/b.md", "content": "tea", "tags": ["x"], "created_at": "2026-02-01", "vector": [1, 0.1]},
            {"path": "home/c.md", "content": "tea", "session": "s1", "created_at": "2026-03-01", "vector": [1, 0.2]},
            {
                "content": "tea",
                "metadata": {"n": 1, "b": True, "t": "1", "z": None, "l": [1], "f": 2.5, "o": {"a": [1], "b": 2}},
            },
        )
        put(store, {"path": "work/a.md", "updated_at": "2026-05-01"}, {"path": "work/b.md", "updated_at": "2026-06-01"})

    @pytest.mark.parametrize(
        ("conditions", "paths"),
        [
            ({"path_prefix": "work/"}, ["work/a.md", "work/b.md"]),
            ({"path_prefix": "work/b"}, ["work/b.md"]),
            ({"path_prefix": "WORK"}, []),
            ({"tags": ["x"]}, ["work/a.md", "work/b.md"]),
            ({"tags": ["y", "x"]}, ["work/a.md"]),
            ({"tags": "y"}, ["work/a.md"]),
            ({"tags": ["x\ny"[:1] + "z"]}, []),
            ({"session": "s1"}, ["home/c.md"]),
            ({"created_after": "2026-02-01"}, ["home/c.md", "tea", "work/b.md"]),
            ({"created_before": "2026-02-01"}, ["work/a.md"]),
            ({"created_after": "2026-01-15", "created_before": "2026-02-15"}, ["work/b.md"]),
            ({"updated_after": "2026-05-01", "updated_before": "2026-05-02"}, ["work/a.md"]),
            ({"metadata": {"n": 1}}, ["tea"]),
            ({"metadata": {"n": 1.0}}, ["tea"]),
            ({"metadata": {"n": True}}, []),
            ({"metadata": {"n": 10**30}}, []),
            ({"metadata": {"b": True, "t": "1"}}, ["tea"]),
            ({"metadata": {"b": 1}}, []),
            ({"metadata": {"t": 1}}, []),
            ({"metadata": {"z": None}}, ["tea"]),
            ({"metadata": {"l": [1]}}, ["tea"]),
            ({"metadata": {"l": [2]}}, []),
            ({"metadata": {"l": [1.0]}}, ["tea"]),
            ({"metadata": {"o": {"b": 2, "a": [1]}}}, ["tea"]),
            ({"metadata": {"o": {"b": 2}}}, []),
            ({"metadata": {"n": -(10**400)}}, []),
            ({"metadata": {"f": 2.5}}, ["tea"]),
            ({"metadata": {"absent": None}}, []),
            ({"metadata": {'"quoted': 1}}, []),
        ],
    )
    def test_filter_conditions(self, store: Store, conditions: dict[str, Any], paths: list[str]) -> None:
        assert sorted(search(store, "tea", **conditions)) == paths
        with_vector = [path for path in paths if path != "tea"]
        assert sorted(nearest(store, [1, 0], **conditions)) == with_vector
        notes = store.notes(filters=Filters.of(conditions))
        assert sorted(note.path or note.content for note in notes) == paths

    def test_filters_apply_before_the_limit(self, store: Store) -> None:
        put(store, *({"path": f"other/{n}", "content": "tea tea tea", "vector": [1, 0]} for n in range(50)))
        assert sorted(search(store, "tea", 2, path_prefix="work/")) == ["work/a.md", "work/b.md"]
        assert sorted(nearest(store, [1, 0], 2, path_prefix="work/")) == ["work/a.md", "work/b.md"]

    def test_filter_with_thousands_of_tags(self, store: Store) -> None:
        assert search(store, "tea", tags=[f"tag {n}" for n in range(5000)]) == []


class TestLinks:
    def test_link_and_unlink(self, store: Store) -> None:
        put(store, {"path": "a", "content": "x"}, {"path": "b", "content": "y"})
        assert store.link("a", Link("related", "b"), namespace=NAMESPACE)
        assert not store.link("a", Link("related", "b"), namespace=NAMESPACE)
        assert store.link("a", Link("supersedes", "b"), namespace=NAMESPACE)
        (note,) = store.get(["a"], namespace=NAMESPACE)
        assert note is not None
        assert note.links == (Link("related", "b"), Link("supersedes", "b"))
        assert store.unlink("a", Link("related", "b"), namespace=NAMESPACE)
        assert not store.unlink("a", Link("related", "b"), namespace=NAMESPACE)
        assert store.stats().links == 1
        for method in (store.link, store.unlink):
            with pytest.raises(NoteNotFoundError, match="no note 'c' in namespace 'default'"):
                method("c", Link("related", "b"), namespace=NAMESPACE)
        with pytest.raises(NoteNotFoundError, match="in namespace 'nowhere'"):
            store.link("a", Link("related", "b"), namespace="nowhere")

    def test_neighbours_in_both_directions(self, store: Store) -> None:
        put(store, {"id": "1", "path": "people/Ines.md", "content": "x", "links": [("wikilink", "tea")]})
        put(
            store,
            {"path": "food/tea.md", "content": "y", "links": [("related", "people/ines"), ("related", "nowhere")]},
        )
        put(store, {"path": "deep/er/tea.md", "content": "z", "links": [("wikilink", "INES"), ("related", "1")]})
        put(store, {"path": "self.md", "content": "z", "links": ["self", "food/tea"]})

        def neighbours_of(key: str) -> set[tuple[str, str, str]]:
            return {
                (neighbour.note.path, neighbour.kind, neighbour.direction)
                for neighbour in store.neighbours(key, namespace=NAMESPACE)
            }

        assert neighbours_of("people/Ines.md") == {
            ("food/tea.md", "wikilink", "out"),
            ("deep/er/tea.md", "wikilink", "in"),
            ("deep/er/tea.md", "related", "in"),
        }
        assert neighbours_of("food/tea.md") == {("people/Ines.md", "wikilink", "in"), ("self.md", "related", "in")}
        assert neighbours_of("self.md") == {("food/tea.md", "related", "out")}
        with pytest.raises(NoteNotFoundError):
            store.neighbours("nobody", namespace=NAMESPACE)
        with pytest.raises(NoteNotFoundError):
            store.neighbours("self.md", namespace="nowhere")

    def test_session_neighbours(self, store: Store) -> None:
        put(store, *({"path": str(n), "content": "x", "session": "s", "position": n} for n in (1, 2, 5)))
        put(store, {"path": "other", "content": "x", "session": "t", "position": 3})
        put(store, {"path": "apart", "content": "x", "session": "s"})
        neighbours = {
            key: [(n.kind, n.note.path) for n in store.neighbours(key, namespace=NAMESPACE)] for key in ("1", "2", "5")
        }
        assert neighbours == {"1": [("next", "2")], "2": [("previous", "1"), ("next", "5")], "5": [("previous", "2")]}
        assert store.neighbours("other", namespace=NAMESPACE) == store.neighbours("apart", namespace=NAMESPACE) == []


class TestEdges:
    def test_session_edges_within_reach(self, store: Store) -> None:
        put(store, *({"id": f"{n}", "content": "x", "session": "s", "position": n * n} for n in range(6)))
        put(store, {"id": "other", "content": "x", "session": "t", "position": 5}, {"id": "no", "content": "x"})
        put(store, {"id": "unplaced", "content": "x", "session": "s"})
        assert store.edges(["2"], namespace=NAMESPACE) == [
            Edge("2", "1", "previous", "out"),
            Edge("2", "3", "next", "out"),
        ]
        assert store.edges(["4", "no", "unplaced", "other", "nowhere", "4", "0"], namespace=NAMESPACE, reach=2) == [
            Edge("4", "3", "previous", "out", 1),
            Edge("4", "2", "previous", "out", 2),
            Edge("4", "5", "next", "out", 1),
            Edge("0", "1", "next", "out", 1),
            Edge("0", "2", "next", "out", 2),
        ]
        assert len(store.edges(["2"], namespace=NAMESPACE, reach=10**30)) == 5
        assert (
            store.edges(["2"], namespace=NAMESPACE, reach=0) == store.edges(["2"], namespace=NAMESPACE, reach=-1) == []
        )
        assert store.edges(["2"], namespace="nowhere") == store.edges([], namespace=NAMESPACE) == []

    @pytest.mark.parametrize("many", [0, 300])
    def test_edges_filter_by_kind(self, store: Store, many: int) -> None:
        notes = [{"id": f"{n}", "session": "s", "position": n, "content": "x", "title": f"Note {n}"} for n in range(3)]
        notes[0] |= {"links": [Link("supersedes", "1"), Link("related", "2"), Link("supersedes", "nobody")]}
        notes[1] |= {"content": "Note 2", "links": [Link("supersedes", "2")], "metadata": {"entities": ["tea"]}}
        notes[2] |= {"metadata": {"entities": ["tea"]}}
        store.write(notes)
        store.write([{"content": "x", "links": [Link("supersedes", "elsewhere")]} for _ in range(many)])
        store.write([{"id": "0", "content": "x", "links": [Link("supersedes", "1")], "namespace": "other"}])

        def edges_of_kinds(*kinds: str) -> list[Edge]:
            return store.edges(["1", "0"], namespace=NAMESPACE, kinds=kinds)

        assert edges_of_kinds("supersedes") == [
            Edge("1", "2", "supersedes", "out"),
            Edge("1", "0", "supersedes", "in"),
            Edge("0", "1", "supersedes", "out"),
        ]
        assert edges_of_kinds("related") == [Edge("0", "2", "related", "out")]
        assert edges_of_kinds("next") == [Edge("1", "2", "next", "out"), Edge("0", "1", "next", "out")]
        assert edges_of_kinds("mention", "entity") == [
            Edge("1", "2", "mention", "out"),
            Edge("1", "2", "entity", "out"),
        ]
        assert edges_of_kinds("nothing") == edges_of_kinds() == []
        everything = ("supersedes", "related", "previous", "next", "mention", "entity")
        assert set(edges_of_kinds(*everything)) == set(store.edges(["1", "0"], namespace=NAMESPACE))

    def test_equal_positions_keep_insertion_order(self, store: Store) -> None:
        put(store, *({"id": name, "content": "x", "session": "s", "position": 1} for name in "bac"))
        put(store, {"id": "z", "content": "x", "session": "s", "position": 0})
        edges = store.edges(["a"], namespace=NAMESPACE, reach=5)
        assert [(edge.target, edge.kind, edge.distance) for edge in edges] == [
            ("b", "previous", 1),
            ("z", "previous", 2),
            ("c", "next", 1),
        ]

    def test_links_from_and_to_many_notes(self, store: Store) -> None:
        put(store, {"id": "1", "path": "people/Ines.md", "content": "x", "links": ["3", ("wikilink", "tea"), "gone"]})
        put(store, {"id": "2", "path": "food/tea.md", "content": "y", "links": ["food/tea", "people/Ines"]})
        put(store, {"id": "3", "path": "deep/er/tea.md", "content": "z", "links": [("see", "INES"), ("see", "1")]})
        put(store, {"id": "4.md", "content": "z", "links": ["deep/er/tea.md", "4"]})
        put(store, {"id": "5", "content": "z", "links": [("is", "4")], "namespace": NAMESPACE})
        assert store.edges(["2", "1"], namespace=NAMESPACE) == [
            Edge("2", "1", "related", "out"),
            Edge("2", "1", "wikilink", "in"),
            Edge("1", "3", "related", "out"),
            Edge("1", "2", "wikilink", "out"),
            Edge("1", "2", "related", "in"),
            Edge("1", "3", "see", "in"),
        ]
        assert store.edges(["4.md"], namespace=NAMESPACE) == [
            Edge("4.md", "3", "related", "out"),
            Edge("4.md", "5", "is", "in"),
        ]

    def test_edges_are_symmetric(self, store: Store) -> None:
        names = ["a", "b/a.md", "A.md", "c/b/a", "b", "b.md"]
        put(store, *({"id": f"{n}", "path": name, "content": "x", "links": names} for n, name in enumerate(names)))
        put(store, *({"id": name, "content": "x", "links": ["2", *names]} for name in ("a", "b.md", "q")))
        edges = store.edges([note.id for note in store.notes()], namespace=NAMESPACE)
        outgoing = {(edge.source, edge.target) for edge in edges if edge.direction == "out"}
        incoming = {(edge.target, edge.source) for edge in edges if edge.direction == "in"}
        assert outgoing == incoming
        assert len(outgoing) > 20
        assert all(edge.source != edge.target for edge in edges)
        assert len(edges) == len(set(edges))

    def test_neighbours_equal_edges(self, store: Store) -> None:
        put(store, *({"id": f"{n}", "content": "x", "session": "s", "position": n, "links": ["1"]} for n in range(3)))
        for name in ("0", "1", "2"):
            neighbours = store.neighbours(name, namespace=NAMESPACE)
            assert [(neighbour.note.id, neighbour.kind, neighbour.direction) for neighbour in neighbours] == [
                edge[1:4] for edge in store.edges([name], namespace=NAMESPACE)
            ]


def supersessions(store: Store, ids: list[str], namespace: str = NAMESPACE) -> dict[str, tuple[str, ...]]:
    """Follow supersessions one edge at a time."""
    results: dict[str, tuple[str, ...]] = {}
    pending, seen = list(ids), set(ids)
    while pending:
        note = pending.pop()
        edges = store.edges([note], namespace=namespace, kinds=["supersedes", "superseded-by"])
        successors = {edge.target for edge in edges if edge[2:4] in {("supersedes", "in"), ("superseded-by", "out")}}
        if successors:
            results[note] = tuple(sorted(successors))
        pending += successors - seen
        seen |= successors
    return results


class TestSuccessors:
    def test_successors_follow_a_chain(self, store: Store) -> None:
        chain = [f"c{n:03}" for n in range(150)]
        put(store, {"id": chain[0], "content": "x"})
        put(store, *({"id": new, "content": "x", "links": [("supersedes", old)]} for old, new in pairwise(chain)))
        put(store, {"id": "apart", "content": "x", "links": ["c000"]})
        expected = {old: (new,) for old, new in pairwise(chain)}
        assert store.successors(["c000", "apart", "unknown"], namespace=NAMESPACE) == expected
        assert store.successors(["c147", "c147"], namespace=NAMESPACE) == {"c147": ("c148",), "c148": ("c149",)}
        assert (
            store.successors(["c149", "apart"], namespace=NAMESPACE) == store.successors([], namespace=NAMESPACE) == {}
        )

    def test_successors_by_either_link_and_any_name(self, store: Store) -> None:
        put(store, {"id": "1", "path": "old/plan.md", "content": "x", "links": [("superseded-by", "new/plan")]})
        put(store, {"id": "2", "path": "new/plan.md", "content": "x"})
        put(store, {"id": "3.md", "content": "x", "links": [("supersedes", "new/plan.md"), ("supersedes", "nobody")]})
        put(store, {"id": "4", "path": "Final.md", "content": "x", "links": [("supersedes", "3")]})
        put(store, {"id": "5", "content": "x", "links": [("supersedes", "final"), ("supersedes", "5")]})
        put(store, {"id": "6", "content": "x", "links": [("supersedes", "plan"), ("superseded-by", "Final")]})
        expected = {"1": ("2",), "2": ("3.md", "6"), "3.md": ("4",), "4": ("5",), "6": ("4",)}
        successors = store.successors(["1"], namespace=NAMESPACE)
        assert successors == supersessions(store, ["1"])
        assert successors == expected

    def test_successors_follow_a_cycle_once(self, store: Store) -> None:
        put(store, *({"id": f"{n}", "content": "x", "links": [("supersedes", f"{(n + 1) % 3}")]} for n in range(3)))
        put(store, {"id": "start", "content": "x", "links": [("superseded-by", "1")]})
        cycle = {"0": ("2",), "1": ("0",), "2": ("1",)}
        assert store.successors(["start"], namespace=NAMESPACE) == {"start": ("1",), **cycle}
        put(store, {"id": "end", "content": "x", "links": [("supersedes", "2")]})
        assert store.successors(["0"], namespace=NAMESPACE) == {**cycle, "2": ("1", "end")}

    def test_successors_created_before(self, store: Store) -> None:
        days = {name: datetime(2026, 5, day, tzinfo=UTC) for day, name in enumerate("abcd", 1)}
        links = {"b": "a", "c": "b", "d": "c"}
        put(
            store,
            *(
                {"id": name, "content": "x", "created_at": day, "links": [("supersedes", links.get(name, "nobody"))]}
                for name, day in days.items()
            ),
        )
        assert store.successors(["a"], namespace=NAMESPACE, created_before=days["d"]) == {"a": ("b",), "b": ("c",)}
        assert store.successors(["a"], namespace=NAMESPACE, created_before=days["b"]) == {}
        put(store, {"id": "b", "created_at": datetime(2026, 6, 1, tzinfo=UTC)})  # the chain ends before b
        assert store.successors(["a"], namespace=NAMESPACE, created_before=days["d"]) == {}

    def test_successors_ignore_expired_notes_and_other_namespaces(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(store, {"id": "a", "content": "x"})
        put(store, {"id": "b", "content": "x", "links": [("supersedes", "a")], "namespace": "other"})
        put(store, {"id": "c", "content": "x", "links": [("supersedes", "a")], "expires_at": "2999-01-01"})
        assert store.successors(["a"], namespace=NAMESPACE) == {"a": ("c",)}
        assert store.successors(["a"], namespace="other") == store.successors(["a"], namespace="nowhere") == {}
        monkeypatch.setattr("recollect.arguments.now", lambda: datetime(3000, 1, 1, tzinfo=UTC))
        assert store.successors(["a"], namespace=NAMESPACE) == {}

    @given(
        st.lists(
            st.lists(
                st.tuples(
                    st.sampled_from(["supersedes", "superseded-by", "related"]),
                    st.sampled_from(["n0", "n1", "n2", "n3.md", "n3", "d/n4", "n4", "N4", "n5"]),
                ),
                max_size=3,
            ),
            min_size=6,
            max_size=6,
        )
    )
    @settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_successors_equal_supersession_edges(self, store: Store, links: list[list[tuple[str, str]]]) -> None:
        paths = ["", "a/n1.md", "n2", "n3.md", "d/n4.md", "e/N4.md"]
        drafts = [
            {"id": f"n{n}", "path": path, "content": "x", "links": note_links}
            for n, (path, note_links) in enumerate(zip(paths, links, strict=True))
        ]
        put(store, *drafts)
        for ids in (["n0"], ["n1", "n4"], ["n5", "n3", "n2"]):
            assert store.successors(ids, namespace=NAMESPACE) == supersessions(store, ids)


class TestMentions:
    @staticmethod
    def mentions(store: Store, namespace: str = NAMESPACE) -> set[tuple[str, str]]:
        edges = store.edges([note.id for note in store.notes()], namespace=namespace)
        out = {(edge.source, edge.target) for edge in edges if (edge.kind, edge.direction) == ("mention", "out")}
        assert out == {(edge.target, edge.source) for edge in edges if (edge.kind, edge.direction) == ("mention", "in")}
        assert all(edge.distance == 1 for edge in edges)
        return out

    @pytest.mark.parametrize("order", [1, -1])
    @pytest.mark.parametrize("together", [True, False])
    def test_mentions_do_not_depend_on_order(self, store: Store, order: int, together: bool) -> None:
        notes: list[dict[str, Any]] = [
            {"id": "title", "title": "Green  Tea!", "content": "x"},
            {"id": "content", "content": "She likes GREEN-TEA best."},
            {"id": "summary", "content": "x", "summary": "On green tea"},
            {"id": "in a title", "content": "x", "title": "Green Tea › Why green tea"},
            {"id": "apart", "content": "tea is green, and tea, green", "summary": "green", "title": "tea"},
            {"id": "another word", "content": "green teas, evergreen tea"},
        ][::order]
        for batch in [notes] if together else [[note] for note in notes]:
            put(store, *batch)
        assert self.mentions(store) == {("content", "title"), ("summary", "title")}
        assert not any(finding.problem for finding in store.check())

    @pytest.mark.parametrize(
        ("title", "text", "mentioned"),
        [
            ("Kyoto", "in Kyoto.", True),
            ("Ines", "with ines", True),
            ("Tea", "tea", False),  # short
            ("2026", "in 2026", False),
            ("2026-04-18", "on 2026/04/18", True),
            ("About", "about", False),
            ("What about", "what about it", False),
            ("The plan", "the plan", True),
            ("", "x", False),
            ("?!", "?!", False),
            ("Tenet (film)", "Tenet was long", True),
            ("Tenet (film)", "the tenet film", True),
            ("Tea (drink)", "tea", False),
            ("Tea (drink)", "a tea drink", True),
            ("(film) Tenet", "Tenet was long", False),
            ("Tenet (film", "Tenet was long", False),
            ("Tenet (a) b)", "Tenet was long", False),
            ("Tenet ()", "Tenet was long", True),
            ("one two three four five six seven eight nine ten eleven twelve", "{}", True),
            ("one two three four five six seven eight nine ten eleven twelve more", "{}", False),
            ("tea " + "x" * 300, "{}", False),
            ("Café Größe", "cafe\u0301 größe", True),
            ('say "Hello" \0 now', "say hello now", True),
            ("東京 タワー", "東京 タワー へ", True),
        ],
    )
    def test_mentionable_titles(self, store: Store, title: str, text: str, mentioned: bool) -> None:
        for number, order in enumerate((1, -1)):
            namespace = str(number)
            notes = [
                {"id": "1", "title": title, "content": "x", "namespace": namespace},
                {"id": "2", "content": text.format(title), "namespace": namespace},
            ]
            for note in notes[::order]:
                put(store, note)
            edges = store.edges(["1"], namespace=namespace)
            assert edges == ([Edge("1", "2", "mention", "in")] if mentioned else [])

    def test_overlapping_titles_are_all_mentioned(self, store: Store) -> None:
        put(store, *({"id": title, "title": title, "content": "x"} for title in ("York", "New York", "New York City")))
        put(store, {"id": "trip", "content": "to New York City, York, and New Yorks"})
        assert self.mentions(store) == {
            ("trip", "York"),
            ("trip", "New York"),
            ("trip", "New York City"),
        }

    def test_sections_of_one_document_do_not_mention_each_other(self, store: Store) -> None:
        file, section = {"session": "v/page.md"}, {"session": "v/page.md", "content": "The page and its keys."}
        put(
            store,
            {**file, "id": "page", "path": "v/page.md", "position": 0, "title": "The page", "content": "x"},
            {**section, "id": "keys", "path": "v/page.md#keys", "position": 1, "title": "The page › Keys"},
            {**section, "id": "unnamed", "position": 2},
            {**section, "id": "elsewhere", "path": "page.md"},
            {"id": "of none", "content": "the page"},
        )
        expected = {("unnamed", "page"), ("elsewhere", "page"), ("of none", "page")}
        assert self.mentions(store) == expected
        put(store, {"id": "keys", "session": ""})
        assert self.mentions(store) == {*expected, ("keys", "page")}

    def test_notes_with_equal_titles_do_not_mention_each_other(self, store: Store) -> None:
        put(store, *({"id": f"{n}", "title": "Green tea", "content": "About green tea."} for n in range(3)))
        put(store, {"id": "film", "title": "Green tea (film)", "content": "green tea"})
        assert self.mentions(store) == set()
        put(store, {"id": "other", "content": "green tea"})
        assert self.mentions(store) == {("other", "0"), ("other", "1"), ("other", "2"), ("other", "film")}

    def test_mentions_after_changes(self, store: Store) -> None:
        put(store, {"id": "a", "title": "Kyoto", "content": "x"}, {"id": "b", "title": "Osaka", "content": "Kyoto"})
        assert self.mentions(store) == {("b", "a")}
        put(store, {"id": "a", "title": "Osaka"})
        assert self.mentions(store) == set()
        put(store, {"id": "a", "title": "Kyoto", "content": "Osaka"})
        assert self.mentions(store) == {("b", "a"), ("a", "b")}
        put(store, {"id": "a", "title": "Osaka"}, {"id": "b", "title": "Kyoto"})
        assert self.mentions(store) == set()
        put(store, {"id": "b", "tags": ["x"], "importance": 1, "metadata": {"a": 1}})
        put(store, {"id": "c", "content": "Osaka and Kyoto"})
        assert self.mentions(store) == {("c", "a"), ("c", "b")}
        store.delete(["a"], namespace=NAMESPACE)
        assert self.mentions(store) == {("c", "b")}
        store.delete(["c"], namespace=NAMESPACE)
        assert self.mentions(store) == set()
        assert not any(finding.problem for finding in store.check())

    def test_documents_mention_titles(self, store: Store) -> None:
        def write(*titles: str) -> None:
            drafts = [draft_of({"id": title, "path": title, "title": title, "content": "Kyoto"}) for title in titles]
            store.write_documents([Document("/vault", "a.md", str(titles), drafts)], namespace=NAMESPACE)

        write("Kyoto", "Osaka")
        assert self.mentions(store) == {("Osaka", "Kyoto")}
        write("Osaka", "Nara")
        assert self.mentions(store) == set()
        write("Kyoto", "Nara")
        assert self.mentions(store) == {("Nara", "Kyoto")}
        store.remove_documents("/vault", ["a.md"], namespace=NAMESPACE)
        assert not any(finding.problem for finding in store.check())

    def test_mentions_do_not_cross_namespaces(self, store: Store) -> None:
        put(store, {"id": "a", "title": "Kyoto", "content": "x", "namespace": "alice"})
        put(store, {"id": "b", "content": "to Kyoto", "namespace": "bob", "metadata": {"entities": ["x"]}})
        put(store, {"id": "a", "content": "x", "namespace": "carol", "metadata": {"entities": ["x"]}})
        for name in ("alice", "bob", "carol"):
            assert store.edges(["a", "b"], namespace=name) == []

    def test_neighbours_show_mentions_and_entities(self, store: Store) -> None:
        put(store, {"id": "a", "title": "Kyoto", "content": "x", "metadata": {"entities": ["Japan"]}})
        put(store, {"id": "b", "content": "to Kyoto", "links": ["a"], "metadata": {"entities": [" JAPAN"]}})
        put(store, {"id": "c", "content": "x", "metadata": {"entities": ["Japan", 7, None, "", ["Kyoto"]]}})
        neighbours = [
            (neighbour.note.id, neighbour.kind, neighbour.direction)
            for neighbour in store.neighbours("a", namespace=NAMESPACE)
        ]
        assert neighbours == [
            ("b", "related", "in"),
            ("b", "mention", "in"),
            ("b", "entity", "out"),
            ("c", "entity", "out"),
        ]

    def test_repair_keeps_mentions_and_entities(self, store: Store) -> None:
        put(store, {"id": "a", "title": "Kyoto", "content": "x", "metadata": {"entities": ["Japan"]}})
        put(store, {"id": "b", "content": "to Kyoto", "metadata": {"entities": ["Japan"]}})
        before = store.edges(["a", "b"], namespace=NAMESPACE)
        assert len(before) == 4
        store.repair()
        assert store.edges(["a", "b"], namespace=NAMESPACE) == before


class TestEntities:
    @pytest.mark.parametrize("entities", ["Ines", {"a": "Ines"}, 7, None, [7, ["Ines"], {"Ines": 1}], ["", " "]])
    def test_invalid_entities_are_ignored(self, store: Store, entities: Any) -> None:
        put(store, {"id": "a", "content": "x", "metadata": {"entities": ["Ines"]}})
        put(store, {"id": "b", "content": "x", "metadata": {"entities": entities, "more": {"entities": ["Ines"]}}})
        assert store.edges(["a", "b"], namespace=NAMESPACE) == []

    def test_entity_edges_after_changes(self, store: Store) -> None:
        put(store, *({"id": name, "content": "x", "metadata": {"entities": ["Ines  Weber", name]}} for name in "abc"))
        expected = [Edge(source, target, "entity", "out") for source in "abc" for target in "abc" if source != target]
        assert store.edges(["a", "b", "c"], namespace=NAMESPACE) == expected
        put(store, {"id": "b", "metadata": {"entities": ["C", "ines weber\n"]}})
        assert store.edges(["a", "b", "c"], namespace=NAMESPACE) == expected
        put(store, {"id": "b", "metadata": {}})
        assert store.edges(["a", "b"], namespace=NAMESPACE) == [Edge("a", "c", "entity", "out")]
        store.delete(["c"], namespace=NAMESPACE)
        assert store.edges(["a", "b"], namespace=NAMESPACE) == []
        assert not any(finding.problem for finding in store.check())

    def test_common_entity_has_no_edges(self, store: Store) -> None:
        put(store, *({"id": f"{n}", "content": "x", "metadata": {"entities": ["Ines"]}} for n in range(64)))
        assert len(store.edges(["0"], namespace=NAMESPACE)) == 63
        put(store, {"id": "one more", "content": "x", "metadata": {"entities": ["ines"]}})
        assert store.edges(["0"], namespace=NAMESPACE) == []


class TestCandidates:
    def test_every_search_returns_tags_and_metadata(self, store: Store) -> None:
        metadata = {"author": "Ines", "pages": [1, {"ä": None}], "nul": "a\0b"}
        put(
            store,
            {"id": "a", "path": "tea.md", "content": "green tea", "tags": ["drinks", "two words"], "vector": [1, 0]},
            {"id": "b", "path": "milk.md", "content": "milk", "vector": [0, 1]},
            {"id": "a", "metadata": metadata},
        )
        query, vector = parse("tea milk"), np.array([1, 1], np.float32)
        searches = (
            store.search_text(query, 5, namespace=NAMESPACE, filters=EVERYTHING),
            store.search_text(parse('"green tea" OR milk'), 5, namespace=NAMESPACE, filters=EVERYTHING),
            store.search_vectors(vector, 5, namespace=NAMESPACE, filters=EVERYTHING),
            store.candidates(["a", "b"], namespace=NAMESPACE, filters=EVERYTHING),
            store.search_names(["tea", "milk"], 5, namespace=NAMESPACE, filters=EVERYTHING),
        )
        for results in searches:
            stored = {candidate.id: (candidate.tags, dict(candidate.metadata)) for candidate in results}
            assert stored == {"a": (("drinks", "two words"), metadata), "b": ((), {})}

    def test_candidates_keep_the_order_of_ids(self, store: Store) -> None:
        put(store, {"id": "1", "path": "p", "content": "green tea", "title": "Tea", "session": "s", "position": 3})
        put(store, {"id": "2", "content": "black tea"}, {"id": "3", "content": "milk", "namespace": "alice"})
        results = store.candidates(["2", "p", "nowhere", "1", "3", "2"], namespace=NAMESPACE, filters=EVERYTHING)
        assert [candidate.id for candidate in results] == ["2", "1"]
        first = results[1]
        assert (first.path, first.title, first.content, first.session, first.position) == (
            "p",
            "Tea",
            "green tea",
            "s",
            3,
        )
        assert (first.lexical_rank, first.vector_rank) == (None, None)
        assert store.candidates(["1"], namespace="nowhere", filters=EVERYTHING) == []
        assert store.candidates([], namespace=NAMESPACE, filters=EVERYTHING) == []

    def test_candidates_with_filters_and_exclusions(self, store: Store) -> None:
        put(store, *({"id": text, "content": text, "tags": [text[0]]} for text in ("green tea", "black tea", "milk")))
        ids = ["milk", "green tea", "black tea"]

        def matching(query: str, **conditions: Any) -> list[str]:
            filters = Filters.of(conditions)
            return [
                candidate.id
                for candidate in store.candidates(ids, namespace=NAMESPACE, filters=filters, exclusions=parse(query))
            ]

        assert matching("tea") == ids
        assert matching("x NOT tea") == ["milk"]
        assert matching("NOT green NOT milk") == ["black tea"]
        assert matching("x", tags=["g"]) == ["green tea"]
        assert matching("NOT tea", tags=["g"]) == []


class TestDocuments:
    def test_document_replaces_all_its_notes(self, store: Store) -> None:
        def write(fingerprint: str, *contents: str, **fields: Any) -> WriteCounts:
            drafts = [draft_of({"path": f"a#{n}", "content": text, **fields}) for n, text in enumerate(contents)]
            return store.write_documents([Document("/vault", "a.md", fingerprint, drafts)], namespace=NAMESPACE).counts

        assert write("1", "one", "two", tags=["x"]) == WriteCounts(added=2)
        assert store.documents("/vault", namespace=NAMESPACE) == {"a.md": "1"}
        assert write("2", "one", "two", tags=["x"]) == WriteCounts(unchanged=2)
        assert write("3", "one") == WriteCounts(updated=1, removed=1)
        (note,) = store.notes()
        assert (note.content, note.tags) == ("one", ())
        assert store.documents("/vault", namespace=NAMESPACE) == {"a.md": "3"}
        assert store.documents("/vault", namespace="other") == store.documents("/else", namespace=NAMESPACE) == {}
        assert store.remove_documents("/vault", ["a.md", "never there"], namespace=NAMESPACE) == 1
        assert store.remove_documents("/vault", ["a.md"], namespace="nowhere") == 0
        assert list(store.notes()) == []
        assert store.documents("/vault", namespace=NAMESPACE) == {}
        assert store.write_documents([], namespace=NAMESPACE).counts == WriteCounts()

    def test_path_of_another_document_is_refused(self, store: Store) -> None:
        def document(root: str, content: str) -> list[Document]:
            return [Document(root, "a.md", "1", [draft_of({"path": "a", "content": content})])]

        store.write_documents(document("/one", "x"), namespace=NAMESPACE)
        with pytest.raises(
            IngestError, match="^a is the path of a note from /one/a.md; ingest with a prefix, or adopt"
        ):
            store.write_documents(document("/two", "y"), namespace=NAMESPACE)
        assert store.documents("/two", namespace=NAMESPACE) == {}
        assert store.write_documents(document("/two", "x"), namespace=NAMESPACE).counts == WriteCounts(updated=1)
        assert store.write_documents(document("/three", "z"), namespace=NAMESPACE, adopt=True).counts == WriteCounts(
            updated=1
        )
        assert store.remove_documents("/one", ["a.md"], namespace=NAMESPACE) == 0
        assert store.remove_documents("/three", ["a.md"], namespace=NAMESPACE) == 1

    @pytest.mark.parametrize("order", [1, -1])
    def test_note_moves_between_documents(self, store: Store, order: int) -> None:
        def write(**notes: list[str]) -> WriteCounts:
            documents = [
                Document("/r", name, str(notes), [draft_of({"path": path, "content": path}) for path in paths])
                for name, paths in list(notes.items())[::order]
            ]
            return store.write_documents(documents, namespace=NAMESPACE).counts

        write(a=["1"], b=["2", "moves"])
        (moving,) = store.get(["moves"], namespace=NAMESPACE)
        assert moving is not None
        assert write(a=["1", "moves"], b=["2"]).removed == 0
        assert store.get([moving.id], namespace=NAMESPACE) == [moving]
        store.remove_documents("/r", ["b"], namespace=NAMESPACE)
        assert {note.path for note in store.notes()} == {"1", "moves"}

    def test_duplicate_document_is_written_once(self, store: Store) -> None:
        def document(path: str) -> Document:
            return Document("/r", "a", path, [draft_of({"path": path, "content": path})])

        store.write_documents([document("x")], namespace=NAMESPACE)
        store.write_documents([document("x"), document("y")], namespace=NAMESPACE)
        assert [note.path for note in store.notes()] == ["y"]
        assert not any(finding.problem for finding in store.check())

    def test_documents_replace_other_notes_only_if_adopted(self, store: Store) -> None:
        (note,) = put(store, {"path": "a", "content": "x", "tags": ["mine"]})
        document = Document("/one", "a.md", "1", [draft_of({"path": "a", "content": "y"})])
        with pytest.raises(IngestError, match="^a is the path of a note from another source; ingest with a prefix"):
            store.write_documents([document], namespace=NAMESPACE)
        assert store.get(["a"], namespace=NAMESPACE) == [note]
        store.write_documents([document], namespace=NAMESPACE, adopt=True)
        assert store.remove_documents("/one", ["a.md"], namespace=NAMESPACE) == 1
        assert store.get([note.id], namespace=NAMESPACE) == [None]

    def test_document_records_list_notes(self, store: Store) -> None:
        def document(name: str, *paths: str) -> Document:
            return Document("/vault", name, f"of {name}", [draft_of({"path": path, "content": path}) for path in paths])

        store.write_documents([document("a.md", "a#1", "a#2"), document("empty.md")], namespace=NAMESPACE)
        store.write_documents([document("b.md", "b")], namespace="work")
        put(store, "by hand")
        ids = {note.path: note.id for note in store.notes()}
        vault = [
            DocumentRecord(NAMESPACE, "/vault", "a.md", "of a.md", (ids["a#1"], ids["a#2"])),
            DocumentRecord(NAMESPACE, "/vault", "empty.md", "of empty.md", ()),
        ]
        assert sorted(store.document_records(namespace=NAMESPACE)) == vault
        assert sorted(store.document_records()) == [
            *vault,
            DocumentRecord("work", "/vault", "b.md", "of b.md", (ids["b"],)),
        ]
        assert list(store.document_records(namespace="nowhere")) == []

    def test_document_records_of_many_documents(self, store: Store) -> None:
        names = [f"{number:03}.md" for number in range(300)]
        store.write_documents([Document("/vault", name, "1", []) for name in names], namespace=NAMESPACE)
        assert sorted(record.name for record in store.document_records()) == names

    def test_set_document_notes_does_not_change_notes(self, store: Store) -> None:
        notes = put(store, {"path": "a", "content": "x", "vector": [1, 0]}, {"path": "b", "content": "y"})
        put(store, {"id": notes[0].id, "content": "elsewhere", "namespace": "work"})
        record = DocumentRecord(NAMESPACE, "/vault", "a.md", "1", (notes[0].id, notes[1].id, "nobody"))
        store.set_document_notes([record, DocumentRecord("new", "/vault", "a.md", "2", ())])
        assert list(store.document_records(namespace=NAMESPACE)) == [record._replace(notes=record.notes[:2])]
        assert store.documents("/vault", namespace="new") == {"a.md": "2"}
        assert list(store.document_records(namespace="work")) == []
        assert store.get(["a", "b"], namespace=NAMESPACE) == notes
        assert nearest(store, [1, 0]) == ["a"]
        drafts = [draft_of({"path": path, "content": text}) for path, text in (("a", "x"), ("b", "new"))]
        written = store.write_documents([Document("/vault", "a.md", "3", drafts)], namespace=NAMESPACE).counts
        assert written == WriteCounts(updated=1, unchanged=1)

    def test_set_document_notes_moves_notes(self, store: Store) -> None:
        first, second = (note.id for note in put(store, {"path": "a", "content": "x"}, {"path": "b", "content": "y"}))
        old, new = (
            DocumentRecord(NAMESPACE, "/vault", "old.md", "1", (first, second)),
            DocumentRecord(NAMESPACE, "/vault", "new.md", "1", (first,)),
        )
        store.set_document_notes([old])
        store.set_document_notes([new])
        assert {record.name: record.notes for record in store.document_records()} == {
            "old.md": (second,),
            "new.md": (first,),
        }
        store.set_document_notes([old._replace(notes=(), fingerprint="2")])
        assert store.documents("/vault", namespace=NAMESPACE) == {"old.md": "2", "new.md": "1"}
        assert store.remove_documents("/vault", ["old.md"], namespace=NAMESPACE) == 0
        assert store.remove_documents("/vault", ["new.md"], namespace=NAMESPACE) == 1
        assert [note.path for note in store.notes()] == ["b"]

    def test_document_notes_without_vectors_are_pending(self, store: Store) -> None:
        document = Document("/one", "a.md", "1", [draft_of({"path": "a", "content": "x"})])
        counts, pending = store.write_documents([document], namespace=NAMESPACE, model=TINY)
        assert counts == WriteCounts(added=1)
        assert [note.text for note in pending] == ["x"]
        assert store.documents("/one", namespace=NAMESPACE) == {"a.md": "1"}


class TestMaintenance:
    def test_check_and_repair_of_healthy_store(self, store: Store) -> None:
        put(store, {"path": "a", "content": "tea", "vector": [1, 0], "links": ["b"], "namespace": "alice"})
        for findings in (store.check(), store.repair()):
            assert findings
            assert not any(finding.problem for finding in findings)
        assert search(store, "tea", namespace="alice") == nearest(store, [1, 0], namespace="alice") == ["a"]

    def test_stats_count(self, store: Store) -> None:
        put(store, "one", {"content": "two", "vector": [1, 0]}, {"content": "three", "namespace": "alice"})
        stats = store.stats()
        assert stats.notes == {"alice": 1, "default": 2}
        assert stats.vectors == {"given": 1}
        assert stats.model == Model("given", 2)
        assert stats.bytes > 0

    def test_backup_does_not_overwrite(self, store: Store, tmp_path: Path) -> None:
        put(store, {"path": "a", "content": "tea"})
        target = tmp_path / "copy"
        store.backup(target)
        with pytest.raises(ArgumentError, match="^target: .*copy exists; choose another name"):
            store.backup(target)
        store.backup(target, overwrite=True)
        assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []

    def test_closed_store_raises(self, store: Store) -> None:
        put(store, "one")
        store.close()
        store.close()
        with pytest.raises(StoreError, match="is closed; open it again to use it"):
            list(store.notes())
        with pytest.raises(StoreError, match="is closed"):
            put(store, "two")
