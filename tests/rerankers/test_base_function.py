from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from recollect.errors import ArgumentError, ArgumentTypeError, RerankerError
from recollect.rerankers import FunctionReranker


class LengthModel:
    """A model that scores documents by their length, and records its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[str]]] = []

    def __call__(self, query: str, documents: list[str]) -> list[int]:
        self.calls.append((query, documents))
        return [len(document) for document in documents]


def test_function_scores() -> None:
    model = LengthModel()
    reranker = FunctionReranker(model)
    assert reranker.rerank("tea", ("a", "ccc", "bb")) == [(1, 3.0), (2, 2.0), (0, 1.0)]
    assert model.calls == [("tea", ["a", "ccc", "bb"])]
    assert (reranker.name, reranker.describe()) == ("LengthModel", "LengthModel, a Python function")


def test_pairs_for_some_documents() -> None:
    reranker = FunctionReranker(lambda _, documents: [(len(documents) - 1, 0.5)], name="last")
    assert reranker.rerank("tea", ["a", "b"]) == [(1, 0.5)]
    assert reranker.name == "last"


def test_generator_is_accepted() -> None:
    def lengths(_: str, documents: list[str]) -> Iterator[float]:
        for document in documents:
            yield 1 / len(document)

    assert FunctionReranker(lengths).rerank("tea", ["aa", "b"]) == [(1, 1.0), (0, 0.5)]
    with pytest.raises(RerankerError, match="lengths raised ZeroDivisionError: "):
        FunctionReranker(lengths).rerank("tea", ["aa", ""])


def test_no_documents_call_no_function() -> None:
    model = LengthModel()
    assert FunctionReranker(model).rerank("tea", []) == []
    assert not model.calls


def test_lone_surrogates_are_replaced() -> None:
    model = LengthModel()
    FunctionReranker(model).rerank("\udfffb", ["a\ud800"])
    assert model.calls == [("\ufffdb", ["a\ufffd"])]


def test_function_error_is_wrapped() -> None:
    def broken(_: str, __: list[str]) -> Any:
        raise KeyError("weights")

    with pytest.raises(RerankerError, match="broken raised KeyError: 'weights'") as caught:
        FunctionReranker(broken).rerank("tea", ["a"])
    assert isinstance(caught.value.__cause__, KeyError)


def test_invalid_output_raises_reranker_error() -> None:
    with pytest.raises(RerankerError, match="odd returned 1 scores for 2 documents"):
        FunctionReranker(lambda *_: [1.0], name="odd").rerank("tea", ["a", "b"])


@pytest.mark.parametrize(
    ("query", "documents", "problem"),
    [
        (None, ["tea"], "query: must be a string"),
        ("tea", "tea", "documents: must be a list"),
        ("tea", ["tea", 3], r"documents\[1\]: must be a string"),
    ],
)
def test_non_text_is_refused(query: Any, documents: Any, problem: str) -> None:
    with pytest.raises(ArgumentTypeError, match=problem):
        FunctionReranker(LengthModel()).rerank(query, documents)


def test_options_are_checked() -> None:
    function: Any = "tea"
    with pytest.raises(ArgumentTypeError, match="function: must be a function of a query and a list of .*, got str"):
        FunctionReranker(function)
    with pytest.raises(ArgumentError, match="name: must not be empty"):
        FunctionReranker(LengthModel(), name="")
