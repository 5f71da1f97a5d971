"""Finding notes by a misspelt name: the names are in the directory, and what is found is looked up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.model import Candidate, Filters
from recollect.query import Query
from recollect.stores import names
from recollect.stores.milvus.directory import Directory
from recollect.stores.milvus.searching import View
from recollect.stores.names import NameIndex

if TYPE_CHECKING:
    from recollect.stores.milvus.reading import Reader

__all__ = ["search_names"]

FILTERED_NOTES = 1024


def search_names(
    reader: Reader,
    directory: Directory,
    words: Sequence[str],
    limit: int,
    filters: Filters,
    *,
    titles: bool = False,
    without: Query | None = None,
) -> list[Candidate]:
    """Return the notes with the names most like one of ``words``."""
    if limit <= 0:
        return []
    keys, similarities = _index(directory, titles=titles).most_alike(words)
    alike = dict(zip(keys.tolist(), similarities.tolist(), strict=True))
    view, waiting = View(reader, directory), list(alike)
    best: list[int] = []
    for start in range(0, len(waiting), FILTERED_NOTES):
        best += view.passing(waiting[start : start + FILTERED_NOTES], filters, without)
        if len(best) >= limit:
            break
    listed = view.candidates(best[:limit])
    for rank, (key, candidate) in enumerate(listed.items(), start=1):
        candidate.lexical_rank = rank
        candidate.lexical_score = candidate.score = alike[key]
    return list(listed.values())


def _index(directory: Directory, *, titles: bool) -> NameIndex:
    """Return the index of the names as they are; the one before saves work."""

    def derive(before: NameIndex | None) -> NameIndex:
        rows = [
            (path, each, key, title if titles else "")
            for key, each, path, title in (header[:4] for header in directory.notes.values())
            if titles or path
        ]
        return names.index_names([(key, path, title) for path, _, key, title in sorted(rows)], before, titles=titles)

    return directory.kept(("names", titles), derive)
