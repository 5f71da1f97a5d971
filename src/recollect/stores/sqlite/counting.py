"""How many notes of a namespace hold a word, counted once for as long as they say the same."""

from __future__ import annotations

from typing import Self

import apsw

__all__ = ["NoteCounts"]

MOST = 10_000
"""How many counts are kept; one that was never asked for twice is soon counted again."""


class NoteCounts:
    """The counts of a namespace at one of its revisions. Threads may count the same at once: they get the same."""

    def __init__(self, namespace: int, notes: int) -> None:
        """Begin with the number of all notes."""
        self.notes = notes
        self._namespace = namespace
        self._counts: dict[str, int] = {}

    @classmethod
    def begun(cls, connection: apsw.Connection, namespace: int, _: Self | None) -> Self:
        """Return counts of what a connection's transaction sees; those before are of no help."""
        # As the word index has it: notes that are due and not seen any more are in its counts until they are removed.
        sql = "SELECT count(*) FROM main.notes WHERE namespace = ?"
        return cls(namespace, connection.execute(sql, (namespace,)).get)

    def of(self, connection: apsw.Connection, expression: str) -> int:
        """Return how many notes an FTS5 expression finds."""
        known = self._counts.get(expression)
        if known is not None:
            return known
        words = f"words_{self._namespace}"
        sql = f"SELECT count(*) FROM {words} WHERE {words} MATCH ?"  # noqa: S608 (a number of our own)
        counted: int = connection.execute(sql, (expression,)).get if expression else 0
        if len(self._counts) >= MOST:
            self._counts = {}
        self._counts[expression] = counted
        return counted
