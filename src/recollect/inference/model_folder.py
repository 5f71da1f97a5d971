"""A folder with an ONNX model and the files that Hugging Face and sentence-transformers put beside it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.inference.failure import Failure

__all__ = ["ModelFolder", "is_folder", "model_folder"]

_GRAPHS = ("model.onnx", "onnx/model.onnx")
_OTHER_GRAPHS = ("*.onnx", "onnx/*.onnx")
_UNLIMITED = 10**6
"""Some tokenizers say that they take more tokens than there are atoms, and mean that they do not know."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder that has a tokenizer; whatever is wrong with its files is a ``failure``."""

    path: Path
    failure: Failure

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.path.resolve().name

    def read(self, *names: str) -> dict[str, Any]:
        """Return the JSON object in a file, or an empty one if there is no such file."""
        found = self.read_any(*names)
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise self.failure(f"{self.path.joinpath(*names)} does not hold a JSON object")
        return found

    def read_any(self, *names: str) -> Any:
        """Return what a JSON file holds, or ``None`` if there is none."""
        path = self.path.joinpath(*names)
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise self.failure(f"{path} cannot be read: {error}") from error

    def max_tokens(self) -> int:
        """Return after how many tokens a text is cut: what the files say, or 512."""
        for file, key in (
            ("sentence_bert_config.json", "max_seq_length"),
            ("tokenizer_config.json", "model_max_length"),
        ):
            limit = self.read(file).get(key)
            if isinstance(limit, int) and 0 < limit < _UNLIMITED:
                return limit
        return 512

    def padding(self) -> int:
        """Return which token fills rows up if the tokenizer does not say."""
        padding = self.read("config.json").get("pad_token_id")
        return padding if isinstance(padding, int) else 0

    def graph(self, file: str | None = None) -> Path:
        """Return the ONNX file: ``file``, or the plain one, or the only other one."""
        if file is not None:
            if not (self.path / file).is_file():
                raise self.failure(f"{self.path} has no file {file}")
            return self.path / file
        for name in _GRAPHS:
            if (self.path / name).is_file():
                return self.path / name
        others = [path for pattern in _OTHER_GRAPHS for path in sorted(self.path.glob(pattern))]
        if len(others) == 1:
            return others[0]
        if others:
            names = ", ".join(str(path.relative_to(self.path)) for path in others)
            raise self.failure(f"{self.path} has several ONNX files, say which in file=: {names}")
        raise self.failure(f"{self.path} has neither model.onnx nor onnx/model.onnx: export the model to ONNX first")


def model_folder(directory: str | os.PathLike[str], failure: Failure) -> ModelFolder:
    """Return the folder at ``directory``, where ``~`` is the user's home; ``tokenizer.json`` must be in it."""
    path = Path(os.path.expanduser(directory))  # noqa: PTH111 (that of pathlib raises an error for an unknown ~user)
    if not is_folder(path):
        raise failure(f"there is no folder {path}")
    if not (path / "tokenizer.json").is_file():
        raise failure(f"{path} has no tokenizer.json: save the model's fast tokenizer there")
    return ModelFolder(path, failure)


def is_folder(path: str | Path) -> bool:
    """Return whether there is such a folder; a name that no folder can have is simply none.

    >>> is_folder("."), is_folder("a" * 5000), is_folder(chr(0))
    (True, False, False)
    """
    return os.path.isdir(path)  # noqa: PTH112 (that of pathlib raises an error for a name that is too long)
