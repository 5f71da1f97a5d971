from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import StoreError
from recollect.stores.sqlite.kept_vectors import KeptVectors


def key(number: int) -> bytes:
    return number.to_bytes(4)


def fill(path: Path, start: int) -> None:
    kept = KeptVectors(path)
    for number in range(start, start + 50):
        kept.put({key(number): np.full(3, number, dtype=np.float32)})


def test_vectors_come_back_bit_for_bit(tmp_path: Path) -> None:
    kept = KeptVectors(tmp_path / "deep" / "a.vectors")
    assert kept.get([b"x"]) == {}
    vectors = {key(number): np.random.default_rng(number).random(5, dtype=np.float32) for number in range(1201)}
    kept.put(vectors)
    found = kept.get([*vectors, b"missing"])
    assert found.keys() == vectors.keys()
    assert all((found[each] == vectors[each]).all() for each in vectors)


def test_what_is_kept_stays(tmp_path: Path) -> None:
    kept = KeptVectors(tmp_path / "a.vectors")
    kept.put({b"x": np.ones(2, dtype=np.float32)})
    kept.put({b"x": np.zeros(2, dtype=np.float32)})
    assert kept.get([b"x"])[b"x"].tolist() == [1, 1]


def test_two_processes_may_fill_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.vectors"
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(fill, [path, path], [0, 25]))
    assert len(KeptVectors(path).get([key(number) for number in range(75)])) == 75


def test_a_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.vectors").write_bytes(b"x" * 4096)
    with pytest.raises(StoreError, match=r"vectors cannot be kept in .*a.vectors .*: delete the file, or name another"):
        KeptVectors(tmp_path / "a.vectors").get([b"x"])
    with pytest.raises(StoreError, match="vectors cannot be kept in"):
        KeptVectors(tmp_path / "a.vectors" / "b.vectors").put({b"x": np.ones(2, dtype=np.float32)})
