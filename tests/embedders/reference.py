"""BERT in numpy, written for reading rather than speed: what the built graph is compared with."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

Array = NDArray[np.float32]
_erf = np.vectorize(math.erf, otypes=[np.float32])


class ReferenceBert:
    """One text at a time, in float32, with mean pooling and unit length."""

    def __init__(self, folder: Path, max_tokens: int) -> None:
        self.weights: dict[str, Any] = load_file(folder / "model.safetensors")
        self.config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(max_tokens)

    def embed(self, text: str) -> Array:
        ids = self.tokenizer.encode(text).ids
        states = self.weights["embeddings.word_embeddings.weight"][ids]
        states = states + self.weights["embeddings.position_embeddings.weight"][: len(ids)]
        states = self.norm(states + self.weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for number in range(self.config["num_hidden_layers"]):
            name = f"encoder.layer.{number}"
            states = self.norm(states + self.attention(states, name), f"{name}.attention.output.LayerNorm")
            wide = self.dense(states, f"{name}.intermediate.dense")
            wide = wide * (1 + _erf(wide / math.sqrt(2))) / 2
            states = self.norm(states + self.dense(wide, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        mean = states.mean(axis=0)
        vector: Array = mean / np.linalg.norm(mean)
        return vector

    def attention(self, states: Array, name: str) -> Array:
        heads = self.config["num_attention_heads"]
        size = states.shape[1] // heads
        query, key, value = (self.dense(states, f"{name}.attention.self.{item}") for item in ("query", "key", "value"))
        attended = np.empty_like(states)
        for head in range(heads):
            columns = slice(head * size, (head + 1) * size)
            scores = query[:, columns] @ key[:, columns].T / math.sqrt(size)
            scores = np.exp(scores - scores.max(axis=1, keepdims=True))
            attended[:, columns] = scores / scores.sum(axis=1, keepdims=True) @ value[:, columns]
        return self.dense(attended, f"{name}.attention.output.dense")

    def dense(self, states: Array, name: str) -> Array:
        result: Array = states @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]
        return result

    def norm(self, states: Array, name: str) -> Array:
        centred = states - states.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt(centred.var(axis=1, keepdims=True) + self.config["layer_norm_eps"])
        result: Array = scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]
        return result
