"""An ONNX model and its tokenizer, loaded: texts go in, one vector for each comes out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.embedders.model_directory import ModelDirectory
from recollect.embedders.parts import part
from recollect.errors import EmbedderError

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

__all__ = ["OnnxModel"]

_CHARACTERS_PER_TOKEN = 128
"""A text longer than so many characters for each token that a model reads is cut before it is split into tokens.

No tokenizer needs as many for one token, and a book would otherwise be split to its end only to be cut after a page.
"""

_SILENT = 4
"""The level at which onnxruntime writes nothing to stderr: whatever goes wrong comes as an exception as well."""


class OnnxModel:
    """A session of onnxruntime with the model's tokenizer. All methods may be called from several threads."""

    def __init__(self, directory: ModelDirectory, graph: Path, threads: int | None) -> None:
        """Load both; ``threads`` is how many one batch is computed on, by default as many as there are processors."""
        onnxruntime, tokenizers = part("onnxruntime"), part("tokenizers")
        onnxruntime.set_default_logger_severity(_SILENT)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _SILENT
        options.intra_op_num_threads = threads or getattr(os, "process_cpu_count", os.cpu_count)() or 1
        options.inter_op_num_threads = 1
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(directory.folder / "tokenizer.json"))
        except Exception as error:  # the package raises bare Exceptions
            raise EmbedderError(f"{directory.folder / 'tokenizer.json'} cannot be read: {error}") from error
        self._padding = (self._tokenizer.padding or {}).get("pad_id", directory.padding)
        self._tokenizer.no_padding()  # rows of one batch are filled up here, to the longest of them
        self._tokenizer.enable_truncation(directory.max_tokens)
        try:
            self._session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the package's exceptions have no base of their own
            raise EmbedderError(f"{graph} cannot be loaded: {error}") from error
        self._graph = graph
        self._directory = directory
        self._inputs = self._read_inputs()
        outputs = [output.name for output in self._session.get_outputs()]
        self._output = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]

    def vectors(self, texts: list[str]) -> Any:
        """Return one vector for each text."""
        import numpy as np  # noqa: PLC0415 (heavy: only who has vectors pays for it)

        ids, mask = self._tokens(texts)
        values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        feed = {name: values[name].astype(kind, copy=False) for name, kind in self._inputs.items()}
        try:
            (answer,) = self._session.run([self._output], feed)
        except Exception as error:  # the package's exceptions have no base of their own
            raise EmbedderError(f"{self._graph} failed: {error}") from error
        if answer.ndim != 3:
            return answer
        if self._directory.dense:
            raise EmbedderError(f"{self._graph} leaves out the model's dense layer: export it with sentence_embedding")
        if self._directory.pooling == "cls":
            return answer[:, 0]
        weights = mask[:, :, None].astype(np.float32)
        return (answer * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)

    def _tokens(self, texts: list[str]) -> tuple[NDArray[int64], NDArray[int64]]:
        """Return the ids of all tokens, a row for each text, and where a row has tokens and where padding."""
        import numpy as np  # noqa: PLC0415 (heavy: only who has vectors pays for it)

        most = self._directory.max_tokens * _CHARACTERS_PER_TOKEN
        rows = [self._tokenizer.encode(text[:most]).ids for text in texts]
        width = max(1, *map(len, rows))  # a row without a token is all padding
        ids = np.full((len(rows), width), self._padding, dtype=np.int64)
        mask = np.zeros_like(ids)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = row
            mask[place, : len(row)] = 1
        return ids, mask

    def _read_inputs(self) -> dict[str, str]:
        """Return the kind of number that each input of the model takes."""
        kinds = {"tensor(int64)": "int64", "tensor(int32)": "int32"}
        inputs = {each.name: kinds.get(each.type) for each in self._session.get_inputs()}
        for name, kind in inputs.items():
            if name not in ("input_ids", "attention_mask", "token_type_ids") or kind is None:
                raise EmbedderError(f"{self._graph} asks for {name}, which is unknown here: is it a text encoder?")
        return {name: str(kind) for name, kind in inputs.items()}
