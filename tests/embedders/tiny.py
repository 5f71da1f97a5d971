"""A tiny sentence-transformers model: four words, three dimensions, vectors that can be added up by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

VOCABULARY = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "green": 3, "tea": 4, "query": 5, "passage": 6}
VECTORS = [[9, 9, 9], [0, 0, 0], [0, 0, 3], [3, 0, 0], [0, 3, 0], [6, 0, 0], [0, 6, 0]]
"""Word vectors; that of padding is large, so that an error in masking is visible."""


def write_tokenizer(folder: Path, *, with_cls: bool = True) -> None:
    tokenizer = Tokenizer(WordLevel(VOCABULARY, unk_token="[UNK]"))  # noqa: S106 (a word, no password)
    tokenizer.pre_tokenizer = Whitespace()
    if with_cls:
        tokenizer.post_processor = TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 2)])
    tokenizer.save(str(folder / "tokenizer.json"))


def write_graph(
    path: Path,
    *,
    inputs: tuple[str, ...] = ("input_ids", "attention_mask"),
    kind: int = TensorProto.INT64,
    output: str = "last_hidden_state",
    pooled: bool = False,
    positions: int | None = None,
) -> None:
    """Write a graph that looks words up; with ``pooled`` it takes the first token's vector itself."""
    constants = [numpy_helper.from_array(np.array(VECTORS, dtype=np.float32), "table")]
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["words"])]
    if positions is not None:  # fails on longer texts, as a model with that many positions does
        constants += [
            numpy_helper.from_array(np.zeros((positions, 1), dtype=np.float32), "position_table"),
            numpy_helper.from_array(np.array(1), "one"),
            numpy_helper.from_array(np.array(0), "start"),
        ]
        nodes += [
            helper.make_node("Shape", ["input_ids"], ["shape"]),
            helper.make_node("Gather", ["shape", "one"], ["length"]),
            helper.make_node("Range", ["start", "length", "one"], ["range"]),
            helper.make_node("Gather", ["position_table", "range"], ["position"]),
            helper.make_node("Add", ["words", "position"], ["sum"]),
        ]
    last = nodes[-1].output[0]
    shape: list[Any] = ["texts", "tokens", 3]
    if pooled:
        constants.append(numpy_helper.from_array(np.array(0), "first"))
        nodes.append(helper.make_node("Gather", [last, "first"], [output], axis=1))
        shape = ["texts", 3]
    else:
        nodes.append(helper.make_node("Identity", [last], [output]))
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, kind, ["texts", "tokens"]) for name in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        constants,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def write_model(folder: Path, **graph: Any) -> Path:
    """Write a folder with a tokenizer and a graph, and nothing else."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(folder)
    write_graph(folder / "model.onnx", **graph)
    return folder
