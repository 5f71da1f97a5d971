"""Bytes for numbers: what they say of a product holds for the product itself, and nothing falls through a sieve."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect.stores.sqlite import codes, scan
from recollect.stores.sqlite.codes import encode, products, wrong
from recollect.stores.sqlite.scan import edge_of
from recollect.stores.sqlite.sieve import AS_THEY_ARE, Sieve, Turn, turn_of
from recollect.stores.sqlite.vectors import View
from recollect.stores.units import unit_rows


def rows(seed: int, count: int, dimension: int, kind: str) -> NDArray[np.float32]:
    """Return rows of unit length: anywhere, in a heap, with few numbers that count, flat, or many that are the same."""
    chance = np.random.default_rng(seed)
    made = chance.standard_normal((count, dimension)).astype(np.float32)
    if kind == "heap":
        made = made / np.float32(50) + np.float32(1)
    elif kind == "spikes":
        made *= chance.random((count, dimension)) < 0.05
    elif kind == "flat":
        made *= np.where(np.arange(dimension) < dimension / 4, 1, 0.05)
    elif kind == "same":
        made = made[chance.integers(0, max(1, count // 5), count)]
    return unit_rows(made)


KINDS = st.sampled_from(["anywhere", "heap", "spikes", "flat", "same"])


def turned(held: NDArray[np.float32], head: int) -> Turn:
    """Return the axes of some rows, with a head of any width."""
    axes = np.linalg.eigh((held.T @ held).astype(np.float64))[1][:, ::-1].astype(np.float32)
    return Turn(axes, head) if head else AS_THEY_ARE


@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([1, 2, 3, 17, 384, 1536]), KINDS)
def test_a_product_lies_where_its_bytes_say(seed: int, count: int, dimension: int, kind: str) -> None:
    held, (query,) = rows(seed, count, dimension, kind), rows(seed + 1, 1, dimension, kind)
    exact = (held.astype(np.float64) * query).sum(axis=1)
    codes, asked = encode(held), encode(query[np.newaxis])
    near = products(codes.rows, asked.rows) * codes.scales * asked.scales[0]
    doubt = wrong(codes.errors, asked)
    assert (np.abs(near - exact) <= doubt).all()
    assert (doubt < 0.05).all()


def view_of(
    vectors: NDArray[np.float32], pieces: NDArray[np.int64], turn: Turn, dead: frozenset[int] = frozenset()
) -> View:
    """Return a view of notes with so many of the rows each, whose keys are 10, 20, 30 …, half of them in a snapshot."""
    ends = np.cumsum(pieces)
    half = int(ends[len(ends) // 2])
    parts = [Sieve.of(turn, turn.encode(vectors[:half])), Sieve.of(AS_THEY_ARE, encode(vectors[half:]))]
    return View([part for part in parts if len(part.scales)], 10 * np.arange(1, len(pieces) + 1), ends, dead)


@given(
    st.integers(0, 10**6),
    st.integers(1, 400),
    st.sampled_from([2, 16, 64]),
    KINDS,
    st.sampled_from([1, 2, 5, 60]),
    st.sampled_from([0, 1, 3]),
    st.sampled_from([2, 2048]),
)
def test_the_nearest_are_among_those_that_can_be(
    seed: int, count: int, dimension: int, kind: str, limit: int, quarters: int, few: int
) -> None:
    chance = np.random.default_rng(seed)
    pieces = chance.choice([1, 1, 1, 2, 4], count) if seed % 2 else np.ones(count, np.int64)
    held, (query,) = rows(seed, int(pieces.sum()), dimension, kind), rows(seed + 1, 1, dimension, kind)
    keys = 10 * np.arange(1, count + 1)
    dead = frozenset(chance.choice(keys, count // 10, replace=False).tolist())
    allowed = np.sort(np.append(chance.choice(keys, count // 2, replace=False), [5, 10 * count + 15]))
    exact = np.maximum.reduceat((held.astype(np.float64) * query).sum(axis=1), np.cumsum([0, *pieces[:-1]]))
    view = view_of(held, pieces, turned(held, dimension * quarters // 4), dead)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(scan, "FEW", few)
        for only in (None, allowed):
            counts = np.array([key not in dead and (only is None or key in only) for key in keys])
            found = view.nearest(query, limit, only)
            assert set(found) <= set(keys[counts])
            edge = np.sort(exact[counts])[-limit] if counts.sum() > limit else -np.inf
            assert set(keys[counts & (exact >= edge)]) <= set(found)


@pytest.mark.parametrize("kind", ["anywhere", "flat"])
def test_few_are_looked_at_more_closely(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "SHARED_FROM", 1_000)
    monkeypatch.setattr(scan, "HELPERS", 2)
    monkeypatch.setattr(scan, "AT_ONCE", 8 * scan.GROUP)
    held = rows(1, 20_000, 384, kind)
    turn = turn_of(held[::5], 60 / 20_000)
    assert (turn is AS_THEY_ARE) == (kind == "anywhere")  # where no number tells more than another, none comes first
    query = rows(2, 1, 384, kind)[0]
    found = view_of(held, np.ones(20_000, dtype=np.int64), turn).nearest(query, 60)
    assert 60 <= len(found) < 400
    exact = np.argsort(-(held.astype(np.float64) @ query))[:60]
    assert {10 * (place + 1) for place in exact.tolist()} <= set(found)


def test_what_goes_wrong_in_a_comparison_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "FEW", 10)
    held = rows(4, 300, 32, "anywhere")
    with pytest.raises(IndexError, match="boolean index did not match"):
        scan.Scan(Sieve.of(AS_THEY_ARE, encode(held)), held[0]).reach(5, np.zeros(200, dtype=np.bool_))


def test_parts_are_joined_and_rows_let_go_of() -> None:
    held = rows(3, 300, 32, "flat")
    turn = turned(held, 8)
    whole = Sieve.of(turn, turn.encode(held))
    joined = Sieve.joined([Sieve.of(turn, turn.encode(part)) for part in (held[:100], held[100:])])
    assert all(np.array_equal(getattr(whole, name), getattr(joined, name)) for name in Sieve._fields)
    kept = np.arange(300) % 3 == 0
    fewer = joined.only(kept)
    assert (fewer.tails == Sieve.of(turn, turn.encode(held[kept])).tails).all()
    assert fewer.turn == whole.turn


@pytest.mark.parametrize(("count", "limit"), [(1, 1), (64, 1), (65, 1), (1000, 15), (1000, 16), (5000, 60)])
def test_the_edge_is_the_last_that_counts(count: int, limit: int) -> None:
    scores = np.random.default_rng(count).permutation(count).astype(np.float32)
    assert edge_of(scores, limit) == count - limit


def test_numpy_compares_bytes_where_nothing_quicker_does(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(3)
    held = chance.integers(-127, 128, (2 * codes.AT_ONCE + 5, 33), dtype=np.int8)
    quick = products(held, held[7:8])
    monkeypatch.setattr(codes, "QUICK", False)
    assert products(held, held[7:8]).tolist() == quick.tolist()


def _refuses(*_: Any, **__: Any) -> Any:
    raise TypeError("Input tensors must have matching datatypes")


@pytest.mark.parametrize(
    "there", [None, SimpleNamespace(dot=_refuses), SimpleNamespace(dot=lambda _, rows, **__: np.zeros(len(rows)))]
)
def test_what_computes_something_else_is_done_without(there: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert codes._is_quick()
    monkeypatch.setattr(codes, "simsimd", there)
    assert not codes._is_quick()


BESIDE = """
import {}
import {}
import numpy as np
from recollect.stores.sqlite.codes import products
import usearch
rows = np.arange(-64, 64, dtype=np.int8).reshape(4, 32)
assert products(rows, rows[:1]).tolist() == (rows.astype(int) @ rows[0].astype(int)).tolist()
"""


@pytest.mark.parametrize("first", ["usearch", "simsimd"])
def test_usearch_may_be_in_the_same_process(first: str) -> None:
    second = "simsimd" if first == "usearch" else "usearch"
    subprocess.run([sys.executable, "-c", BESIDE.format(first, second)], check=True)
