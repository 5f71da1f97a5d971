"""An ONNX model in a folder: its tokenizer, the files that Hugging Face puts beside it, and a session that runs it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect import arguments
from recollect.inference.runtime import ErrorType, PerProcess, is_folder, require_module

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

_DEFAULT_FILES = ("model.onnx", "onnx/model.onnx")
_OTHER_FILES = ("*.onnx", "onnx/*.onnx")

_UNLIMITED_TOKENS = 10**6
"""A declared limit of this many tokens or more means no limit: tokenizers without a limit declare 10^30."""
_CHARACTERS_PER_TOKEN = 128
"""A text is truncated to this many characters for each token that the model reads. No token is that long, so none of
the tokens that the model reads is lost. Tokenizing a whole book to use one page would be slow."""
_LOG_NOTHING = 4
"""The log level at which onnxruntime writes nothing to stderr. No failure is lost: each is also an exception."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder with a tokenizer and usually an ONNX model; problems with its files raise ``error_type``."""

    path: Path
    error_type: ErrorType

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.path.resolve().name

    def read_object(self, *names: str) -> dict[str, Any]:
        """Return the JSON object in a file of the folder, or an empty one if the file is missing."""
        data = self.read_json(*names)
        if data is None:
            return {}
        if not isinstance(data, dict):
            raise self.error_type(f"{self.path.joinpath(*names)} does not hold a JSON object")
        return data

    def read_json(self, *names: str) -> Any:
        """Return the JSON value in a file of the folder, or ``None`` if the file is missing."""
        path = self.path.joinpath(*names)
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise self.error_type(f"{path} cannot be read: {error}") from error

    def max_tokens(self) -> int:
        """Return to how many tokens a text is truncated: the number in the model's files, or 512."""
        for file, key in (
            ("sentence_bert_config.json", "max_seq_length"),
            ("tokenizer_config.json", "model_max_length"),
        ):
            limit = self.read_object(file).get(key)
            if isinstance(limit, int) and 0 < limit < _UNLIMITED_TOKENS:
                return limit
        return 512

    def padding_id(self) -> int:
        """Return the id of the padding token that ``config.json`` declares, or 0."""
        token_id = self.read_object("config.json").get("pad_token_id")
        return token_id if isinstance(token_id, int) else 0

    def graph(self, file: str | None = None) -> Path:
        """Return the ONNX file: ``file`` if it is passed, or else ``model.onnx``, or else the only ONNX file."""
        if file is not None:
            if not (self.path / file).is_file():
                raise self.error_type(f"{self.path} has no file {file}")
            return self.path / file
        for name in _DEFAULT_FILES:
            if (self.path / name).is_file():
                return self.path / name
        others = [path for pattern in _OTHER_FILES for path in sorted(self.path.glob(pattern))]
        if len(others) == 1:
            return others[0]
        if others:
            names = ", ".join(str(path.relative_to(self.path)) for path in others)
            raise self.error_type(f"{self.path} has several ONNX files; choose one with file=: {names}")
        raise self.error_type(f"{self.path} has neither model.onnx nor onnx/model.onnx: export the model to ONNX first")


def open_model_folder(directory: str | os.PathLike[str], error_type: ErrorType) -> ModelFolder:
    """Return the folder at ``directory``, where ``~`` is the home folder; it must contain ``tokenizer.json``."""
    path = Path(os.path.expanduser(directory))  # noqa: PTH111 (Path.expanduser raises an error for an unknown ~user)
    if not is_folder(path):
        raise error_type(f"there is no folder {path}")
    if not (path / "tokenizer.json").is_file():
        raise error_type(f"{path} has no tokenizer.json: save the model's fast tokenizer there")
    return ModelFolder(path, error_type)


