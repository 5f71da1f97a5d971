"""The rows of a query, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

__all__ = ["fetch"]


def fetch(connection: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return all rows of a query."""
    return connection.execute(sql, tuple(values)).fetchall()
