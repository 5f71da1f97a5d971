"""Finding notes by a misspelt name: the names are read from the tables, and what is found is looked up there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import apsw

from recollect.model import Candidate, Filters
from recollect.stores import names
from recollect.stores.names import NameIndex
from recollect.stores.rows import CANDIDATE_COLUMNS, candidate_of
from recollect.stores.sqlite import expiry
from recollect.stores.sqlite.fetching import fetch
from recollect.stores.sqlite.filters import filter_conditions as condition

__all__ = ["Passing", "index_names", "search_names"]

FILTERED_NOTES = 1024


def index_names(connection: apsw.Connection, namespace: int, before: NameIndex | None, *, titles: bool) -> NameIndex:
    """Return the names of a namespace as they are in the connection's transaction; ``before`` saves work."""
    rows = fetch(
        connection,
        "SELECT key, coalesce(path, ''), title FROM notes WHERE namespace = ? ORDER BY coalesce(path, ''), id"
        if titles
        else "SELECT key, path, '' FROM notes WHERE namespace = ? AND path IS NOT NULL ORDER BY path",
        (namespace,),
    )
    return names.index_names(rows, before, titles=titles)


class Passing(NamedTuple):
    """Which notes of a namespace may be found, in one transaction."""

    connection: apsw.Connection
    namespace: int
    filters: Filters
    excluded: str
    """An FTS5 expression of what a note must not hold; empty for nothing."""

    def of(self, keys: Sequence[int]) -> Iterator[int]:
        """Yield the notes that may be found, in the same order; no more are asked for than are wanted."""
        conditions, values = condition(self.filters)
        if self.excluded:
            words = f"words_{self.namespace}"
            conditions += f" AND n.key NOT IN (SELECT rowid FROM {words} WHERE {words} MATCH ?)"  # noqa: S608 (our own)
            values.append(self.excluded)
        if not conditions and not expiry.hidden(self.connection):
            yield from keys
            return
        for start in range(0, len(keys), FILTERED_NOTES):
            some = keys[start : start + FILTERED_NOTES]
            rows = fetch(
                self.connection,
                f"SELECT n.key FROM notes AS n WHERE n.key IN (SELECT value FROM json_each(?)) {conditions}",  # noqa: S608 (names of our own)
                (json.dumps(some), *values),
            )
            passing = {key for (key,) in rows}
            yield from (key for key in some if key in passing)


def search_names(passing: Passing, index: NameIndex, words: Sequence[str], limit: int) -> list[Candidate]:
    """Return the notes with the names most like one of ``words``; the index must be that of the transaction."""
    keys, similarities = index.most_alike(words)
    alike = dict(zip(keys.tolist(), similarities.tolist(), strict=True))
    best = list(islice(passing.of(list(alike)), limit))
    rows = passing.connection.execute(
        f"SELECT key, {CANDIDATE_COLUMNS} FROM notes WHERE key IN (SELECT value FROM json_each(?))",  # noqa: S608 (names of our own)
        (json.dumps(best),),
    )
    candidates = {key: candidate_of(row) for key, *row in rows}
    for rank, key in enumerate(best, start=1):
        candidates[key].lexical_rank = rank
        candidates[key].lexical_score = candidates[key].score = alike[key]
    return [candidates[key] for key in best]
