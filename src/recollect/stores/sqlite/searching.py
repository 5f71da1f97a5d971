"""Both searches over one moment of the store, by words and by vectors; and candidates by their ids."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np

from recollect.model import Candidate, Filters
from recollect.stores.base import FIELD_WEIGHTS
from recollect.stores.bm25 import Scores
from recollect.stores.rows import CANDIDATE_COLUMNS, candidate_of
from recollect.stores.sqlite.filtering import condition
from recollect.stores.sqlite.postings.moment import AnyWord, Moment
from recollect.stores.sqlite.transaction import fetch, hides_notes
from recollect.stores.sqlite.vectors import VectorIndex
from recollect.stores.units import nearnesses

if TYPE_CHECKING:
    from recollect.stores.base import Model, Vector

__all__ = [
    "candidates",
    "fts5_scores",
    "postings_scores",
    "search_postings",
    "search_vectors",
    "search_words",
    "similarities",
]

WEIGHTS = ", ".join(map(str, FIELD_WEIGHTS.values()))
DEEPER = (4, 32)
"""How many times as many notes as are wanted are looked at where not all count."""


def search_postings(
    connection: apsw.Connection, moment: Moment, query: AnyWord, limit: int, filters: Filters
) -> list[Candidate] | None:
    """Return the best notes by BM25 for any of several words, as ``search_words`` does.

    With filters, some of the best of all are looked at, and then more, until enough of them pass: what passes is in the
    same order as it is among all. Where too few do, ``None`` is the answer, and the word index can tell more quickly.
    """
    conditions, values = condition(filters)
    restricted = bool(conditions) or hides_notes(connection)
    for deeper in DEEPER if restricted else (1,):
        best = moment.search(query, deeper * limit)
        scores = dict(zip(best.notes.tolist(), best.scores.tolist(), strict=True))
        rows = fetch(
            connection,
            f"SELECT n.key, {_OF_NOTES} FROM notes AS n WHERE n.key IN (SELECT value FROM json_each(?)) {conditions}",  # noqa: S608 (names of our own)
            (json.dumps(list(scores)), *values),
        )
        if len(rows) >= limit or len(scores) < deeper * limit:
            break
    else:
        return None
    found = []
    for key, *row in rows:
        candidate = candidate_of(row)
        candidate.lexical_score = candidate.score = scores[key]
        found.append(candidate)
    found.sort(key=_best_first)
    for rank, candidate in enumerate(found[:limit], start=1):
        candidate.lexical_rank = rank
    return found[:limit]


def search_words(
    connection: apsw.Connection, namespace: int, expression: str, limit: int, filters: Filters
) -> list[Candidate]:
    """Return the best notes by BM25 for an FTS5 expression.

    Only the notes that can be among the best are read: those that score no worse than the last that counts, ties
    included, because ties are settled by path and id.
    """
    conditions, values = condition(filters)
    restricted = conditions or hides_notes(connection)
    joined = f"JOIN notes AS n ON n.key = words_{namespace}.rowid" if restricted else ""
    rows = connection.execute(
        f"""
        WITH matches AS MATERIALIZED (
            SELECT words_{namespace}.rowid AS note, bm25(words_{namespace}, {WEIGHTS}) AS score
            FROM words_{namespace} {joined} WHERE words_{namespace} MATCH ? {conditions}
        ),
        edge AS (SELECT score FROM matches ORDER BY score LIMIT 1 OFFSET ?)
        SELECT score, {CANDIDATE_COLUMNS} FROM matches JOIN notes ON key = note
        WHERE score <= coalesce((SELECT score FROM edge), score)
        ORDER BY score, coalesce(path, ''), id LIMIT ?
        """,  # noqa: S608 (the table's name is a number of our own)
        (expression, *values, limit - 1, limit),
    )
    found = []
    for rank, (score, *row) in enumerate(rows, start=1):
        candidate = candidate_of(row)
        candidate.lexical_rank = rank
        # FTS5 counts downwards from zero, so that the best come first in SQL; upwards is what people expect.
        candidate.lexical_score = candidate.score = -score
        found.append(candidate)
    return found


def search_vectors(
    connection: apsw.Connection,
    index: VectorIndex,
    namespace: int,
    model: Model,
    vector: Vector,
    limit: int,
    filters: Filters,
    excluded: str = "",
) -> list[Candidate]:
    """Return the notes with the nearest vectors, exactly, as they are in a transaction that begins now.

    Those that match the FTS5 expression ``excluded`` are passed over.
    """
    view = index.view(connection)
    allowed = None
    if filters or excluded:
        conditions, values = _conditions(namespace, filters, excluded)
        keys = connection.execute(
            "SELECT v.key FROM notes AS n JOIN vectors AS v ON v.note = n.key "  # noqa: S608 (conditions of our own)
            f"WHERE n.namespace = ? {conditions} ORDER BY v.key",
            (namespace, *values),
        )
        allowed = np.fromiter((key for (key,) in keys), dtype=np.int64)
    while True:
        promising = view.nearest(vector, limit, allowed)
        alive = fetch(
            connection,
            f"SELECT v.key, v.vector, {_OF_NOTES} FROM vectors AS v JOIN notes AS n ON n.key = v.note "  # noqa: S608 (names of our own)
            "WHERE v.key IN (SELECT value FROM json_each(?)) ORDER BY v.key",
            (json.dumps(promising),),
        )
        if len(alive) == len(promising):
            break
        gone = {*promising}.difference(row[0] for row in alive)
        if gone <= view.dead:  # a snapshot says what cannot be
            view = index.anew(connection)
            continue
        index.bury(gone)
        view = view.without(gone)
    scores = nearnesses([row[1] for row in alive], model, vector.astype(np.float64))
    best = Scores(np.arange(len(alive)), scores).best(limit)
    found = []
    for place, score in zip(best.notes.tolist(), best.scores.tolist(), strict=True):
        candidate = candidate_of(alive[place][2:])
        candidate.vector_similarity = candidate.score = score
        found.append(candidate)
    found.sort(key=_best_first)
    for rank, candidate in enumerate(found[:limit], start=1):
        candidate.vector_rank = rank
    return found[:limit]


def candidates(
    connection: apsw.Connection, namespace: int, ids: Sequence[str], filters: Filters, excluded: str = ""
) -> list[Candidate]:
    """Return the notes with these ids in their order, but for those that match the FTS5 expression ``excluded``."""
    conditions, values = _conditions(namespace, filters, excluded)
    rows = connection.execute(
        f"SELECT {_OF_NOTES} FROM json_each(?) AS asked CROSS JOIN notes AS n "  # noqa: S608 (names of our own)
        f"ON n.namespace = ? AND n.id = asked.value WHERE 1 {conditions} ORDER BY asked.key",
        (json.dumps(list(dict.fromkeys(ids))), namespace, *values),
    )
    return [candidate_of(row) for row in rows]


def similarities(
    connection: apsw.Connection, namespace: int, active: tuple[int, Model], vector: Vector, ids: Sequence[str]
) -> dict[str, float]:
    """Return how near the notes with these ids are to a vector, computed as the index computes it."""
    rows = connection.execute(
        "SELECT n.id, v.vector FROM json_each(?) AS asked CROSS JOIN notes AS n "
        "ON n.namespace = ? AND n.id = asked.value JOIN vectors AS v ON v.note = n.key AND v.model = ?",
        (json.dumps(list(dict.fromkeys(ids))), namespace, active[0]),
    )
    found = list(rows)
    near = nearnesses([held for _, held in found], active[1], vector.astype(np.float64))
    return dict(zip((note for note, _ in found), near.tolist(), strict=True))


def postings_scores(
    connection: apsw.Connection, namespace: int, moment: Moment, query: AnyWord, ids: Sequence[str]
) -> dict[str, float]:
    """Return the scores that ``search_postings`` gives the notes with these ids; those that do not match have none."""
    keys = _keys_of(connection, namespace, ids)
    notes, scores = moment.scores(query, np.fromiter(keys, dtype=np.int64, count=len(keys)))
    return {keys[note]: score for note, score in zip(notes.tolist(), scores.tolist(), strict=True)}


def fts5_scores(connection: apsw.Connection, namespace: int, expression: str, ids: Sequence[str]) -> dict[str, float]:
    """Return the scores that ``search_words`` gives the notes with these ids; those that do not match have none."""
    keys = _keys_of(connection, namespace, ids)
    words = f"words_{namespace}"
    # Without the plus sign FTS5 would run the whole query again for each row.
    rows = connection.execute(
        f"SELECT rowid, bm25({words}, {WEIGHTS}) FROM {words} "  # noqa: S608 (names of our own)
        f"WHERE {words} MATCH ? AND +rowid IN (SELECT value FROM json_each(?))",
        (expression, json.dumps(list(keys))),
    )
    return {keys[key]: -score for key, score in rows}


def _keys_of(connection: apsw.Connection, namespace: int, ids: Sequence[str]) -> dict[int, str]:
    """Return the keys of the notes with these ids, each with its id."""
    rows = connection.execute(
        "SELECT n.key, n.id FROM json_each(?) AS asked CROSS JOIN notes AS n ON n.namespace = ? AND n.id = asked.value",
        (json.dumps(list(dict.fromkeys(ids))), namespace),
    )
    return dict(rows)


def _best_first(candidate: Candidate) -> tuple[float, str, str]:
    return -candidate.score, candidate.path, candidate.id


def _conditions(namespace: int, filters: Filters, excluded: str) -> tuple[str, list[Any]]:
    conditions, values = condition(filters)
    if excluded:
        words = f"words_{namespace}"
        conditions += f" AND n.key NOT IN (SELECT rowid FROM {words} WHERE {words} MATCH ?)"  # noqa: S608 (as above)
        values.append(excluded)
    return conditions, values


_OF_NOTES = ", ".join(f"n.{column}" for column in CANDIDATE_COLUMNS.split(", "))
