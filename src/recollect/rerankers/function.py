"""Any Python function that scores documents as a reranker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from recollect.errors import ArgumentTypeError, RerankerError
from recollect.rerankers.base import ModelReranker


class FunctionReranker(ModelReranker):
    """Calls ``function`` with a query and a list of documents.

    It returns a score for each document, or pairs of an index and a score, in any order, for some of them. Without
    ``name`` the reranker has the function's own.

    >>> def shared_words(query, documents):
    ...     return [len(set(query.split()) & set(document.split())) for document in documents]
    >>> FunctionReranker(shared_words).rerank("green tea", ["black coffee", "tea, green", "green tea"])
    [(2, 2.0), (1, 1.0), (0, 0.0)]
    """

    def __init__(self, function: Callable[[str, list[str]], Any], *, name: str | None = None) -> None:
        if not callable(function):
            expected = "must be a function of a query and a list of documents"
            raise ArgumentTypeError("function", f"{expected}, got {type(function).__name__}")
        own = getattr(function, "__qualname__", type(function).__qualname__)
        super().__init__(own if name is None else name, "a Python function")
        self._function = function

    def _scores(self, query: str, documents: list[str]) -> Any:
        try:
            output = self._function(query, documents)
            return list(output) if isinstance(output, Iterator) else output  # a generator may still fail
        except Exception as error:  # a user's function may raise anything; callers expect one type of error
            raise RerankerError(f"{self._name} raised {type(error).__name__}: {error}") from error
