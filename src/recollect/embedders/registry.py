"""The registry of embedders, and the choice of one by name, folder, address or object."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from recollect.embedders.base import Embedder, SupportsDescription
from recollect.embedders.function import FunctionEmbedder
from recollect.embedders.http_api import HttpEmbedder
from recollect.embedders.minilm import MiniLMEmbedder, minilm_unavailable_reason
from recollect.embedders.onnx import OnnxEmbedder
from recollect.embedders.static import StaticEmbedder, static_unavailable_reason
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.inference.http_api import OPENAI_URL, split_model_url
from recollect.inference.onnx import is_folder

__all__ = ["EMBEDDERS", "EmbedderChoice", "EmbedderEntry", "EmbedderSpec", "choose_embedder", "embedder_from"]

EmbedderSpec = str | os.PathLike[str] | Embedder | Callable[[list[str]], Any] | None
"""What names an embedder; see :func:`embedder_from`."""


class EmbedderEntry(NamedTuple):
    """How the embedder of a spec ``NAME`` or ``NAME:ARGUMENT`` is constructed."""

    create: Callable[[str], Embedder]
    """Called with what follows the colon."""
    argument: str = ""
    """What follows the colon, for the help; empty if the spec is the name alone."""
    unavailable_reason: Callable[[], str | None] | None = None
    """For embedders that ``"auto"`` tries, in the order of the registry: what is not installed, or ``None``."""


def _openai(argument: str) -> Embedder:
    model, url = split_model_url(argument)
    return HttpEmbedder(model, url or OPENAI_URL)


EMBEDDERS: dict[str, EmbedderEntry] = {
    "minilm": EmbedderEntry(lambda _: MiniLMEmbedder(), unavailable_reason=minilm_unavailable_reason),
    "static": EmbedderEntry(lambda _: StaticEmbedder(), unavailable_reason=static_unavailable_reason),
    "openai": EmbedderEntry(_openai, "MODEL[@http://host:port/v1]"),
}
"""The embedders by the name that begins their spec. A new one is a module and an entry here."""


@dataclass(frozen=True, slots=True)
class EmbedderChoice:
    """An embedder, or none, and why it was chosen.

    >>> EmbedderChoice(None, "none requested").describe()
    'no embedder: none requested'
    """

    embedder: Embedder | None
    reason: str
    missing: bool = False
    """Whether an embedder was requested, but no model is installed."""

    @property
    def warning(self) -> str:
        """That vector search is off and what to install; empty if there is an embedder, or none was requested.

        >>> EmbedderChoice(None, "MiniLM needs onnx: pip install onnx", missing=True).warning
        'vector search is off, because no embedding model is installed: MiniLM needs onnx: pip install onnx'
        """
        return f"vector search is off, because no embedding model is installed: {self.reason}" if self.missing else ""

    def describe(self) -> str:
        """Return the embedder and the reason for it in one line; no model is loaded."""
        if self.embedder is None:
            return f"no embedder: {self.warning or self.reason}"
        embedder = self.embedder
        description = embedder.describe() if isinstance(embedder, SupportsDescription) else embedder.name
        return f"{description}: {self.reason}"


def embedder_from(spec: EmbedderSpec = "auto") -> Embedder | None:
    """Return the embedder for ``spec``, or ``None`` for none; nothing is loaded or sent yet.

    ``"auto"`` is MiniLM if it is installed, else the static model, else none. ``"none"`` and ``None`` are none.
    ``"minilm"`` and ``"static"`` are these two. A folder, as a ``Path`` or a string, is :class:`OnnxEmbedder`.
    ``"openai:MODEL"`` is :class:`HttpEmbedder` at OpenAI, and ``"openai:MODEL@URL"`` at another address. A function
    becomes a :class:`FunctionEmbedder`, and an embedder is returned as it is.

    >>> embedder_from("openai:nomic-embed-text@http://localhost:11434/v1").name
    'nomic-embed-text'
    >>> embedder_from("none") is None
    True
    """
    return choose_embedder(spec).embedder


def choose_embedder(spec: EmbedderSpec = "auto") -> EmbedderChoice:
    """Return the embedder for ``spec`` with the reason for it; see :func:`embedder_from`.

    >>> choose_embedder(None).reason
    'none requested'
    >>> choose_embedder("word2vec")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    recollect.errors.ArgumentError: embedder: must be 'auto', 'none', 'minilm', ... or an Embedder, got 'word2vec'
    """
    if spec is None or spec == "none":
        return EmbedderChoice(None, "none requested")
    if spec == "auto":
        return _best_installed()
    if isinstance(spec, str):
        return _from_text(spec)
    if isinstance(spec, os.PathLike):
        return EmbedderChoice(OnnxEmbedder(spec), "folder given")
    if isinstance(spec, type):
        raise ArgumentTypeError("embedder", f"must be {_forms()}, got the class {spec.__name__}: construct it")
    if all(callable(getattr(spec, method, None)) for method in ("embed_documents", "embed_query")):
        return EmbedderChoice(cast("Embedder", spec), "object given")
    if callable(spec):
        return EmbedderChoice(FunctionEmbedder(spec), "function given")
    raise ArgumentTypeError("embedder", f"must be {_forms()}, got {type(spec).__name__}")


def _from_text(spec: str) -> EmbedderChoice:
    name, colon, argument = spec.partition(":")
    entry = EMBEDDERS.get(name)
    if entry is not None and bool(colon) == bool(entry.argument):
        return EmbedderChoice(entry.create(argument), "requested")
    if spec.startswith((".", "~")) or "/" in spec or "\\" in spec or is_folder(spec):
        return EmbedderChoice(OnnxEmbedder(spec), "folder given")
    raise ArgumentError("embedder", f"must be {_forms()}, got {spec[:60]!a}")


def _best_installed() -> EmbedderChoice:
    """Return the first installed embedder of the registry, and what a better one lacks."""
    reasons: list[str] = []
    for name, entry in EMBEDDERS.items():
        if entry.unavailable_reason is None:
            continue
        reason = entry.unavailable_reason()
        if reason is None:
            return EmbedderChoice(entry.create(""), "; ".join(reasons) or f"{name} is installed")
        reasons.append(reason)
    return EmbedderChoice(None, "; ".join(reasons), missing=True)


def _forms() -> str:
    """Return the accepted forms, for messages."""
    names = [f"{name}:{entry.argument}" if entry.argument else name for name, entry in EMBEDDERS.items()]
    quoted = ", ".join(f"'{name}'" for name in ("auto", "none", *names))
    return f"{quoted}, a folder with an ONNX model, a function or an Embedder"
