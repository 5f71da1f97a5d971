"""The format of snapshot files: arrays round-trip, and damage is detected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recollect.errors import StoreDamagedError
from recollect.stores.sqlite.snapshots import load_arrays, save_arrays


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "numbers"
    arrays: dict[str, NDArray[Any]] = {
        "small": np.arange(3, dtype=np.int8),
        "wide": np.ones((2, 5), np.float32),
        "none": np.empty((0, 7)),
    }
    save_arrays(path, arrays, {"average": 1.5})
    return path


def test_arrays_round_trip(path: Path) -> None:
    snapshot = load_arrays(path)
    assert snapshot.facts == {"average": 1.5}
    assert snapshot.arrays["small"].tolist() == [0, 1, 2]
    assert snapshot.arrays["wide"].tolist() == [[1] * 5] * 2
    assert snapshot.arrays["none"].shape == (0, 7)
    assert not snapshot.arrays["small"].flags.writeable
    load_arrays(path, verify=True)


def test_save_does_not_overwrite(path: Path) -> None:
    with pytest.raises(FileExistsError):
        save_arrays(path, {}, {})


@pytest.mark.parametrize("damage", ["cut", "other", "empty", "no lines"])
def test_load_rejects_another_file(path: Path, damage: str) -> None:
    content = path.read_bytes()
    path.write_bytes({"cut": content[:-80], "other": b"tea\n" + content, "empty": b"", "no lines": b"tea"}[damage])
    with pytest.raises(StoreDamagedError, match="is not a snapshot file"):
        load_arrays(path)


@pytest.mark.parametrize(
    "header",
    [
        "[1]",
        '{"arrays": [1], "facts": {}, "check": 1}',
        '{"arrays": {}, "facts": null, "check": 0}',
        '{"arrays": {"ones": ["|tea", [1], 0]}, "facts": {}, "check": 0}',
    ],
)
def test_load_rejects_an_invalid_header(path: Path, header: str) -> None:
    path.write_bytes(b"recollect arrays 1\n" + header.encode() + b"\n")
    with pytest.raises(StoreDamagedError, match="is not a snapshot file"):
        load_arrays(path)


def test_checksum_detects_a_changed_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.rindex(b"\x00\x01\x02") + 1] = 9
    path.write_bytes(content)
    assert load_arrays(path).arrays["small"].tolist() == [0, 9, 2]
    with pytest.raises(StoreDamagedError, match="its checksum is wrong"):
        load_arrays(path, verify=True)
