"""Posting lists return the scores of FTS5, bit for bit, whatever was written since the snapshot."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.model import Filters
from recollect.query import Query, parse
from recollect.stores.sqlite import posting_index, posting_lists
from recollect.stores.sqlite.search import NamespaceSearch, render_fts5
from recollect.stores.sqlite.store import SQLiteStore
from recollect.stores.sqlite.transaction import SqliteTransaction

WORDS = [f"{first}{second}o" for first in "bdfgk" for second in ("a", "e", "i", "u", "al", "el")]
FREQUENCIES = [1 / (rank + 1) for rank in range(len(WORDS))]
CASES = settings().max_examples
EVERYTHING = Filters()


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build posting lists from the first note on, in small parts."""
    monkeypatch.setattr(posting_index.PostingsIndex, "min_rows", 1)
    monkeypatch.setattr(posting_lists, "PART_NOTES", 30)
    monkeypatch.setattr(posting_lists, "COPY_POSTINGS", 50)
    monkeypatch.setattr(posting_lists, "FIRST_POSTINGS", 20)


def text(rng: random.Random, max_words: int = 25) -> str:
    return " ".join(rng.choices(WORDS, FREQUENCIES, k=rng.randint(0, max_words)))


def draft(rng: random.Random, **fields: Any) -> dict[str, Any]:
    return {"content": text(rng), "title": text(rng, 3), "tags": rng.choices(WORDS, k=1), **fields}


def write_snapshot(store: SQLiteStore) -> None:
    store._indexes.postings(1).write_snapshot(lambda: False)


def store_and_fts5_results(
    store: SQLiteStore, query: Query, limit: int, filters: Filters = EVERYTHING
) -> tuple[list[Any], list[Any]]:
    """Return the results of the store and those of FTS5."""
    ours = store.search_text(query, limit, namespace="default", filters=filters)
    with store._connections.reading() as connection:
        expected = NamespaceSearch(connection, store._indexes, 1).search_fts5(render_fts5(query), limit, filters)
    return [
        [(candidate.id, candidate.score, candidate.lexical_rank) for candidate in results]
        for results in (ours, expected)
    ]  # type: ignore[return-value]


def test_search_finds_a_note_that_reuses_a_deleted_key(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "memory.db")) as store:
        store.write([{"id": f"n{number}", "content": "tea"} for number in range(12)])
        write_snapshot(store)
        store.delete(["n10"], namespace="default")
        write_snapshot(store)
        store.delete(["n11"], namespace="default")
        store.write([{"id": "new", "content": "milk"}])
        write_snapshot(store)
        results = store.search_text(parse("milk"), 10, namespace="default", filters=EVERYTHING)
        assert [candidate.id for candidate in results] == ["new"]


def test_no_scores_after_all_notes_were_deleted(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "memory.db")) as store:
        store.write([{"id": "n1", "content": "milk"}])
        write_snapshot(store)
        assert store.text_scores(parse("milk"), ["n1"], namespace="default").keys() == {"n1"}
        store.delete(["n1"], namespace="default")
        assert store.text_scores(parse("milk"), ["n1"], namespace="default") == {}
        store.write([{"id": "n2", "content": "?"}])
        assert store.text_scores(parse("milk"), ["n2"], namespace="default") == {}


@settings(max_examples=CASES // 4)
@given(st.integers(0, 10**9))
def test_any_history_gives_the_scores_of_fts5(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 (reproducible)
    path = tmp_path_factory.mktemp("postings") / "memory.db"
    with closing(SQLiteStore(path)) as store:
        store.write([draft(rng, id=f"n{number}") for number in range(rng.randint(1, 120))])
        write_snapshot(store)
        for _ in range(4):
            for _ in range(5):
                query = parse(" ".join(rng.choices(WORDS, k=rng.randint(1, 6))))
                filters = rng.choice([EVERYTHING, EVERYTHING, Filters(tags=(rng.choice(WORDS[:9]),))])
                ours, expected = store_and_fts5_results(store, query, rng.choice([1, 3, 10, 200]), filters)
                assert ours == expected
            _check_scores(store, parse(" ".join(rng.choices(WORDS, k=rng.randint(1, 6)))))
            counts = store.note_counts([parse(word) for word in WORDS[:3]], namespace="default")
            assert counts == _fts5_counts(store, WORDS[:3])
            assert store._indexes.postings(1)._view is not None
            store.delete([f"n{rng.randint(0, 120)}" for _ in range(rng.randint(0, 9))], namespace="default")
            if rng.random() < 0.5:  # the last note: its key is reused
                last = list(store.notes())[-1:]
                store.delete([note.id for note in last], namespace="default")
                store_and_fts5_results(store, parse(WORDS[0]), 3)
            store.write([draft(rng, id=f"n{rng.randint(0, 120)}") for _ in range(rng.randint(0, 6))])
            if rng.random() < 0.3:
                write_snapshot(store)


def _check_scores(store: SQLiteStore, query: Query) -> None:
    """Check the scores of all notes, also of ids that are not stored."""
    ids = [f"n{number}" for number in range(130)]
    with store._connections.reading() as connection:
        ids_by_key = dict(connection.execute("SELECT key, id FROM notes"))
        expected = NamespaceSearch(connection, store._indexes, 1).fts5_scores(render_fts5(query), ids_by_key)
    assert store.text_scores(query, ids, namespace="default") == expected
    assert expected == {
        candidate.id: candidate.lexical_score
        for candidate in store.search_text(query, 1000, namespace="default", filters=EVERYTHING)
    }


def _fts5_counts(store: SQLiteStore, words: list[str]) -> tuple[int, list[int]]:
    with store._connections.reading() as connection:
        counts = store._counts.get(SqliteTransaction(connection), 1)
        return NamespaceSearch(connection, store._indexes, 1).count_matches([parse(word) for word in words], counts)
