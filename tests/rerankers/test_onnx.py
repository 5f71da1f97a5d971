from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ArgumentError, RerankerError
from recollect.rerankers import OnnxReranker
from recollect.rerankers.onnx import _probabilities
from tests.embedders import tiny as encoder
from tests.rerankers.tiny import POSITIONS, WORDS, Reference, make_weights, write_graph, write_model

QUERY = "which drink is best"
DOCUMENTS = ["green tea", "", "black coffee is best", "tea tea tea", "mate", "green tea is the best drink"]


def expected(reference: Reference, documents: list[str] = DOCUMENTS, query: str = QUERY) -> dict[int, float]:
    return {index: reference.score(query, document) for index, document in enumerate(documents)}


@pytest.mark.parametrize("labels", [1, 2])
@pytest.mark.parametrize("batch_size", [1, 4, 64])
def test_scores_equal_reference(tmp_path: Path, labels: int, batch_size: int) -> None:
    reference = write_model(tmp_path / "tiny", labels)
    reranker = OnnxReranker(tmp_path / "tiny", batch_size=batch_size)
    results = reranker.rerank(QUERY, DOCUMENTS)
    assert dict(results) == pytest.approx(expected(reference), abs=1e-5)
    assert [score for _, score in results] == sorted((score for _, score in results), reverse=True)
    assert len({round(score, 4) for _, score in results}) == len(DOCUMENTS)
    assert (reranker.name, reranker.describe()) == ("tiny", "tiny, onnxruntime")


def test_logits_of_other_shape_or_name(tmp_path: Path) -> None:
    reference = write_model(tmp_path / "flat", flat=True, output="score")
    for batch_size in (1, 4):
        results = OnnxReranker(tmp_path / "flat", batch_size=batch_size).rerank(QUERY, DOCUMENTS)
        assert dict(results) == pytest.approx(expected(reference), abs=1e-5)


@pytest.fixture(scope="module")
def reranker_and_reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[OnnxReranker, Reference]:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    reference = write_model(folder)
    return OnnxReranker(folder, batch_size=3), reference


sentences = st.lists(st.sampled_from(WORDS[4:]), max_size=2 * POSITIONS).map(" ".join)


@given(query=sentences, documents=st.lists(sentences, max_size=6))
def test_scores_of_any_texts_equal_reference(
    reranker_and_reference: tuple[OnnxReranker, Reference], query: str, documents: list[str]
) -> None:
    reranker, reference = reranker_and_reference
    results = dict(reranker.rerank(query, documents))
    assert results == pytest.approx(expected(reference, documents, query), abs=1e-5)


def test_max_tokens_option(tmp_path: Path) -> None:
    reference = write_model(tmp_path / "tiny")
    short = Reference(reference.weights, max_tokens=6)
    results = dict(OnnxReranker(tmp_path / "tiny", max_tokens=6).rerank(QUERY, DOCUMENTS))
    assert results == pytest.approx(expected(short), abs=1e-5)
    assert results != pytest.approx(expected(reference), abs=1e-5)


def test_long_document_is_truncated(tmp_path: Path) -> None:
    reference = write_model(tmp_path / "tiny")
    results = dict(OnnxReranker(tmp_path / "tiny").rerank("drink", ["green tea " * 100_000, "tea"]))
    assert results[0] == pytest.approx(reference.score("drink", "green tea " * POSITIONS), abs=1e-5)


def test_scores_of_large_logits_keep_order() -> None:
    logits = np.array([[-90], [-20], [0], [20], [30]], dtype=np.float32)
    probabilities = _probabilities(logits)
    assert probabilities == sorted(set(probabilities))
    assert probabilities[2] == 0.5
    assert _probabilities(np.array([[1.0, 3.0]], dtype=np.float32)) == pytest.approx([1 / (1 + np.exp(-2.0))])


