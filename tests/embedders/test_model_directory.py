from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recollect.embedders.model_directory import read_directory
from recollect.errors import EmbedderError
from tests.embedders.tiny import write_json, write_tokenizer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_tokenizer(tmp_path)
    return tmp_path


def test_a_bare_folder_has_the_usual_settings(folder: Path) -> None:
    found = read_directory(folder)
    assert (found.max_tokens, found.pooling, found.dimension) == (512, "mean", None)
    assert (found.query_prefix, found.document_prefix) == ("", "")


def test_the_pooling_is_where_the_list_of_modules_says(folder: Path) -> None:
    modules = [
        {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "path": "pooling", "type": "sentence_transformers.models.Pooling"},
    ]
    write_json(folder / "modules.json", modules)
    write_json(folder / "pooling" / "config.json", {"pooling_mode_cls_token": True, "word_embedding_dimension": 12})
    found = read_directory(folder)
    assert (found.pooling, found.dimension) == ("cls", 12)
    write_json(folder / "modules.json", [*modules, {"path": "2_Dense", "type": "sentence_transformers.models.Dense"}])
    assert read_directory(folder).dimension is None  # a dense layer changes it; the model's answer will tell


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode": "mean"}, "mean"),
        ({"pooling_mode_mean_tokens": True}, "mean"),
    ],
)
def test_pooling_is_written_in_two_ways(folder: Path, config: dict[str, Any], pooling: str) -> None:
    write_json(folder / "1_Pooling" / "config.json", config)
    assert read_directory(folder).pooling == pooling


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"pooling_mode_max_tokens": True}, "pools by max_tokens; only mean and cls are known"),
        (
            {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
            "pools by cls_token and mean_tokens; only",
        ),
    ],
)
def test_other_pooling_is_refused(folder: Path, config: dict[str, Any], problem: str) -> None:
    write_json(folder / "1_Pooling" / "config.json", config)
    with pytest.raises(EmbedderError, match=problem):
        read_directory(folder)


def test_config_tells_the_dimension(folder: Path) -> None:
    write_json(folder / "config.json", {"hidden_size": 768})
    assert read_directory(folder).dimension == 768


def test_a_text_is_cut_where_the_folder_says(folder: Path) -> None:
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 128})
    assert read_directory(folder).max_tokens == 128


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
def test_prompts(folder: Path, config: dict[str, Any], query: str, document: str) -> None:
    write_json(folder / "config_sentence_transformers.json", config)
    found = read_directory(folder)
    assert (found.query_prefix, found.document_prefix) == (query, document)


def test_a_file_that_cannot_be_understood_is_named(folder: Path) -> None:
    (folder / "config.json").write_text("{")
    with pytest.raises(EmbedderError, match="config.json cannot be read: "):
        read_directory(folder)
    write_json(folder / "config.json", [1])
    with pytest.raises(EmbedderError, match="config.json does not hold a JSON object"):
        read_directory(folder)
    write_json(folder / "modules.json", [{"path": "1_Pooling"}])
    with pytest.raises(EmbedderError, match="modules.json does not list modules with a type and a path"):
        read_directory(folder)
