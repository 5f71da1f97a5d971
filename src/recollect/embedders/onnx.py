"""Embeds with any sentence-transformers model in ONNX format, from a local folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from recollect import arguments
from recollect.embedders.base import QUERY_CACHE, ModelEmbedder
from recollect.errors import EmbedderError
from recollect.inference.catalogue import CatalogueEntry
from recollect.inference.onnx import ModelFolder, open_model_folder, shared_session
from recollect.inference.weights import checked_file, require_weights

_POOLINGS = {"cls": "cls", "mean_tokens": "mean", "cls_token": "cls", "mean": "mean"}
"""The supported pooling modes, by their names in old and new versions of sentence-transformers."""


class OnnxEmbedder(ModelEmbedder):
    """Embeds with the ONNX model in a folder that has the layout of sentence-transformers.

    The folder holds ``model.onnx`` or ``onnx/model.onnx`` (``file`` names another) and ``tokenizer.json``. Other files,
    if present, set the maximum length, cls or mean pooling, and prompts for queries and documents; ``max_tokens``,
    ``pooling`` and the prefixes replace what the files say. ``name`` is by default ``FOLDER``, or ``FOLDER/FILE`` if
    the file is not ``model``.

    Texts are computed one by one by default. On a CPU that is as fast as a batch, and wastes nothing on padding. In a
    batch, the vector that a quantised model returns for a text would depend on the other texts. On many cores, with
    short texts, a larger ``batch_size`` is faster.

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
        pooling: Literal["cls", "mean"] | None = None,
        max_tokens: int | None = None,
        threads: int | None = None,
        batch_size: int = 1,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
        query_cache: int = QUERY_CACHE,
    ) -> None:
        """Read the files beside the model; the model itself is loaded with the first text."""
        folder = open_model_folder(directory, EmbedderError)
        graph = folder.graph(file)
        encoder = OnnxEncoder(
            folder, str(graph.resolve()), lambda: graph, threads=threads, pooling=pooling, max_tokens=max_tokens
        )
        variant = "" if graph.stem == "model" else f"/{graph.stem}"
        super().__init__(
            f"{folder.name}{variant}" if name is None else name,
            "onnxruntime",
            dimension=encoder.dimension,
            batch_size=batch_size,
            query_prefix=encoder.query_prefix if query_prefix is None else query_prefix,
            document_prefix=encoder.document_prefix if document_prefix is None else document_prefix,
            query_cache=query_cache,
        )
        self._encoder = encoder

    def _vectors(self, texts: list[str]) -> Any:
        return self._encoder.vectors(texts)


class CatalogueEmbedder(ModelEmbedder):
    """Embeds with an ONNX model of the catalogue; its weights must be installed.

    Texts are computed one by one, as by :class:`OnnxEmbedder`. Pooling, prefixes and the maximum length are the
    catalogue's.
    """

    def __init__(
        self, entry: CatalogueEntry, *, threads: int | None = None, query_cache: int = QUERY_CACHE, batch_size: int = 1
    ) -> None:
        weights = require_weights(entry, EmbedderError, "onnxruntime", "tokenizers")
        super().__init__(
            entry.model_name,
            "onnxruntime",
            dimension=entry.dimension,
            batch_size=batch_size,
            query_prefix=entry.query_prefix,
            document_prefix=entry.document_prefix,
            query_cache=query_cache,
        )
        self._encoder = OnnxEncoder(
            open_model_folder(weights.folder, EmbedderError),
            str(weights.path),
            lambda: checked_file(entry, weights, EmbedderError),
            threads=threads,
            pooling=None if entry.pooling == "graph" else entry.pooling,
            max_tokens=entry.max_tokens,
        )

    @property
    def name(self) -> str:
        """The name in the catalogue and the precision; the document prefix is the model's own, so it is left out."""
        return self._model

    def _vectors(self, texts: list[str]) -> Any:
        return self._encoder.vectors(texts)


