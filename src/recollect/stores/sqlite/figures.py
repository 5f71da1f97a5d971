"""How much a store holds, as one transaction sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import apsw

from recollect.stores.sqlite import expiry
from recollect.stores.sqlite.fetching import fetch

__all__ = ["Figures", "count_all"]


class Figures(NamedTuple):
    """What there is of each kind."""

    notes: Mapping[str, int]
    links: int
    documents: int
    vectors: Mapping[str, int]
    expiring: int


def count_all(connection: apsw.Connection) -> Figures:
    """Count all that can be seen on a connection."""
    links, vectors = "links", "vectors AS v"
    if expiry.hidden(connection):  # what hangs on a note that is not seen does not count either
        links = "links JOIN notes ON notes.key = source"
        vectors = "(vectors JOIN notes ON notes.key = vectors.note) AS v"
    return Figures(
        notes=dict(
            fetch(
                connection,
                "SELECT s.name, count(n.key) FROM namespaces AS s LEFT JOIN notes AS n ON n.namespace = s.key "
                "GROUP BY s.key ORDER BY s.name",
            )
        ),
        links=connection.execute(f"SELECT count(*) FROM {links}").get,  # noqa: S608 (names of our own)
        documents=connection.execute("SELECT count(*) FROM documents").get,
        vectors=dict(
            fetch(
                connection,
                f"SELECT m.name, count(v.model) FROM models AS m LEFT JOIN {vectors} ON v.model = m.key "  # noqa: S608 (names of our own)
                "GROUP BY m.key ORDER BY m.name, m.active",
            )
        ),
        expiring=connection.execute("SELECT count(*) FROM notes WHERE expires_at IS NOT NULL").get,
    )
