from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import ArgumentError, RerankerError
from recollect.inference.model_folder import model_folder
from recollect.inference.onnx_session import OnnxSession, SessionSettings, shared_session
from tests.embedders.tiny import VECTORS, write_graph, write_model


def session_of(folder: Path, max_tokens: int = 16) -> OnnxSession:
    settings = SessionSettings(model_folder(folder, RerankerError), max_tokens, "last_hidden_state")
    return OnnxSession(settings, folder / "model.onnx")


def test_texts_and_pairs_go_in(tmp_path: Path) -> None:
    session = session_of(write_model(tmp_path))
    answer, mask = session.run([("green tea",)])
    assert (answer[0] == [VECTORS[2], VECTORS[3], VECTORS[4]]).all()
    assert mask.tolist() == [[1, 1, 1]]
    answer, mask = session.run([("green",), ("tea", "green")])  # this tokenizer puts nothing around a pair
    assert (answer[1] == [VECTORS[4], VECTORS[3]]).all()
    assert mask.tolist() == [[1, 1], [1, 1]]


def test_of_a_pair_the_longer_text_is_cut_first(tmp_path: Path) -> None:
    answer, _ = session_of(write_model(tmp_path), 4).run([("green", "tea " * 500)])
    assert (answer[0] == [VECTORS[3], VECTORS[4], VECTORS[4], VECTORS[4]]).all()
    answer, _ = session_of(tmp_path, 4).run([("green " * 500, "tea")])
    assert (answer[0] == [VECTORS[3], VECTORS[3], VECTORS[3], VECTORS[4]]).all()


def test_failures_are_those_that_were_asked_for(tmp_path: Path) -> None:
    folder = write_model(tmp_path, positions=2)
    with pytest.raises(RerankerError, match="model.onnx failed: "):
        session_of(folder).run([("green tea tea",)])
    write_graph(folder / "model.onnx", inputs=("input_ids", "position_ids"))
    with pytest.raises(RerankerError, match="model.onnx asks for position_ids, which is unknown here"):
        session_of(folder)
    (folder / "model.onnx").write_bytes(b"damaged")
    with pytest.raises(RerankerError, match="model.onnx cannot be loaded: "):
        session_of(folder)
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(RerankerError, match="tokenizer.json cannot be read: "):
        session_of(folder)


def test_sessions_of_one_graph_and_equal_settings_are_one(tmp_path: Path) -> None:
    folder = write_model(tmp_path)
    settings = SessionSettings(model_folder(folder, RerankerError), 16, "last_hidden_state")
    places = [shared_session(each, "tiny", lambda: folder / "model.onnx") for each in (settings, settings)]
    assert places[0] is places[1]
    assert places[0].get() is places[1].get()
    assert shared_session(settings._replace(max_tokens=8), "tiny", lambda: folder / "model.onnx") is not places[0]


def test_the_number_of_threads_is_checked(tmp_path: Path) -> None:
    settings = SessionSettings(model_folder(write_model(tmp_path), RerankerError), 16, "logits", threads=0)
    with pytest.raises(ArgumentError, match="threads: must be at least 1, got 0"):
        shared_session(settings, "tiny", lambda: tmp_path / "model.onnx")
