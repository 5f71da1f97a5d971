"""Render filters and excluded terms as SQL conditions on ``living AS n``, the notes that have not expired.

A metadata filter compares texts, not JSON values: the column ``facts`` has one text for each metadata value. Two texts
are equal if and only if the SQLite store considers the two values equal. That store compares lists and objects in
Python, and other values in SQL. The metadata values themselves are not compared as ``jsonb``, because PostgreSQL limits
the size of such values and rewrites their numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
from psycopg import Connection

from recollect.arguments import with_deep_stack
from recollect.model import Filters
from recollect.query import Query
from recollect.query.expressions import exclusion
from recollect.stores.postgres.postings import matching_notes
from recollect.stores.postgres.text import escape, render_tsquery
from recollect.stores.rows import to_microseconds

_MAX_TEXT_LENGTH = 200  # in characters; a longer text is replaced by its digest


def candidate_conditions(
    connection: Connection, namespace_id: int, filters: Filters, exclusions: Query | None
) -> tuple[str, list[Any]]:
    """Return SQL conditions for notes that pass the filters and match no NOT term of ``exclusions``, and parameters."""
    conditions, values = filter_conditions(filters)
    excluded = exclusion(exclusions) if exclusions else None  # only the NOT terms of this query count
    tsquery = render_tsquery(excluded, namespace_id) if excluded else None
    if excluded is None or tsquery is None:
        return conditions, values
    # The tsvector of a long note may lack terms, so posting lists and texts decide which long notes match.
    rows = connection.execute(_LONG_NOTES, [namespace_id]).fetchall()
    long_notes = np.array([note for (note,) in rows], np.int64)
    matching = matching_notes(connection, namespace_id, excluded) if len(long_notes) else long_notes  # no notes
    return conditions + _EXCLUDED, [*values, tsquery, np.intersect1d(matching, long_notes).tolist()]


# The table ``words`` has the tsvectors (column ``words``); ``whole`` is false if a tsvector lacks terms or positions.
_LONG_NOTES = "SELECT note FROM words JOIN notes ON key = note WHERE NOT whole AND namespace = %s"
_EXCLUDED = """
 AND NOT EXISTS (SELECT 1 FROM words AS w WHERE w.note = n.key AND w.whole AND w.words @@ %s::tsquery)
 AND NOT n.key = ANY (%s::bigint[])
"""


def filter_conditions(filters: Filters) -> tuple[str, list[Any]]:
    """Return the SQL conditions of the filters, each of which starts with AND, and the parameters of the conditions."""
    conditions: list[str] = []
    values: list[Any] = []

    def add(condition: str, *params: Any) -> None:
        conditions.append(f" AND {condition}")
        values.extend(params)

    if filters.path_prefix:
        add("starts_with(n.path, %s)", filters.path_prefix)
    if filters.tags:
        add("string_to_array(n.tags, E'\\n') @> %s::text[]", list(filters.tags))
    if filters.session:
        add("n.session = %s", filters.session)
    elif filters.session is not None:  # "" selects the notes without a session
        add("n.session IS NULL")
    for name in ("created", "updated"):
        after, before = getattr(filters, f"{name}_after"), getattr(filters, f"{name}_before")
        if after is not None:
            add(f"n.{name}_at >= %s", to_microseconds(after))
        if before is not None:
            add(f"n.{name}_at < %s", to_microseconds(before))
    for key, value in filters.metadata.items():
        add("n.facts ->> %s::text = %s", key, _comparable_text(value))
    return "".join(conditions), values


def comparable_metadata(metadata: str) -> str:
    """Return the value of the column ``facts``: JSON that maps each metadata key to the text of its value."""
    if metadata == "{}":
        return metadata
    values: Mapping[str, Any] = with_deep_stack(lambda: json.loads(metadata))  # JSON may be deeply nested
    return json.dumps({escape(key): _comparable_text(value) for key, value in values.items()})


def _comparable_text(value: Any) -> str:
    """Return the text of a metadata value; equal texts mean that the SQLite store considers the values equal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        value = _as_float(value)  # SQLite stores integers of more than 64 bits as floats
    text = with_deep_stack(lambda: _canonical(value))
    if len(text) <= _MAX_TEXT_LENGTH:
        return text
    return f"#{blake2b(text.encode(), digest_size=16).hexdigest()}"  # no JSON text starts with #


def _as_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _canonical(value: Any) -> str:
    """Return the same JSON for values that are equal in Python: ``1.0`` and a nested ``true`` become ``1``."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)}: {_canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_canonical, value)) + "]"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(int(value) if isinstance(value, bool) else value)
