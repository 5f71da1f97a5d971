"""Text becomes vectors."""

from recollect.embedders.base import Embedder

__all__ = ["Embedder"]
