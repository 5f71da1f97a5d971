"""An encoder in ONNX: texts go in, one vector for each comes out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from recollect.embedders.model_directory import ModelDirectory
from recollect.errors import EmbedderError
from recollect.inference.onnx_session import SessionSettings, shared_session

__all__ = ["OnnxModel"]


class OnnxModel:
    """The model that is known as ``key``; it is loaded, and ``graph`` asked for its file, when the first text comes."""

    def __init__(self, directory: ModelDirectory, key: str, graph: Callable[[], Path], threads: int | None) -> None:
        """Remember how the model is loaded; models of one process that are loaded alike share a session."""
        self._directory = directory
        settings = SessionSettings(directory.folder, directory.max_tokens, "sentence_embedding", threads)
        self._session = shared_session(settings, key, graph)

    def vectors(self, texts: list[str]) -> Any:
        """Return one vector for each text."""
        import numpy as np  # noqa: PLC0415 (heavy: only who has vectors pays for it)

        session = self._session.get()
        answer, mask = session.run([(text,) for text in texts])
        if answer.ndim != 3:
            return answer
        if self._directory.dense:
            raise EmbedderError(
                f"{session.graph} leaves out the model's dense layer: export it with sentence_embedding"
            )
        if self._directory.pooling == "cls":
            return answer[:, 0]
        weights = mask[:, :, None].astype(np.float32)
        return (answer * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
