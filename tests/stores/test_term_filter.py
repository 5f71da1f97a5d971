"""A term filter may have false positives, never false negatives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.stores import tokens
from recollect.stores.tokens import TermFilter, TermFilterCache

terms = st.sampled_from(["green", "tea", "pot", "day", "17"])
runs = st.lists(terms, min_size=1, max_size=3).map(" ".join)


@pytest.mark.parametrize("buckets", [2, 64, 2**22])
def test_filter_has_no_false_negatives(buckets: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "FILTER_BUCKETS", buckets)

    @given(st.sets(terms), st.sets(runs), st.lists(runs))
    def law(stored: set[str], titles: set[str], queries: list[str]) -> None:
        filter_ = TermFilter(stored, titles)
        contained = stored.union(*(title.split() for title in titles))
        starts = {" ".join(title.split()[:length]) for title in titles for length in (1, 2, 3)}
        keyed = list(enumerate(queries))
        assert filter_.may_contain(keyed) >= {key for key, title in keyed if contained.issuperset(title.split())}
        assert filter_.may_start_title(queries) >= starts.intersection(queries)
        assert filter_.add_terms(stored) >= starts & stored
        assert all(filter_.may_be_title(title) for title in titles)

    law()


def test_cache_drops_oldest_filters() -> None:
    cache = TermFilterCache(capacity=4)
    for namespace_id in range(6):
        cache.put({namespace_id: (namespace_id, TermFilter())})
    cached = [cache.take(namespace_id, namespace_id) is not None for namespace_id in range(6)]
    assert cached == [False] * 2 + [True] * 4


def test_cache_returns_filter_of_its_revision_only() -> None:
    cache = TermFilterCache(capacity=1)
    cache.put({7: (1, TermFilter())})
    assert cache.take(7, 2) is None
    assert cache.take(7, 1) is None
