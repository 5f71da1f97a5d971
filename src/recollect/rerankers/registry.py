"""The registry of rerankers, and the choice of one by name, folder, address or object."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from recollect.inference.catalogue import CatalogueEntry, catalogue
from recollect.inference.http_api import OPENAI_URL, split_model_url
from recollect.inference.runtime import RegistryEntry, SpecReader
from recollect.inference.weights import unavailable_reason
from recollect.rerankers.base import FunctionReranker, Reranker
from recollect.rerankers.chat import ChatReranker
from recollect.rerankers.http_api import HttpReranker
from recollect.rerankers.onnx import CatalogueReranker, OnnxReranker

RerankerSpec = str | os.PathLike[str] | Reranker | Callable[[str, list[str]], Any] | None
"""The name, folder, function or object by which a user selects a reranker; see :func:`reranker_from`."""


def _http_reranker(dialect: str, argument: str) -> Reranker:
    model, url = split_model_url(argument)
    return HttpReranker(dialect, model, url)


def _chat_reranker(argument: str) -> Reranker:
    model, url = split_model_url(argument)
    return ChatReranker(model, url or OPENAI_URL)


def _catalogue_reranker(entry: CatalogueEntry) -> RegistryEntry[Reranker]:
    """Return how to construct the reranker of a model of the catalogue."""
    reason = partial(unavailable_reason, entry, "onnxruntime", "tokenizers")
    return RegistryEntry(lambda _: CatalogueReranker(entry), unavailable_reason=reason)


RERANKERS: dict[str, RegistryEntry[Reranker]] = {
    **{entry.name: _catalogue_reranker(entry) for entry in catalogue().values() if entry.kind == "reranker"},
    "cohere": RegistryEntry(partial(_http_reranker, "cohere"), "MODEL[@URL]"),
    "voyage": RegistryEntry(partial(_http_reranker, "voyage"), "MODEL[@URL]"),
    "openai": RegistryEntry(_chat_reranker, "MODEL[@URL]"),
    "tei": RegistryEntry(lambda url: HttpReranker("tei", base_url=url), "http://host:port"),
}
"""The rerankers by the name that begins their spec; a new reranker is a new file and an entry here."""


def reranker_from(spec: RerankerSpec) -> Reranker | None:
    """Return the reranker for ``spec``, or ``None`` for no reranker; no model is loaded and nothing is sent yet.

    ``"cohere:MODEL"`` and ``"voyage:MODEL"`` are :class:`HttpReranker` at these vendors, and with ``@URL`` at another
    address; ``"tei:URL"`` is :class:`HttpReranker` at a server of Text Embeddings Inference. ``"openai:MODEL"`` and
    ``"openai:MODEL@URL"`` are :class:`ChatReranker`. The name of a reranker of the catalogue, such as
    ``"ms-marco-minilm-l12"``, selects this model; ``"auto"`` selects the first that is installed, if any. A folder, as
    a ``Path`` or a string, is :class:`OnnxReranker`. A function becomes a :class:`FunctionReranker`, and a reranker is
    returned as it is. ``"none"`` means no reranker.

    >>> reranker_from("cohere:rerank-v3.5").name
    'cohere:rerank-v3.5'
    >>> reranker_from("none") is None
    True
    """
    if spec is None or spec == "none":
        return None
    return _first_installed() if spec == "auto" else _SPEC_READER.read(spec)[0]


def _first_installed() -> Reranker | None:
    """Return the first reranker of the catalogue that is installed, or ``None``."""
    for entry in RERANKERS.values():
        if entry.unavailable_reason is not None and entry.unavailable_reason() is None:
            return entry.create("")
    return None


_SPEC_READER = SpecReader(
    kind="reranker",
    registry=RERANKERS,
    other_names=("auto", "none"),
    methods=("name", "rerank"),
    from_folder=OnnxReranker,
    from_function=FunctionReranker,
)
