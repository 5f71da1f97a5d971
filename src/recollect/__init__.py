"""Recollect: hybrid memory retrieval for agents, and the reasons for every result.

Start with :func:`open`. The rooms, from a person's words to a ranked list:

- :mod:`recollect.ingest`: files and records become notes;
- :mod:`recollect.embedders`: text becomes vectors;
- :mod:`recollect.stores`: where notes live and are found;
- :mod:`recollect.query`: words become a query tree, and the tree an engine's query;
- :mod:`recollect.retrieval`: the walk from a query to a ranked list, and the drawing of what happened on it;
- :mod:`recollect.fusion`: several ranked lists become one;
- :mod:`recollect.ranking`: what changes an order after fusion;
- :mod:`recollect.rerankers`: second-stage models that read query and note together;
- :mod:`recollect.evaluation`: which retrieval is better, settled with numbers;
- :mod:`recollect.client`: a memory behind the HTTP API of a server;
- :mod:`recollect.integrations`: a memory as a retriever of LangChain and LlamaIndex;
- :mod:`recollect.server`: a memory for other processes and machines, and who may do what there.

A room is entered when it is first asked for: importing the package alone loads next to nothing.
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
    from recollect.copying import copy
    from recollect.memory import Memory, MemoryStats
    from recollect.model import Candidate, Contribution, Filters, Hit, Link, Note, Step
    from recollect.opening import open  # noqa: A004 (recollect.open is the name that users know)
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

_ROOMS = (
    "client",
    "embedders",
    "evaluation",
    "integrations",
    "fusion",
    "ingest",
    "query",
    "ranking",
    "rerankers",
    "retrieval",
    "server",
    "stores",
)
_HOMES = {
    **dict.fromkeys(("AsyncMemory", "open_async"), "recollect.asynchronous"),
    "copy": "recollect.copying",
    **dict.fromkeys(("Memory", "MemoryStats"), "recollect.memory"),
    "open": "recollect.opening",
    **dict.fromkeys(("Candidate", "Contribution", "Filters", "Hit", "Link", "Note", "Step"), "recollect.model"),
    **dict.fromkeys(
        ("Preset", "Retrieval", "SearchOptions", "SearchResult", "Trace", "presets"), "recollect.retrieval"
    ),
}
"""Where a public name lives that is loaded when it is first used."""


def __getattr__(name: str) -> Any:
    """Load a room or a name when it is first asked for."""
    if name in _ROOMS:
        return import_module(f"recollect.{name}")
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'recollect' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted(__all__)
