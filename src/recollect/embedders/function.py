"""Any Python function that turns texts into vectors as an embedder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from recollect.embedders.base import EmbedderOptions, ModelEmbedder
from recollect.errors import ArgumentTypeError, EmbedderError


class FunctionEmbedder(ModelEmbedder):
    """Calls ``function`` with a list of texts; it returns a vector for each: lists of numbers, or an array of rows.

    ``name`` is stored with the vectors, by default the function's own. Pass one that changes when the vectors do.
    Without ``dimension`` it is that of the first vector.

    >>> embedder = FunctionEmbedder(lambda texts: [[len(text), 1.0] for text in texts], name="length")
    >>> embedder.name, embedder.dimension
    ('length', 2)
    >>> embedder.embed_query("").tolist()
    [0.0, 1.0]
    """

    def __init__(
        self,
        function: Callable[[list[str]], Any],
        *,
        name: str | None = None,
        dimension: int | None = None,
        batch_size: int = 64,
        **options: Unpack[EmbedderOptions],
    ) -> None:
        if not callable(function):
            raise ArgumentTypeError("function", f"must be a function of a list of texts, got {type(function).__name__}")
        super().__init__(
            name if name is not None else getattr(function, "__qualname__", type(function).__qualname__),
            "a Python function",
            dimension=dimension,
            batch_size=batch_size,
            **options,
        )
        self._function = function

    def _vectors(self, texts: list[str]) -> Any:
        try:
            return self._function(texts)
        except Exception as error:  # a user's function may raise anything; callers expect one type of error
            raise EmbedderError(f"{self._model} raised {type(error).__name__}: {error}") from error
