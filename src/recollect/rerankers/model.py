"""What all rerankers share: checks of what they are asked and of what their model answers, and the order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from recollect import arguments
from recollect.characters import well_formed
from recollect.rerankers.verdicts import ranking

__all__ = ["ModelReranker"]


class ModelReranker(ABC):
    """A reranker less its model: a subclass says in ``_verdict`` how documents are judged.

    >>> class Longest(ModelReranker):
    ...     def _verdict(self, query, documents):
    ...         return [len(document) for document in documents]
    >>> Longest("longest", "a toy").rerank("tea", ["a", "three", "to"])
    [(1, 5.0), (2, 2.0), (0, 1.0)]
    """

    def __init__(self, name: str, runtime: str) -> None:
        """Check the name."""
        self._name = arguments.name("name", name)
        self._runtime = runtime

    @property
    def name(self) -> str:
        """The reranker's name, as a trace shows it."""
        return self._name

    def describe(self) -> str:
        """Return what this reranker is, in one line; the model is not asked for it."""
        return f"{self._name}, {self._runtime}"

    def rerank(self, query: str, documents: Sequence[str]) -> list[tuple[int, float]]:
        """Return pairs of an index into ``documents`` and a score, the best first; the model may leave some out."""
        asked = well_formed(arguments.text("query", query))
        given = arguments.sequence("documents", documents)
        texts = [well_formed(arguments.text(f"documents[{place}]", text)) for place, text in enumerate(given)]
        return ranking(self._name, self._verdict(asked, texts), count=len(given)) if texts else []

    @abstractmethod
    def _verdict(self, query: str, documents: list[str]) -> Any:
        """Return a score for each document, or pairs of an index and a score; raise ``RerankerError`` if it fails."""
