"""The same notes in FTS5 and in PostgreSQL, for tests that compare the two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import apsw
from hypothesis import strategies as st

from recollect.query import Query, expand_aliases, normalise, parse
from recollect.query.expressions import AllOf, AnyOf, Except, Expression, Match
from recollect.stores.postgres.postings import TextChange, index_notes
from recollect.stores.postgres.text import escape
from recollect.stores.postgres.transaction import PostgresTransaction
from tests.strategies import query_text

__all__ = ["NAMESPACE", "NOTES", "expressions", "fts5", "queries", "with_unique_path", "write_notes"]

NAMESPACE = 7

_WORDS = (
    "tea green teas brewing brew café cafe o'neil node.js nodejs 2026-04-04 running run runs it's foo:* (bar) 'quoted' "
    "back\\slash semi;colon a&b c|d !x <-> \U0001f375 日本 İstanbul ß STRASSE x\u0301y 42 ERR_42 AND OR NOT"
).split()


def _notes() -> list[list[str]]:
    """Return notes of five fields in which words have many different neighbours."""
    notes = []
    for number in range(150):
        steps, lengths = number % 5 + 1, [(number * step) % 6 for step in (1, 2, 3, 5, 7)]
        words = [
            [_WORDS[(number * 7 + position * steps) % len(_WORDS)] for position in range(length)] for length in lengths
        ]
        notes.append([" ".join(field) for field in words])
    notes.append(["", "z" * 40_000 + " tail", "", "", "y" * 2500])
    return notes


NOTES = _notes()


def fts5(notes: Sequence[Sequence[str]] = NOTES) -> apsw.Connection:
    """Return a connection with the notes in the FTS5 table ``w``, as the SQLite store indexes them."""
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE w USING fts5 (a, b, c, d, e, tokenize = 'porter unicode61')")
    connection.executemany(
        "INSERT INTO w (rowid, a, b, c, d, e) VALUES (?, ?, ?, ?, ?, ?)",
        [(key, *map(normalise, with_unique_path(key, fields))) for key, fields in enumerate(notes, start=1)],
    )
    return connection


def write_notes(
    transaction: PostgresTransaction, notes: Mapping[int, Sequence[str]], *, highest_keys: bool = True
) -> None:
    """Write notes with their tsvectors and postings, as a store does."""
    (namespace,) = transaction.namespaces.values()
    for key, fields in notes.items():
        transaction.connection.execute(
            "INSERT INTO notes (key, namespace, id, importance, created_at, updated_at, metadata, "
            "path, title, summary, tags, content) VALUES (%s, %s, %s, 0.5, 0, 0, '{}', %s, %s, %s, %s, %s)",
            [key, namespace, str(key), with_unique_path(key, fields)[0] or None, *map(escape, fields[1:])],
        )
    changes = [TextChange(key, None, with_unique_path(key, fields)) for key, fields in notes.items()]
    index_notes(transaction.connection, namespace, changes, first_new_key=min(notes) if highest_keys else None)


def with_unique_path(key: int, fields: Sequence[str]) -> list[str]:
    """Return the fields with the note's key in the path, because paths are unique."""
    return [f"{fields[0]} {key}" if fields[0] else "", *fields[1:]]


_leaf = st.builds(
    Match,
    st.sampled_from(["term", "phrase", "prefix"]),
    st.one_of(
        st.sampled_from(["tea", "brew", "cafe", "run", "no", "2026 04", "?!", "y" * 2500, "y" * 900, "o'neil", "日"]),
        st.lists(st.sampled_from(_WORDS), max_size=3).map(" ".join),
    ),
)
expressions: st.SearchStrategy[Expression] = st.recursive(
    _leaf,
    lambda parts: st.one_of(
        st.lists(parts, min_size=1, max_size=4).map(lambda nodes: AnyOf(tuple(nodes))),
        st.lists(parts, min_size=1, max_size=3).map(lambda nodes: AllOf(tuple(nodes))),
        st.builds(Except, parts, parts),
    ),
    max_leaves=8,
)
"""Any tree, also those that no query is parsed to."""

_pieces = [
    *_WORDS,
    *"NOT AND OR \" * tea* bre* nod* 202* ' \\ ':* \x00 | & ! '' :: %s $1 \ud800".split(" "),
    "y" * 990 + "*",
]
_pieces += ['"green tea"', '"tea green', '"run running"*', '"o\'neil"']


def _query(text: str, aliases: bool) -> Query:
    return expand_aliases(parse(text), {"tea": ["green brew", "cafe"], "run": ["42"]}) if aliases else parse(text)


queries = st.builds(
    _query, st.one_of(st.lists(st.sampled_from(_pieces), max_size=8).map(" ".join), query_text), st.booleans()
)
"""Queries with words of the notes, and queries that try to escape from quotes."""
