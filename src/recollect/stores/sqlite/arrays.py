"""Arrays in one file that is mapped into memory: nothing of it is read before it is asked for."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.errors import StoreDamagedError

__all__ = ["Arrays", "is_of_arrays", "is_whole", "load", "save"]

_MAGIC = b"recollect arrays 1\n"
_ALIGNED = 64
_HEAD = 1 << 14
"""More than what stands before the arrays can take."""


class Arrays(NamedTuple):
    """Arrays by name, and whatever else is to be known of them, ready for JSON."""

    arrays: dict[str, NDArray[Any]]
    facts: dict[str, Any]


def save(path: Path, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
    """Write arrays of any shape to a file that was not there, to the disk; nobody else may read it."""
    told, offset, check = {}, 0, 0
    for name, array in arrays.items():
        told[name] = (array.dtype.str, array.shape, offset)
        offset += -(-array.nbytes // _ALIGNED) * _ALIGNED
    whole = {name: np.ascontiguousarray(array).reshape(-1).view(np.uint8) for name, array in arrays.items()}
    for array in whole.values():
        check = zlib.crc32(array.data, check)
    head = _MAGIC + json.dumps({"arrays": told, "facts": dict(facts), "check": check}).encode() + b"\n"
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode=0o600)) as file:
        file.write(head.ljust(-(-len(head) // _ALIGNED) * _ALIGNED))
        for array in whole.values():
            file.write(array.data)
            file.write(b"\0" * (-array.nbytes % _ALIGNED))
        file.flush()
        os.fsync(file.fileno())


def load(path: Path) -> Arrays:
    """Map the arrays of a file into memory.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save(Path(folder, "numbers"), {"ones": np.ones((2, 3), dtype=np.int8)}, {"why": "to see"})
    ...     found = load(Path(folder, "numbers"))
    ...     found.arrays["ones"].tolist(), found.facts, is_whole(Path(folder, "numbers"))
    ([[1, 1, 1], [1, 1, 1]], {'why': 'to see'}, True)
    """
    try:
        held = np.memmap(path, dtype=np.uint8, mode="r")
        described, start = _described(held)
        arrays = {}
        for name, (kind, shape, offset) in described["arrays"].items():
            size = np.dtype(kind).itemsize * int(np.prod(shape, dtype=np.int64))
            if start + offset + size > len(held):
                raise ValueError("it is cut short")
            arrays[name] = np.asarray(held[start + offset : start + offset + size]).view(kind).reshape(shape)
        return Arrays(arrays, dict(described["facts"]))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise StoreDamagedError(f"{path} is no file of arrays ({error}); delete it") from error


def is_of_arrays(path: Path) -> bool:
    """Return whether a file was begun by :func:`save`, be it that who did so came no further."""
    with path.open("rb") as file:
        begun = file.read(len(_MAGIC))
    return begun in (_MAGIC, b"")


def is_whole(path: Path) -> bool:
    """Return whether every byte of the arrays is as it was written."""
    try:
        found = load(path).arrays
        expected = _described(np.memmap(path, dtype=np.uint8, mode="r"))[0]["check"]
    except (StoreDamagedError, OSError):
        return False
    check = 0
    for array in found.values():
        check = zlib.crc32(array.reshape(-1).view(np.uint8).data, check)
    return bool(check == expected)


def _described(held: NDArray[np.uint8]) -> tuple[dict[str, Any], int]:
    """Return what a file says of its arrays, and where they begin."""
    head = held[:_HEAD].tobytes()
    magic, told, rest = head.split(b"\n", 2)
    if magic + b"\n" != _MAGIC:
        raise ValueError("it begins otherwise")
    return json.loads(told), -(-(len(head) - len(rest)) // _ALIGNED) * _ALIGNED
