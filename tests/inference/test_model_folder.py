from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recollect.errors import RerankerError
from recollect.inference.model_folder import ModelFolder, model_folder
from tests.embedders.tiny import write_json, write_tokenizer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_tokenizer(tmp_path)
    return tmp_path


def opened(folder: Path) -> ModelFolder:
    return model_folder(folder, RerankerError)


@pytest.mark.parametrize(
    ("files", "tokens"),
    [
        (
            {"sentence_bert_config.json": {"max_seq_length": 128}, "tokenizer_config.json": {"model_max_length": 512}},
            128,
        ),
        ({"tokenizer_config.json": {"model_max_length": 256}}, 256),
        ({"tokenizer_config.json": {"model_max_length": 10**30}}, 512),
        ({"sentence_bert_config.json": {"max_seq_length": None}}, 512),
    ],
)
def test_where_a_text_is_cut(folder: Path, files: dict[str, Any], tokens: int) -> None:
    for name, content in files.items():
        write_json(folder / name, content)
    assert opened(folder).max_tokens() == tokens


@pytest.mark.parametrize(("config", "padding"), [({}, 0), ({"pad_token_id": 1}, 1), ({"pad_token_id": None}, 0)])
def test_config_tells_the_padding(folder: Path, config: dict[str, Any], padding: int) -> None:
    write_json(folder / "config.json", config)
    assert opened(folder).padding() == padding


def test_a_file_that_cannot_be_understood_is_named(folder: Path) -> None:
    (folder / "config.json").write_text("{")
    with pytest.raises(RerankerError, match="config.json cannot be read: "):
        opened(folder).read("config.json")
    write_json(folder / "config.json", [1])
    with pytest.raises(RerankerError, match="config.json does not hold a JSON object"):
        opened(folder).read("config.json")
    assert opened(folder).read_any("config.json") == [1]


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(RerankerError, match="there is no folder .*nowhere"):
        opened(tmp_path / "nowhere")
    with pytest.raises(RerankerError, match="has no tokenizer.json: save the model's fast tokenizer there"):
        opened(tmp_path)


def test_which_graph_is_taken(folder: Path) -> None:
    with pytest.raises(RerankerError, match="has neither model.onnx nor onnx/model.onnx"):
        opened(folder).graph()
    (folder / "onnx").mkdir()
    for name in ("onnx/model_quantized.onnx", "onnx/model_O3.onnx", "onnx/model.onnx", "model.onnx"):
        (folder / name).touch()
        if name == "onnx/model_O3.onnx":
            with pytest.raises(
                RerankerError, match="say which in file=: onnx/model_O3.onnx, onnx/model_quantized.onnx"
            ):
                opened(folder).graph()
        else:
            assert opened(folder).graph() == folder / name
    assert opened(folder).graph("onnx/model_O3.onnx") == folder / "onnx" / "model_O3.onnx"
    with pytest.raises(RerankerError, match="has no file model_int4.onnx"):
        opened(folder).graph("model_int4.onnx")
