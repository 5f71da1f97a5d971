from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import StoreError
from recollect.evaluation.embeddings import VectorCache


def key(number: int) -> bytes:
    return number.to_bytes(4)


def fill(path: Path, start: int) -> None:
    cache = VectorCache(path)
    for number in range(start, start + 50):
        cache.put({key(number): np.full(3, number, dtype=np.float32)})


def test_cache_returns_the_same_bits(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "deep" / "a.vectors")
    assert cache.get([b"x"]) == {}
    vectors = {key(number): np.random.default_rng(number).random(5, dtype=np.float32) for number in range(1201)}
    cache.put(vectors)
    found = cache.get([*vectors, b"missing"])
    assert found.keys() == vectors.keys()
    assert all((found[each] == vectors[each]).all() for each in vectors)


def test_put_keeps_the_first_vector(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "a.vectors")
    cache.put({b"x": np.ones(2, dtype=np.float32)})
    cache.put({b"x": np.zeros(2, dtype=np.float32)})
    assert cache.get([b"x"])[b"x"].tolist() == [1, 1]


def test_two_processes_fill_one_cache(tmp_path: Path) -> None:
    path = tmp_path / "a.vectors"
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(fill, [path, path], [0, 25]))
    assert len(VectorCache(path).get([key(number) for number in range(75)])) == 75


def test_get_reports_a_corrupt_file(tmp_path: Path) -> None:
    (tmp_path / "a.vectors").write_bytes(b"x" * 4096)
    with pytest.raises(StoreError, match=r"cannot cache vectors in .*a.vectors .*: delete the file, or choose another"):
        VectorCache(tmp_path / "a.vectors").get([b"x"])
    with pytest.raises(StoreError, match="cannot cache vectors in"):
        VectorCache(tmp_path / "a.vectors" / "b.vectors").put({b"x": np.ones(2, dtype=np.float32)})
