"""The interface of an engine, and reciprocal rank fusion for engines without hybrid search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.corpus import TextBatch
from benchmarks.peers.exact import Idf

__all__ = ["DEPTH", "RRF_K", "TOP_K", "Engine", "Floats", "HybridMethod", "Leg", "fuse"]

Floats: TypeAlias = NDArray[np.float32]
Leg: TypeAlias = Literal["words", "vectors"]
HybridMethod: TypeAlias = Literal["rrf", "default"]

DEPTH, TOP_K = 60, 10
"""The number of results of each leg, and of hybrid search."""
RRF_K = 60
"""The usual constant of reciprocal rank fusion."""


class Engine(Protocol):
    """An engine whose index is in one folder. Note ids are whole numbers from 0.

    Lexical search matches any term. After :meth:`open`, several threads may search at once.
    """

    about: ClassVar[str]
    """The engine's name in tables."""
    legs: ClassVar[tuple[Leg, ...]]
    """``words`` for lexical search, ``vectors`` for vector search."""
    hybrids: ClassVar[tuple[HybridMethod, ...]]
    """The hybrid methods: ``rrf``, and for Recollect also ``default``, its default preset."""
    writes: ClassVar[bool]
    """Whether a note can be added without rebuilding the index."""
    durable: ClassVar[bool]
    """Whether a note survives a crash when :meth:`add` has returned."""
    exact: ClassVar[bool]
    """Whether vector search compares every vector."""
    idf: ClassVar[Idf]
    """The definition of idf in the engine's BM25."""

    def __init__(self, folder: Path, dimension: int) -> None: ...

    def build(self, batches: Iterable[TextBatch]) -> None:
        """Ingest all notes, build all indexes and write everything to the disk."""
        ...

    def open(self) -> None:
        """Open the index."""
        ...

    def search_text(self, text: str, depth: int) -> list[int]:
        """Return the best notes by BM25."""
        ...

    def search_vectors(self, vector: Floats, depth: int) -> list[int]:
        """Return the nearest notes by cosine similarity."""
        ...

    def hybrid(self, method: HybridMethod, text: str, vector: Floats, top_k: int, depth: int) -> list[int]:
        """Return the ``top_k`` best notes of both legs together; each leg has ``depth`` results."""
        ...

    def add(self, number: int, text: str, vector: Floats) -> None:
        """Add one note; the call returns when the note is durable, if the engine can do that."""
        ...

    def close(self) -> None:
        """Close the index and release its resources."""
        ...


def fuse(rankings: Sequence[Sequence[int]], top_k: int) -> list[int]:
    """Return the best notes by reciprocal rank fusion.

    >>> fuse([[1, 2, 3], [2, 9]], 2)
    [2, 1]
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, note in enumerate(ranking, start=1):
            scores[note] = scores.get(note, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=scores.__getitem__, reverse=True)[:top_k]
