"""What every embedder keeps: text becomes vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

__all__ = ["Embedder"]


class Embedder(Protocol):
    """Turns texts into vectors whose dot product says how near they are in meaning.

    Making one is cheap: a model is loaded when the first text comes. All methods may be called from several threads.
    """

    @property
    def name(self) -> str:
        """The model's name, as it is stored with its vectors: other vectors cannot be compared with them."""
        ...

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> NDArray[float32]:
        """Return one row of unit length for each text, in the same order; raise ``EmbedderError`` if that fails."""
        ...

    def embed_query(self, text: str) -> NDArray[float32]:
        """Return the vector of a query, of unit length; raise ``EmbedderError`` if that fails."""
        ...