def test_no_documents_load_no_model(tmp_path: Path) -> None:
    write_model(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"damaged")
    reranker = OnnxReranker(tmp_path)
    assert reranker.rerank(QUERY, []) == []
    with pytest.raises(RerankerError, match="model.onnx cannot be loaded: "):
        reranker.rerank(QUERY, ["tea"])


@pytest.mark.parametrize("labels", [3, 5])
def test_model_with_three_logits_is_refused(tmp_path: Path, labels: int) -> None:
    write_model(tmp_path, labels)
    with pytest.raises(
        RerankerError, match=rf"model.onnx returned an array of shape \(1, {labels}\) for 1 pairs of texts instead"
    ):
        OnnxReranker(tmp_path).rerank(QUERY, ["tea"])


def test_encoder_is_not_a_cross_encoder(tmp_path: Path) -> None:
    encoder.write_model(tmp_path)
    with pytest.raises(RerankerError, match=r"returned an array of shape \(2, 3, 3\) for 2 pairs of texts instead of"):
        OnnxReranker(tmp_path, batch_size=2).rerank("green", ["green tea", "tea tea"])


def test_nan_score_is_refused(tmp_path: Path) -> None:
    write_model(tmp_path)
    weights = make_weights(1)
    weights["classifier"] *= np.nan
    write_graph(tmp_path / "nan.onnx", weights)
    with pytest.raises(RerankerError, match=r"/nan returned the score nan, which is not finite, for document 0"):
        OnnxReranker(tmp_path, file="nan.onnx").rerank(QUERY, ["tea"])


def test_graph_variant_is_in_the_name(tmp_path: Path) -> None:
    write_model(tmp_path / "tiny")
    write_graph(tmp_path / "tiny" / "onnx" / "model_quantized.onnx", make_weights(1, seed=8))
    reranker = OnnxReranker(tmp_path / "tiny", file="onnx/model_quantized.onnx")
    assert reranker.name == "tiny/model_quantized"
    assert dict(reranker.rerank(QUERY, DOCUMENTS)) == pytest.approx(expected(Reference(make_weights(1, 8))), abs=1e-5)
    assert OnnxReranker(tmp_path / "tiny", name="mine").name == "mine"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"threads": 0}, "threads: must be at least 1, got 0"),
        ({"batch_size": 0}, "batch_size: must be at least 1, got 0"),
        ({"max_tokens": 0}, "max_tokens: must be at least 1, got 0"),
        ({"name": ""}, "name: must not be empty"),
    ],
)
def test_options_are_checked(tmp_path: Path, options: dict[str, Any], problem: str) -> None:
    write_model(tmp_path)
    with pytest.raises(ArgumentError, match=problem):
        OnnxReranker(tmp_path, **options)


def test_threads_get_equal_scores(tmp_path: Path) -> None:
    write_model(tmp_path)
    reranker = OnnxReranker(tmp_path, threads=1)
    sequential = reranker.rerank(QUERY, DOCUMENTS)
    with ThreadPoolExecutor(8) as pool:
        assert all(
            results == sequential for results in pool.map(lambda _: reranker.rerank(QUERY, DOCUMENTS), range(32))
        )


def test_choosing_is_light_and_forked_child_loads_its_own_model(tmp_path: Path) -> None:
    write_model(tmp_path)
    code = """
        import os, sys, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        from recollect.rerankers import reranker_from
        reranker_from("cohere:m"), reranker_from("openai:m"), reranker_from("tei:http://localhost")
        reranker = reranker_from(sys.argv[1])
        heavy = "numpy onnx onnxruntime tokenizers httpx http socket email asyncio".split()
        print([name for name in heavy if name in sys.modules])
        here = reranker.rerank("drink", ["green tea", "tea"])
        child = os.fork()
        if child == 0:
            os._exit(0 if reranker.rerank("drink", ["green tea", "tea"]) == here else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    lines = [line.removeprefix("        ") for line in code.splitlines()]
    command = [sys.executable, "-c", "\n".join(lines), str(tmp_path)]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    assert (process.stdout.split("\n")[:2], process.stderr) == (["[]", "0"], "")
