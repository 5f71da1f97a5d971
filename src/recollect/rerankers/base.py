"""What every reranker keeps: a query and documents become scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

__all__ = ["Reranker"]


class Reranker(Protocol):
    """Says how well each of a few documents matches a query.

    Making one is cheap: a model is loaded when the first query comes. All methods may be called from several threads.
    """

    @property
    def name(self) -> str:
        """The reranker's name, as a trace shows it."""
        ...

    def rerank(self, query: str, documents: Sequence[str]) -> Sequence[tuple[int, float]]:
        """Return pairs of an index into ``documents`` and a score, the higher the better, in any order.

        Documents may be missing; raise ``RerankerError`` if it fails.
        """
        ...
