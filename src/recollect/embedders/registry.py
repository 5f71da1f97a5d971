"""The registry of embedders, and the choice of one by name, folder, address or object."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from recollect.embedders.base import Embedder, FunctionEmbedder, SupportsDescription
from recollect.embedders.http_api import HttpEmbedder
from recollect.embedders.minilm import MiniLMEmbedder, minilm_unavailable_reason
from recollect.embedders.onnx import CatalogueEmbedder, OnnxEmbedder
from recollect.embedders.static import StaticEmbedder, static_unavailable_reason
from recollect.inference.catalogue import CatalogueEntry, catalogue
from recollect.inference.http_api import OPENAI_URL, split_model_url
from recollect.inference.hub import is_offline
from recollect.inference.runtime import RegistryEntry, SpecReader
from recollect.inference.weights import find_weights, unavailable_reason

EmbedderSpec = str | os.PathLike[str] | Embedder | Callable[[list[str]], Any] | None
"""The name, folder, function or object by which a user selects an embedder; see :func:`embedder_from`."""


def _openai(argument: str) -> Embedder:
    model, url = split_model_url(argument)
    return HttpEmbedder(model, url or OPENAI_URL)


def _catalogue_embedder(entry: CatalogueEntry) -> RegistryEntry[Embedder]:
    """Return how to construct the embedder of a model of the catalogue."""
    if entry.name == "minilm":
        return RegistryEntry(lambda _: MiniLMEmbedder(), unavailable_reason=minilm_unavailable_reason)
    if entry.file.endswith(".safetensors"):
        reason = partial(unavailable_reason, entry, "tokenizers", "safetensors")
        return RegistryEntry(lambda _: StaticEmbedder(entry.name), unavailable_reason=reason)
    reason = partial(unavailable_reason, entry, "onnxruntime", "tokenizers")
    return RegistryEntry(lambda _: CatalogueEmbedder(entry), unavailable_reason=reason)


EMBEDDERS: dict[str, RegistryEntry[Embedder]] = {
    **{entry.name: _catalogue_embedder(entry) for entry in catalogue().values() if entry.kind == "embedder"},
    "static": RegistryEntry(lambda _: StaticEmbedder(), unavailable_reason=static_unavailable_reason),
    "openai": RegistryEntry(_openai, "MODEL[@http://host:port/v1]"),
}
"""The embedders by the name that begins their spec; a new embedder is a new file and an entry here."""


@dataclass(frozen=True, slots=True)
class EmbedderChoice:
    """The embedder that was chosen, or ``None``, and the reason.

    >>> EmbedderChoice(None, "none requested").describe()
    'no embedder: none requested'
    """

    embedder: Embedder | None
    reason: str
    warning: str = ""
    """Why vector search is off, and what to do; empty if it is on, or if no embedder was requested."""

    def describe(self) -> str:
        """Return the embedder and the reason for it in one line; no model is loaded."""
        if self.embedder is None:
            return f"no embedder: {self.warning or self.reason}"
        embedder = self.embedder
        description = embedder.describe() if isinstance(embedder, SupportsDescription) else embedder.name
        return f"{description}: {self.reason}"


def embedder_from(spec: EmbedderSpec = "auto") -> Embedder | None:
    """Return the embedder for ``spec``, or ``None`` for no embedder; no model is loaded and nothing is sent yet.

    The name of a model of the catalogue, such as ``"arctic-embed-s"``, selects this model, if it is installed.
    ``"static"`` is :class:`StaticEmbedder`. ``"auto"`` is the first installed model of the catalogue, or else
    ``"static"``. ``"none"`` and ``None`` mean no embedder. A folder, as a ``Path`` or a string, is
    :class:`OnnxEmbedder`. ``"openai:MODEL"`` is :class:`HttpEmbedder` at OpenAI, and ``"openai:MODEL@URL"`` at another
    address. A function becomes a :class:`FunctionEmbedder`, and an embedder is returned as it is.

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
    """
    if spec is None or spec == "none":
        return EmbedderChoice(None, "none requested")
    return _first_installed() if spec == "auto" else EmbedderChoice(*_SPEC_READER.read(spec))


_SPEC_READER = SpecReader(
    kind="embedder",
    registry=EMBEDDERS,
    other_names=("auto", "none"),
    methods=("embed_documents", "embed_query"),
    from_folder=OnnxEmbedder,
    from_function=FunctionEmbedder,
)


def _first_installed() -> EmbedderChoice:
    """Return the first installed embedder of the registry; its reason says why the first entry is unavailable."""
    first_reason = ""
    for name, entry in EMBEDDERS.items():
        if entry.unavailable_reason is None:  # "auto" does not choose this embedder
            continue
        reason = entry.unavailable_reason()
        if reason is None:
            return EmbedderChoice(entry.create(""), first_reason or f"{name} is installed")
        first_reason = first_reason or reason
    warning = f"vector search is off, because no embedding model is installed: {first_reason}"
    return EmbedderChoice(None, first_reason, warning)


def embedder_to_download(vector_model: str | None) -> CatalogueEntry | None:
    """Return the model that ``"auto"`` would use if it were downloaded; ``None`` if no download is useful or possible.

    ``vector_model`` is the model of the vectors that a memory has: the catalogue's model of that name is returned. For
    a memory without vectors it is ``None``: the first embedder of the catalogue is returned, if none is installed.
    """
    embedders = [entry for entry in catalogue().values() if entry.kind == "embedder"]
    if vector_model is None:
        is_installed, candidates = any(map(find_weights, embedders)), embedders[:1]
    else:
        candidates = [entry for entry in embedders if entry.model_name == vector_model]
        is_installed = any(map(find_weights, candidates))
    return None if is_installed or is_offline() or not candidates else candidates[0]
