"""BM25 over the words of rows is FTS5's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.query import Query, expression, render
from recollect.query.expressions import AnyOf, Expression, Match, Reading
from recollect.query.fts5 import _Fts5
from recollect.stores.base import FIELD_WEIGHTS
from recollect.stores.changes import blank_row
from recollect.stores.milvus.scoring import Leaf, Worded, leaf_of, scored, unabridged
from recollect.stores.milvus.words import words_in, words_text
from tests.generated import MANY
from tests.stores.postgres.beside import NOTES, expressions, fts5, path_and_rest, queries
from tests.stores.postgres.test_scoring import is_scored_as_a_whole

Search = Callable[[Expression], dict[int, float]]


def worded() -> dict[int, Worded]:
    notes = {}
    for key, fields in enumerate(NOTES, start=1):
        path, title, summary, tags, content = path_and_rest(key, fields)
        row = blank_row(0)._replace(path=path or None, title=title, summary=summary, tags=tags, content=content)
        words = words_text(words_in(row))
        notes[key] = Worded(words.text if words.whole else unabridged(row), words.tokens)
    return notes


@pytest.fixture(scope="module")
def search() -> Search:
    notes = worded()
    total = sum(note.tokens for note in notes.values())

    def holding(leaf: Leaf) -> int:
        return sum(leaf.stands_in(note.words) for note in notes.values())

    def found(node: Expression) -> dict[int, float]:
        scores = scored(node, notes, holding, len(notes), total)
        return dict(zip(scores.notes.tolist(), scores.scores.tolist(), strict=True))

    return found


@pytest.fixture(scope="module")
def beside() -> Search:
    connection: apsw.Connection = fts5(NOTES)
    weights = ", ".join(map(str, FIELD_WEIGHTS.values()))
    statement = f"SELECT rowid, -bm25(w, {weights}) FROM w WHERE w MATCH ?"  # noqa: S608 (numbers of our own)

    def found(node: Expression) -> dict[int, float]:
        rows: list[Any] = connection.execute(statement, (render(node, _Fts5()),)).fetchall()
        return dict(rows)

    return found


@settings(max_examples=MANY // 40)
@given(expressions)
@example(Match("phrase", "green tea"))
@example(Match("phrase", "tea tea"))
@example(Match("prefix", "stra"))
@example(Match("prefix", "z" * 33_000))
@example(AnyOf((Match("term", "tea"), Match("term", "tea"), Match("term", "?!"))))
def test_any_tree_scores_as_in_fts5(search: Search, beside: Search, node: Expression) -> None:
    found, expected = search(node), beside(node)
    assert found.keys() == expected.keys()
    if is_scored_as_a_whole(node):
        assert found == expected


@settings(max_examples=MANY // 40)
@given(queries, st.sampled_from(["strict", "literal"]))
def test_any_query_scores_as_in_fts5(search: Search, beside: Search, query: Query, reading: Reading) -> None:
    node = expression(query, reading)
    if node is not None:
        found, expected = search(node), beside(node)
        assert found.keys() == expected.keys()
        if is_scored_as_a_whole(node):
            assert found == expected


def test_many_terms_count_as_few_do(search: Search, beside: Search) -> None:
    node = AnyOf(tuple(Match("term", word) for word in ["tea", "run", *(f"word{number}" for number in range(100))]))
    assert search(node) == beside(node)


@pytest.mark.parametrize(
    ("kind", "text", "weight"),
    [
        ("term", "teas", 3),
        ("term", "?!", 0),
        ("phrase", "tea tea", 1),
        ("phrase", "straße tea", 1),
        ("prefix", "te", 4),
        ("prefix", "stra", 2),
        ("prefix", "straß", 1),
        ("prefix", "tea te", 2),
    ],
)
def test_a_leaf_counts_as_often_as_it_stands_there(kind: Any, text: str, weight: int) -> None:
    words = " tea tea teapot . strand X73747261c39f tea "
    leaf = leaf_of(Match(kind, text))
    assert leaf.weight(words.split()) == weight
    assert leaf.stands_in(words) == bool(weight)
