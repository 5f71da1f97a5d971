from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from recollect.embedders import FunctionEmbedder
from recollect.errors import ArgumentError, ArgumentTypeError, EmbedderError


class CountingModel:
    """A model that counts letters, and records its calls."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def __call__(self, texts: list[str]) -> list[list[int]]:
        self.calls.append(texts)
        return [[text.count("a"), text.count("b"), 1] for text in texts]


def test_rows_keep_order_of_texts() -> None:
    model = CountingModel()
    texts = ["b", "aaaa", "", "ab", "aaaaaaa"]
    rows = FunctionEmbedder(model, batch_size=2).embed_documents(texts)
    assert model.calls == [["aaaaaaa", "aaaa"], ["ab", "b"], [""]]
    expected = np.array([[0, 1, 1], [4, 0, 1], [0, 0, 1], [1, 1, 1], [7, 0, 1]])
    assert rows == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True))
    assert rows.dtype == np.float32


def test_prefixes_are_added_and_document_prefix_is_in_name() -> None:
    model = CountingModel()
    embedder = FunctionEmbedder(model, name="letters", query_prefix="query: ", document_prefix="passage: ")
    embedder.embed_documents(["tea"])
    embedder.embed_query("tea")
    assert model.calls == [["passage: tea"], ["query: tea"]]
    assert embedder.name == "letters after 'passage: '"


def test_query_vector_is_cached() -> None:
    model = CountingModel()
    embedder = FunctionEmbedder(model, query_cache=2)
    first = embedder.embed_query("tea")
    assert embedder.embed_query("tea") is first
    embedder.embed_query("ale")
    embedder.embed_query("rum")  # the oldest is forgotten
    embedder.embed_query("tea")
    assert model.calls == [["tea"], ["ale"], ["rum"], ["tea"]]


def test_cached_query_vector_is_read_only() -> None:
    vector = FunctionEmbedder(CountingModel()).embed_query("tea")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 5


def test_query_cache_0_disables_cache() -> None:
    model = CountingModel()
    embedder = FunctionEmbedder(model, query_cache=0)
    embedder.embed_query("tea")
    embedder.embed_query("tea")
    assert model.calls == [["tea"], ["tea"]]


def test_threads_share_an_embedder() -> None:
    embedder = FunctionEmbedder(CountingModel(), query_cache=4)
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(embedder.embed_query, ["a" * (number % 7) for number in range(200)]))
    assert all(rows[number][0] == rows[number % 7][0] for number in range(200))


def test_dimension_of_first_response() -> None:
    model = CountingModel()
    embedder = FunctionEmbedder(model)
    assert embedder.describe() == "CountingModel, a Python function"
    embedder.embed_query("tea")
    assert (embedder.dimension, len(model.calls)) == (3, 1)
    assert embedder.describe() == "CountingModel, 3 dimensions, a Python function"


def test_dimension_before_first_text() -> None:
    assert FunctionEmbedder(CountingModel()).dimension == 3


def test_no_texts_give_empty_array_of_dimension() -> None:
    assert FunctionEmbedder(CountingModel()).embed_documents([]).shape == (0, 3)


def test_other_dimension_is_refused() -> None:
    embedder = FunctionEmbedder(lambda texts: [[1.0] * len(text) for text in texts], name="odd")
    embedder.embed_query("four")
    with pytest.raises(EmbedderError, match="odd returned vectors of 5 dimensions instead of 4"):
        embedder.embed_query("fives")


def test_function_error_is_wrapped() -> None:
    def broken(_: list[str]) -> Any:
        raise KeyError("weights")

    with pytest.raises(EmbedderError, match="broken raised KeyError: 'weights'") as caught:
        FunctionEmbedder(broken).embed_query("tea")
    assert isinstance(caught.value.__cause__, KeyError)


def test_lone_surrogates_are_replaced() -> None:
    model = CountingModel()
    embedder = FunctionEmbedder(model)
    embedder.embed_documents(["a\ud800"])
    embedder.embed_query("\udfffb")
    assert model.calls == [["a\ufffd"], ["\ufffdb"]]


@pytest.mark.parametrize(
    ("texts", "problem"),
    [("tea", "texts: must be a list"), (["tea", 3], r"texts\[1\]: must be a string"), (7, "texts: must be a list")],
)
def test_embed_documents_refuses_other_types(texts: Any, problem: str) -> None:
    with pytest.raises(ArgumentTypeError, match=problem):
        FunctionEmbedder(CountingModel()).embed_documents(texts)


def test_non_text_is_refused() -> None:
    query: Any = None
    with pytest.raises(ArgumentTypeError, match="text: must be a string"):
        FunctionEmbedder(CountingModel()).embed_query(query)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"batch_size": 0}, "batch_size: must be at least 1, got 0"),
        ({"dimension": 0}, "dimension: must be at least 1, got 0"),
        ({"query_cache": -1}, "query_cache: must not be negative"),
        ({"query_prefix": None}, "query_prefix: must be a string"),
        ({"name": ""}, "name: must not be empty"),
    ],
)
def test_options_are_checked(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem):
        FunctionEmbedder(CountingModel(), **options)


def test_non_callable_is_refused() -> None:
    function: Any = "tea"
    with pytest.raises(ArgumentTypeError, match="function: must be a function of a list of texts, got str"):
        FunctionEmbedder(function)


def test_clear_query_cache() -> None:
    calls: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        calls.extend(texts)
        return [[1.0, 0.0]] * len(texts)

    embedder = FunctionEmbedder(embed, dimension=2)
    for _ in range(2):
        embedder.embed_query("tea")
    embedder.clear_query_cache()
    embedder.embed_query("tea")
    assert calls == ["tea", "tea"]
