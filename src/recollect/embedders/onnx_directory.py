"""Any sentence-transformers model in ONNX, from a folder on this machine."""

from __future__ import annotations

import os
from typing import Any

from recollect.embedders.model import QUERY_CACHE, ModelEmbedder
from recollect.embedders.model_directory import read_directory
from recollect.embedders.onnx_model import OnnxModel

__all__ = ["OnnxEmbedder"]


class OnnxEmbedder(ModelEmbedder):
    """Embeds with the ONNX model in a folder that has the layout of sentence-transformers.

    The folder holds ``model.onnx`` or ``onnx/model.onnx`` (``file`` names another) and ``tokenizer.json``. If they are
    there, other files are heeded: the maximal length, cls or mean pooling, and prompts for queries and documents;
    prefixes that are given win over prompts. The folder's name is the model's, unless ``name`` is given.

    Texts are computed one by one by default. On a CPU that is as fast as a batch, nothing is wasted on padding, and
    a text's vector does not depend on its neighbours, as it otherwise does in a quantised model. On many cores, with
    short texts, a larger ``batch_size`` is quicker.

    >>> OnnxEmbedder("no/such/folder")
    Traceback (most recent call last):
        ...
    recollect.errors.EmbedderError: there is no folder no/such/folder
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        file: str | None = None,
        name: str | None = None,
        threads: int | None = None,
        batch_size: int = 1,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
        query_cache: int = QUERY_CACHE,
    ) -> None:
        """Read what the files beside the model say; the model itself is loaded when the first text comes."""
        settings = read_directory(directory)
        graph = settings.folder.graph(file)
        variant = "" if graph.stem == "model" else f"/{graph.stem}"
        super().__init__(
            f"{settings.folder.name}{variant}" if name is None else name,
            "onnxruntime",
            dimension=settings.dimension,
            batch_size=batch_size,
            query_prefix=settings.query_prefix if query_prefix is None else query_prefix,
            document_prefix=settings.document_prefix if document_prefix is None else document_prefix,
            query_cache=query_cache,
        )
        self._onnx = OnnxModel(settings, str(graph.resolve()), lambda: graph, threads)

    def _vectors(self, texts: list[str]) -> Any:
        """Ask the model, which is loaded now if it was not yet."""
        return self._onnx.vectors(texts)
