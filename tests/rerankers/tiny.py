"""A tiny BERT with a classifier on top, as a graph in ONNX and, independently, in numpy.

Its weights are random, so that every token, position and segment changes every score.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

Array = NDArray[np.float64]

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "green", "black", "tea", "coffee", "which", "drink", "is", "best"]
WIDTH, HEADS, WIDE, POSITIONS = 8, 2, 16, 12
EPSILON = 1e-12


def make_weights(labels: int, seed: int = 7) -> dict[str, Array]:
    random = np.random.default_rng(seed)
    shapes = {
        "words": (len(WORDS), WIDTH),
        "positions": (POSITIONS, WIDTH),
        "types": (2, WIDTH),
        **dict.fromkeys(("query", "key", "value", "attended", "pooler"), (WIDTH, WIDTH)),
        "wide": (WIDTH, WIDE),
        "narrow": (WIDE, WIDTH),
        "classifier": (WIDTH, labels),
    }
    return {name: random.normal(size=shape) for name, shape in shapes.items()}


class Reference:
    """One pair at a time, in float64, from words to logits."""

    def __init__(self, weights: dict[str, Array], max_tokens: int = POSITIONS) -> None:
        self.weights = weights
        self.max_tokens = max_tokens

    def logits(self, query: str, document: str) -> Array:
        first, second = query.split(), document.split()
        max_words = self.max_tokens - 3
        if len(first) + len(second) > max_words:  # half for each; the longer text also gets what the shorter leaves
            half = min(len(first), len(second), max_words // 2)
            ends = (half, max_words - half) if len(first) <= len(second) else (max_words - half, half)
            first, second = first[: ends[0]], second[: ends[1]]
        tokens = ["[CLS]", *first, "[SEP]", *second, "[SEP]"]
        types = [0] * (len(first) + 2) + [1] * (len(second) + 1)
        ids = [WORDS.index(token) if token in WORDS else 1 for token in tokens]
        weights = self.weights
        states = norm(weights["words"][ids] + weights["positions"][: len(ids)] + weights["types"][types])
        attended = np.zeros_like(states)
        for head in range(HEADS):
            columns = slice(head * WIDTH // HEADS, (head + 1) * WIDTH // HEADS)
            queries, keys, values = ((states @ weights[name])[:, columns] for name in ("query", "key", "value"))
            scores = np.exp(queries @ keys.T / math.sqrt(WIDTH // HEADS))
            attended[:, columns] = scores / scores.sum(axis=1, keepdims=True) @ values
        states = norm(states + attended @ weights["attended"])
        wide = states @ weights["wide"]
        wide = wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2))) / 2
        states = norm(states + wide @ weights["narrow"])
        result: Array = np.tanh(states[0] @ weights["pooler"]) @ weights["classifier"]
        return result

    def score(self, query: str, document: str) -> float:
        """Return the sigmoid of one logit, or the second's share of the softmax."""
        powers = [math.exp(logit) for logit in self.logits(query, document)]
        return powers[0] / (1 + powers[0]) if len(powers) == 1 else powers[1] / sum(powers)


def norm(states: Array) -> Array:
    centred = states - states.mean(axis=1, keepdims=True)
    result: Array = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPSILON)
    return result


def write_tokenizer(folder: Path) -> None:
    tokenizer = Tokenizer(WordLevel({word: position for position, word in enumerate(WORDS)}, unk_token="[UNK]"))  # noqa: S106 (a word of a vocabulary)
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))


def write_graph(path: Path, weights: dict[str, Array], *, output: str = "logits", flat: bool = False) -> None:
    nodes: list[Any] = []
    constants: list[Any] = []

    def constant(value: Any) -> str:
        array = np.asarray(value)
        kind = np.int64 if array.dtype.kind == "i" else np.float32
        constants.append(numpy_helper.from_array(array.astype(kind), f"constant_{len(constants)}"))
        return str(constants[-1].name)

    def node(operation: str, *inputs: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(operation, inputs, [f"result_{len(nodes)}"], **attributes))
        return str(nodes[-1].output[0])

    def product(states: str, name: str) -> str:
        return node("MatMul", states, constant(weights[name]))

    def normed(states: str) -> str:
        scale = constant(np.ones(WIDTH))
        return node("LayerNormalization", states, scale, constant(np.zeros(WIDTH)), axis=-1, epsilon=EPSILON)

    def by_head(states: str, order: list[int]) -> str:
        shape = constant(np.array([0, 0, HEADS, WIDTH // HEADS]))
        return node("Transpose", node("Reshape", states, shape), perm=order)

    length = node("Shape", "input_ids", start=1, end=2)
    zero = constant(np.array([0]))
    words = node("Gather", constant(weights["words"]), "input_ids")
    types = node("Gather", constant(weights["types"]), "token_type_ids")
    positions = node("Slice", constant(weights["positions"]), zero, length, zero)
    states = normed(node("Add", node("Add", words, positions), types))
    mask = node("Unsqueeze", node("Cast", "attention_mask", to=TensorProto.FLOAT), constant(np.array([1, 2])))
    padding_scores = node("Mul", node("Sub", constant(1.0), mask), constant(-10_000.0))
    queries = by_head(product(states, "query"), [0, 2, 1, 3])
    keys = by_head(product(states, "key"), [0, 2, 3, 1])
    values = by_head(product(states, "value"), [0, 2, 1, 3])
    scores = node("Mul", node("MatMul", queries, keys), constant((WIDTH // HEADS) ** -0.5))
    attended = node("MatMul", node("Softmax", node("Add", scores, padding_scores), axis=-1), values)
    attended = node("Reshape", node("Transpose", attended, perm=[0, 2, 1, 3]), constant(np.array([0, 0, WIDTH])))
    states = normed(node("Add", states, product(attended, "attended")))
    wide = product(states, "wide")
    erf = node("Erf", node("Mul", wide, constant(2**-0.5)))
    wide = node("Mul", node("Mul", wide, node("Add", erf, constant(1.0))), constant(0.5))
    states = normed(node("Add", states, product(wide, "narrow")))
    first = node("Gather", states, constant(np.array(0)), axis=1)
    logits = product(node("Tanh", product(first, "pooler")), "classifier")
    shape: list[Any] = ["pairs", weights["classifier"].shape[1]]
    if flat:
        logits, shape = node("Squeeze", logits, constant(np.array([1]))), ["pairs"]
    nodes.append(helper.make_node("Identity", [logits], [output]))
    graph = helper.make_graph(
        nodes,
        "tiny",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["pairs", "tokens"])
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        constants,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def write_model(folder: Path, labels: int = 1, **graph: Any) -> Reference:
    """Write a folder with a tokenizer, a graph and its limit, and return the reference model."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = make_weights(labels)
    write_tokenizer(folder)
    write_graph(folder / "model.onnx", weights, **graph)
    (folder / "tokenizer_config.json").write_text(f'{{"model_max_length": {POSITIONS}}}')
    return Reference(weights)
