"""Which terms and titles a namespace may contain, in memory, so that no query looks for what cannot be there.

Looking a title up in the lexical index takes as long as writing a short note, and a batch of thousands of notes with
new titles would do so thousands of times in vain. A filter may say of a term that it is there though it is not, never
the other way round (a Bloom filter with one hash).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

__all__ = ["MIN_TITLES", "TermFilter", "TermFilterCache"]

BUCKETS = 2**22
MIN_TITLES = 256
"""How many notes with titles a batch must have for the terms of a whole namespace to be read."""

_TERM, _PREFIX, _TITLE = 1, 2, 4


class TermFilter:
    """The terms of a namespace's notes, and the stems of its titles with the runs that they start with.

    >>> filter = TermFilter(terms=["green"], titles=["tea"])
    >>> filter.may_contain([(1, "green tea"), (2, "black tea")])
    {1}
    """

    def __init__(self, terms: Iterable[str] = (), titles: Iterable[str] = ()) -> None:
        """Add terms and the stems of titles."""
        self._buckets = bytearray(BUCKETS)
        self.add_terms(terms)
        self.add_titles(titles)

    def add_titles(self, titles: Iterable[str]) -> None:
        """Add titles, given by their stems, which their own notes contain."""
        buckets = self._buckets
        for title in titles:
            buckets[hash(title) % BUCKETS] |= _TITLE | _PREFIX
            stems = title.split(" ")
            for stem in stems:
                buckets[hash(stem) % BUCKETS] |= _TERM
            for length in range(1, len(stems)):
                buckets[hash(" ".join(stems[:length])) % BUCKETS] |= _PREFIX

    def add_terms(self, terms: Iterable[str]) -> set[str]:
        """Add the terms of notes, and return those that a title may start with."""
        buckets, starting = self._buckets, set()
        for term in terms:
            bucket = hash(term) % BUCKETS
            if buckets[bucket] & _PREFIX:
                starting.add(term)
            buckets[bucket] |= _TERM
        return starting

    def may_contain(self, titles: Iterable[tuple[int, str]]) -> set[int]:
        """Return the keys of those titles, given by key and stems, whose every stem a note may contain."""
        buckets, keys = self._buckets, set()
        for key, title in titles:
            # From the end: the last stem is the rarest, as in "chapter 17".
            if all(buckets[hash(stem) % BUCKETS] & _TERM for stem in reversed(title.split(" "))):
                keys.add(key)
        return keys

    def may_be_title(self, stems: str) -> bool:
        """Return whether there may be such a title."""
        return bool(self._buckets[hash(stems) % BUCKETS] & _TITLE)

    def may_start_title(self, runs: Iterable[str]) -> set[str]:
        """Return the runs of stems that a title may start with."""
        buckets = self._buckets
        return {run for run in runs if buckets[hash(run) % BUCKETS] & _PREFIX}


class TermFilterCache:
    """The filters of the namespaces that this process wrote to last, each with the revision that it describes.

    A writer takes the filter of its namespace out, and puts it back when its transaction is committed.

    >>> cache = TermFilterCache(capacity=4)
    >>> cache.put({7: (1, TermFilter())})
    >>> cache.take(7, 1) is None, cache.take(7, 1) is None
    (False, True)
    """

    def __init__(self, capacity: int) -> None:
        """Start empty; a filter takes four megabytes."""
        self._lock = threading.Lock()
        self._capacity = capacity
        self._filters: dict[int, tuple[int, TermFilter]] = {}

    def take(self, namespace_id: int, revision: int) -> TermFilter | None:
        """Return the filter of a namespace if it describes this revision, and remove it."""
        with self._lock:
            cached = self._filters.pop(namespace_id, None)
        return cached[1] if cached and cached[0] == revision else None

    def put(self, filters: Mapping[int, tuple[int, TermFilter]]) -> None:
        """Add the filters of namespaces, each with its revision."""
        with self._lock:
            self._filters |= filters
            for namespace_id in list(self._filters)[: -self._capacity]:
                del self._filters[namespace_id]