class OnnxEncoder:
    """Runs an encoder in ONNX format: tokenizes texts, and pools the vectors of their tokens.

    The files of ``folder``, in the layout of sentence-transformers, set the maximum length, the pooling and the
    prompts. By default a text is truncated to 512 tokens and the vectors of its tokens are averaged.
    """

    def __init__(
        self,
        folder: ModelFolder,
        key: str,
        graph: Callable[[], Path],
        *,
        threads: int | None = None,
        pooling: str | None = None,
        max_tokens: int | None = None,
    ) -> None:
        """Read the files beside the model; for ``key`` and ``graph``, see :func:`shared_session`."""
        modules = _module_paths(folder)
        pooling_config = folder.read_object(modules.get("Pooling", "1_Pooling"), "config.json")
        prompts = folder.read_object("config_sentence_transformers.json")
        dimension = pooling_config.get("word_embedding_dimension") or folder.read_object("config.json").get(
            "hidden_size"
        )
        self._has_dense_layer = "Dense" in modules  # a dense layer may change the dimension
        self.dimension = dimension if isinstance(dimension, int) and not self._has_dense_layer else None
        self.max_tokens = (
            folder.max_tokens() if max_tokens is None else arguments.at_least_one("max_tokens", max_tokens)
        )
        if pooling is not None:
            arguments.choice("pooling", pooling, tuple(_POOLINGS))
        self.pooling = _POOLINGS[pooling] if pooling else _pooling(folder, pooling_config)
        self.query_prefix = _prompt(prompts, "query")
        self.document_prefix = _prompt(prompts, "document", "passage", "corpus")
        self._session = shared_session(
            folder, key, graph, max_tokens=self.max_tokens, output="sentence_embedding", threads=threads
        )

    def vectors(self, texts: list[str]) -> Any:
        """Return one vector for each text."""
        import numpy as np  # noqa: PLC0415 (heavy: imported on first use)

        session = self._session.get()
        output, mask = session.run([(text,) for text in texts])
        if output.ndim != 3:  # one vector for each text: the graph includes the pooling
            return output
        if self._has_dense_layer:
            advice = "export the model to ONNX again with an output named sentence_embedding"
            raise EmbedderError(f"{session.graph} lacks the model's dense layer: {advice}")
        if self.pooling == "cls":
            return output[:, 0]
        weights = mask[:, :, None].astype(np.float32)
        return (output * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)


def _module_paths(folder: ModelFolder) -> dict[str, str]:
    """Return the folder of each part of the model by the last word of the part's type, such as ``Pooling``."""
    modules = folder.read_json("modules.json") or []
    try:
        return {str(module["type"]).rpartition(".")[2]: str(module["path"]) for module in modules}
    except (TypeError, KeyError):
        raise EmbedderError(f"{folder.path / 'modules.json'} does not list modules with a type and a path") from None


def _pooling(folder: ModelFolder, config: dict[str, Any]) -> str:
    """Return ``cls`` (the vector of the first token) or ``mean`` (the mean of all tokens' vectors)."""
    # Old versions of sentence-transformers write "pooling_mode_mean_tokens": true, new ones "pooling_mode": "mean".
    enabled = [key for key, value in config.items() if value is True and "pooling_mode_" in key]
    modes = [key.removeprefix("pooling_mode_") for key in enabled]
    if not modes:
        name = config.get("pooling_mode")
        modes = [name] if isinstance(name, str) else ["mean"]
    if len(modes) != 1 or modes[0] not in _POOLINGS:
        raise EmbedderError(f"{folder.path} pools by {' and '.join(modes)}; only mean and cls are supported")
    return _POOLINGS[modes[0]]


def _prompt(config: dict[str, Any], *names: str) -> str:
    """Return the first prompt with one of these names, else the model's default prompt, else an empty text."""
    prompts = config.get("prompts")
    if isinstance(prompts, dict):
        for name in (*names, str(config.get("default_prompt_name"))):
            if isinstance(prompts.get(name), str):
                return str(prompts[name])
    return ""
