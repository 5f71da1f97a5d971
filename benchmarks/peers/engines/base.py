"""What every engine does here, and how two lists become one by hand where it has no hybrid search of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.corpus import Batch
from benchmarks.peers.exact import Idf

__all__ = ["DEPTH", "RRF_K", "TOP_K", "Engine", "Floats", "Hybrid", "Leg", "fused"]

Floats: TypeAlias = NDArray[np.float32]
Leg: TypeAlias = Literal["words", "vectors"]
Hybrid: TypeAlias = Literal["rrf", "default"]

DEPTH, TOP_K = 60, 10
"""How many notes each leg returns, and how many the two together."""
RRF_K = 60
"""The constant of reciprocal rank fusion, as its paper has it and everybody uses it."""


class Engine(Protocol):
    """One engine over a folder of its own; the ids of notes are whole numbers.

    Words are asked for by OR: a note that has one of them is found. After :meth:`open`, threads may search at the same
    time.
    """

    about: ClassVar[str]
    """What it is, in a few words for a table."""
    legs: ClassVar[tuple[Leg, ...]]
    """What it can search by."""
    hybrids: ClassVar[tuple[Hybrid, ...]]
    """How it can search by both: ``rrf``, which all have that have any, and, of Recollect, its default preset."""
    writes: ClassVar[bool]
    """Whether a note can be added without building anew."""
    durable: ClassVar[bool]
    """Whether such a note is safe from a crash when :meth:`add` returns."""
    exact: ClassVar[bool]
    """Whether its search by vectors compares every one."""
    idf: ClassVar[Idf]
    """The custom by which it weighs words."""

    def __init__(self, folder: Path, dimension: int) -> None:
        """Keep where it lives; nothing is opened yet."""
        ...

    def build(self, batches: Iterable[Batch]) -> None:
        """Take in all notes, make all indexes, and leave everything on the disk."""
        ...

    def open(self) -> None:
        """Open what was built."""
        ...

    def search_words(self, text: str, depth: int) -> list[int]:
        """Return the best notes by BM25."""
        ...

    def search_vectors(self, vector: Floats, depth: int) -> list[int]:
        """Return the nearest notes."""
        ...

    def hybrid(self, way: Hybrid, text: str, vector: Floats, top_k: int, depth: int) -> list[int]:
        """Return the best notes of both legs, each of which looks ``depth`` notes deep."""
        ...

    def add(self, number: int, text: str, vector: Floats) -> None:
        """Add a note so that it lasts."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


def fused(rankings: Sequence[Sequence[int]], top_k: int) -> list[int]:
    """Return the best of several rankings by reciprocal rank fusion, as one writes it by hand.

    >>> fused([[1, 2, 3], [2, 9]], 2)
    [2, 1]
    """
    points: dict[int, float] = {}
    for ranking in rankings:
        for rank, note in enumerate(ranking, start=1):
            points[note] = points.get(note, 0.0) + 1 / (RRF_K + rank)
    return sorted(points, key=points.__getitem__, reverse=True)[:top_k]
