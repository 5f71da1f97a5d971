"""An FTS5 table in memory with the tokenizer of the store."""

from __future__ import annotations

from collections.abc import Sequence

import apsw


class Fts5Table:
    """Notes in memory, searched by MATCH."""

    def __init__(self, notes: Sequence[str]) -> None:
        self.notes = list(notes)
        self._connection = apsw.Connection(":memory:")
        self._connection.execute(
            "CREATE VIRTUAL TABLE notes USING fts5(path, title, summary, tags, content, tokenize='porter unicode61')"
        )
        rows = [(number, note) for number, note in enumerate(self.notes)]
        self._connection.executemany("INSERT INTO notes(rowid, content) VALUES (?, ?)", rows)

    def search(self, match: str) -> set[str]:
        """Return the matching notes; like the lexical leg, an empty query matches none."""
        if not match:
            return set()
        rows = self._connection.execute("SELECT rowid FROM notes WHERE notes MATCH ? ORDER BY rank", (match,))
        return {self.notes[row[0]] for row in rows}
