from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from recollect.embedders import OnnxEmbedder
from recollect.embedders.onnx import CatalogueEmbedder, OnnxEncoder
from recollect.errors import ArgumentError, EmbedderError
from recollect.inference.onnx import OnnxSession, open_model_folder
from recollect.inference.weights import download
from tests.embedders.tiny import write_graph, write_json, write_model, write_tokenizer
from tests.inference.hub import local_hub, write_embedder

ROOT2, ROOT3 = 2**-0.5, 3**-0.5


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "tiny")


def test_mean_pooling(folder: Path) -> None:
    embedder = OnnxEmbedder(folder)
    # [CLS] (0, 0, 3), green (3, 0, 0), tea (0, 3, 0): their mean is (1, 1, 1).
    assert embedder.embed_query("green tea") == pytest.approx(np.array([ROOT3, ROOT3, ROOT3]))
    assert embedder.embed_query("") == pytest.approx(np.array([0, 0, 1]))
    assert (embedder.name, embedder.dimension) == ("tiny", 3)
    assert embedder.describe() == "tiny, 3 dimensions, onnxruntime"


def test_padding_does_not_change_vector(folder: Path) -> None:
    rows = OnnxEmbedder(folder, batch_size=8).embed_documents(["", "green tea green tea", "tea"])
    assert rows[0] == pytest.approx(np.array([0, 0, 1]))
    assert rows[2] == pytest.approx(np.array([0, ROOT2, ROOT2]))


def test_text_without_tokens_has_zero_vector(folder: Path) -> None:
    write_tokenizer(folder, with_cls=False)
    assert not OnnxEmbedder(folder).embed_query("").any()
    assert OnnxEmbedder(folder, batch_size=2).embed_documents(["", "tea"])[0].tolist() == [0, 0, 0]


def test_cls_pooling(folder: Path) -> None:
    write_json(
        folder / "1_Pooling" / "config.json", {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    )
    assert OnnxEmbedder(folder).embed_query("green tea") == pytest.approx(np.array([0, 0, 1]))


@pytest.mark.parametrize(
    "graph",
    [
        {"inputs": ("input_ids",)},
        {"inputs": ("input_ids", "attention_mask", "token_type_ids")},
        {"kind": TensorProto.INT32},
    ],
)
def test_model_inputs_differ(tmp_path: Path, graph: dict[str, Any]) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path, **graph))
    assert embedder.embed_query("tea") == pytest.approx(np.array([0, ROOT2, ROOT2]))


@pytest.mark.parametrize("output", ["sentence_embedding", "pooled"])
def test_sentence_embedding_output_is_used(tmp_path: Path, output: str) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path, output=output, pooled=True))
    assert embedder.embed_query("green tea") == pytest.approx(np.array([0, 0, 1]))


def test_unknown_model_input_is_refused(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path, inputs=("input_ids", "position_ids")))
    with pytest.raises(EmbedderError, match="has an unknown input position_ids"):
        embedder.embed_query("tea")


def test_missing_dense_layer_is_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny")
    write_json(folder / "modules.json", [{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}])
    with pytest.raises(EmbedderError, match="export the model to ONNX again with an output named sentence_embedding"):
        OnnxEmbedder(folder).embed_query("tea")
    write_graph(folder / "whole.onnx", output="sentence_embedding", pooled=True)
    assert OnnxEmbedder(folder, file="whole.onnx").dimension == 3


def test_threads_are_checked(folder: Path) -> None:
    with pytest.raises(ArgumentError, match="threads: must be at least 1, got 0"):
        OnnxEmbedder(folder, threads=0)


def test_folder_prompts_are_default_prefixes(folder: Path) -> None:
    write_json(folder / "config_sentence_transformers.json", {"prompts": {"query": "query ", "document": "passage "}})
    embedder = OnnxEmbedder(folder)
    # The sum of [CLS] (0, 0, 3), query (6, 0, 0) and tea (0, 3, 0).
    assert embedder.embed_query("tea") == pytest.approx(np.array([6, 3, 3]) / 54**0.5)
    assert embedder.embed_documents(["green"])[0] == pytest.approx(np.array([3, 6, 3]) / 54**0.5)
    assert embedder.name == "tiny after 'passage '"
    plain = OnnxEmbedder(folder, query_prefix="", document_prefix="")
    assert plain.embed_query("tea") == pytest.approx(np.array([0, ROOT2, ROOT2]))
    assert plain.name == "tiny"


