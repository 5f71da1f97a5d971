"""bm25s, a numpy matrix of vectors, and reciprocal rank fusion in Python."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numpy as np

from benchmarks.peers.corpus import TextBatch
from benchmarks.peers.engines.base import Floats, HybridMethod, Leg, fuse
from benchmarks.peers.exact import Idf
from recollect.errors import RecollectError

__all__ = ["Bm25sNumpy"]

_WORD = r"(?u)[^\W_]+"
"""Matches terms as the other engines do; the default pattern of bm25s drops terms of one letter."""


class Bm25sNumpy:
    """Precomputed BM25 scores and a full vector scan; a new note needs a new index."""

    about: ClassVar[str] = "bm25s + numpy, by hand"
    legs: ClassVar[tuple[Leg, ...]] = ("words", "vectors")
    hybrids: ClassVar[tuple[HybridMethod, ...]] = ("rrf",)
    writes: ClassVar[bool] = False
    durable: ClassVar[bool] = False
    exact: ClassVar[bool] = True
    idf: ClassVar[Idf] = "lucene"

    def __init__(self, folder: Path, dimension: int) -> None:
        self._folder = folder
        self._dimension = dimension

    def build(self, batches: Iterable[TextBatch]) -> None:
        """Tokenize and index all notes, and save the index and the vectors."""
        import bm25s  # noqa: PLC0415 (an extra)

        self._folder.mkdir(parents=True, exist_ok=True)
        texts: list[str] = []
        with (self._folder / "vectors.f32").open("wb") as vectors:
            for batch in batches:
                texts += batch.texts
                batch.vectors.tofile(vectors)
        index = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
        index.index(self._tokens(texts), show_progress=False)
        index.save(str(self._folder / "words"), show_progress=False)

    def open(self) -> None:
        """Load the index and the vectors."""
        import bm25s  # noqa: PLC0415 (an extra)

        self._words: Any = bm25s.BM25.load(str(self._folder / "words"), show_progress=False)
        rows = np.fromfile(self._folder / "vectors.f32", dtype=np.float32)
        self._vectors = rows.reshape(-1, self._dimension)

    def search_text(self, text: str, depth: int) -> list[int]:
        """Search bm25s; drop the notes without a match with which bm25s pads its results."""
        words = self._tokens([text], ids=False)
        ids, scores = self._words.retrieve(words, k=min(depth, len(self._vectors)), show_progress=False)
        return [int(number) for number, score in zip(ids[0], scores[0], strict=True) if score > 0]

    def search_vectors(self, vector: Floats, depth: int) -> list[int]:
        """Compare every vector."""
        scores = self._vectors @ vector
        best = np.argpartition(-scores, min(depth, len(scores) - 1))[:depth]
        return [int(number) for number in best[np.argsort(-scores[best])]]

    def hybrid(self, method: HybridMethod, text: str, vector: Floats, top_k: int, depth: int) -> list[int]:  # noqa: ARG002 (there is one method)
        """Search both legs and fuse."""
        return fuse([self.search_text(text, depth), self.search_vectors(vector, depth)], top_k)

    def add(self, number: int, text: str, vector: Floats) -> NoReturn:  # noqa: ARG002 (nothing can be added)
        """Fail: the scores are precomputed."""
        raise RecollectError("bm25s cannot add a note to an index")

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def _tokens(self, texts: list[str], *, ids: bool = True) -> Any:
        import bm25s  # noqa: PLC0415 (an extra)

        return bm25s.tokenize(texts, token_pattern=_WORD, stopwords=None, return_ids=ids, show_progress=False)
