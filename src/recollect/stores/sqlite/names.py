"""Search for notes by a misspelt name, over the names in the tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import apsw

from recollect.model import Candidate, Filters
from recollect.stores import name_index
from recollect.stores.name_index import NameIndex
from recollect.stores.rows import CANDIDATE_COLUMNS, candidate_of
from recollect.stores.sqlite.filters import candidate_conditions
from recollect.stores.sqlite.transaction import SqliteTransaction, fetch, hides_notes

FILTERED_NOTES = 1024


def index_names(
    transaction: SqliteTransaction, namespace_id: int, before: NameIndex | None, *, titles: bool
) -> NameIndex:
    """Return the names of a namespace as a transaction sees them; ``before`` saves work."""
    rows = fetch(
        transaction.connection,
        "SELECT key, coalesce(path, ''), title FROM notes WHERE namespace = ? ORDER BY coalesce(path, ''), id"
        if titles
        else "SELECT key, path, '' FROM notes WHERE namespace = ? AND path IS NOT NULL ORDER BY path",
        (namespace_id,),
    )
    return name_index.index_names(rows, before, titles=titles)


class NameFilter(NamedTuple):
    """Which notes of a namespace may be results, in one transaction."""

    connection: apsw.Connection
    namespace_id: int
    filters: Filters
    excluded: str
    """An FTS5 expression of what a note must not contain; empty for nothing."""

    def apply(self, keys: Sequence[int]) -> Iterator[int]:
        """Yield the notes that may be results, in the same order, read in batches as the caller goes on."""
        conditions, values = candidate_conditions(self.namespace_id, self.filters, self.excluded)
        if not conditions and not hides_notes(self.connection):
            yield from keys
            return
        for start in range(0, len(keys), FILTERED_NOTES):
            batch = keys[start : start + FILTERED_NOTES]
            rows = fetch(
                self.connection,
                f"SELECT n.key FROM notes AS n WHERE n.key IN (SELECT value FROM json_each(?)) {conditions}",  # noqa: S608 (names of our own)
                (json.dumps(batch), *values),
            )
            passing = {key for (key,) in rows}
            yield from (key for key in batch if key in passing)


def search_names(allowed: NameFilter, index: NameIndex, words: Sequence[str], limit: int) -> list[Candidate]:
    """Return the notes with the names most like one of ``words``; the index must be that of the transaction."""
    keys, similarities = index.most_similar(words)
    alike = dict(zip(keys.tolist(), similarities.tolist(), strict=True))
    best = list(islice(allowed.apply(list(alike)), limit))
    rows = allowed.connection.execute(
        f"SELECT key, {CANDIDATE_COLUMNS} FROM notes WHERE key IN (SELECT value FROM json_each(?))",  # noqa: S608 (names of our own)
        (json.dumps(best),),
    )
    candidates = {key: candidate_of(row) for key, *row in rows}
    for rank, key in enumerate(best, start=1):
        candidates[key].lexical_rank = rank
        candidates[key].lexical_score = candidates[key].score = alike[key]
    return [candidates[key] for key in best]
