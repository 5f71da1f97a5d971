"""The front door: a file, an embedder and all that searching needs become a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from recollect import arguments
from recollect.embedders import EmbedderChoice, EmbedderSpec, choose_embedder
from recollect.errors import EmbedderError
from recollect.memory import Memory
from recollect.query import AliasTable
from recollect.rerankers import RerankerSpec, reranker_from
from recollect.retrieval import PresetSpec, preset_from
from recollect.retrieval.pipeline import EMBEDDER_SECONDS, RERANKER_SECONDS
from recollect.secrets import MODES, SecretsMode
from recollect.stores import open_store
from recollect.stores.base import Model

__all__ = ["open"]


def open(  # noqa: A001 (recollect.open is the name that users know)
    target: str | PathLike[str] = "recollect.db",
    *,
    embedder: EmbedderSpec = "auto",
    reranker: RerankerSpec = None,
    aliases: Mapping[str, Sequence[str]] | None = None,
    preset: PresetSpec = "default",
    read_only: bool = False,
    record_access: bool = True,
    secrets: SecretsMode | None = None,
    embedder_timeout: float = EMBEDDER_SECONDS,
    reranker_timeout: float = RERANKER_SECONDS,
) -> Memory:
    """Open the memory in the file ``target``, which is created where it is missing.

    ``embedder`` is ``"auto"`` (the model of the vectors that are there, else the best that is installed), ``None``, or
    whatever :func:`recollect.embedders.embedder_from` knows; ``reranker`` is what
    :func:`recollect.rerankers.reranker_from` knows. No model is loaded before it is needed. ``preset`` is the name of a
    preset, the path of a TOML file, or a :class:`~recollect.Preset`. With ``record_access``, notes know when they were
    last found or got, a minute later at most or when the memory is closed. With ``secrets="refuse"``, what holds a
    password, key or card number is not stored but raises :class:`~recollect.SecretFoundError`; with ``"redact"`` it is
    stored without. A search does without an embedder or
    reranker that does not answer within ``embedder_timeout`` or ``reranker_timeout`` seconds.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, open(f"{folder}/memory.db", embedder=None) as memory:
    ...     _ = memory.add("Prefers green tea.", path="memory/tea.md")
    ...     [hit.path for hit in memory.search("which tea?")]
    ['memory/tea.md']
    """
    # What can be wrong with the arguments is found before a file is made.
    choice = choose_embedder(embedder)
    parts: dict[str, Any] = {
        "reranker": reranker_from(reranker),
        "preset": preset_from(preset),
        "aliases": AliasTable(aliases) if aliases else None,
        "secrets": None if secrets is None else arguments.choice("secrets", secrets, MODES),
        "embedder_timeout": arguments.number("embedder_timeout", embedder_timeout, at_least=0),
        "reranker_timeout": arguments.number("reranker_timeout", reranker_timeout, at_least=0),
    }
    store = open_store(target, read_only=read_only)
    if embedder == "auto":
        choice = _at_home(choice, store.model)
    return Memory(store, choice, record_access=record_access, **parts)


def _at_home(choice: EmbedderChoice, model: Model | None) -> EmbedderChoice:
    """Return the installed embedder that made the vectors of a store, rather than a better one that did not."""
    for spec in ("minilm", "static") if model and choice.embedder and choice.embedder.name != model.name else ():
        try:
            embedder = choose_embedder(spec).embedder
        except EmbedderError:
            continue
        if embedder and model and embedder.name == model.name:
            return EmbedderChoice(embedder, "the vectors of this memory are of it")
    return choice
