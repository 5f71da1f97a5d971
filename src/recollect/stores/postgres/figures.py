"""How much a store holds, as one transaction sees it."""

from __future__ import annotations

from typing import Any

from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.stores.figures import Figures

__all__ = ["count_all"]


def count_all(connection: Connection[TupleRow]) -> Figures:
    """Count all that can be seen in a transaction; what hangs on a note that is not seen does not count either."""
    return Figures(
        notes=_counts(
            connection,
            "SELECT s.name, count(n.key) FROM namespaces AS s LEFT JOIN living AS n ON n.namespace = s.key "
            "GROUP BY s.key ORDER BY s.name",
        ),
        links=_one(connection, "SELECT count(*) FROM links JOIN living AS n ON n.key = source"),
        documents=_one(connection, "SELECT count(*) FROM documents"),
        vectors=_counts(
            connection,
            "SELECT m.name, count(n.key) FROM models AS m LEFT JOIN vectors AS v ON v.model = m.key AND v.piece = 0 "
            "LEFT JOIN living AS n ON n.key = v.note GROUP BY m.key ORDER BY m.name, m.active",
        ),
        expiring=_one(connection, "SELECT count(*) FROM living WHERE expires_at IS NOT NULL"),
        bytes=_one(
            connection,
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class "
            "WHERE relnamespace = 'recollect'::regnamespace AND relkind = 'r'",
        ),
    )


def _one(connection: Connection[TupleRow], statement: str) -> int:
    ((number,),) = connection.execute(statement).fetchall()
    return int(number)


def _counts(connection: Connection[TupleRow], statement: str) -> dict[str, int]:
    rows: list[Any] = connection.execute(statement).fetchall()
    return dict(rows)
