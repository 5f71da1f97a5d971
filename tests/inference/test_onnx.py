from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recollect.errors import ArgumentError, RerankerError
from recollect.inference.onnx import ModelFolder, OnnxSession, open_model_folder, shared_session
from recollect.inference.runtime import PerProcess
from tests.embedders.tiny import VECTORS, write_graph, write_json, write_model, write_tokenizer


def session_of(folder: Path, max_tokens: int = 16) -> OnnxSession:
    model = open_model_folder(folder, RerankerError)
    return OnnxSession(model, folder / "model.onnx", max_tokens=max_tokens, output="last_hidden_state")


def test_session_runs_texts_and_pairs(tmp_path: Path) -> None:
    session = session_of(write_model(tmp_path))
    output, mask = session.run([("green tea",)])
    assert (output[0] == [VECTORS[2], VECTORS[3], VECTORS[4]]).all()
    assert mask.tolist() == [[1, 1, 1]]
    output, mask = session.run([("green",), ("tea", "green")])  # this tokenizer puts nothing around a pair
    assert (output[1] == [VECTORS[4], VECTORS[3]]).all()
    assert mask.tolist() == [[1, 1], [1, 1]]


def test_longer_text_of_pair_is_truncated_first(tmp_path: Path) -> None:
    output, _ = session_of(write_model(tmp_path), 4).run([("green", "tea " * 500)])
    assert (output[0] == [VECTORS[3], VECTORS[4], VECTORS[4], VECTORS[4]]).all()
    output, _ = session_of(tmp_path, 4).run([("green " * 500, "tea")])
    assert (output[0] == [VECTORS[3], VECTORS[3], VECTORS[3], VECTORS[4]]).all()


def test_session_raises_error_type(tmp_path: Path) -> None:
    folder = write_model(tmp_path, positions=2)
    with pytest.raises(RerankerError, match="model.onnx failed: "):
        session_of(folder).run([("green tea tea",)])
    write_graph(folder / "model.onnx", inputs=("input_ids", "position_ids"))
    with pytest.raises(RerankerError, match="model.onnx has an unknown input position_ids"):
        session_of(folder)
    (folder / "model.onnx").write_bytes(b"damaged")
    with pytest.raises(RerankerError, match="model.onnx cannot be loaded: "):
        session_of(folder)
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(RerankerError, match="tokenizer.json cannot be read: "):
        session_of(folder)


def test_equal_sessions_are_shared(tmp_path: Path) -> None:
    folder = write_model(tmp_path)
    model = open_model_folder(folder, RerankerError)

    def shared(max_tokens: int) -> PerProcess[OnnxSession]:
        graph = folder / "model.onnx"
        return shared_session(
            model, "tiny", lambda: graph, max_tokens=max_tokens, output="last_hidden_state", threads=None
        )

    assert shared(16) is shared(16)
    assert shared(16).get() is shared(16).get()
    assert shared(8) is not shared(16)


def test_threads_are_checked(tmp_path: Path) -> None:
    model = open_model_folder(write_model(tmp_path), RerankerError)
    with pytest.raises(ArgumentError, match="threads: must be at least 1, got 0"):
        shared_session(model, "tiny", lambda: tmp_path / "model.onnx", max_tokens=16, output="logits", threads=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_tokenizer(tmp_path)
    return tmp_path


def model_folder(folder: Path) -> ModelFolder:
    return open_model_folder(folder, RerankerError)


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
def test_max_tokens_of_config(folder: Path, files: dict[str, Any], tokens: int) -> None:
    for name, content in files.items():
        write_json(folder / name, content)
    assert model_folder(folder).max_tokens() == tokens


@pytest.mark.parametrize(("config", "padding"), [({}, 0), ({"pad_token_id": 1}, 1), ({"pad_token_id": None}, 0)])
def test_config_sets_padding(folder: Path, config: dict[str, Any], padding: int) -> None:
    write_json(folder / "config.json", config)
    assert model_folder(folder).padding_id() == padding


def test_error_names_invalid_json_file(folder: Path) -> None:
    (folder / "config.json").write_text("{")
    with pytest.raises(RerankerError, match="config.json cannot be read: "):
        model_folder(folder).read_object("config.json")
    write_json(folder / "config.json", [1])
    with pytest.raises(RerankerError, match="config.json does not hold a JSON object"):
        model_folder(folder).read_object("config.json")
    assert model_folder(folder).read_json("config.json") == [1]


def test_missing_folder_or_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(RerankerError, match="there is no folder .*nowhere"):
        model_folder(tmp_path / "nowhere")
    with pytest.raises(RerankerError, match="has no tokenizer.json: save the model's fast tokenizer there"):
        model_folder(tmp_path)


def test_graph_file_choice(folder: Path) -> None:
    with pytest.raises(RerankerError, match="has neither model.onnx nor onnx/model.onnx"):
        model_folder(folder).graph()
    (folder / "onnx").mkdir()
    for name in ("onnx/model_quantized.onnx", "onnx/model_O3.onnx", "onnx/model.onnx", "model.onnx"):
        (folder / name).touch()
        if name == "onnx/model_O3.onnx":
            with pytest.raises(
                RerankerError, match="choose one with file=: onnx/model_O3.onnx, onnx/model_quantized.onnx"
            ):
                model_folder(folder).graph()
        else:
            assert model_folder(folder).graph() == folder / name
    assert model_folder(folder).graph("onnx/model_O3.onnx") == folder / "onnx" / "model_O3.onnx"
    with pytest.raises(RerankerError, match="has no file model_int4.onnx"):
        model_folder(folder).graph("model_int4.onnx")
