"""Render filters and excluded terms as SQL conditions on ``living AS n``, the notes that have not expired.

Metadata is also stored as texts (the column ``facts``) that are equal if SQLite considers the values equal.
PostgreSQL's ``jsonb`` would not do: it limits sizes and rewrites numbers.
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

_MAX_TEXT_LENGTH = 200
"""Longer values are stored as a digest."""


def candidate_conditions(
    connection: Connection, namespace_id: int, filters: Filters, without: Query | None
) -> tuple[str, list[Any]]:
    """Return conditions and their values: notes pass the filters and have no term that ``without`` excludes."""
    conditions, values = filter_conditions(filters)
    excluded = exclusion(without) if without else None
    query = render_tsquery(excluded, namespace_id) if excluded else None
    if excluded is None or query is None:
        return conditions, values
    # The tsvector of a long note may lack terms: its postings and its text are read instead.
    rows = connection.execute(_INCOMPLETE, [namespace_id]).fetchall()
    incomplete = np.array([note for (note,) in rows], np.int64)
    matching = matching_notes(connection, namespace_id, excluded) if len(incomplete) else incomplete
    return conditions + _EXCLUDED, [*values, query, np.intersect1d(matching, incomplete).tolist()]


_INCOMPLETE = "SELECT note FROM words JOIN notes ON key = note WHERE NOT whole AND namespace = %s"

_EXCLUDED = """
 AND NOT EXISTS (SELECT 1 FROM words AS w WHERE w.note = n.key AND w.whole AND w.words @@ %s::tsquery)
 AND NOT n.key = ANY (%s::bigint[])
"""


def filter_conditions(filters: Filters) -> tuple[str, list[Any]]:
    """Return a condition for each filter, starting with AND, and the values of its placeholders."""
    parts: list[str] = []
    values: list[Any] = []

    def add(sql: str, *params: Any) -> None:
        parts.append(f" AND {sql}")
        values.extend(params)

    if filters.path_prefix:
        add("starts_with(n.path, %s)", filters.path_prefix)
    if filters.tags:
        add("string_to_array(n.tags, E'\\n') @> %s::text[]", list(filters.tags))
    if filters.session:
        add("n.session = %s", filters.session)
    elif filters.session is not None:
        add("n.session IS NULL")
    for name in ("created", "updated"):
        after, before = getattr(filters, f"{name}_after"), getattr(filters, f"{name}_before")
        if after is not None:
            add(f"n.{name}_at >= %s", to_microseconds(after))
        if before is not None:
            add(f"n.{name}_at < %s", to_microseconds(before))
    for key, value in filters.metadata.items():
        add("n.facts ->> %s::text = %s", key, _comparable_text(value))
    return "".join(parts), values


def comparable_metadata(metadata: str) -> str:
    """Return the column ``facts`` of a note: JSON that maps each metadata key to the text of its value."""
    if metadata == "{}":
        return metadata
    values: Mapping[str, Any] = with_deep_stack(lambda: json.loads(metadata))
    return json.dumps({escape(key): _comparable_text(value) for key, value in values.items()})


def _comparable_text(value: Any) -> str:
    """Return the text of a value: two values have the same text if, and only if, SQLite considers them equal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        value = _as_float(value)  # as SQLite stores it
    text = with_deep_stack(lambda: _canonical(value))
    if len(text) <= _MAX_TEXT_LENGTH:
        return text
    return f"#{blake2b(text.encode(), digest_size=16).hexdigest()}"


def _as_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _canonical(value: Any) -> str:
    """Return JSON in which values that are equal in Python are written alike: 1 and 1.0, and ``true`` in a list."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)}: {_canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_canonical, value)) + "]"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(int(value) if isinstance(value, bool) else value)
