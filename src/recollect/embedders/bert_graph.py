"""The graph of a BERT encoder in ONNX, built from its weights.

Devlin, Chang, Lee and Toutanova, "BERT: Pre-training of Deep Bidirectional Transformers", NAACL 2019. A text's vector
is the mean of the vectors that the last layer gives to its tokens, as in Reimers and Gurevych, "Sentence-BERT", EMNLP
2019.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.errors import EmbedderError
from recollect.inference.parts import part

__all__ = ["bert_graph"]

_OPSET = 17
"""The first that has LayerNormalization; onnxruntime has known it since 1.12."""

_FORMAT = 8
"""The version of the file format that goes with it; by default the newest would be written."""

_HIDDEN_FROM_ATTENTION = -10_000.0
"""Added to the score of padding: nothing of it is left after the softmax, and no number overflows."""


def bert_graph(weights: Mapping[str, Any], config: Mapping[str, Any]) -> Any:
    """Return the model that turns ``input_ids`` and ``attention_mask`` into ``sentence_embedding``.

    ``weights`` are arrays by the names that BERT's weights have everywhere, ``config`` is the model's ``config.json``.
    """
    return _Builder(weights, config).model()


class _Builder:
    """Adds one operation after another; each returns the name of its result."""

    def __init__(self, weights: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        self._onnx = part("onnx", EmbedderError)
        self._numpy = part("numpy", EmbedderError)
        self._weights = weights
        self._heads = int(config["num_attention_heads"])
        self._layers = int(config["num_hidden_layers"])
        self._width = int(config["hidden_size"])
        self._epsilon = float(config["layer_norm_eps"])
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self) -> Any:
        """Return the whole model."""
        helper, types = self._onnx.helper, self._onnx.TensorProto
        mask = self._node("Cast", "attention_mask", to=types.FLOAT)
        unseen = self._node("Sub", self._number(1.0), self._node("Unsqueeze", mask, self._whole(1, 2)))
        hidden_scores = self._node("Mul", unseen, self._number(_HIDDEN_FROM_ATTENTION))
        states = self._embeddings()
        for layer in range(self._layers):
            states = self._layer(f"encoder.layer.{layer}", states, hidden_scores)
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
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_FORMAT)

    def _embeddings(self) -> str:
        """Add what each token, its place and (always the same here) its segment bring."""
        places = self._weights["embeddings.position_embeddings.weight"]
        places = places + self._weights["embeddings.token_type_embeddings.weight"][0]
        tokens = self._node("Shape", "input_ids", start=1, end=2)
        place = self._node("Slice", self._constant(places), self._whole(0), tokens, self._whole(0))
        words = self._constant(self._weights["embeddings.word_embeddings.weight"])
        return self._norm(self._node("Add", self._node("Gather", words, "input_ids"), place), "embeddings.LayerNorm")

    def _layer(self, name: str, states: str, hidden_scores: str) -> str:
        """Add one layer: attention, then two dense layers, each added to what it was given and normalised."""
        attended = self._dense(self._attention(name, states, hidden_scores), f"{name}.attention.output.dense")
        states = self._norm(self._node("Add", attended, states), f"{name}.attention.output.LayerNorm")
        wide = self._gelu(self._dense(states, f"{name}.intermediate.dense"))
        narrow = self._dense(wide, f"{name}.output.dense")
        return self._norm(self._node("Add", narrow, states), f"{name}.output.LayerNorm")

    def _attention(self, name: str, states: str, hidden_scores: str) -> str:
        """Add softmax(Q Kᵀ / √d) V for each head."""
        np = self._numpy
        names = [f"{name}.attention.self.{each}" for each in ("query", "key", "value")]
        # One large product is quicker than three small ones.
        weight = np.concatenate([self._weights[f"{each}.weight"].T for each in names], axis=1)
        bias = np.concatenate([self._weights[f"{each}.bias"] for each in names])
        product = self._node("Add", self._node("MatMul", states, self._constant(weight)), self._constant(bias))
        queries, keys, values = self._nodes_of("Split", 3, product, axis=-1)
        size = self._width // self._heads
        queries = self._node("Mul", queries, self._number(size**-0.5))
        by_head = self._whole(0, 0, self._heads, size)
        queries = self._node("Transpose", self._node("Reshape", queries, by_head), perm=[0, 2, 1, 3])
        keys = self._node("Transpose", self._node("Reshape", keys, by_head), perm=[0, 2, 3, 1])
        values = self._node("Transpose", self._node("Reshape", values, by_head), perm=[0, 2, 1, 3])
        scores = self._node("Add", self._node("MatMul", queries, keys), hidden_scores)
        seen = self._node("MatMul", self._node("Softmax", scores, axis=-1), values)
        return self._node("Reshape", self._node("Transpose", seen, perm=[0, 2, 1, 3]), self._whole(0, 0, self._width))

    def _gelu(self, states: str) -> str:
        """Add x · (1 + erf(x / √2)) / 2."""
        error = self._node("Erf", self._node("Div", states, self._number(2**0.5)))
        doubled = self._node("Mul", states, self._node("Add", error, self._number(1.0)))
        return self._node("Mul", doubled, self._number(0.5))

    def _mean(self, states: str, mask: str) -> None:
        """Add the mean over the tokens that are not padding."""
        column = self._node("Unsqueeze", mask, self._whole(2))
        total = self._node("ReduceSum", self._node("Mul", states, column), self._whole(1), keepdims=0)
        count = self._node("Max", self._node("ReduceSum", column, self._whole(1), keepdims=0), self._number(1.0))
        self._nodes.append(self._onnx.helper.make_node("Div", [total, count], ["sentence_embedding"]))

    def _dense(self, states: str, name: str) -> str:
        """Add x Wᵀ + b."""
        product = self._node("MatMul", states, self._constant(self._weights[f"{name}.weight"].T))
        return self._node("Add", product, self._constant(self._weights[f"{name}.bias"]))

    def _norm(self, states: str, name: str) -> str:
        """Add a normalisation of each token's vector."""
        scale, bias = (self._constant(self._weights[f"{name}.{each}"]) for each in ("weight", "bias"))
        return self._node("LayerNormalization", states, scale, bias, axis=-1, epsilon=self._epsilon)

    def _node(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """Add an operation with one result."""
        return self._nodes_of(operation, 1, *inputs, **attributes)[0]

    def _nodes_of(self, operation: str, results: int, *inputs: str, **attributes: Any) -> list[str]:
        """Add an operation with several results."""
        names = [f"{operation}_{len(self._nodes)}_{result}" for result in range(results)]
        self._nodes.append(self._onnx.helper.make_node(operation, inputs, names, **attributes))
        return names

    def _number(self, value: float) -> str:
        """Add one number."""
        return self._constant(self._numpy.float32(value))

    def _whole(self, *values: int) -> str:
        """Add a list of whole numbers."""
        return self._constant(self._numpy.array(values, dtype=self._numpy.int64))

    def _constant(self, value: Any) -> str:
        """Add an array."""
        name = f"constant_{len(self._constants)}"
        array = self._numpy.ascontiguousarray(value).reshape(self._numpy.shape(value))
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name
