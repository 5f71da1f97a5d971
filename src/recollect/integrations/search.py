"""Functions that the retrievers share: search a Memory, AsyncMemory or AsyncClient, with or without an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from recollect.asynchronous import AsyncMemory
from recollect.client import AsyncClient
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.memory import Memory
from recollect.model import Hit, RankedHits
from recollect.retrieval.options import search_options

SearchSource = Memory | AsyncMemory | AsyncClient
"""What a retriever can search: a memory of this process, its async version, or a memory behind the HTTP API."""

HIT_METADATA = (
    "id", "path", "title", "summary", "created_at", "session", "position", "importance", "tags", "metadata",
    "rank", "score", "relevance", "confidence", "rerank_score", "superseded_by",
)  # fmt: skip
"""The fields of ``Hit.to_dict()`` that become metadata of a document or node."""
WEAK = "weak"  # the metadata key that marks the hits of a search without an answer; other hits lack this key
SEARCH_OPTIONS = tuple(search_options())  # the names of the options of Memory.search


def check_source(memory: Any) -> SearchSource:
    """Return ``memory``; raise an error if it cannot be searched."""
    if not isinstance(memory, SearchSource):
        problem = f"must be a Memory, an AsyncMemory or an AsyncClient, got {type(memory).__name__}"
        raise ArgumentTypeError("memory", problem)
    return memory


def check_search_options(options: Mapping[str, Any], *, arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Return ``options`` as a dict; for an unknown name, raise an error that lists the known names."""
    for name in options:
        if name not in SEARCH_OPTIONS:
            raise ArgumentError(name, f"is unknown; use one of {', '.join((*arguments, *SEARCH_OPTIONS))}")
    return dict(options)


def search(memory: SearchSource, query: str, options: Mapping[str, Any]) -> RankedHits:
    """Search and wait for the result; this also works in a thread that runs an event loop."""
    if not isinstance(memory, AsyncClient):
        return (memory.memory if isinstance(memory, AsyncMemory) else memory).search(query, **options)

    async def search_with_copy() -> RankedHits:
        async with memory.copy() as copy:  # the connections of ``memory`` belong to the caller's event loop
            return await copy.search(query, **options)

    with ThreadPoolExecutor(1) as executor:
        return executor.submit(asyncio.run, search_with_copy()).result()


async def search_async(memory: SearchSource, query: str, options: Mapping[str, Any]) -> RankedHits:
    """Search without blocking the event loop."""
    if isinstance(memory, Memory):
        memory = AsyncMemory(memory)
    return await memory.search(query, **options)


def hit_metadata(hit: Hit, *, weak: bool = False) -> dict[str, Any]:
    """Return the metadata of a document or node for a hit, as JSON-ready data."""
    data = hit.to_dict()
    return {name: data[name] for name in HIT_METADATA} | ({WEAK: True} if weak else {})
