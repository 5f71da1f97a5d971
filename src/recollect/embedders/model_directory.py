"""What the files beside an encoder say: how to cut, pool and prefix. The layout is that of sentence-transformers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from recollect.errors import EmbedderError
from recollect.inference.model_folder import ModelFolder, model_folder

__all__ = ["ModelDirectory", "read_directory"]

_POOLINGS = {"cls": "cls", "mean_tokens": "mean", "cls_token": "cls", "mean": "mean"}


@dataclass(frozen=True, slots=True)
class ModelDirectory:
    """The settings of one model."""

    folder: ModelFolder
    max_tokens: int
    pooling: str
    dimension: int | None
    query_prefix: str
    document_prefix: str
    dense: bool


def read_directory(directory: str | os.PathLike[str]) -> ModelDirectory:
    """Return what the files in a folder say; only ``tokenizer.json`` must be there.

    Without a file that says otherwise a text is cut after 512 tokens and the vectors of its tokens are averaged.
    """
    folder = model_folder(directory, EmbedderError)
    modules = _modules(folder)
    config = folder.read("config.json")
    pooling = folder.read(modules.get("Pooling", "1_Pooling"), "config.json")
    prompts = _Prompts(folder.read("config_sentence_transformers.json"))
    dimension = pooling.get("word_embedding_dimension") or config.get("hidden_size")
    return ModelDirectory(
        folder=folder,
        max_tokens=folder.max_tokens(),
        pooling=_pooling(folder, pooling),
        dimension=dimension if isinstance(dimension, int) and "Dense" not in modules else None,
        query_prefix=prompts.first("query"),
        document_prefix=prompts.first("document", "passage", "corpus"),
        dense="Dense" in modules,
    )


def _modules(folder: ModelFolder) -> dict[str, str]:
    """Return the folder of each module by the last word of its type, such as ``Pooling``."""
    listed = folder.read_any("modules.json") or []
    try:
        return {str(module["type"]).rpartition(".")[2]: str(module["path"]) for module in listed}
    except (TypeError, KeyError):
        raise EmbedderError(f"{folder.path / 'modules.json'} does not list modules with a type and a path") from None


def _pooling(folder: ModelFolder, config: dict[str, Any]) -> str:
    """Return how the vectors of tokens become one: ``cls``, the first one, or ``mean``."""
    named = config.get("pooling_mode")
    modes = [key.removeprefix("pooling_mode_") for key, on in config.items() if on is True and "pooling_mode_" in key]
    modes = modes or ([named] if isinstance(named, str) else ["mean"])
    if len(modes) != 1 or modes[0] not in _POOLINGS:
        raise EmbedderError(f"{folder.path} pools by {' and '.join(modes)}; only mean and cls are known")
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
