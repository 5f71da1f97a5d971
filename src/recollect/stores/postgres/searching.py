"""The search by words over one moment of the store; and candidates by their ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.model import Candidate, Filters
from recollect.query import Query
from recollect.query.expressions import Semantics, expression
from recollect.stores.postgres.filtering import condition, passing
from recollect.stores.postgres.score_cache import ScoreCache
from recollect.stores.postgres.scoring import Scores
from recollect.stores.postgres.text import mark
from recollect.stores.rows import CANDIDATE_COLUMNS, candidate_of

__all__ = ["OF_NOTES", "candidates", "search_words", "text_scores"]

OF_NOTES = ", ".join(f"n.{column}" for column in CANDIDATE_COLUMNS.split(", "))
"""What makes a candidate, of ``living AS n``."""

FILTERED_NOTES = 1024
"""How many of the best notes are first looked at where there are filters."""
_FURTHER = 4


def search_words(
    connection: Connection[TupleRow],
    namespace: int,
    query: Query,
    semantics: Semantics,
    limit: int,
    filters: Filters,
    cache: ScoreCache,
) -> list[Candidate]:
    """Return the best notes by BM25; ties by path, then id."""
    node = expression(query, semantics)
    if node is None:
        return []
    rows = _best(connection, cache.scores(connection, namespace, node), limit, filters)
    found = []
    for rank, (score, *row) in enumerate(rows, start=1):
        candidate = candidate_of(row)
        candidate.lexical_rank = rank
        candidate.lexical_score = candidate.score = score
        found.append(candidate)
    return found


def _best(connection: Connection[TupleRow], scores: Scores, limit: int, filters: Filters) -> list[tuple[Any, ...]]:
    """Walk down the ranking until enough notes were found that pass the filters and have not expired.

    Each step takes all notes of equal score, so that no tie is between two steps.
    """
    conditions, values = condition(filters)
    reach = max(limit, FILTERED_NOTES) if filters else limit
    found: list[tuple[Any, ...]] = []
    looked_at = 0
    while looked_at < len(scores.notes) and len(found) < limit:
        notes, points = scores.best(reach)
        found += connection.execute(
            f"SELECT found.score, {OF_NOTES} FROM unnest(%s::bigint[], %s::float8[]) AS found (key, score) "  # noqa: S608 (names of our own)
            f"JOIN living AS n ON n.key = found.key WHERE true {conditions} "
            "ORDER BY found.score DESC, coalesce(n.path, ''), n.id LIMIT %s",
            [notes[looked_at:].tolist(), points[looked_at:].tolist(), *values, limit - len(found)],
        )
        looked_at = len(notes)
        reach *= _FURTHER
    return found


def text_scores(
    connection: Connection[TupleRow],
    namespace: int,
    query: Query,
    semantics: Semantics,
    ids: Sequence[str],
    cache: ScoreCache,
) -> dict[str, float]:
    """Return the scores that ``search_words`` gives the notes with these ids; those that do not match have none."""
    node = expression(query, semantics)
    if node is None:
        return {}
    rows: list[tuple[int, str]] = connection.execute(
        "SELECT key, id FROM living WHERE namespace = %s AND id_mark = ANY (%s::bytea[]) ORDER BY key",
        [namespace, [mark(each) for each in ids]],
    ).fetchall()
    if not rows:
        return {}
    notes, scores = cache.scores(connection, namespace, node)
    keys = np.array([key for key, _ in rows], np.int64)
    _, asked, matching = np.intersect1d(keys, notes, assume_unique=True, return_indices=True)
    return {rows[row][1]: score for row, score in zip(asked.tolist(), scores[matching].tolist(), strict=True)}


def candidates(
    connection: Connection[TupleRow], namespace: int, ids: Sequence[str], filters: Filters, without: Query | None
) -> list[Candidate]:
    """Return the notes with these ids in their order, but for those that hold what ``without`` excludes."""
    conditions, values = passing(connection, namespace, filters, without)
    rows = connection.execute(
        f"SELECT {OF_NOTES} FROM living AS n "  # noqa: S608 (names of our own)
        f"WHERE n.namespace = %s AND n.id_mark = ANY (%s::bytea[]) {conditions}",
        [namespace, [mark(each) for each in ids], *values],
    )
    found = {row[0]: candidate_of(row) for row in rows}
    return [found[each] for each in dict.fromkeys(ids) if each in found]
