"""Recollect: hybrid memory retrieval for agents, with an explanation of every result.

Start with :func:`open`. The packages, from text to a ranked list:

- :mod:`recollect.ingest`: files and records become notes;
- :mod:`recollect.embedders`: text becomes vectors;
- :mod:`recollect.stores`: SQLite and PostgreSQL behind one contract;
- :mod:`recollect.query`: text becomes a query tree;
- :mod:`recollect.retrieval`: the search pipeline, its trace and explanation;
- :mod:`recollect.fusion`: several ranked lists become one;
- :mod:`recollect.ranking`: the stages after fusion;
- :mod:`recollect.rerankers`: second-stage models;
- :mod:`recollect.evaluation`: datasets, measures, significance, tuning;
- :mod:`recollect.client`: a client of the HTTP API of a Recollect server;
- :mod:`recollect.integrations`: a memory as a retriever of LangChain and LlamaIndex;
- :mod:`recollect.server`: HTTP, MCP and the web UI.

Packages and names are imported on first use, so that ``import recollect`` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from recollect.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmbedderError,
    ForbiddenError,
    IngestError,
    KeyFileError,
    ModelError,
    NoteNotFoundError,
    RecollectError,
    RecollectWarning,
    RerankerError,
    SecretFoundError,
    ServerError,
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
    StoreVersionError,
)

if TYPE_CHECKING:
    from recollect import (
        client,
        embedders,
        evaluation,
        fusion,
        ingest,
        integrations,
        query,
        ranking,
        rerankers,
        retrieval,
        server,
        stores,
    )
    from recollect.asynchronous import AsyncMemory, open_async
    from recollect.health import MemoryStats
    from recollect.memory import Memory
    from recollect.model import Candidate, Contribution, Filters, Hit, Link, Note, Step
    from recollect.opening import copy, open  # noqa: A004 (recollect.open is the name that users know)
    from recollect.retrieval import Preset, Retrieval, SearchOptions, SearchResult, Trace, presets

__version__ = "0.2.0.dev0"

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "AsyncMemory",
    "Candidate",
    "Contribution",
    "EmbedderError",
    "Filters",
    "ForbiddenError",
    "Hit",
    "IngestError",
    "KeyFileError",
    "Link",
    "Memory",
    "MemoryStats",
    "ModelError",
    "Note",
    "NoteNotFoundError",
    "Preset",
    "RecollectError",
    "RecollectWarning",
    "RerankerError",
    "Retrieval",
    "SearchOptions",
    "SearchResult",
    "SecretFoundError",
    "ServerError",
    "Step",
    "StoreBusyError",
    "StoreDamagedError",
    "StoreError",
    "StoreFullError",
    "StoreReadOnlyError",
    "StoreUnavailableError",
    "StoreVersionError",
    "Trace",
    "__version__",
    "client",
    "copy",
    "embedders",
    "evaluation",
    "fusion",
    "ingest",
    "integrations",
    "open",
    "open_async",
    "presets",
    "query",
    "ranking",
    "rerankers",
    "retrieval",
    "server",
    "stores",
]

_PACKAGES = frozenset(
    "client embedders evaluation fusion ingest integrations query ranking rerankers retrieval server stores".split()
)
_MODULE_OF = {
    **dict.fromkeys(("AsyncMemory", "open_async"), "recollect.asynchronous"),
    "Memory": "recollect.memory",
    "MemoryStats": "recollect.health",
    **dict.fromkeys(("copy", "open"), "recollect.opening"),
    **dict.fromkeys(("Candidate", "Contribution", "Filters", "Hit", "Link", "Note", "Step"), "recollect.model"),
    **dict.fromkeys(
        ("Preset", "Retrieval", "SearchOptions", "SearchResult", "Trace", "presets"), "recollect.retrieval"
    ),
}
"""The module of each public name that is imported on first use."""


def __getattr__(name: str) -> Any:
    """Import a package or a name on first use."""
    if name in _PACKAGES:
        return import_module(f"recollect.{name}")
    if name in _MODULE_OF:
        value = getattr(import_module(_MODULE_OF[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'recollect' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, including those that are not imported yet."""
    return sorted(__all__)
