from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recollect.embedders import (
    FunctionEmbedder,
    HttpEmbedder,
    MiniLMEmbedder,
    OnnxEmbedder,
    StaticEmbedder,
    choose_embedder,
    embedder_from,
)
from recollect.embedders.onnx import CatalogueEmbedder
from recollect.embedders.registry import embedder_to_download
from recollect.errors import ArgumentError, ArgumentTypeError, EmbedderError
from recollect.inference import runtime
from recollect.inference.catalogue import catalogue
from recollect.inference.weights import download
from tests.embedders.tiny import write_model
from tests.inference.hub import local_hub, use_only_embedder, write_embedder
from tests.requirements import require_embedder

WEIGHTS_MODULES = [entry.package.module for entry in catalogue().values() if entry.package]
"""The packages with weights of the catalogue."""


class CustomEmbedder:
    """A custom embedder."""

    name = "own"
    dimension = 2

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.ones((len(texts), 2), dtype=np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return np.full(2, len(text), dtype=np.float32)


def without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    monkeypatch.setattr(runtime, "find_spec", lambda name: None if name in packages else find_spec(name))


@pytest.mark.parametrize("spec", [None, "none"])
def test_none_spec(spec: str | None) -> None:
    assert embedder_from(spec) is None
    assert choose_embedder(spec).describe() == "no embedder: none requested"


def test_auto_chooses_the_first_installed_model() -> None:
    require_embedder()
    choice = choose_embedder()
    assert isinstance(choice.embedder, CatalogueEmbedder)
    assert choice.describe() == "arctic-embed-s/int8, 384 dimensions, onnxruntime: arctic-embed-s is installed"


def test_auto_without_the_first_model_chooses_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    require_embedder("minilm")
    without(monkeypatch, "project_brain")
    choice = choose_embedder("auto")
    assert isinstance(choice.embedder, MiniLMEmbedder)
    assert choice.reason == "arctic-embed-s is not installed: recollect models download arctic-embed-s (35 MB)"


def test_auto_without_weights_chooses_static(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, *WEIGHTS_MODULES)
    choice = choose_embedder("auto")
    assert isinstance(choice.embedder, StaticEmbedder)
    assert choice.reason == "arctic-embed-s is not installed: recollect models download arctic-embed-s (35 MB)"


def test_auto_without_models(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "onnxruntime", "wordllama")
    choice = choose_embedder("auto")
    assert choice.embedder is None
    assert choice.describe() == (
        "no embedder: vector search is off, because no embedding model is installed: "
        "arctic-embed-s needs onnxruntime: pip install --force-reinstall recollectdb"
    )


@pytest.mark.parametrize(
    ("vector_model", "installed", "offline", "expected"),
    [
        (None, False, "", "tiny"),
        (None, False, "0", "tiny"),
        (None, False, "1", None),
        (None, True, "", None),
        ("tiny/float32", False, "", "tiny"),
        ("tiny/float32", True, "", None),
        ("another", False, "", None),
    ],
)
def test_embedder_to_download(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    vector_model: str | None,
    offline: str,
    expected: str | None,
    *,
    installed: bool,
) -> None:
    tiny = write_embedder(tmp_path / "upstream")
    use_only_embedder(monkeypatch, tiny)
    with local_hub(monkeypatch, tmp_path) as hub:
        hub.add_folder(tmp_path / "upstream")
        if installed:
            download(tiny)
    monkeypatch.setenv("HF_HUB_OFFLINE", offline)
    missing = embedder_to_download(vector_model)
    assert (missing.name if missing else None) == expected


def test_name_specs() -> None:
    assert isinstance(embedder_from("minilm"), MiniLMEmbedder)
    assert isinstance(embedder_from("static"), StaticEmbedder)


def test_requested_model_must_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, *WEIGHTS_MODULES, "wordllama")
    for name in ("arctic-embed-s", "minilm", "potion-base-8m"):
        with pytest.raises(EmbedderError, match=f"{name} is not installed: recollect models download {name} "):
            embedder_from(name)
    with pytest.raises(EmbedderError, match="the static model needs wordllama: pip install"):
        embedder_from("static")


def test_folder_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(tmp_path / "tiny")
    monkeypatch.chdir(tmp_path)
    for spec in (folder, str(folder), "./tiny", "tiny"):
        embedder = embedder_from(spec)
        assert isinstance(embedder, OnnxEmbedder)
        assert embedder.name == "tiny"
    for missing in (tmp_path / "missing", "./missing", "~/no-such-folder-of-mine", "~no-such-user/x", ".\\missing"):
        with pytest.raises(EmbedderError, match="there is no folder"):
            embedder_from(missing)


@pytest.mark.parametrize(
    ("spec", "description"),
    [
        ("openai:text-embedding-3-small", "text-embedding-3-small, https://api.openai.com/v1"),
        ("openai:bge-m3@http://localhost:11434/v1", "bge-m3, http://localhost:11434/v1"),
        ("openai:org/model@v2@https://host/v1/", "org/model@v2, https://host/v1"),
        ("openai:org/model@v2", "org/model@v2, https://api.openai.com/v1"),
        ("openai:nomic:latest@http://me:word@host/v1", "nomic:latest, http://host/v1"),
    ],
)
def test_http_spec(spec: str, description: str) -> None:
    embedder = embedder_from(spec)
    assert isinstance(embedder, HttpEmbedder)
    assert embedder.describe() == description


def test_http_spec_without_model_is_refused() -> None:
    with pytest.raises(ArgumentError, match="model: must not be empty"):
        embedder_from("openai:")


def test_function_spec() -> None:
    embedder = embedder_from(lambda texts: [[1.0] for _ in texts])
    assert isinstance(embedder, FunctionEmbedder)
    assert embedder.embed_query("tea").tolist() == [1.0]


def test_embedder_object_is_returned() -> None:
    embedder = CustomEmbedder()
    choice = choose_embedder(embedder)
    assert choice.embedder is embedder
    assert choice.describe() == "own: object given"


@pytest.mark.parametrize("spec", ["", "word2vec", "MiniLM", "open-ai:model", "x" * 500])
def test_unknown_spec_lists_forms(spec: str) -> None:
    expected = "embedder: must be 'auto', 'none', .* or a folder with an ONNX model, got '"
    with pytest.raises(ArgumentError, match=expected) as caught:
        embedder_from(spec)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("spec", "shown"),
    [(7, "got int"), (["auto"], "got list"), (CustomEmbedder, "got the class CustomEmbedder: construct it")],
)
def test_other_types_list_forms(spec: Any, shown: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"embedder: must be 'auto', .*{shown}"):
        embedder_from(spec)