def test_long_text_is_truncated(tmp_path: Path) -> None:
    folder = write_model(tmp_path, positions=4)
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 4})
    embedder = OnnxEmbedder(folder)
    # [CLS] green tea tea: the rest is truncated, even if the text is too long to be tokenized at once.
    assert embedder.embed_query("green tea tea") == pytest.approx(
        embedder.embed_query("green tea tea" + " green" * 999)
    )


def test_model_failure_raises_embedder_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path, positions=2))
    with pytest.raises(EmbedderError, match="model.onnx failed: "):
        embedder.embed_query("green tea tea")
    assert capfd.readouterr() == ("", "")


def test_graph_variant_is_in_the_name(folder: Path) -> None:
    write_graph(folder / "onnx" / "model_quantized.onnx", pooled=True)
    embedder = OnnxEmbedder(folder, file="onnx/model_quantized.onnx")
    assert embedder.name == "tiny/model_quantized"
    assert embedder.embed_query("tea") == pytest.approx(np.array([0, 0, 1]))
    assert OnnxEmbedder(folder, name="mine").name == "mine"


def test_error_names_damaged_graph_or_tokenizer(folder: Path) -> None:
    (folder / "broken.onnx").write_bytes(b"not a graph")
    with pytest.raises(EmbedderError, match="broken.onnx cannot be loaded: "):
        OnnxEmbedder(folder, file="broken.onnx").embed_query("tea")
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(EmbedderError, match="tokenizer.json cannot be read: "):
        OnnxEmbedder(folder).embed_query("tea")


def test_embedders_share_a_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Path] = []
    load = OnnxSession.__init__

    def record_and_load(self: OnnxSession, folder: Any, graph: Path, **options: Any) -> None:
        loaded.append(graph)
        load(self, folder, graph, **options)

    monkeypatch.setattr(OnnxSession, "__init__", record_and_load)
    embedders = [OnnxEmbedder(folder, query_cache=0) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda embedder: embedder.embed_query("tea"), embedders))
    assert len(loaded) == 1
    assert all((row == rows[0]).all() for row in rows)


