"""The registry of rerankers, and the choice of one by name, folder, address or object."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.inference.http_api import OPENAI_URL, split_model_url
from recollect.inference.onnx import is_folder
from recollect.rerankers.base import Reranker
from recollect.rerankers.chat import ChatReranker
from recollect.rerankers.function import FunctionReranker
from recollect.rerankers.http_api import HttpReranker
from recollect.rerankers.onnx import OnnxReranker

__all__ = ["RERANKERS", "RerankerEntry", "RerankerSpec", "reranker_from"]

RerankerSpec = str | os.PathLike[str] | Reranker | Callable[[str, list[str]], Any] | None
"""What names a reranker; see :func:`reranker_from`."""


class RerankerEntry(NamedTuple):
    """How the reranker of a spec ``NAME:ARGUMENT`` is constructed."""

    create: Callable[[str], Reranker]
    """Called with what follows the colon."""
    argument: str
    """What follows the colon, for the help."""


def _vendor(dialect: str, argument: str) -> Reranker:
    model, url = split_model_url(argument)
    return HttpReranker(dialect, model, url)


def _chat(argument: str) -> Reranker:
    model, url = split_model_url(argument)
    return ChatReranker(model, url or OPENAI_URL)


RERANKERS: dict[str, RerankerEntry] = {
    "cohere": RerankerEntry(partial(_vendor, "cohere"), "MODEL[@URL]"),
    "voyage": RerankerEntry(partial(_vendor, "voyage"), "MODEL[@URL]"),
    "openai": RerankerEntry(_chat, "MODEL[@URL]"),
    "tei": RerankerEntry(lambda url: HttpReranker("tei", base_url=url), "http://host:port"),
}
"""The rerankers by the name that begins their spec. A new one is a module and an entry here."""


def reranker_from(spec: RerankerSpec) -> Reranker | None:
    """Return the reranker for ``spec``, or ``None`` for none; nothing is loaded or sent yet.

    ``"none"`` and ``None`` are none. ``"cohere:MODEL"`` and ``"voyage:MODEL"`` are :class:`HttpReranker` at these
    vendors, and with ``@URL`` at another address; ``"tei:URL"`` is one at a server of Text Embeddings Inference.
    ``"openai:MODEL"`` and ``"openai:MODEL@URL"`` are :class:`ChatReranker`. A folder, as a ``Path`` or a string, is
    :class:`OnnxReranker`. A function becomes a :class:`FunctionReranker`, and a reranker is returned as it is.

    >>> reranker_from("cohere:rerank-v3.5").name
    'cohere:rerank-v3.5'
    >>> reranker_from("none") is None
    True
    >>> reranker_from("bm25")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    recollect.errors.ArgumentError: reranker: must be 'none', ... a function or a Reranker, got 'bm25'
    """
    if spec is None or spec == "none":
        return None
    if isinstance(spec, str):
        return _from_text(spec)
    if isinstance(spec, os.PathLike):
        return OnnxReranker(spec)
    if isinstance(spec, type):
        raise ArgumentTypeError("reranker", f"must be {_forms()}, got the class {spec.__name__}: construct it")
    if callable(getattr(spec, "rerank", None)) and hasattr(spec, "name"):
        return cast("Reranker", spec)
    if callable(spec):
        return FunctionReranker(spec)
    raise ArgumentTypeError("reranker", f"must be {_forms()}, got {type(spec).__name__}")


def _from_text(spec: str) -> Reranker:
    name, _, argument = spec.partition(":")
    if name in RERANKERS and argument:
        return RERANKERS[name].create(argument)
    if spec.startswith((".", "~")) or "/" in spec or "\\" in spec or is_folder(spec):
        return OnnxReranker(spec)
    raise ArgumentError("reranker", f"must be {_forms()}, got {spec[:60]!a}")


def _forms() -> str:
    """Return the accepted forms, for messages."""
    names = ", ".join(f"'{name}:{entry.argument}'" for name, entry in RERANKERS.items())
    return f"'none', {names}, a folder with an ONNX cross-encoder, a function or a Reranker"
