"""The reranker contract, and what all rerankers share: checked arguments and a checked, sorted result."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from numbers import Integral, Real
from typing import Any, Protocol

from recollect import arguments
from recollect.errors import ArgumentTypeError, RerankerError
from recollect.text import well_formed


class Reranker(Protocol):
    """Scores how well each of a few documents matches a query.

    Constructing a reranker is cheap: its model is loaded with the first query. All methods are thread-safe.
    """

    @property
    def name(self) -> str:
        """The reranker's name in a trace."""

    def rerank(self, query: str, documents: Sequence[str]) -> Sequence[tuple[int, float]]:
        """Return (index into ``documents``, score) pairs in any order; a higher score is better.

        The result may leave out documents. Raise ``RerankerError`` on failure.
        """


class ModelReranker(ABC):
    """Base class of rerankers: a subclass implements ``_scores``."""

    def __init__(self, name: str, runtime: str) -> None:
        self._name = arguments.name("name", name)
        self._runtime = runtime

    @property
    def name(self) -> str:
        """The reranker's name in a trace."""
        return self._name

    def describe(self) -> str:
        """Return the name and how the model runs, in one line; the model is not loaded."""
        return f"{self._name}, {self._runtime}"

    def rerank(self, query: str, documents: Sequence[str]) -> list[tuple[int, float]]:
        """Return (index into ``documents``, score) pairs, best first; the model may omit documents."""
        query = well_formed(arguments.text("query", query))
        texts = [
            well_formed(arguments.text(f"documents[{index}]", text))
            for index, text in enumerate(arguments.sequence("documents", documents))
        ]
        return sorted_scores(self._name, self._scores(query, texts), count=len(texts)) if texts else []

    @abstractmethod
    def _scores(self, query: str, documents: list[str]) -> Any:
        """Return a score for each document, or pairs of an index and a score; raise ``RerankerError`` on failure."""


class FunctionReranker(ModelReranker):
    """Reranks with a ``function`` that takes a query and a list of documents.

    The function returns a score for each document, or pairs of an index and a score for some documents, in any order.
    ``name`` is the function's name by default.

    >>> def shared_words(query, documents):
    ...     return [len(set(query.split()) & set(document.split())) for document in documents]
    >>> FunctionReranker(shared_words).rerank("green tea", ["black coffee", "tea, green", "green tea"])
    [(2, 2.0), (1, 1.0), (0, 0.0)]
    """

    def __init__(self, function: Callable[[str, list[str]], Any], *, name: str | None = None) -> None:
        if not callable(function):
            expected = "must be a function of a query and a list of documents"
            raise ArgumentTypeError("function", f"{expected}, got {type(function).__name__}")
        function_name = getattr(function, "__qualname__", type(function).__qualname__)
        super().__init__(function_name if name is None else name, "a Python function")
        self._function = function

    def _scores(self, query: str, documents: list[str]) -> Any:
        try:
            output = self._function(query, documents)
            return list(output) if isinstance(output, Iterator) else output  # run a generator here, to catch its errors
        except Exception as error:  # a user's function may raise anything; callers expect one type of error
            raise RerankerError(f"{self._name} raised {type(error).__name__}: {error}") from error


def sorted_scores(model: str, output: Any, *, count: int) -> list[tuple[int, float]]:
    """Return the ``output`` of a reranker as pairs of an index below ``count`` and a finite score, best first.

    ``output`` is a list of ``count`` scores, or of pairs of an index and a score, in any order. Equal scores keep the
    order of the documents. Any other output raises a ``RerankerError`` that says what ``model`` did wrong.
    """
    try:
        items = None if isinstance(output, (str, bytes, Mapping, Set)) else list(output)
    except TypeError:
        items = None
    if items is None:
        raise RerankerError(f"{model} returned {_short_repr(output)}, neither scores nor pairs of an index and a score")
    if items and all(_is_number(item) for item in items):
        if len(items) != count:
            raise RerankerError(f"{model} returned {len(items)} scores for {count} documents")
        items = list(enumerate(items))
    scores: dict[int, float] = {}
    for item in items:
        index, score = _index_and_score(model, item)
        if not 0 <= index < count:
            raise RerankerError(f"{model} returned the index {index} for {count} documents")
        if index in scores:
            raise RerankerError(f"{model} returned the index {index} twice")
        scores[index] = score
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


def _index_and_score(model: str, item: Any) -> tuple[int, float]:
    try:
        index, score = item
    except (TypeError, ValueError):
        index = score = None
    if isinstance(index, bool) or not isinstance(index, Integral) or not _is_number(score):
        raise RerankerError(f"{model} returned {_short_repr(item)} instead of a pair of an index and a score")
    try:
        number = float(score)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise RerankerError(f"{model} returned the score {number}, which is not finite, for document {index}")
    return int(index), number


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _short_repr(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
