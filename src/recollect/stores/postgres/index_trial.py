"""An index of vectors is tried before it is trusted: it must lead to nearly all that is nearest.

How well a graph leads depends on the vectors. Those of texts lie in clusters and are easily found; among such as lie
anywhere, most of the nearest are missed. So some of the stored vectors are sought both ways, by the index and by
looking at all. The breadth that was enough is written down with the index, or that none was.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from psycopg import Connection
from psycopg.rows import TupleRow

__all__ = ["BREADTHS", "Trial", "try_index"]

BREADTHS = (200, 400, 800)
"""How many vectors a search by the index looks at; with fewer, single queries lose all that is near."""
ENOUGH = 0.97
"""The share of the nearest that an index must lead to."""
_SOUGHT = 24
_NEAREST = 10
_WORDS = re.compile(r"breadth (\d+) for (\d+) notes")


class Trial(NamedTuple):
    """What came of a trial."""

    breadth: int
    """How broadly to search; 0 where the index misses too much, however broadly."""
    notes: int
    """How many the store had: with many more it should be tried again."""

    def __str__(self) -> str:
        """Return what is written down with the index.

        >>> str(Trial(400, 25_000))
        'breadth 400 for 25000 notes'
        """
        return f"breadth {self.breadth} for {self.notes} notes"

    @classmethod
    def read(cls, told: str | None) -> Trial | None:
        """Return what was written down, if anything was.

        >>> Trial.read("breadth 400 for 25000 notes")
        Trial(breadth=400, notes=25000)
        """
        found = _WORDS.fullmatch(told or "")
        return cls(*map(int, found.groups())) if found else None


def try_index(connection: Connection[TupleRow], model: int, near: str, query: str) -> int:
    """Return how broadly to search the index of a model, or 0 if it misses too much.

    The index is one of the SQL expression ``near``, which is compared with ``query``. The connection is in no
    transaction, and sees all namespaces from then on.
    """
    connection.execute("SELECT set_config('recollect.namespaces', '*', false)")
    ((first, last),) = connection.execute(_ENDS, [model]).fetchall()
    places = [first + (last - first) * place // _SOUGHT for place in range(_SOUGHT)]
    sought = [vector for (vector,) in connection.execute(_SAMPLE, [places, model])]
    # The index is of an expression, and used for no other: this looks at all.
    looking = f"SELECT note FROM vectors WHERE model = {model:d} ORDER BY near <#> %s::halfvec LIMIT %s"  # noqa: S608 (a number)
    nearest = [_found(connection, looking, vector, _NEAREST) for vector in sought]
    led = f"SELECT note FROM vectors WHERE model = {model:d} ORDER BY {near} <#> {query} LIMIT %s"  # noqa: S608 (of our own)
    for breadth in BREADTHS:
        connection.execute(_BREADTH, [str(breadth)])
        there = sum(
            len(wanted & _found(connection, led, vector, breadth))
            for vector, wanted in zip(sought, nearest, strict=True)
        )
        if there >= ENOUGH * sum(map(len, nearest)):
            return breadth
    return 0


def _found(connection: Connection[TupleRow], statement: str, vector: str, limit: int) -> set[int]:
    return {note for (note,) in connection.execute(statement, [vector, limit])}


_ENDS = "SELECT coalesce(min(note), 0), coalesce(max(note), 0) FROM vectors WHERE model = %s"

_SAMPLE = """
SELECT v.near::text FROM unnest(%s::bigint[]) AS place CROSS JOIN LATERAL (
    SELECT near FROM vectors WHERE model = %s AND note >= place ORDER BY note LIMIT 1
) AS v
"""

# Without sorting, so that it is the index that is tried, whatever the planner thinks of it.
_BREADTH = """
SELECT set_config('hnsw.ef_search', %s, false), set_config('hnsw.iterative_scan', 'relaxed_order', false),
    set_config('enable_sort', 'off', false)
"""
