"""The embedder contract, and what all embedders share: prefixes, batches, checks and a cache of query vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack, runtime_checkable

from recollect import arguments
from recollect.errors import ArgumentTypeError, EmbedderError
from recollect.inference.runtime import batches
from recollect.text import well_formed

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

QUERY_CACHE = 1024
"""How many query vectors an embedder caches by default."""


class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their similarity.

    Constructing an embedder is cheap: its model is loaded with the first text. All methods are thread-safe.
    """

    @property
    def name(self) -> str:
        """The model's name, which is stored with its vectors; only vectors with the same name are compared."""

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[float32]:
        """Return one row of unit length for each text, in the same order; raise ``EmbedderError`` if that fails."""

    def embed_query(self, text: str) -> NDArray[float32]:
        """Return the vector of a query, of unit length; raise ``EmbedderError`` if that fails."""


@runtime_checkable
class SupportsDescription(Protocol):
    """An embedder with a description that says more than its name."""

    def describe(self) -> str:
        """Return the name and how the model runs, in one line."""


@runtime_checkable
class SupportsQueryCache(Protocol):
    """An embedder that caches query vectors."""

    def clear_query_cache(self) -> None:
        """Drop the cached vectors, so that the next search runs the model; for measurements."""


class EmbedderOptions(TypedDict, total=False):
    """The options of every embedder of this package."""

    query_prefix: str
    """The text to put before each query, such as ``search_query: ``."""
    document_prefix: str
    """The text to put before each document; it becomes part of the embedder's name."""
    query_cache: int
    """How many query vectors are cached."""


class ModelEmbedder(ABC):
    """Base class of embedders: a subclass implements ``_vectors`` for a batch of texts.

    The base adds prefixes, sorts texts into batches of similar length, checks what the model returns, scales rows to
    unit length, and caches the vectors of the last ``query_cache`` queries. A document prefix changes the stored
    vectors, so it is part of the embedder's name.

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
        """Check the arguments; ``runtime`` says how the model runs. The first vector sets a missing ``dimension``."""
        self._model = arguments.name("name", model)
        self._runtime = runtime
        self._dimension = None if dimension is None else arguments.at_least_one("dimension", dimension)
        self._batch_size = arguments.at_least_one("batch_size", batch_size)
        self._batch_characters = batch_characters
        self._query_prefix = well_formed(arguments.text("query_prefix", query_prefix))
        self._document_prefix = well_formed(arguments.text("document_prefix", document_prefix))
        # A cache with a Python lock could stay locked in a forked child; lru_cache needs no such lock.
        self._cached_query_vector = lru_cache(maxsize=arguments.count("query_cache", query_cache))(self._query_vector)

    @property
    def name(self) -> str:
        """The model's name, followed by the document prefix if there is one."""
        return f"{self._model} after {self._document_prefix!r}" if self._document_prefix else self._model

    @property
    def dimension(self) -> int:
        """How many numbers a vector has; if the dimension is not known yet, the model is run."""
        return self._dimension or self._rows(["dimension"]).shape[1]  # the dimension is the same for any text

    def describe(self) -> str:
        """Return the name, the dimension and how the model runs, in one line; the model is not loaded."""
        dimension = f"{self._dimension} dimensions, " if self._dimension else ""
        return f"{self.name}, {dimension}{self._runtime}"

    def embed_documents(self, texts: Sequence[str]) -> NDArray[float32]:
        """Return one row of unit length for each text, in the same order."""
        import numpy as np  # noqa: PLC0415 (heavy: imported on first use)

        prefixed = [
            self._document_prefix + well_formed(arguments.text(f"texts[{index}]", text))
            for index, text in enumerate(arguments.sequence("texts", texts))
        ]
        if not prefixed:
            return np.empty((0, self.dimension), dtype=np.float32)
        if len(prefixed) == 1:
            return self._rows(prefixed)
        batched_indexes: list[int] = []
        batched_rows: list[NDArray[float32]] = []
        for batch in batches(prefixed, size=self._batch_size, characters=self._batch_characters):
            batched_indexes += batch
            batched_rows.append(self._rows([prefixed[index] for index in batch]))
        rows = np.empty((len(prefixed), batched_rows[0].shape[1]), dtype=np.float32)
        rows[batched_indexes] = np.concatenate(batched_rows)  # back in the order of the texts
        return rows

    def embed_query(self, text: str) -> NDArray[float32]:
        """Return the vector of a query, of unit length; it is read-only, because it is cached."""
        return self._cached_query_vector(arguments.text("text", text))

    def clear_query_cache(self) -> None:
        """Drop the cached query vectors; for measurements."""
        self._cached_query_vector.cache_clear()

    def _query_vector(self, text: str) -> NDArray[float32]:
        row: NDArray[float32] = self._rows([self._query_prefix + well_formed(text)])[0]
        row.flags.writeable = False
        return row

    def _rows(self, texts: list[str]) -> NDArray[float32]:
        """Return the vectors of one batch, checked and of unit length."""
        rows = unit_rows(self._model, self._vectors(texts), count=len(texts), dimension=self._dimension)
        self._dimension = rows.shape[1]
        return rows

    @abstractmethod
    def _vectors(self, texts: list[str]) -> Any:
        """Return one vector for each text, not yet of unit length; raise ``EmbedderError`` if that fails."""


class FunctionEmbedder(ModelEmbedder):
    """Embeds with a ``function`` that takes a list of texts and returns a row of numbers for each text.

    ``name`` is stored with the vectors; by default it is the function's name. Pass another name when the function
    begins to return other vectors. Without ``dimension``, the first vector sets it.

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
        model = getattr(function, "__qualname__", type(function).__qualname__) if name is None else name
        super().__init__(model, "a Python function", dimension=dimension, batch_size=batch_size, **options)
        self._function = function

    def _vectors(self, texts: list[str]) -> Any:
        try:
            return self._function(texts)
        except Exception as error:  # a user's function may raise anything; callers expect one type of error
            raise EmbedderError(f"{self._model} raised {type(error).__name__}: {error}") from error


def unit_rows(model: str, output: Any, *, count: int, dimension: int | None) -> NDArray[float32]:
    """Return the ``output`` of a model as ``count`` rows of unit length; raise ``EmbedderError`` if that is impossible.

    Any dimension is valid if ``dimension`` is ``None``. A row of zeros stays as it is; its similarity to any row is 0.
    """
    import numpy as np  # noqa: PLC0415 (heavy: imported on first use)

    try:
        rows = np.asarray(output, dtype=np.float64)  # not float32, in which large numbers would become infinite
    except (TypeError, ValueError, OverflowError):
        raise EmbedderError(f"{model} returned something that is not one list of numbers for each text") from None
    if rows.ndim != 2 or rows.shape[0] != count:
        expected = f"{count} {'vector' if count == 1 else 'vectors'}"
        raise EmbedderError(f"{model} returned an array of shape {rows.shape} instead of {expected}")
    if not rows.shape[1] or dimension not in (None, rows.shape[1]):
        expected = "at least 1" if dimension is None else str(dimension)
        raise EmbedderError(f"{model} returned vectors of {rows.shape[1]} dimensions instead of {expected}")
    if not np.isfinite(rows).all():
        raise EmbedderError(f"{model} returned numbers that are not finite")
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows = rows / np.where(largest > 0, largest, 1)  # so that the squares of very large numbers do not overflow
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)
