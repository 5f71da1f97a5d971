from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import ArgumentError, ArgumentTypeError, RerankerError
from recollect.inference import runtime
from recollect.inference.catalogue import catalogue_entry
from recollect.inference.weights import unavailable_reason
from recollect.rerankers import ChatReranker, FunctionReranker, HttpReranker, OnnxReranker, reranker_from
from recollect.rerankers.onnx import CatalogueReranker
from tests.requirements import skip_or_fail
from tests.rerankers.tiny import write_model


class CustomReranker:
    """A custom reranker, which is callable, too."""

    name = "own"

    def rerank(self, query: str, documents: Sequence[str]) -> Sequence[tuple[int, float]]:
        return [(len(documents) - 1, float(len(query)))]

    def __call__(self, query: str, documents: list[str]) -> Any:
        raise AssertionError((query, documents))


class Nameless:
    def rerank(self, query: str, documents: Sequence[str]) -> Sequence[tuple[int, float]]:
        raise AssertionError((query, documents))


@pytest.mark.parametrize("spec", [None, "none"])
def test_none_spec(spec: str | None) -> None:
    assert reranker_from(spec) is None


def test_reranker_of_the_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = catalogue_entry("ms-marco-minilm-l12", "reranker")
    if problem := unavailable_reason(entry):
        skip_or_fail(problem)
    for spec in ("ms-marco-minilm-l12", "auto"):
        reranker = reranker_from(spec)
        assert isinstance(reranker, CatalogueReranker)
        assert reranker.name == "ms-marco-minilm-l12/int8"
        documents = ["The bike is red.", "He drinks green tea in the morning."]
        (first, best), (second, worst) = reranker.rerank("what does he drink?", documents)
        assert (first, second) == (1, 0)
        assert 0 < worst < 0.1 < best < 1
    monkeypatch.setattr(runtime, "find_spec", lambda _: None)
    assert reranker_from("auto") is None
    with pytest.raises(RerankerError, match="ms-marco-minilm-l12 needs onnxruntime and tokenizers: pip install"):
        reranker_from("ms-marco-minilm-l12")


@pytest.mark.parametrize(
    ("spec", "kind", "description"),
    [
        ("cohere:rerank-v3.5", HttpReranker, "cohere:rerank-v3.5, https://api.cohere.com"),
        ("cohere:bge@http://localhost:8000", HttpReranker, "cohere:bge, http://localhost:8000"),
        ("cohere:org/m@v2@https://host/v1/rerank", HttpReranker, "cohere:org/m@v2, https://host/v1/rerank"),
        ("voyage:rerank-2.5", HttpReranker, "voyage:rerank-2.5, https://api.voyageai.com/v1"),
        ("voyage:m@http://me:word@localhost/v1", HttpReranker, "voyage:m, http://localhost/v1"),
        ("tei:http://localhost:8080/", HttpReranker, "tei, http://localhost:8080"),
        ("openai:gpt-5-mini", ChatReranker, "openai:gpt-5-mini, https://api.openai.com/v1"),
        ("openai:qwen3:4b@http://localhost:11434/v1", ChatReranker, "openai:qwen3:4b, http://localhost:11434/v1"),
    ],
)
def test_http_specs(spec: str, kind: type[HttpReranker | ChatReranker], description: str) -> None:
    reranker = reranker_from(spec)
    assert isinstance(reranker, kind)
    assert reranker.describe() == description


def test_folder_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tiny"
    write_model(folder)
    monkeypatch.chdir(tmp_path)
    for spec in (folder, str(folder), "./tiny", "tiny"):
        reranker = reranker_from(spec)
        assert isinstance(reranker, OnnxReranker)
        assert reranker.name == "tiny"
    for missing in (tmp_path / "missing", "./missing", "~/no-such-folder-of-mine", "~no-such-user/x", ".\\missing"):
        with pytest.raises(RerankerError, match="there is no folder"):
            reranker_from(missing)


def test_catalogue_spec_must_be_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path))
    message = "bge-reranker-base is not installed: recollect models download bge-reranker-base (296 MB)"
    with pytest.raises(RerankerError, match=re.escape(message)):
        reranker_from("bge-reranker-base")


def test_function_spec() -> None:
    reranker = reranker_from(lambda _, documents: [1.0 for _ in documents])
    assert isinstance(reranker, FunctionReranker)
    assert reranker.rerank("tea", ["a"]) == [(0, 1.0)]


def test_reranker_object_is_returned() -> None:
    reranker = CustomReranker()
    assert reranker_from(reranker) is reranker


def test_invalid_url_spec_is_refused() -> None:
    with pytest.raises(ArgumentError, match="base_url: must be an address such as"):
        reranker_from("tei:localhost:8080")
    with pytest.raises(ArgumentError, match="model: must not be empty"):
        reranker_from("cohere:@http://localhost")
    for spec in ("cohere:", "openai:"):
        with pytest.raises(ArgumentError, match="model: must not be empty"):
            reranker_from(spec)


@pytest.mark.parametrize("spec", ["", "bm25", "None", "cohere", "tei", "jina:model", "x" * 500])
def test_unknown_spec_lists_forms(spec: str) -> None:
    with pytest.raises(
        ArgumentError, match="reranker: must be 'auto', 'none', .* or a folder with an ONNX model, got '"
    ) as caught:
        reranker_from(spec)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        (7, "got int"),
        (["none"], "got list"),
        (Nameless(), "got Nameless"),
        (CustomReranker, "got the class CustomReranker: construct it"),
    ],
)
def test_other_types_list_forms(spec: Any, shown: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"reranker: must be 'auto', 'none', .*{shown}"):
        reranker_from(spec)
