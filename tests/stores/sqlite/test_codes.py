"""Bytes for numbers: what they say of a product holds for the product itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect.stores.sqlite.codes import encode, reaches
from recollect.stores.sqlite.vectors import VectorIndex, View, _edge
from recollect.stores.units import unit_rows


def rows(seed: int, count: int, dimension: int, kind: str) -> NDArray[np.float32]:
    """Return rows of unit length: anywhere, in a heap, with few numbers that count, or with many that are the same."""
    chance = np.random.default_rng(seed)
    made = chance.standard_normal((count, dimension)).astype(np.float32)
    if kind == "heap":
        made = made / np.float32(50) + np.float32(1)
    elif kind == "spikes":
        made *= chance.random((count, dimension)) < 0.05
    elif kind == "same":
        made = made[chance.integers(0, max(1, count // 5), count)]
    return unit_rows(made)


KINDS = st.sampled_from(["anywhere", "heap", "spikes", "same"])


@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([1, 2, 3, 17, 384, 1536]), KINDS)
def test_a_product_lies_where_its_bytes_say(seed: int, count: int, dimension: int, kind: str) -> None:
    held, (query,) = rows(seed, count, dimension, kind), rows(seed + 1, 1, dimension, kind)
    exact = (held.astype(np.float64) * query).sum(axis=1)
    least, most = reaches(encode(held), encode(query[np.newaxis]))
    assert (least <= exact).all()
    assert (exact <= most).all()
    assert (most - least < 0.1).all()


def view_of(vectors: NDArray[np.float32], pieces: NDArray[np.int64], dead: frozenset[int] = frozenset()) -> View:
    """Return a view of notes with so many of the rows each, whose keys are 10, 20, 30 …"""
    index = VectorIndex(1, 1, vectors.shape[1], "float32")
    index._append(10 * np.arange(1, len(pieces) + 1), pieces, vectors)
    return View(list(index._blocks), index._keys, index._ends, dead)


@given(st.integers(0, 10**6), st.integers(1, 400), st.sampled_from([2, 16, 64]), KINDS, st.sampled_from([1, 2, 5, 60]))
def test_the_nearest_are_among_those_that_can_be(seed: int, count: int, dimension: int, kind: str, limit: int) -> None:
    chance = np.random.default_rng(seed)
    pieces = chance.choice([1, 1, 1, 2, 4], count)
    held, (query,) = rows(seed, int(pieces.sum()), dimension, kind), rows(seed + 1, 1, dimension, kind)
    keys = 10 * np.arange(1, count + 1)
    dead = frozenset(chance.choice(keys, count // 10, replace=False).tolist())
    allowed = np.sort(np.append(chance.choice(keys, count // 2, replace=False), [5, 10 * count + 15]))
    products = (held.astype(np.float64) * query).sum(axis=1)
    exact = np.maximum.reduceat(products, np.cumsum([0, *pieces[:-1]]))
    view = view_of(held, pieces, dead)
    for only in (None, allowed):
        counts = np.array([key not in dead and (only is None or key in only) for key in keys])
        found = view.nearest(query, limit, only)
        assert set(found) <= set(keys[counts])
        edge = np.sort(exact[counts])[-limit] if counts.sum() > limit else -np.inf
        assert set(keys[counts & (exact >= edge)]) <= set(found)


def test_few_are_looked_at_more_closely() -> None:
    held = rows(1, 20_000, 384, "anywhere")
    found = view_of(held, np.ones(20_000, dtype=np.int64)).nearest(rows(2, 1, 384, "anywhere")[0], 60)
    assert 60 <= len(found) < 400


@pytest.mark.parametrize(("count", "limit"), [(1, 1), (64, 1), (65, 1), (1000, 15), (1000, 16), (5000, 60)])
def test_the_edge_is_the_last_that_counts(count: int, limit: int) -> None:
    scores = np.random.default_rng(count).permutation(count).astype(np.float32)
    assert _edge(scores, limit) == count - limit
