"""Checks that both engines share, and counts of what a store contains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from recollect.model import embedding_text
from recollect.stores.base import digest
from recollect.stores.sql.dialect import Row, SqlTransaction

__all__ = ["count_rows", "list_problems", "namespaces", "vector_problems"]

MAX_LISTED = 3
"""How many of many problems are listed."""
_BYTES = {"float32": 4, "float16": 2}


def namespaces(transaction: SqlTransaction) -> list[tuple[int, str]]:
    """Return the keys and names of all namespaces, by name."""
    return [(key, name) for key, name in transaction.fetch("SELECT key, name FROM namespaces ORDER BY name")]


def list_problems(problems: Iterable[str]) -> str:
    """Return the first problems in one line, with the number of the others; empty if there are none.

    >>> list_problems(f"note {number} is broken" for number in range(5))
    'note 0 is broken; note 1 is broken; note 2 is broken and 2 more'
    """
    every = list(problems)
    more = f" and {len(every) - MAX_LISTED} more" if len(every) > MAX_LISTED else ""
    return "; ".join(every[:MAX_LISTED]) + more


def vector_problems(rows: Iterable[Row]) -> Iterator[tuple[Any, str]]:
    """Find vectors that are not those of their notes, and yield the key of each with what is wrong.

    A row has the vector's key, namespace, digest and bytes, the model's dimension and precision, and the note's
    namespace, id, title, summary and content; a vector may have several chunks.
    """
    for key, namespace_id, text_digest, size, dimension, precision, note_namespace, note_id, *text in rows:
        if note_namespace is None or dimension is None:
            yield key, f"vector {key} belongs to no note or model"
        elif namespace_id != note_namespace:
            yield key, f"the vector of note {note_id} lies in another namespace"
        elif not size or size % (dimension * _BYTES.get(precision, 0) or size + 1):
            yield key, f"the vector of note {note_id} has {size} bytes, not those of {dimension} numbers in {precision}"
        elif text_digest != digest(embedding_text(*text)):
            yield key, f"the vector of note {note_id} was made of another text"


def count_rows(transaction: SqlTransaction) -> dict[str, Any]:
    """Count notes, links, documents, vectors and expiring notes; what belongs to a hidden note does not count."""
    links, vectors = "links", "vectors AS v"
    if transaction.hides_notes():
        links = "links JOIN visible_notes AS n ON n.key = source"
        vectors = "(SELECT vectors.* FROM vectors JOIN visible_notes AS n ON n.key = note) AS v"
    notes = transaction.fetch(
        "SELECT s.name, count(n.key) FROM namespaces AS s LEFT JOIN visible_notes AS n ON n.namespace = s.key "
        "GROUP BY s.key, s.name ORDER BY s.name"
    )
    by_model = transaction.fetch(
        f"SELECT m.name, count(v.note) FROM models AS m "  # noqa: S608 (names of our own)
        f"LEFT JOIN {vectors} ON v.model = m.key AND {transaction.first_chunk} "
        "GROUP BY m.key, m.name, m.active ORDER BY m.name, m.active"
    )
    return {
        "notes": dict(notes),
        "links": transaction.fetch_value(f"SELECT count(*) FROM {links}"),  # noqa: S608 (as above)
        "documents": transaction.fetch_value("SELECT count(*) FROM documents"),
        "vectors": dict(by_model),
        "expiring": transaction.fetch_value("SELECT count(*) FROM visible_notes WHERE expires_at IS NOT NULL"),
    }
