"""How much a store holds, as one transaction sees it."""

from __future__ import annotations

import apsw

from recollect.stores.figures import Figures
from recollect.stores.sqlite import expiry
from recollect.stores.sqlite.fetching import fetch

__all__ = ["count_all"]


def count_all(connection: apsw.Connection, size: int) -> Figures:
    """Count all that can be seen on a connection to files of so many bytes."""
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
        bytes=size,
    )
