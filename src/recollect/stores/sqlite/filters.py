"""Render filters as SQL conditions on ``notes AS n``."""

from __future__ import annotations

import json
import math
from typing import Any

from recollect.model import Filters
from recollect.stores.rows import to_microseconds

_AFTER_ALL = "\U0010ffff" * 4
"""Sorts after whatever can follow a prefix in a path."""


def candidate_conditions(namespace: int, filters: Filters, excluded: str = "") -> tuple[str, list[Any]]:
    """Return conditions that a note passes the filters and does not match an FTS5 expression, and their values."""
    conditions, values = filter_conditions(filters)
    if excluded:
        table = f"words_{namespace}"
        conditions += f" AND n.key NOT IN (SELECT rowid FROM {table} WHERE {table} MATCH ?)"  # noqa: S608 (a number)
        values.append(excluded)
    return conditions, values


def filter_conditions(filters: Filters) -> tuple[str, list[Any]]:
    """Return a condition for each filter, starting with AND, and the values of its placeholders.

    >>> filter_conditions(Filters(session="chat-1"))
    (' AND n.session IS ?', ['chat-1'])
    """
    parts: list[str] = []
    values: list[Any] = []

    def add(sql: str, *params: Any) -> None:
        parts.append(f" AND {sql}")
        values.extend(params)

    if filters.path_prefix:
        add("n.path >= ? AND n.path < ?", filters.path_prefix, filters.path_prefix + _AFTER_ALL)
    if filters.tags:
        missing = "SELECT 1 FROM json_each(?) AS t WHERE NOT instr(char(10) || n.tags || char(10), t.value)"
        add(f"NOT EXISTS ({missing})", json.dumps([f"\n{tag}\n" for tag in filters.tags]))
    if filters.session is not None:
        add("n.session IS ?", filters.session or None)
    for name in ("created", "updated"):
        after, before = getattr(filters, f"{name}_after"), getattr(filters, f"{name}_before")
        if after is not None:
            add(f"n.{name}_at >= ?", to_microseconds(after))
        if before is not None:
            add(f"n.{name}_at < ?", to_microseconds(before))
    for key, value in filters.metadata.items():
        equals, params = _equals(value)
        add(f"EXISTS (SELECT 1 FROM json_each(n.metadata) AS m WHERE m.key = ? AND {equals})", key, *params)  # noqa: S608 (fixed names)
    return "".join(parts), values


def _equals(value: Any) -> tuple[str, list[Any]]:
    """Return the condition that a JSON value equals ``value``; true is not 1, and 1 equals 1.0."""
    if value is None or isinstance(value, bool):
        return "m.type = ?", [{None: "null", True: "true", False: "false"}[value]]
    if isinstance(value, (int, float)):
        return "m.type IN ('integer', 'real') AND m.value = ?", [_sqlite_number(value)]
    if isinstance(value, str):
        return "m.type = 'text' AND m.value = ?", [value]
    return "m.type IN ('array', 'object') AND same_json(m.value, ?)", [json.dumps(value, ensure_ascii=False)]


def _sqlite_number(number: int | float) -> int | float:
    """Return an integer that SQLite can store, or the nearest float."""
    try:
        return number if -(2**63) <= number < 2**63 else float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
