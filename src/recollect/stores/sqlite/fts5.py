"""FTS5: render queries as MATCH expressions, and rank notes by its BM25.

Every term is quoted, so that an expression is valid for any text that a user types.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence

import apsw

from recollect.model import Candidate, Filters
from recollect.query import Query, exclusion, expression, render
from recollect.query.expressions import Semantics
from recollect.query.parser import Kind
from recollect.stores.base import FIELD_WEIGHTS
from recollect.stores.rows import CANDIDATE_COLUMNS, candidate_of
from recollect.stores.sqlite.filters import filter_conditions
from recollect.stores.sqlite.transaction import hides_notes

_WEIGHTS = ", ".join(map(str, FIELD_WEIGHTS.values()))


def render_fts5(query: Query, semantics: Semantics = "strict") -> str:
    """Return the FTS5 expression of ``query``: valid for any text, empty if nothing can match.

    >>> from recollect.query import expand_aliases, parse
    >>> render_fts5(expand_aliases(parse("foo NOT bar"), {"bar": ["x one", "y"]}), "literal")
    '"foo" NOT ("x one" OR "y")'
    >>> render_fts5(parse("foo OR bar NOT baz"))
    '("foo" OR "bar") NOT "baz"'
    >>> render_fts5(parse("notes of 2026-04-04"))
    '"notes" OR "2026 04 04"'
    """
    node = expression(query, semantics)
    return "" if node is None else render(node, _Fts5()).removeprefix("(").removesuffix(")")


def render_fts5_exclusion(query: Query) -> str:
    """Return the FTS5 expression of the terms that ``query`` excludes; empty if it excludes none.

    >>> from recollect.query import parse
    >>> render_fts5_exclusion(parse("deploy NOT friday NOT eve*"))
    '"friday" OR "eve" *'
    """
    node = exclusion(query)
    return "" if node is None else render(node, _Fts5()).removeprefix("(").removesuffix(")")


_CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class _Fts5:
    """Renders nodes in FTS5 syntax; parenthesises every compound node."""

    def match(self, kind: Kind, text: str) -> str:
        quoted = _CONTROL_CHARACTERS.sub(" ", text).replace('"', '""')
        return f'"{quoted}" *' if kind == "prefix" else f'"{quoted}"'

    def any_of(self, parts: Sequence[str]) -> str:
        return f"({' OR '.join(parts)})"

    def all_of(self, parts: Sequence[str]) -> str:
        return f"({' AND '.join(parts)})"

    def without(self, wanted: str, excluded: str) -> str:
        return f"({wanted} NOT {excluded})"


def search_fts5(
    connection: apsw.Connection, namespace: int, expression: str, limit: int, filters: Filters
) -> list[Candidate]:
    """Return the best notes by BM25 for an FTS5 expression; ties by path, then id.

    The rows of notes are only read for those that score no worse than the last that counts.
    """
    conditions, values = filter_conditions(filters)
    restricted = conditions or hides_notes(connection)
    table = f"words_{namespace}"
    joined = f"JOIN notes AS n ON n.key = {table}.rowid" if restricted else ""
    rows = connection.execute(
        f"""
        WITH matches AS MATERIALIZED (
            SELECT {table}.rowid AS note, bm25({table}, {_WEIGHTS}) AS score
            FROM {table} {joined} WHERE {table} MATCH ? {conditions}
        ),
        edge AS (SELECT score FROM matches ORDER BY score LIMIT 1 OFFSET ?)
        SELECT score, {CANDIDATE_COLUMNS} FROM matches JOIN notes ON key = note
        WHERE score <= coalesce((SELECT score FROM edge), score)
        ORDER BY score, coalesce(path, ''), id LIMIT ?
        """,  # noqa: S608 (the table's name ends in a number)
        (expression, *values, limit - 1, limit),
    )
    candidates = []
    for rank, (score, *row) in enumerate(rows, start=1):
        candidate = candidate_of(row)
        candidate.lexical_rank = rank
        candidate.lexical_score = candidate.score = -score  # FTS5 returns negative scores, so that the best sort first
        candidates.append(candidate)
    return candidates


def fts5_scores(
    connection: apsw.Connection, namespace: int, expression: str, keys: Collection[int]
) -> dict[int, float]:
    """Return the scores that ``search_fts5`` gives the notes with these keys; those that do not match have none."""
    table = f"words_{namespace}"
    # Without the plus sign FTS5 would run the whole query again for each row.
    rows = connection.execute(
        f"SELECT rowid, bm25({table}, {_WEIGHTS}) FROM {table} "  # noqa: S608 (as above)
        f"WHERE {table} MATCH ? AND +rowid IN (SELECT value FROM json_each(?))",
        (expression, json.dumps(list(keys))),
    )
    return {key: -score for key, score in rows}
