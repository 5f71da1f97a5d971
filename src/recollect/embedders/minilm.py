"""The embedder all-MiniLM-L6-v2, a small and good sentence encoder, without a deep-learning framework.

The model is based on Wang et al., "MiniLM: Deep Self-Attention Distillation", NeurIPS 2020. The authors of
sentence-transformers trained it further on a billion pairs of sentences. On first use an ONNX graph is built from the
weights, quantised to 8 bits, and stored in the cache folder.

The graph is a BERT encoder: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", NAACL 2019. A
text's vector is the mean of the vectors of its tokens: Reimers and Gurevych, "Sentence-BERT", EMNLP 2019.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, Unpack

from recollect import arguments
from recollect.embedders.base import EmbedderOptions, ModelEmbedder
from recollect.embedders.onnx import OnnxEncoder
from recollect.errors import EmbedderError
from recollect.inference.catalogue import catalogue_entry
from recollect.inference.onnx import open_model_folder
from recollect.inference.runtime import cached_file, file_fingerprint, require_module
from recollect.inference.weights import checked_file, require_weights, unavailable_reason

_MODULES = ("onnxruntime", "tokenizers", "safetensors", "onnx")
_NAME = "all-MiniLM-L6-v2"
_GRAPH_VERSION = 1
"""Part of the name of the cached file. Increase it when this module builds another graph from the same weights."""
_OPSET = 17  # the first version of the ONNX operators with LayerNormalization; onnxruntime supports it since 1.12
_IR_VERSION = 8
"""The version of the ONNX file format for this opset. The default is the newest, which older runtimes cannot read."""
_MASKED_SCORE = -10_000.0
"""Added to the attention scores of padding, so that the softmax turns them into 0 without an overflow."""


class MiniLMEmbedder(ModelEmbedder):
    """Embeds with all-MiniLM-L6-v2: 384 dimensions, English; only the first 256 tokens of a text count.

    ``precision`` is ``int8``, or ``float32``, which is slower and takes four times the space; the int8 and the float32
    vector of a text have a cosine of about 0.99. ``threads`` is the number of threads for one text, by default the
    number of processors.

    Texts are computed one by one: on a CPU that is as fast as a batch, and a text always has the same vector. In a
    batch, quantisation would use one scale for all texts: the vector of a short text in a batch and its vector alone
    could have a cosine of as little as 0.96.

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
        entry = catalogue_entry("minilm")
        weights = require_weights(entry, EmbedderError, *_MODULES)
        super().__init__(f"{_NAME}/{precision}", "onnxruntime", dimension=384, batch_size=1, **options)
        model_folder = open_model_folder(weights.folder, EmbedderError)
        check = partial(checked_file, entry, weights, EmbedderError)
        graph_file = partial(_graph_file, weights.folder, precision, check)
        self._encoder = OnnxEncoder(model_folder, precision, graph_file, threads=threads)

    def _vectors(self, texts: list[str]) -> Any:
        return self._encoder.vectors(texts)


def minilm_unavailable_reason() -> str | None:
    """Return why MiniLM cannot be used and what to install, or ``None`` if it can be used."""
    return unavailable_reason(catalogue_entry("minilm"), *_MODULES)


def _graph_file(folder: Path, precision: str, check: Callable[[], object] | None = None) -> Path:
    """Return the cached file of the graph; build it if it is missing, after ``check`` has verified the weights."""
    try:
        stem = f"{_NAME}-{precision}-{file_fingerprint(folder / 'model.safetensors')}-{_GRAPH_VERSION}"
    except OSError as error:
        raise EmbedderError(f"MiniLM's weights cannot be read: {error}") from error
    return cached_file(stem, ".onnx", partial(_write_graph, folder, precision, check))


