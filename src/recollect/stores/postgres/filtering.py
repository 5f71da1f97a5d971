"""Filters, and what a query excludes, become conditions on ``living AS n``, so that they hold before anything is cut.

What metadata says is kept a second time, in a form in which equal values are equal texts. PostgreSQL's own JSON has
other limits than JSON, and other numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.arguments import with_deep_stack
from recollect.model import Filters
from recollect.query import Query
from recollect.query.expressions import exclusion
from recollect.stores.postgres.scoring import matching_notes
from recollect.stores.postgres.text import escaped
from recollect.stores.postgres.tsquery import render_tsquery
from recollect.stores.rows import to_microseconds

__all__ = ["condition", "facts_of", "passing"]

_LONGEST_FACT = 200
"""Letters of a value that is kept as it is; of a longer one, its digest."""


def passing(
    connection: Connection[TupleRow], namespace: int, filters: Filters, without: Query | None
) -> tuple[str, list[Any]]:
    """Return the condition that a note passes the filters and holds nothing of what ``without`` excludes."""
    conditions, values = condition(filters)
    excluded = exclusion(without) if without else None
    query = render_tsquery(excluded, namespace) if excluded else None
    if excluded is None or query is None:
        return conditions, values
    # The vector of a long note may lack words and places: its postings and its text decide.
    rows = connection.execute(_NOT_WHOLE, [namespace]).fetchall()
    long = np.array([note for (note,) in rows], np.int64)
    holding = np.intersect1d(matching_notes(connection, namespace, excluded), long).tolist() if len(long) else []
    return conditions + _EXCLUDED, [*values, query, holding]


_NOT_WHOLE = "SELECT note FROM words JOIN notes ON key = note WHERE NOT whole AND namespace = %s"

_EXCLUDED = """
 AND NOT EXISTS (SELECT 1 FROM words AS w WHERE w.note = n.key AND w.whole AND w.words @@ %s::tsquery)
 AND NOT n.key = ANY (%s::bigint[])
"""


def condition(filters: Filters) -> tuple[str, list[Any]]:
    """Return a condition that begins with AND for each filter, and the values for its places.

    >>> condition(Filters(path_prefix="tea/", session=""))
    (' AND starts_with(n.path, %s) AND n.session IS NULL', ['tea/'])
    """
    parts: list[str] = []
    values: list[Any] = []

    def add(sql: str, *given: Any) -> None:
        parts.append(f" AND {sql}")
        values.extend(given)

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
        add("n.facts ->> %s::text = %s", key, _fact(value))
    return "".join(parts), values


def facts_of(metadata: str) -> str:
    r"""Return what is kept of a note's metadata for filters: JSON with, for each key, a text that stands for its value.

    >>> facts_of('{"size": 2.0, "done": true, "names": ["Ines", 1e3]}')
    '{"size": "2", "done": "true", "names": "[\\"Ines\\", 1000]"}'
    """
    if metadata == "{}":
        return metadata
    held: Mapping[str, Any] = with_deep_stack(lambda: json.loads(metadata))
    return json.dumps({escaped(key): _fact(value) for key, value in held.items()})


def _fact(value: Any) -> str:
    """Return the text that stands for a value: the same for two where SQLite finds them equal, and only there."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        value = _as_float(value)  # that is how SQLite holds it, and so two that are as near are equal
    fact = with_deep_stack(lambda: _written(value))
    if len(fact) <= _LONGEST_FACT:
        return fact
    return f"#{blake2b(fact.encode(), digest_size=16).hexdigest()}"


def _as_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _written(value: Any) -> str:
    """Return a value as JSON in which those that Python finds equal are written alike: 1, 1.0, and within lists true.

    >>> _written({"b": [1.0, True, 0.5], "a": None}) == _written({"a": None, "b": [1, 1, 0.5]})
    True
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)}: {_written(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(int(value) if isinstance(value, bool) else value)
