"""Derived values are cached for as long as the revision of their namespace stays the same."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.stores.sql import dialect
from recollect.stores.sql.dialect import NoteCounts, RevisionCache


class Reader:
    """A transaction that always sees the same revision."""

    def revision(self, namespace_id: int) -> int:
        return namespace_id

    def restart(self) -> None:
        """Keep the same revision."""


def test_cache_drops_least_recently_used_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialect, "MAX_NAMESPACES", 2)
    derived: list[int] = []

    def derive(_: Reader, namespace_id: int, before: int | None) -> int:
        assert before is None
        derived.append(namespace_id)
        return 10 * namespace_id

    cache: RevisionCache[Any, int] = RevisionCache(derive)
    values = [cache.get(Reader(), namespace_id) for namespace_id in (1, 2, 1, 3, 1, 3, 2)]
    assert values == [10, 20, 10, 30, 10, 30, 20]
    assert derived == [1, 2, 3, 2]


def test_note_counts_are_cached_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialect, "MAX_COUNTS", 2)
    counted: list[str] = []

    def count(words: set[str]) -> dict[str, int]:
        counted.extend(sorted(words))
        return {word: len(word) for word in words}

    counts = NoteCounts[str](total=8)
    assert counts.get(["tea", None, "tea"], count) == [3, 0, 3]
    assert counts.get(["tea", "jars"], count) == [3, 4]
    assert counts.get(["pots", "tea"], count) == [4, 3]
    assert counts.get(["jars"], count) == [4]
    assert counted == ["tea", "jars", "pots", "jars"]
