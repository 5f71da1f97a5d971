"""An ONNX model and its tokenizer, loaded: texts or pairs of texts go in, what the graph computes comes out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect import arguments
from recollect.inference.model_folder import ModelFolder
from recollect.inference.once import OncePerProcess
from recollect.inference.parts import part

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

__all__ = ["OnnxSession", "SessionSettings", "shared_session"]

_CHARACTERS_PER_TOKEN = 128
"""A text longer than so many characters for each token that a model reads is cut before it is split into tokens.

No tokenizer needs as many for one token, and a book would otherwise be split to its end only to be cut after a page.
"""

_SILENT = 4
"""The level at which onnxruntime writes nothing to stderr: whatever goes wrong comes as an exception as well."""


class SessionSettings(NamedTuple):
    """How a model is loaded; sessions of equal settings and the same graph are one.

    ``output`` is the output that is wanted; the graph's first is taken if it has none of that name. ``threads`` is how
    many one batch is computed on, by default as many as there are processors.
    """

    folder: ModelFolder
    max_tokens: int
    output: str
    threads: int | None = None


class OnnxSession:
    """A session of onnxruntime with the model's tokenizer. All methods may be called from several threads."""

    def __init__(self, settings: SessionSettings, graph: Path) -> None:
        """Load both."""
        self._failure = settings.folder.failure
        self._max_tokens = settings.max_tokens
        self.graph = graph
        onnxruntime, tokenizers = part("onnxruntime", self._failure), part("tokenizers", self._failure)
        onnxruntime.set_default_logger_severity(_SILENT)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _SILENT
        options.intra_op_num_threads = settings.threads or getattr(os, "process_cpu_count", os.cpu_count)() or 1
        options.inter_op_num_threads = 1
        tokenizer = settings.folder.path / "tokenizer.json"
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # the package raises bare Exceptions
            raise self._failure(f"{tokenizer} cannot be read: {error}") from error
        self._padding = (self._tokenizer.padding or {}).get("pad_id", settings.folder.padding())
        self._tokenizer.no_padding()  # rows of one batch are filled up here, to the longest of them
        self._tokenizer.enable_truncation(settings.max_tokens, strategy="longest_first")
        try:
            self._session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the package's exceptions have no base of their own
            raise self._failure(f"{graph} cannot be loaded: {error}") from error
        self._inputs = self._read_inputs()
        outputs = [output.name for output in self._session.get_outputs()]
        self._output = settings.output if settings.output in outputs else outputs[0]

    def run(self, texts: Sequence[tuple[str, ...]]) -> tuple[NDArray[Any], NDArray[int64]]:
        """Return what the graph computes of a batch, and where each row has tokens (1) and where padding (0).

        A row is a text or a pair of texts. Of what is too long the end is cut off, that of the longer text first.
        """
        rows = self._rows(texts)
        feed = {name: rows[name].astype(kind, copy=False) for name, kind in self._inputs.items()}
        try:
            (answer,) = self._session.run([self._output], feed)
        except Exception as error:  # the package's exceptions have no base of their own
            raise self._failure(f"{self.graph} failed: {error}") from error
        return answer, rows["attention_mask"]

    def _rows(self, texts: Sequence[tuple[str, ...]]) -> dict[str, NDArray[int64]]:
        """Return what a model may ask for: the ids of the tokens, where there are any, and whose text they are."""
        import numpy as np  # noqa: PLC0415 (heavy: only who has a model pays for it)

        most = self._max_tokens * _CHARACTERS_PER_TOKEN
        encodings = [self._tokenizer.encode(*(text[:most] for text in row)) for row in texts]
        width = max(1, *(len(encoding.ids) for encoding in encodings))  # a row without a token is all padding
        ids = np.full((len(encodings), width), self._padding, dtype=np.int64)
        mask, types = np.zeros_like(ids), np.zeros_like(ids)
        for place, encoding in enumerate(encodings):
            length = len(encoding.ids)
            ids[place, :length] = encoding.ids
            mask[place, :length] = 1
            types[place, :length] = encoding.type_ids
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}

    def _read_inputs(self) -> dict[str, str]:
        """Return the kind of number that each input of the model takes."""
        kinds = {"tensor(int64)": "int64", "tensor(int32)": "int32"}
        inputs = {each.name: kinds.get(each.type) for each in self._session.get_inputs()}
        for name, kind in inputs.items():
            if name not in ("input_ids", "attention_mask", "token_type_ids") or kind is None:
                raise self._failure(f"{self.graph} asks for {name}, which is unknown here: is it a text encoder?")
        return {name: str(kind) for name, kind in inputs.items()}


_LOADED: dict[tuple[Any, ...], OncePerProcess[OnnxSession]] = {}
"""The sessions of this process by where they come from, so that each is in memory once."""


def shared_session(settings: SessionSettings, key: str, graph: Callable[[], Path]) -> OncePerProcess[OnnxSession]:
    """Return the place of the session that is known as ``key``; ``graph`` finds its file when it is loaded."""
    if settings.threads is not None:
        arguments.at_least_one("threads", settings.threads)
    return _LOADED.setdefault((settings, key), OncePerProcess(lambda: OnnxSession(settings, graph())))