def test_forked_child_loads_its_own_model(folder: Path) -> None:
    code = """
        import os, sys, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        from recollect.embedders import OnnxEmbedder
        embedder = OnnxEmbedder(sys.argv[1], threads=2, query_cache=0)
        here = embedder.embed_query("green tea").tolist()
        child = os.fork()
        if child == 0:
            os._exit(0 if embedder.embed_query("green tea").tolist() == here else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    lines = [line.removeprefix("        ") for line in code.splitlines()]
    command = [sys.executable, "-c", "\n".join(lines), str(folder)]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    assert (process.stdout.strip(), process.stderr) == ("0", "")


def encoder_of(path: Path) -> OnnxEncoder:
    return OnnxEncoder(open_model_folder(path, EmbedderError), "test", lambda: path)


@pytest.fixture
def tokenizer_folder(tmp_path: Path) -> Path:
    write_tokenizer(tmp_path)
    return tmp_path


def test_folder_without_config_uses_defaults(tokenizer_folder: Path) -> None:
    encoder = encoder_of(tokenizer_folder)
    assert (encoder.max_tokens, encoder.pooling, encoder.dimension) == (512, "mean", None)
    assert (encoder.query_prefix, encoder.document_prefix) == ("", "")


def test_modules_json_locates_pooling(tokenizer_folder: Path) -> None:
    modules = [
        {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "path": "pooling", "type": "sentence_transformers.models.Pooling"},
    ]
    write_json(tokenizer_folder / "modules.json", modules)
    write_json(
        tokenizer_folder / "pooling" / "config.json", {"pooling_mode_cls_token": True, "word_embedding_dimension": 12}
    )
    encoder = encoder_of(tokenizer_folder)
    assert (encoder.pooling, encoder.dimension) == ("cls", 12)
    write_json(
        tokenizer_folder / "modules.json", [*modules, {"path": "2_Dense", "type": "sentence_transformers.models.Dense"}]
    )
    assert encoder_of(tokenizer_folder).dimension is None


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode": "mean"}, "mean"),
        ({"pooling_mode_mean_tokens": True}, "mean"),
    ],
)
def test_pooling_config_formats(tokenizer_folder: Path, config: dict[str, Any], pooling: str) -> None:
    write_json(tokenizer_folder / "1_Pooling" / "config.json", config)
    assert encoder_of(tokenizer_folder).pooling == pooling


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"pooling_mode_max_tokens": True}, "pools by max_tokens; only mean and cls are supported"),
        (
            {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
            "pools by cls_token and mean_tokens; only",
        ),
    ],
)
def test_unsupported_pooling_is_refused(tokenizer_folder: Path, config: dict[str, Any], problem: str) -> None:
    write_json(tokenizer_folder / "1_Pooling" / "config.json", config)
    with pytest.raises(EmbedderError, match=problem):
        encoder_of(tokenizer_folder)


def test_config_sets_dimension(tokenizer_folder: Path) -> None:
    write_json(tokenizer_folder / "config.json", {"hidden_size": 768})
    assert encoder_of(tokenizer_folder).dimension == 768


def test_folder_sets_max_tokens(tokenizer_folder: Path) -> None:
    write_json(tokenizer_folder / "sentence_bert_config.json", {"max_seq_length": 128})
    assert encoder_of(tokenizer_folder).max_tokens == 128


@pytest.mark.parametrize(
    ("config", "query", "document"),
    [
        ({"prompts": {"query": "q: ", "passage": "p: "}}, "q: ", "p: "),
        ({"prompts": {"query": "q: ", "document": "d: ", "corpus": "c: "}}, "q: ", "d: "),
        ({"prompts": {"all": "a: "}, "default_prompt_name": "all"}, "a: ", "a: "),
        ({"prompts": {"query": "q: "}, "default_prompt_name": None}, "q: ", ""),
        ({"prompts": None}, "", ""),
    ],
)
def test_prompts_of_config(tokenizer_folder: Path, config: dict[str, Any], query: str, document: str) -> None:
    write_json(tokenizer_folder / "config_sentence_transformers.json", config)
    encoder = encoder_of(tokenizer_folder)
    assert (encoder.query_prefix, encoder.document_prefix) == (query, document)


def test_error_names_invalid_json_file(tokenizer_folder: Path) -> None:
    (tokenizer_folder / "config.json").write_text("{")
    with pytest.raises(EmbedderError, match="config.json cannot be read: "):
        encoder_of(tokenizer_folder)
    write_json(tokenizer_folder / "config.json", [1])
    with pytest.raises(EmbedderError, match="config.json does not hold a JSON object"):
        encoder_of(tokenizer_folder)
    write_json(tokenizer_folder / "modules.json", [{"path": "1_Pooling"}])
    with pytest.raises(EmbedderError, match="modules.json does not list modules with a type and a path"):
        encoder_of(tokenizer_folder)


def test_catalogue_sets_prefixes_pooling_and_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = write_embedder(tmp_path / "upstream")
    entry = replace(entry, query_prefix="query ", document_prefix="passage ", pooling="mean")
    with local_hub(monkeypatch, tmp_path) as hub:
        hub.add_folder(tmp_path / "upstream")
        download(entry)
    embedder = CatalogueEmbedder(entry)
    assert embedder.name == "tiny/float32"  # without the document prefix
    assert embedder.describe() == "tiny/float32, 3 dimensions, onnxruntime"
    # The means of [CLS] (0, 0, 3), query (6, 0, 0) or passage (0, 6, 0), and tea (0, 3, 0), of length 1.
    assert embedder.embed_query("tea") == pytest.approx(np.array([6, 3, 3]) / 54**0.5)
    assert embedder.embed_documents(["tea"])[0] == pytest.approx(np.array([0, 9, 3]) / 90**0.5)
