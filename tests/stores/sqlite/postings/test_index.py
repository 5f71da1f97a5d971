"""Posting lists answer as FTS5 does, to the last bit, whatever was written since they were made."""

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
from recollect.stores.sqlite import searching
from recollect.stores.sqlite.fts5 import render_fts5
from recollect.stores.sqlite.postings import building, index, merging, ranking
from recollect.stores.sqlite.store import SQLiteStore

WORDS = [f"{first}{second}o" for first in "bdfgk" for second in ("a", "e", "i", "u", "al", "el")]
CHANCES = [1 / (place + 1) for place in range(len(WORDS))]
CASES = settings().max_examples
EVERYTHING = Filters()


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let lists be worth their while from the first note on, and what comes at once be little."""
    monkeypatch.setattr(index, "LEAST_NOTES", 1)
    monkeypatch.setattr(building, "PART_NOTES", 30)
    monkeypatch.setattr(merging, "AT_ONCE", 50)
    monkeypatch.setattr(ranking, "AT_ONCE", 20)


def text(chance: random.Random, most: int = 25) -> str:
    return " ".join(chance.choices(WORDS, CHANCES, k=chance.randint(0, most)))


def draft(chance: random.Random, **given: Any) -> dict[str, Any]:
    return {"content": text(chance), "title": text(chance, 3), "tags": chance.choices(WORDS, k=1), **given}


def renewed(store: SQLiteStore) -> None:
    store._indexes.postings(1).renew(lambda: False)


def both(store: SQLiteStore, query: Query, limit: int, filters: Filters = EVERYTHING) -> tuple[list[Any], list[Any]]:
    """Return what the store finds, and what FTS5 does."""
    ours = store.search_text(query, limit, namespace="default", filters=filters)
    with store._reading() as connection:
        theirs = searching.search_words(connection, 1, render_fts5(query), limit, filters)
    return [[(each.id, each.score, each.lexical_rank) for each in found] for found in (ours, theirs)]  # type: ignore[return-value]


def test_a_note_written_after_the_last_ones_were_deleted_is_found(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "memory.db")) as store:
        store.write([{"id": f"n{place}", "content": "tea"} for place in range(12)])
        renewed(store)
        store.delete(["n10"], namespace="default")
        renewed(store)
        store.delete(["n11"], namespace="default")
        store.write([{"id": "new", "content": "milk"}])
        renewed(store)
        found = store.search_text(parse("milk"), 10, namespace="default", filters=EVERYTHING)
        assert [each.id for each in found] == ["new"]


def test_a_snapshot_whose_notes_are_all_deleted_gives_no_scores(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "memory.db")) as store:
        store.write([{"id": "n1", "content": "milk"}])
        renewed(store)
        assert store.text_scores(parse("milk"), ["n1"], namespace="default").keys() == {"n1"}
        store.delete(["n1"], namespace="default")
        assert store.text_scores(parse("milk"), ["n1"], namespace="default") == {}
        store.write([{"id": "n2", "content": "?"}])
        assert store.text_scores(parse("milk"), ["n2"], namespace="default") == {}


@settings(max_examples=CASES // 4)
@given(st.integers(0, 10**9))
def test_any_history_is_searched_as_by_fts5(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 (to be repeated)
    path = tmp_path_factory.mktemp("postings") / "memory.db"
    with closing(SQLiteStore(path)) as store:
        store.write([draft(chance, id=f"n{place}") for place in range(chance.randint(1, 120))])
        renewed(store)
        for _ in range(4):
            for _ in range(5):
                query = parse(" ".join(chance.choices(WORDS, k=chance.randint(1, 6))))
                filters = chance.choice([EVERYTHING, EVERYTHING, Filters(tags=(chance.choice(WORDS[:9]),))])
                ours, theirs = both(store, query, chance.choice([1, 3, 10, 200]), filters)
                assert ours == theirs
            _check_scores(store, parse(" ".join(chance.choices(WORDS, k=chance.randint(1, 6)))))
            counts = store.note_counts([parse(word) for word in WORDS[:3]], namespace="default")
            assert counts == _counted(store, WORDS[:3])
            assert store._indexes.postings(1)._state is not None
            store.delete([f"n{chance.randint(0, 120)}" for _ in range(chance.randint(0, 9))], namespace="default")
            if chance.random() < 0.5:  # the last of all: its key is used again
                last = list(store.notes())[-1:]
                store.delete([note.id for note in last], namespace="default")
                both(store, parse(WORDS[0]), 3)
            store.write([draft(chance, id=f"n{chance.randint(0, 120)}") for _ in range(chance.randint(0, 6))])
            if chance.random() < 0.3:
                renewed(store)


def _check_scores(store: SQLiteStore, query: Query) -> None:
    """Check that the scores of all notes are those of FTS5, whether they are there or not."""
    ids = [f"n{place}" for place in range(130)]
    with store._reading() as connection:
        theirs = searching.fts5_scores(connection, 1, render_fts5(query), ids)
    assert store.text_scores(query, ids, namespace="default") == theirs
    assert theirs == {
        each.id: each.lexical_score for each in store.search_text(query, 1000, namespace="default", filters=EVERYTHING)
    }


def _counted(store: SQLiteStore, words: list[str]) -> tuple[int, list[int]]:
    with store._reading() as connection:
        counts = store._counts.at(connection, 1)
        return counts.notes, [counts.of(connection, render_fts5(parse(word))) for word in words]