def _write_graph(folder: Path, precision: str, check: Callable[[], object] | None, destination: Path) -> None:
    """Write the graph, which includes the weights, to the file ``destination``."""
    if check is not None:
        check()
    onnx = require_module("onnx", EmbedderError)
    safetensors = require_module("safetensors.numpy", EmbedderError)
    try:
        weights = safetensors.load_file(folder / "model.safetensors")
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        model = _BertGraphBuilder(weights, config).model()
    except Exception as error:  # a damaged file may raise any exception
        raise EmbedderError(f"MiniLM's weights in {folder} cannot be read: {error!r}; install them again") from error
    if precision == "float32":
        onnx.save(model, destination)
        return
    # This property silences a warning to pre-process the graph; pre-processing would change nothing in this graph.
    onnx.helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
    # One scale for each column: with one for a whole matrix, the cosine with the float32 vectors is lower by 0.1.
    require_module("onnxruntime.quantization", EmbedderError).quantize_dynamic(model, destination, per_channel=True)


class _BertGraphBuilder:
    """Builds the ONNX graph of a BERT encoder from its ``config.json`` and its weights, by Hugging Face's names.

    In ONNX, nodes refer to each other's outputs by name. So a string is the name of an output or of a constant, and a
    method that appends nodes returns the name of the last output. ``states`` names an array of texts × tokens × width.
    """

    def __init__(self, weights: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        self._onnx = require_module("onnx", EmbedderError)
        self._numpy = require_module("numpy", EmbedderError)
        self._weights = weights
        self._heads = int(config["num_attention_heads"])
        self._layer_count = int(config["num_hidden_layers"])
        self._width = int(config["hidden_size"])
        self._epsilon = float(config["layer_norm_eps"])
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self) -> Any:
        """Return the model with inputs ``input_ids`` and ``attention_mask`` and the output ``sentence_embedding``."""
        helper, types = self._onnx.helper, self._onnx.TensorProto
        mask = self._node("Cast", "attention_mask", to=types.FLOAT)
        one = self._scalar(1.0)
        padding = self._node("Sub", one, self._node("Unsqueeze", mask, self._integers(1, 2)))  # texts × 1 × 1 × tokens
        padding_scores = self._node("Mul", padding, self._scalar(_MASKED_SCORE))
        states = self._embeddings()
        for layer in range(self._layer_count):
            states = self._layer(f"encoder.layer.{layer}", states, padding_scores)
        self._mean(states, mask)
        shape = ["texts", "tokens"]
        inputs = [helper.make_tensor_value_info(name, types.INT64, shape) for name in ("input_ids", "attention_mask")]
        output = helper.make_tensor_value_info("sentence_embedding", types.FLOAT, ["texts", self._width])
        graph = helper.make_graph(self._nodes, "bert", inputs, [output], self._constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)

    def _embeddings(self) -> str:
        """Append the sum of the embeddings of tokens, positions and segments; all tokens are of the first segment."""
        first_segment = self._weights["embeddings.token_type_embeddings.weight"][0]
        table = self._constant(self._weights["embeddings.position_embeddings.weight"] + first_segment)
        token_count = self._node("Shape", "input_ids", start=1, end=2)
        positions = self._node("Slice", table, self._integers(0), token_count, self._integers(0))  # table[:token_count]
        tokens = self._node("Gather", self._constant(self._weights["embeddings.word_embeddings.weight"]), "input_ids")
        return self._layer_norm(self._node("Add", tokens, positions), "embeddings.LayerNorm")

    def _layer(self, name: str, states: str, padding_scores: str) -> str:
        """Append attention, then two dense layers, each part with a residual connection and a normalisation."""
        attended = self._dense(self._attention(name, states, padding_scores), f"{name}.attention.output.dense")
        states = self._layer_norm(self._node("Add", attended, states), f"{name}.attention.output.LayerNorm")
        expanded = self._gelu(self._dense(states, f"{name}.intermediate.dense"))
        reduced = self._dense(expanded, f"{name}.output.dense")
        return self._layer_norm(self._node("Add", reduced, states), f"{name}.output.LayerNorm")

    def _attention(self, name: str, states: str, padding_scores: str) -> str:
        """Append softmax(Q Kᵀ / √d) V for each head, where d is the width of a head."""
        np = self._numpy
        names = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        # One large matrix product is faster than three small ones.
        weight = np.concatenate([self._weights[f"{part}.weight"].T for part in names], axis=1)
        bias = np.concatenate([self._weights[f"{part}.bias"] for part in names])
        product = self._node("Add", self._node("MatMul", states, self._constant(weight)), self._constant(bias))
        queries, keys, values = self._node_with_outputs(3, "Split", product, axis=-1)
        head_width = self._width // self._heads
        queries = self._node("Mul", queries, self._scalar(head_width**-0.5))
        by_head = self._integers(0, 0, self._heads, head_width)  # a shape; 0 keeps the numbers of texts and tokens
        # Transposed to texts × heads × tokens × head width, and the keys to texts × heads × head width × tokens.
        queries = self._node("Transpose", self._node("Reshape", queries, by_head), perm=[0, 2, 1, 3])
        keys = self._node("Transpose", self._node("Reshape", keys, by_head), perm=[0, 2, 3, 1])
        values = self._node("Transpose", self._node("Reshape", values, by_head), perm=[0, 2, 1, 3])
        scores = self._node("Add", self._node("MatMul", queries, keys), padding_scores)
        attended = self._node("MatMul", self._node("Softmax", scores, axis=-1), values)
        attended = self._node("Transpose", attended, perm=[0, 2, 1, 3])
        return self._node("Reshape", attended, self._integers(0, 0, self._width))

    def _gelu(self, states: str) -> str:
        """Append x · (1 + erf(x / √2)) / 2."""
        erf = self._node("Erf", self._node("Div", states, self._scalar(2**0.5)))
        twice_gelu = self._node("Mul", states, self._node("Add", erf, self._scalar(1.0)))
        return self._node("Mul", twice_gelu, self._scalar(0.5))

    def _mean(self, states: str, mask: str) -> None:
        """Append the mean of the vectors of the tokens that are not padding; it is the output of the graph."""
        column = self._node("Unsqueeze", mask, self._integers(2))  # texts × tokens × 1
        total = self._node("ReduceSum", self._node("Mul", states, column), self._integers(1), keepdims=0)
        count = self._node("Max", self._node("ReduceSum", column, self._integers(1), keepdims=0), self._scalar(1.0))
        self._nodes.append(self._onnx.helper.make_node("Div", [total, count], ["sentence_embedding"]))

    def _dense(self, states: str, name: str) -> str:
        """Append x Wᵀ + b."""
        product = self._node("MatMul", states, self._constant(self._weights[f"{name}.weight"].T))
        return self._node("Add", product, self._constant(self._weights[f"{name}.bias"]))

    def _layer_norm(self, states: str, name: str) -> str:
        """Append a normalisation of each token's vector."""
        scale, bias = (self._constant(self._weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self._node("LayerNormalization", states, scale, bias, axis=-1, epsilon=self._epsilon)

    def _node(self, operation: str, *inputs: str, **attributes: Any) -> str:
        return self._node_with_outputs(1, operation, *inputs, **attributes)[0]

    def _node_with_outputs(self, count: int, operation: str, *inputs: str, **attributes: Any) -> list[str]:
        """Append a node, and return the names of its outputs."""
        outputs = [f"{operation}_{len(self._nodes)}_{number}" for number in range(count)]
        self._nodes.append(self._onnx.helper.make_node(operation, inputs, outputs, **attributes))
        return outputs

    def _scalar(self, value: float) -> str:
        return self._constant(self._numpy.float32(value))

    def _integers(self, *values: int) -> str:
        return self._constant(self._numpy.array(values, dtype=self._numpy.int64))

    def _constant(self, value: Any) -> str:
        name = f"constant_{len(self._constants)}"
        # ascontiguousarray turns a scalar into an array of one dimension; reshape undoes that.
        array = self._numpy.ascontiguousarray(value).reshape(self._numpy.shape(value))
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name
