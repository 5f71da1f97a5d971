"""Which reranker is meant: by address, by folder, or one's own."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, cast

from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.inference.json_api import OPENAI_URL
from recollect.inference.model_folder import is_folder
from recollect.rerankers.base import Reranker
from recollect.rerankers.chat import ChatReranker
from recollect.rerankers.function import FunctionReranker
from recollect.rerankers.http_api import HttpReranker
from recollect.rerankers.onnx_directory import OnnxReranker

__all__ = ["RerankerSpec", "reranker_from"]

RerankerSpec = str | os.PathLike[str] | Reranker | Callable[[str, list[str]], Any] | None
"""What names a reranker; see :func:`reranker_from`."""

_POSSIBLE = (
    "'none', a folder with an ONNX cross-encoder, 'cohere:MODEL', 'voyage:MODEL' or 'openai:MODEL', each also with "
    "'@http://host:port' behind it, 'tei:http://host:port', a function or a Reranker"
)


def reranker_from(spec: RerankerSpec) -> Reranker | None:
    """Return the reranker that ``spec`` names, or ``None`` if it names none; nothing is loaded or sent yet.

    ``"none"`` and ``None`` are none. ``"cohere:MODEL"`` and ``"voyage:MODEL"`` are :class:`HttpReranker` at these
    vendors, and with ``@URL`` behind it at another address; ``"tei:URL"`` is one at a server of Text Embeddings
    Inference. ``"openai:MODEL"`` and ``"openai:MODEL@URL"`` are :class:`ChatReranker`. A folder, as a ``Path`` or a
    string, is :class:`OnnxReranker`. A function is :class:`FunctionReranker`, and a reranker is itself.

    >>> reranker_from("cohere:rerank-v3.5").name
    'cohere:rerank-v3.5'
    >>> reranker_from("none") is None
    True
    >>> reranker_from("bm25")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    recollect.errors.ArgumentError: reranker: must be 'none', ... a function or a Reranker, got 'bm25'
    """
    if spec is None:
        return None
    if isinstance(spec, str):
        return _named(spec)
    if isinstance(spec, os.PathLike):
        return OnnxReranker(spec)
    if isinstance(spec, type):
        raise ArgumentTypeError("reranker", f"must be {_POSSIBLE}, got the class {spec.__name__}: make one of it")
    if callable(getattr(spec, "rerank", None)) and hasattr(spec, "name"):
        return cast("Reranker", spec)
    if callable(spec):
        return FunctionReranker(spec)
    raise ArgumentTypeError("reranker", f"must be {_POSSIBLE}, got {type(spec).__name__}")


def _named(spec: str) -> Reranker | None:
    """Return the reranker that a text names."""
    if spec == "none":
        return None
    kind, _, rest = spec.partition(":")
    # An address begins with its scheme, so that a model's own name may hold the sign.
    model, found, address = rest.rpartition("@http")
    model, url = (model, f"http{address}") if found else (rest, None)
    if kind in ("cohere", "voyage") and rest:
        return HttpReranker(kind, model, url)
    if kind == "openai" and rest:
        return ChatReranker(model, url or OPENAI_URL)
    if kind == "tei" and rest:
        return HttpReranker("tei", base_url=rest)
    if spec.startswith((".", "~")) or "/" in spec or "\\" in spec or is_folder(spec):
        return OnnxReranker(spec)
    raise ArgumentError("reranker", f"must be {_POSSIBLE}, got {spec[:60]!a}")
