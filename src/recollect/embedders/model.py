"""What all embedders share: prefixes, batches, checks of what a model returns, and a memory of recent queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from recollect import arguments
from recollect.characters import well_formed
from recollect.embedders.rows import unit_rows
from recollect.inference.batches import batches

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

__all__ = ["QUERY_CACHE", "ModelEmbedder"]

QUERY_CACHE = 1024
"""How many query vectors an embedder remembers unless it is told otherwise."""


class ModelEmbedder(ABC):
    """An embedder less its model: a subclass says in ``_vectors`` how a batch of texts becomes vectors.

    The base puts prefixes before texts, sorts texts into batches of like length, checks the model's answers, brings
    rows to unit length, and remembers the vectors of the last ``query_cache`` queries. A document prefix changes the
    stored vectors, so that it is part of the name.

    >>> class Letters(ModelEmbedder):
    ...     def _vectors(self, texts):
    ...         return [[text.count("a"), text.count("e")] for text in texts]
    >>> embedder = Letters("letters", "two counts", dimension=2)
    >>> embedder.embed_documents(["banana", "eel"]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    >>> embedder.describe()
    'letters, 2 dimensions, two counts'
    """

    def __init__(
        self,
        model: str,
        runtime: str,
        *,
        dimension: int | None = None,
        batch_size: int = 64,
        batch_characters: int | None = None,
        query_prefix: str = "",
        document_prefix: str = "",
        query_cache: int = QUERY_CACHE,
    ) -> None:
        """Check the arguments; without ``dimension`` the model's first answer tells."""
        self._model = arguments.name("name", model)
        self._runtime = runtime
        self._dimension = None if dimension is None else arguments.at_least_one("dimension", dimension)
        self._batch_size = arguments.at_least_one("batch_size", batch_size)
        self._batch_characters = batch_characters
        self._query_prefix = well_formed(arguments.text("query_prefix", query_prefix))
        self._document_prefix = well_formed(arguments.text("document_prefix", document_prefix))
        # The standard library's cache needs no lock, so that a fork cannot leave one closed.
        self._remembered = lru_cache(maxsize=arguments.count("query_cache", query_cache))(self._query_vector)

    @property
    def name(self) -> str:
        """The model's name and, if there is one, the prefix that its documents get."""
        return f"{self._model} after {self._document_prefix!r}" if self._document_prefix else self._model

    @property
    def dimension(self) -> int:
        """How many numbers a vector has; the model is asked if it has not told yet."""
        return self._dimension or self._rows(["dimension"]).shape[1]

    def describe(self) -> str:
        """Return what this embedder is, in one line; the model is not asked for it."""
        dimension = f"{self._dimension} dimensions, " if self._dimension else ""
        return f"{self.name}, {dimension}{self._runtime}"

    def embed_documents(self, texts: Sequence[str]) -> NDArray[float32]:
        """Return one row of unit length for each text, in the same order."""
        import numpy as np  # noqa: PLC0415 (heavy: only who has vectors pays for it)

        given = arguments.sequence("texts", texts)
        prepared = [
            self._document_prefix + well_formed(arguments.text(f"texts[{place}]", text))
            for place, text in enumerate(given)
        ]
        if not prepared:
            return np.empty((0, self.dimension), dtype=np.float32)
        order: list[int] = []
        parts: list[NDArray[float32]] = []
        for batch in batches(prepared, size=self._batch_size, characters=self._batch_characters):
            order += batch
            parts.append(self._rows([prepared[place] for place in batch]))
        rows = np.empty((len(prepared), parts[0].shape[1]), dtype=np.float32)
        rows[order] = np.concatenate(parts)
        return rows

    def embed_query(self, text: str) -> NDArray[float32]:
        """Return the vector of a query, of unit length; it cannot be written to, because it is remembered."""
        return self._remembered(arguments.text("text", text))

    def forget_queries(self) -> None:
        """Forget the vectors of queries, so that the next search embeds its own; for those who measure time."""
        self._remembered.cache_clear()

    def _query_vector(self, text: str) -> NDArray[float32]:
        """Return the vector of a query that is not remembered."""
        row: NDArray[float32] = self._rows([self._query_prefix + well_formed(text)])[0]
        row.flags.writeable = False
        return row

    def _rows(self, texts: list[str]) -> NDArray[float32]:
        """Return the checked rows of one batch."""
        rows = unit_rows(self._model, self._vectors(texts), count=len(texts), dimension=self._dimension)
        self._dimension = rows.shape[1]
        return rows

    @abstractmethod
    def _vectors(self, texts: list[str]) -> Any:
        """Return one vector for each text, of any length; raise ``EmbedderError`` if that fails."""
