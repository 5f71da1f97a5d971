"""Arrays come back from a file as they went, and a file that is not whole is told from one that is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recollect.errors import StoreDamagedError
from recollect.stores.sqlite.arrays import is_whole, load, save


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "numbers"
    arrays: dict[str, NDArray[Any]] = {
        "small": np.arange(3, dtype=np.int8),
        "wide": np.ones((2, 5), np.float32),
        "none": np.empty((0, 7)),
    }
    save(path, arrays, {"average": 1.5})
    return path


def test_arrays_come_back(path: Path) -> None:
    found = load(path)
    assert found.facts == {"average": 1.5}
    assert found.arrays["small"].tolist() == [0, 1, 2]
    assert found.arrays["wide"].tolist() == [[1] * 5] * 2
    assert found.arrays["none"].shape == (0, 7)
    assert not found.arrays["small"].flags.writeable
    assert is_whole(path)


def test_nothing_is_overwritten(path: Path) -> None:
    with pytest.raises(FileExistsError):
        save(path, {}, {})


@pytest.mark.parametrize("damage", ["cut", "other", "empty", "no lines"])
def test_another_file_is_refused(path: Path, damage: str) -> None:
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[:-80], "other": b"tea\n" + whole, "empty": b"", "no lines": b"tea"}[damage])
    with pytest.raises(StoreDamagedError, match="is no file of arrays"):
        load(path)
    assert not is_whole(path)


@pytest.mark.parametrize(
    "told",
    [
        "[1]",
        '{"arrays": [1], "facts": {}, "check": 1}',
        '{"arrays": {}, "facts": null, "check": 0}',
        '{"arrays": {"ones": ["|tea", [1], 0]}, "facts": {}, "check": 0}',
    ],
)
def test_what_it_says_of_itself_must_make_sense(path: Path, told: str) -> None:
    path.write_bytes(b"recollect arrays 1\n" + told.encode() + b"\n")
    with pytest.raises(StoreDamagedError, match="is no file of arrays"):
        load(path)


def test_a_changed_byte_is_noticed(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[whole.rindex(b"\x00\x01\x02") + 1] = 9
    path.write_bytes(whole)
    assert load(path).arrays["small"].tolist() == [0, 9, 2]
    assert not is_whole(path)
    assert not is_whole(path.with_name("missing"))
