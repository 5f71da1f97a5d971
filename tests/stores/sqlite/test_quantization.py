"""Quantised vectors: error bounds hold, and a scan misses no candidate."""

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

from recollect.stores.rows import to_unit_length
from recollect.stores.sqlite import vector_scan
from recollect.stores.sqlite.vector_index import VectorView
from recollect.stores.sqlite.vector_scan import (
    NO_ROTATION,
    PcaRotation,
    PrunedCodes,
    VectorScan,
    dot_products,
    error_bound,
    fit_rotation,
    kth_best,
    quantize,
)


def rows(seed: int, count: int, dimension: int, kind: str) -> NDArray[np.float32]:
    """Return unit vectors: uniform, clustered, sparse, flat (few principal axes) or with duplicates."""
    generator = np.random.default_rng(seed)
    vectors = generator.standard_normal((count, dimension)).astype(np.float32)
    if kind == "clustered":
        vectors = vectors / np.float32(50) + np.float32(1)
    elif kind == "sparse":
        vectors *= generator.random((count, dimension)) < 0.05
    elif kind == "flat":
        vectors *= np.where(np.arange(dimension) < dimension / 4, 1, 0.05)
    elif kind == "duplicates":
        vectors = vectors[generator.integers(0, max(1, count // 5), count)]
    return to_unit_length(vectors)


KINDS = st.sampled_from(["uniform", "clustered", "sparse", "flat", "duplicates"])


def rotation_of(vectors: NDArray[np.float32], head: int) -> PcaRotation:
    """Return a rotation with a head of any size."""
    axes = np.linalg.eigh((vectors.T @ vectors).astype(np.float64))[1][:, ::-1].astype(np.float32)
    return PcaRotation(axes, head) if head else NO_ROTATION


@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([1, 2, 3, 17, 384, 1536]), KINDS)
def test_error_bound_holds(seed: int, count: int, dimension: int, kind: str) -> None:
    vectors, (query,) = rows(seed, count, dimension, kind), rows(seed + 1, 1, dimension, kind)
    exact = (vectors.astype(np.float64) * query).sum(axis=1)
    row_codes, query_codes = quantize(vectors), quantize(query[np.newaxis])
    products = dot_products(row_codes.codes, query_codes.codes) * row_codes.scales * query_codes.scales[0]
    bound = error_bound(row_codes.errors, query_codes)
    assert (np.abs(products - exact) <= bound).all()
    assert (bound < 0.05).all()


def view_of(
    vectors: NDArray[np.float32],
    chunks: NDArray[np.int64],
    rotation: PcaRotation,
    tombstones: frozenset[int] = frozenset(),
) -> VectorView:
    """Return a view of notes with keys 10, 20, 30 …, half of them in a snapshot; ``chunks`` has their chunk counts."""
    ends = np.cumsum(chunks)
    half = int(ends[len(ends) // 2])
    parts = [
        PrunedCodes.split(rotation, rotation.quantize(vectors[:half])),
        PrunedCodes.split(NO_ROTATION, quantize(vectors[half:])),
    ]
    return VectorView(
        [part for part in parts if len(part.scales)], 10 * np.arange(1, len(chunks) + 1), ends, tombstones
    )


@given(
    st.integers(0, 10**6),
    st.integers(1, 400),
    st.sampled_from([2, 16, 64]),
    KINDS,
    st.sampled_from([1, 2, 5, 60]),
    st.sampled_from([0, 1, 3]),
    st.sampled_from([2, 2048]),
)
def test_search_misses_no_candidate(
    seed: int, count: int, dimension: int, kind: str, limit: int, head_quarters: int, refine_rows: int
) -> None:
    generator = np.random.default_rng(seed)
    chunks = generator.choice([1, 1, 1, 2, 4], count) if seed % 2 else np.ones(count, np.int64)
    vectors, (query,) = rows(seed, int(chunks.sum()), dimension, kind), rows(seed + 1, 1, dimension, kind)
    keys = 10 * np.arange(1, count + 1)
    tombstones = frozenset(generator.choice(keys, count // 10, replace=False).tolist())
    allowed = np.sort(np.append(generator.choice(keys, count // 2, replace=False), [5, 10 * count + 15]))
    exact = np.maximum.reduceat((vectors.astype(np.float64) * query).sum(axis=1), np.cumsum([0, *chunks[:-1]]))
    view = view_of(vectors, chunks, rotation_of(vectors, dimension * head_quarters // 4), tombstones)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(vector_scan, "REFINE_ROWS", refine_rows)
        for allowed_keys in (None, allowed):
            visible = np.array(
                [key not in tombstones and (allowed_keys is None or key in allowed_keys) for key in keys]
            )
            results = view.search(query, limit, allowed_keys)
            assert set(results) <= set(keys[visible])
            threshold = np.sort(exact[visible])[-limit] if visible.sum() > limit else -np.inf
            assert set(keys[visible & (exact >= threshold)]) <= set(results)


@pytest.mark.parametrize("kind", ["uniform", "flat"])
def test_search_returns_few_candidates(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_scan, "PARALLEL_ROWS", 1_000)
    monkeypatch.setattr(vector_scan, "MAX_HELPERS", 2)
    monkeypatch.setattr(vector_scan, "BATCH_ROWS", 8 * vector_scan.GROUP)
    vectors = rows(1, 20_000, 384, kind)
    rotation = fit_rotation(vectors[::5], 60 / 20_000)
    assert (rotation is NO_ROTATION) == (kind == "uniform")  # a rotation needs principal axes
    query = rows(2, 1, 384, kind)[0]
    results = view_of(vectors, np.ones(20_000, dtype=np.int64), rotation).search(query, 60)
    assert 60 <= len(results) < 400
    exact = np.argsort(-(vectors.astype(np.float64) @ query))[:60]
    assert {10 * (row + 1) for row in exact.tolist()} <= set(results)


def test_no_rotation_if_one_dominant_axis_makes_codes_coarse() -> None:
    vectors = rows(1, 4_000, 384, "flat")
    common = rows(5, 1, 384, "uniform")
    assert fit_rotation(vectors, 60 / 20_000) is not NO_ROTATION
    assert fit_rotation(to_unit_length(vectors + 2 * common), 60 / 20_000) is NO_ROTATION


def test_scan_raises_errors_of_helper_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_scan, "REFINE_ROWS", 10)
    vectors = rows(4, 300, 32, "uniform")
    with pytest.raises(IndexError, match="boolean index did not match"):
        VectorScan(PrunedCodes.split(NO_ROTATION, quantize(vectors)), vectors[0]).candidates(
            5, np.zeros(200, dtype=np.bool_)
        )


def test_concatenate_and_select_rows() -> None:
    vectors = rows(3, 300, 32, "flat")
    rotation = rotation_of(vectors, 8)
    expected = PrunedCodes.split(rotation, rotation.quantize(vectors))
    parts = [PrunedCodes.split(rotation, rotation.quantize(part)) for part in (vectors[:100], vectors[100:])]
    joined = PrunedCodes.concatenate(parts, slice(None))
    assert all(np.array_equal(getattr(expected, name), getattr(joined, name)) for name in PrunedCodes._fields)
    selected = np.arange(300) % 3 == 0
    fewer = PrunedCodes.concatenate(parts, selected)
    assert (fewer.tails == PrunedCodes.split(rotation, rotation.quantize(vectors[selected])).tails).all()
    assert fewer.rotation == expected.rotation


@pytest.mark.parametrize(("count", "limit"), [(1, 1), (64, 1), (65, 1), (1000, 15), (1000, 16), (5000, 60)])
def test_kth_best(count: int, limit: int) -> None:
    scores = np.random.default_rng(count).permutation(count).astype(np.float32)
    assert kth_best(scores, limit) == count - limit


def test_dot_products_without_simsimd(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    vectors = generator.integers(-127, 128, (2 * vector_scan.NUMPY_ROWS + 5, 33), dtype=np.int8)
    expected = dot_products(vectors, vectors[7:8])
    monkeypatch.setattr(vector_scan, "USE_SIMSIMD", False)
    assert dot_products(vectors, vectors[7:8]).tolist() == expected.tolist()


def _refuses(*_: Any, **__: Any) -> Any:
    raise TypeError("Input tensors must have matching datatypes")


@pytest.mark.parametrize(
    "module", [None, SimpleNamespace(dot=_refuses), SimpleNamespace(dot=lambda _, rows, **__: np.zeros(len(rows)))]
)
def test_broken_simsimd_is_not_used(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert vector_scan._simsimd_works()
    monkeypatch.setattr(vector_scan, "simsimd", module)
    assert not vector_scan._simsimd_works()


USEARCH_SCRIPT = """
import {}
import {}
import numpy as np
from recollect.stores.sqlite.vector_scan import dot_products
import usearch
rows = np.arange(-64, 64, dtype=np.int8).reshape(4, 32)
assert dot_products(rows, rows[:1]).tolist() == (rows.astype(int) @ rows[0].astype(int)).tolist()
"""


@pytest.mark.parametrize("first", ["usearch", "simsimd"])
def test_usearch_in_the_same_process(first: str) -> None:
    second = "simsimd" if first == "usearch" else "usearch"
    subprocess.run([sys.executable, "-c", USEARCH_SCRIPT.format(first, second)], check=True)
