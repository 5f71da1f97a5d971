"""Arrays by hand: bm25s for words, one matrix in numpy for vectors, and reciprocal rank fusion in Python."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numpy as np

from benchmarks.peers.corpus import Batch
from benchmarks.peers.engines.base import Floats, Hybrid, Leg, fused
from benchmarks.peers.exact import Idf
from recollect.errors import RecollectError

__all__ = ["Bm25sNumpy"]

_WORD = r"(?u)[^\W_]+"
"""What a word is to the others: its own pattern leaves out words of one letter."""


class Bm25sNumpy:
    """Scores that were worked out beforehand, and every vector compared; a new note means building anew."""

    about: ClassVar[str] = "bm25s + numpy, by hand"
    legs: ClassVar[tuple[Leg, ...]] = ("words", "vectors")
    hybrids: ClassVar[tuple[Hybrid, ...]] = ("rrf",)
    writes: ClassVar[bool] = False
    durable: ClassVar[bool] = False
    exact: ClassVar[bool] = True
    idf: ClassVar[Idf] = "lucene"

    def __init__(self, folder: Path, dimension: int) -> None:
        """Keep where the files are."""
        self._folder = folder
        self._dimension = dimension

    def build(self, batches: Iterable[Batch]) -> None:
        """Tokenize everything, index it as a whole, and save it; the matrix is written as it comes."""
        import bm25s  # noqa: PLC0415 (of an extra)

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
        """Load all of it."""
        import bm25s  # noqa: PLC0415 (of an extra)

        self._words: Any = bm25s.BM25.load(str(self._folder / "words"), show_progress=False)
        rows = np.fromfile(self._folder / "vectors.f32", dtype=np.float32)
        self._vectors = rows.reshape(-1, self._dimension)

    def search_words(self, text: str, depth: int) -> list[int]:
        """Ask bm25s; notes without any of the words, which it adds where it has room, are left out."""
        words = self._tokens([text], ids=False)
        found, scores = self._words.retrieve(words, k=min(depth, len(self._vectors)), show_progress=False)
        return [int(number) for number, score in zip(found[0], scores[0], strict=True) if score > 0]

    def search_vectors(self, vector: Floats, depth: int) -> list[int]:
        """Multiply, and sort what is best."""
        scores = self._vectors @ vector
        best = np.argpartition(-scores, min(depth, len(scores) - 1))[:depth]
        return [int(number) for number in best[np.argsort(-scores[best])]]

    def hybrid(self, way: Hybrid, text: str, vector: Floats, top_k: int, depth: int) -> list[int]:  # noqa: ARG002 (there is one way)
        """Ask both, and fuse."""
        return fused([self.search_words(text, depth), self.search_vectors(vector, depth)], top_k)

    def add(self, number: int, text: str, vector: Floats) -> NoReturn:  # noqa: ARG002 (nothing can be added)
        """Refuse: what a word counts was worked out for the notes that there were."""
        raise RecollectError("bm25s cannot add a note to an index; build it anew")

    def close(self) -> None:
        """Do nothing: arrays hold nothing open."""

    def _tokens(self, texts: list[str], *, ids: bool = True) -> Any:
        import bm25s  # noqa: PLC0415 (of an extra)

        return bm25s.tokenize(texts, token_pattern=_WORD, stopwords=None, return_ids=ids, show_progress=False)
