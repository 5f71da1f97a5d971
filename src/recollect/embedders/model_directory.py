"""What the files beside a model say: how to cut, pool and prefix. The layout is that of sentence-transformers."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.errors import EmbedderError

__all__ = ["ModelDirectory", "find_graph", "is_folder", "read_directory"]

_GRAPHS = ("model.onnx", "onnx/model.onnx")
_OTHER_GRAPHS = ("*.onnx", "onnx/*.onnx")
_POOLINGS = {"cls": "cls", "mean_tokens": "mean", "cls_token": "cls", "mean": "mean"}
_UNLIMITED = 10**6
"""Some tokenizers say that they take more tokens than there are atoms, and mean that they do not know."""


@dataclass(frozen=True, slots=True)
class ModelDirectory:
    """The settings of one model."""

    folder: Path
    max_tokens: int
    pooling: str
    dimension: int | None
    query_prefix: str
    document_prefix: str
    dense: bool
    padding: int


def read_directory(folder: Path) -> ModelDirectory:
    """Return what the files in ``folder`` say; only ``tokenizer.json`` must be there.

    Without a file that says otherwise a text is cut after 512 tokens and the vectors of its tokens are averaged.
    """
    if not is_folder(folder):
        raise EmbedderError(f"there is no folder {folder}")
    if not (folder / "tokenizer.json").is_file():
        raise EmbedderError(f"{folder} has no tokenizer.json: save the model's fast tokenizer there")
    modules = _modules(folder)
    config = _read(folder / "config.json")
    pooling = _read(folder / modules.get("Pooling", "1_Pooling") / "config.json")
    prompts = _Prompts(_read(folder / "config_sentence_transformers.json"))
    padding = config.get("pad_token_id")
    dimension = pooling.get("word_embedding_dimension") or config.get("hidden_size")
    return ModelDirectory(
        folder=folder,
        max_tokens=_max_tokens(folder),
        pooling=_pooling(folder, pooling),
        dimension=dimension if isinstance(dimension, int) and "Dense" not in modules else None,
        query_prefix=prompts.first("query"),
        document_prefix=prompts.first("document", "passage", "corpus"),
        dense="Dense" in modules,
        padding=padding if isinstance(padding, int) else 0,
    )


def is_folder(path: str | Path) -> bool:
    """Return whether there is such a folder; a name that no folder can have is simply none.

    >>> is_folder("."), is_folder("a" * 5000), is_folder(chr(0))
    (True, False, False)
    """
    return os.path.isdir(path)  # noqa: PTH112 (that of pathlib raises an error for a name that is too long)


def find_graph(folder: Path, file: str | None = None) -> Path:
    """Return the ONNX file in ``folder``: ``file``, or the plain one, or the only other one."""
    if file is not None:
        if not (folder / file).is_file():
            raise EmbedderError(f"{folder} has no file {file}")
        return folder / file
    for name in _GRAPHS:
        if (folder / name).is_file():
            return folder / name
    others = [path for pattern in _OTHER_GRAPHS for path in sorted(folder.glob(pattern))]
    if len(others) == 1:
        return others[0]
    if others:
        names = ", ".join(str(path.relative_to(folder)) for path in others)
        raise EmbedderError(f"{folder} has several ONNX files, say which in file=: {names}")
    raise EmbedderError(f"{folder} has neither model.onnx nor onnx/model.onnx: export the model to ONNX first")


def _read(path: Path) -> dict[str, Any]:
    """Return the JSON object in ``path``, or an empty one if there is no such file."""
    found = _read_any(path)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise EmbedderError(f"{path} does not hold a JSON object")
    return found


def _read_any(path: Path) -> Any:
    """Return what the JSON file holds, or ``None`` if there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise EmbedderError(f"{path} cannot be read: {error}") from error


def _modules(folder: Path) -> dict[str, str]:
    """Return the folder of each module by the last word of its type, such as ``Pooling``."""
    listed = _read_any(folder / "modules.json") or []
    try:
        return {str(module["type"]).rpartition(".")[2]: str(module["path"]) for module in listed}
    except (TypeError, KeyError):
        raise EmbedderError(f"{folder / 'modules.json'} does not list modules with a type and a path") from None


def _max_tokens(folder: Path) -> int:
    """Return after how many tokens a text is cut."""
    for file, key in (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        limit = _read(folder / file).get(key)
        if isinstance(limit, int) and 0 < limit < _UNLIMITED:
            return limit
    return 512


def _pooling(folder: Path, config: dict[str, Any]) -> str:
    """Return how the vectors of tokens become one: ``cls``, the first one, or ``mean``."""
    named = config.get("pooling_mode")
    modes = [key.removeprefix("pooling_mode_") for key, on in config.items() if on is True and "pooling_mode_" in key]
    modes = modes or ([named] if isinstance(named, str) else ["mean"])
    if len(modes) != 1 or modes[0] not in _POOLINGS:
        raise EmbedderError(f"{folder} pools by {' and '.join(modes)}; only mean and cls are known")
    return _POOLINGS[modes[0]]


class _Prompts:
    """The texts that a model wants before its texts."""

    def __init__(self, config: dict[str, Any]) -> None:
        """Read the prompts; whatever is not a text is none."""
        prompts = config.get("prompts")
        self._prompts: dict[str, Any] = prompts if isinstance(prompts, dict) else {}
        self._default = str(config.get("default_prompt_name"))

    def first(self, *names: str) -> str:
        """Return the first prompt that has one of these names, else the one that the model uses by default."""
        for name in (*names, self._default):
            prompt = self._prompts.get(name)
            if isinstance(prompt, str):
                return prompt
        return ""
