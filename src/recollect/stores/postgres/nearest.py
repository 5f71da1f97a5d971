"""The nearest vectors: all of a namespace are looked at, or, where they are many, those that an index leads to.

The server compares vectors in half precision. That is wrong by so little that it is known who can be among the nearest,
and these are scored again from what is stored, in float64: a score depends on the two vectors alone. A note has a row
for each piece of its text, and is as near as the nearest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.model import Candidate, Filters
from recollect.query import Query
from recollect.stores.base import Model
from recollect.stores.postgres.filtering import passing
from recollect.stores.postgres.searching import OF_NOTES
from recollect.stores.postgres.text import mark
from recollect.stores.postgres.transaction import MAX_DIMENSION
from recollect.stores.postgres.vector_index import VectorIndexes, cast
from recollect.stores.rows import candidate_of
from recollect.stores.units import nearness, rows_of

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["search_vectors", "similarities"]

ROUNDING = 0.0025
"""More than half precision can be wrong by between two products of vectors of unit length: four roundings by 2**-11."""

LARGEST_SEARCH = 1000
"""More than this an index is not asked for at once."""
READ_VECTORS = 1024


def search_vectors(
    connection: Connection[TupleRow],
    namespace: int,
    active: tuple[int, Model],
    vector: Vector,
    limit: int,
    filters: Filters,
    without: Query | None,
    indexes: VectorIndexes,
) -> list[Candidate]:
    """Return the notes with the nearest vectors to one of unit length; ties by path, then id."""
    search = _Search(connection, namespace, active, vector, passing(connection, namespace, filters, without))
    found: list[_Near] | None = None
    if breadth := indexes.serve(connection, namespace, active):
        found = search.by_index(limit, breadth)
    if found is None:
        found = search.by_all(limit) if active[1].dimension <= MAX_DIMENSION else search.by_reading()
    best = sorted(found)[:limit]
    candidates = {
        key: candidate_of(row)
        for key, *row in connection.execute(
            f"SELECT n.key, {OF_NOTES} FROM living AS n WHERE n.key = ANY (%s::bigint[])",  # noqa: S608 (names of our own)
            [[key for *_, key in best]],
        )
    }
    for rank, (farness, *_, key) in enumerate(best, start=1):
        candidates[key].vector_rank = rank
        candidates[key].vector_similarity = candidates[key].score = -farness
    return [candidates[key] for *_, key in best]


_Near = tuple[float, str, str, int]
"""A note: less its similarity, path, id and key, so that the nearest sort first."""


class _Search:
    """A search among the notes of a namespace that pass conditions."""

    def __init__(
        self,
        connection: Connection[TupleRow],
        namespace: int,
        active: tuple[int, Model],
        vector: Vector,
        conditions: tuple[str, list[Any]],
    ) -> None:
        self._connection = connection
        self._namespace = namespace
        self._key, self._model = active
        self._vector = vector
        self._conditions, self._values = conditions

    def by_all(self, limit: int) -> list[_Near]:
        """Return all that can be among the nearest, of all that pass."""
        joined, conditions = (
            ("JOIN living AS n ON n.key = v.note", self._conditions) if self._conditions else ("", _NOT_DUE)
        )
        rows = self._connection.execute(
            f"""
            WITH near AS MATERIALIZED (
                SELECT note, min(distance) AS distance FROM (
                    SELECT v.note, v.near <#> %s::halfvec AS distance FROM vectors AS v {joined}
                    WHERE v.namespace = %s AND v.model = %s {conditions} OFFSET 0  -- no vector goes on from here
                ) AS pieces GROUP BY note
            ),
            edge AS (SELECT distance FROM near ORDER BY distance LIMIT 1 OFFSET %s)
            SELECT note FROM near WHERE distance <= coalesce((SELECT distance FROM edge), 'infinity') + {ROUNDING}
            """,  # noqa: S608 (conditions and numbers of our own)
            [_literal(self._vector), self._namespace, self._key, *self._values, limit - 1],
        )
        return self._scored([note for (note,) in rows])

    def by_reading(self) -> list[_Near]:
        """Return all that pass, where vectors are so wide that the server cannot compare them."""
        rows = self._connection.execute(
            f"""
            SELECT {_SCORED} FROM living AS n JOIN vectors AS v ON v.note = n.key AND v.model = %s
            WHERE n.namespace = %s {self._conditions} GROUP BY n.key, n.path, n.id
            """,  # noqa: S608 (names and conditions of our own)
            [self._key, self._namespace, *self._values],
            binary=True,
        )
        return self._near(rows)

    def by_index(self, limit: int, breadth: int) -> list[_Near] | None:
        """Return the nearest to which an index leads, or ``None`` where too few pass: it knows no conditions."""
        wanted = max(2 * limit, breadth)
        while wanted <= LARGEST_SEARCH:
            found = self._led_to(wanted)
            if len(found) >= limit:
                return found
            wanted = 2 * wanted * limit // max(1, len(found))
        return None

    def _led_to(self, wanted: int) -> list[_Near]:
        with self._connection.pipeline():
            self._connection.execute(_BREADTH, [str(wanted)])
            led = self._connection.execute(
                leading(self._key, self._model), [self._namespace, _literal(self._vector), wanted]
            )
            self._connection.execute("SELECT set_config('enable_sort', 'on', true)")
        return self._scored([note for (note,) in led], self._conditions, self._values)

    def _scored(self, notes: Sequence[int], conditions: str = "", values: Sequence[Any] = ()) -> list[_Near]:
        """Return those of some notes that pass conditions, with what is stored of them compared."""
        rows = self._connection.execute(
            f"""
            SELECT {_SCORED} FROM living AS n JOIN vectors AS v ON v.note = n.key AND v.model = %s
            WHERE n.key = ANY (%s::bigint[]) {conditions} GROUP BY n.key, n.path, n.id
            """,  # noqa: S608 (names and conditions of our own)
            [self._key, notes, *values],
            binary=True,
        )
        return self._near(rows)

    def _near(self, rows: Any) -> list[_Near]:
        query = self._vector.astype(np.float64)
        return [(-nearness(rows_of(held, self._model), query), path, note, key) for key, path, note, held in rows]


def leading(key: int, model: Model) -> str:
    """Return the SQL that asks the index of a model for the nearest of a namespace to a vector, and so many.

    >>> leading(7, Model("tiny", 2)).partition(" ORDER BY ")[0]
    'SELECT note FROM vectors WHERE model = 7 AND namespace = %s'
    """
    near, query = cast("near", model), cast("%s", model)
    return f"SELECT note FROM vectors WHERE model = {key:d} AND namespace = %s ORDER BY {near} <#> {query} LIMIT %s"  # noqa: S608 (of our own)


# The stored pieces of a note one behind the other.
_SCORED = "n.key, coalesce(n.path, ''), n.id, string_agg(v.vector, ''::bytea ORDER BY v.piece)"

# The few that have expired are quicker to leave out than all others to be joined.
_NOT_DUE = """AND v.note NOT IN (
    SELECT key FROM notes WHERE expires_at <= (SELECT current_setting('recollect.now')::bigint)
)"""

# Of a table that has just grown the planner knows little, and would rather sort a whole namespace. Only the index can
# do without.
_BREADTH = """
SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('enable_sort', 'off', true)
"""


def similarities(
    connection: Connection[TupleRow], namespace: int, active: tuple[int, Model], vector: Vector, ids: Sequence[str]
) -> dict[str, float]:
    """Return how near the notes with these ids are to a vector of unit length, computed as a search computes it."""
    rows = connection.execute(
        "SELECT n.id, string_agg(v.vector, ''::bytea ORDER BY v.piece) FROM living AS n "
        "JOIN vectors AS v ON v.note = n.key AND v.model = %s "
        "WHERE n.namespace = %s AND n.id_mark = ANY (%s::bytea[]) GROUP BY n.id",
        [active[0], namespace, [mark(each) for each in ids]],
        binary=True,
    )
    query = vector.astype(np.float64)
    return {note: nearness(rows_of(held, active[1]), query) for note, held in rows}


def _literal(vector: Vector) -> str:
    return "[" + ",".join(map(repr, vector.tolist())) + "]"
