"""The revisions of namespaces, as a transaction that reads sees them."""

from __future__ import annotations

from psycopg import Connection
from psycopg.rows import TupleRow

__all__ = ["renew", "revision"]


def revision(connection: Connection[TupleRow], namespace: int) -> int:
    """Return the revision of a namespace that the connection's transaction sees."""
    found: int = connection.execute("SELECT revision FROM namespaces WHERE key = %s", [namespace]).fetchall()[0][0]
    return found


def renew(connection: Connection[TupleRow]) -> None:
    """Leave the transaction as it is: it keeps its moment, and what is derived in it is right for its revision."""