class OnnxSession:
    """A session of onnxruntime for the file ``graph``, with the model's tokenizer. Thread-safe.

    It computes the graph's output called ``output``, or its first output if there is none of this name. A batch is
    computed by ``threads`` threads, by default as many as there are processors.
    """

    def __init__(
        self, folder: ModelFolder, graph: Path, *, max_tokens: int, output: str, threads: int | None = None
    ) -> None:
        self._error_type = folder.error_type
        self._max_tokens = max_tokens
        self.graph = graph
        onnxruntime = require_module("onnxruntime", self._error_type)
        tokenizers = require_module("tokenizers", self._error_type)
        onnxruntime.set_default_logger_severity(_LOG_NOTHING)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _LOG_NOTHING
        options.intra_op_num_threads = threads or getattr(os, "process_cpu_count", os.cpu_count)() or 1
        options.inter_op_num_threads = 1
        tokenizer = folder.path / "tokenizer.json"
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # the package raises bare Exceptions
            raise self._error_type(f"{tokenizer} cannot be read: {error}") from error
        self._padding_id = (self._tokenizer.padding or {}).get("pad_id", folder.padding_id())
        self._tokenizer.no_padding()  # _padded_inputs pads the rows of a batch to the longest of them
        self._tokenizer.enable_truncation(max_tokens, strategy="longest_first")
        try:
            self._session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the package's exceptions have no common base
            raise self._error_type(f"{graph} cannot be loaded: {error}") from error
        dtypes = {"tensor(int64)": "int64", "tensor(int32)": "int32"}
        self._input_dtypes = {node.name: dtypes.get(node.type, "") for node in self._session.get_inputs()}
        for name, dtype in self._input_dtypes.items():
            if name not in ("input_ids", "attention_mask", "token_type_ids") or not dtype:
                raise self._error_type(f"{graph} has an unknown input {name}: is it a text encoder?")
        outputs = [node.name for node in self._session.get_outputs()]
        self._output = output if output in outputs else outputs[0]

    def run(self, texts: Sequence[tuple[str, ...]]) -> tuple[NDArray[Any], NDArray[int64]]:
        """Return the graph's output for a batch, and the attention mask: 1 for a token, 0 for padding.

        An item of ``texts`` is one text or a pair of texts. A long item is truncated, the longer text of a pair first.
        """
        inputs = self._padded_inputs(texts)
        feed = {name: inputs[name].astype(dtype, copy=False) for name, dtype in self._input_dtypes.items()}
        try:
            (output,) = self._session.run([self._output], feed)
        except Exception as error:  # the package's exceptions have no common base
            raise self._error_type(f"{self.graph} failed: {error}") from error
        return output, inputs["attention_mask"]

    def _padded_inputs(self, texts: Sequence[tuple[str, ...]]) -> dict[str, NDArray[int64]]:
        """Return token ids, attention mask and token types by input name, one row for each item of ``texts``."""
        import numpy as np  # noqa: PLC0415 (heavy: imported on first use)

        max_characters = self._max_tokens * _CHARACTERS_PER_TOKEN
        encodings = [self._tokenizer.encode(*(text[:max_characters] for text in item)) for item in texts]
        width = max(1, *(len(encoding.ids) for encoding in encodings))  # 1 (padding) if no item has tokens
        ids = np.full((len(encodings), width), self._padding_id, dtype=np.int64)
        mask, types = np.zeros_like(ids), np.zeros_like(ids)
        for index, encoding in enumerate(encodings):
            length = len(encoding.ids)
            ids[index, :length] = encoding.ids
            mask[index, :length] = 1
            types[index, :length] = encoding.type_ids
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}


_SESSIONS: dict[tuple[Any, ...], PerProcess[OnnxSession]] = {}
"""The sessions of this process, so that each model is in memory once."""


def shared_session(
    folder: ModelFolder, key: str, graph: Callable[[], Path], *, max_tokens: int, output: str, threads: int | None
) -> PerProcess[OnnxSession]:
    """Return one session for all callers with equal arguments, loaded on first use.

    On first use, ``graph`` is called and returns the model file. ``key`` identifies this file within the folder.
    """
    if threads is not None:
        arguments.at_least_one("threads", threads)

    def load() -> OnnxSession:
        return OnnxSession(folder, graph(), max_tokens=max_tokens, output=output, threads=threads)

    return _SESSIONS.setdefault((folder, key, max_tokens, output, threads), PerProcess(load))
