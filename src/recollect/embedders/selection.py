"""Which embedder is meant: by name, by folder, by address, or whatever can be used here."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from recollect.embedders.base import Embedder
from recollect.embedders.function import FunctionEmbedder
from recollect.embedders.http_api import HttpEmbedder
from recollect.embedders.minilm import MiniLMEmbedder, why_no_minilm
from recollect.embedders.onnx_directory import OnnxEmbedder
from recollect.embedders.static import StaticEmbedder, why_no_static
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.inference.json_api import OPENAI_URL
from recollect.inference.model_folder import is_folder

__all__ = ["EmbedderChoice", "EmbedderSpec", "choose_embedder", "embedder_from"]

EmbedderSpec = str | os.PathLike[str] | Embedder | Callable[[list[str]], Any] | None
"""What names an embedder; see :func:`embedder_from`."""

_POSSIBLE = (
    "'auto', 'none', 'minilm', 'static', a folder with an ONNX model, 'openai:MODEL', "
    "'openai:MODEL@http://host:port/v1', a function or an Embedder"
)


@dataclass(frozen=True, slots=True)
class EmbedderChoice:
    """An embedder, or none, and why it is this one.

    >>> EmbedderChoice(None, "no embedder was asked for").describe()
    'no embedder: no embedder was asked for'
    """

    embedder: Embedder | None
    reason: str
    missing: bool = False
    """Whether an embedder was asked for, but no model is installed."""

    @property
    def warning(self) -> str:
        """That vector search is off, and what to install; empty if there is an embedder, or none was asked for.

        >>> EmbedderChoice(None, "MiniLM needs onnx: pip install onnx", missing=True).warning
        'vector search is off, because no embedding model is installed: MiniLM needs onnx: pip install onnx'
        """
        return f"vector search is off, because no embedding model is installed: {self.reason}" if self.missing else ""

    def describe(self) -> str:
        """Return what was chosen and why, in one line; nothing is loaded for it."""
        if self.embedder is None:
            return f"no embedder: {self.warning or self.reason}"
        describe = getattr(self.embedder, "describe", None)
        return f"{describe() if callable(describe) else self.embedder.name}: {self.reason}"


def embedder_from(spec: EmbedderSpec = "auto") -> Embedder | None:
    """Return the embedder that ``spec`` names, or ``None`` if it names none; nothing is loaded or sent yet.

    ``"auto"`` is MiniLM where it is installed, else the static model, else none. ``"none"`` and ``None`` are none.
    ``"minilm"`` and ``"static"`` are these two. A folder, as a ``Path`` or a string, is :class:`OnnxEmbedder`.
    ``"openai:MODEL"`` is :class:`HttpEmbedder` at OpenAI, and ``"openai:MODEL@URL"`` at another address. A function
    is :class:`FunctionEmbedder`, and an embedder is itself.

    >>> embedder_from("openai:nomic-embed-text@http://localhost:11434/v1").name
    'nomic-embed-text'
    >>> embedder_from("none") is None
    True
    """
    return choose_embedder(spec).embedder


def choose_embedder(spec: EmbedderSpec = "auto") -> EmbedderChoice:
    """Return what :func:`embedder_from` returns, with the reason for it.

    >>> choose_embedder(None).reason
    'no embedder was asked for'
    >>> choose_embedder("word2vec")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    recollect.errors.ArgumentError: embedder: must be 'auto', 'none', 'minilm', ... or an Embedder, got 'word2vec'
    """
    if spec is None:
        return EmbedderChoice(None, "no embedder was asked for")
    if isinstance(spec, str):
        return _named(spec)
    if isinstance(spec, os.PathLike):
        return EmbedderChoice(OnnxEmbedder(spec), "its folder was given")
    if isinstance(spec, type):
        raise ArgumentTypeError("embedder", f"must be {_POSSIBLE}, got the class {spec.__name__}: make one of it")
    if all(callable(getattr(spec, method, None)) for method in ("embed_documents", "embed_query")):
        return EmbedderChoice(cast("Embedder", spec), "it was given")
    if callable(spec):
        return EmbedderChoice(FunctionEmbedder(spec), "its function was given")
    raise ArgumentTypeError("embedder", f"must be {_POSSIBLE}, got {type(spec).__name__}")


def _named(spec: str) -> EmbedderChoice:
    """Return the choice that a text names."""
    asked = "it was asked for"
    kind, colon, rest = spec.partition(":")
    if spec == "auto":
        return _automatic()
    if spec == "none":
        return EmbedderChoice(None, "no embedder was asked for")
    if spec == "minilm":
        return EmbedderChoice(MiniLMEmbedder(), asked)
    if spec == "static":
        return EmbedderChoice(StaticEmbedder(), asked)
    if colon and kind == "openai":
        # An address begins with its scheme, so that a model's own name may hold the sign.
        model, found, address = rest.rpartition("@http")
        return EmbedderChoice(HttpEmbedder(model, f"http{address}") if found else HttpEmbedder(rest, OPENAI_URL), asked)
    if spec.startswith((".", "~")) or "/" in spec or "\\" in spec or is_folder(spec):
        return EmbedderChoice(OnnxEmbedder(spec), "its folder was given")
    raise ArgumentError("embedder", f"must be {_POSSIBLE}, got {spec[:60]!a}")


def _automatic() -> EmbedderChoice:
    """Return the best embedder that is installed, and what a better one lacks."""
    no_minilm = why_no_minilm()
    if no_minilm is None:
        return EmbedderChoice(MiniLMEmbedder(), "MiniLM is installed")
    no_static = why_no_static()
    if no_static is None:
        return EmbedderChoice(StaticEmbedder(), no_minilm)
    return EmbedderChoice(None, f"{no_minilm}; {no_static}", missing=True)
