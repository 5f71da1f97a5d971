"""One question put to whatever holds the notes, from a thread or from a loop: what all frameworks need of a memory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from recollect.asynchronous import AsyncMemory
from recollect.client import AsyncClient
from recollect.errors import ArgumentTypeError
from recollect.memory import Memory
from recollect.model import Hit

__all__ = ["METADATA", "Source", "ask", "ask_async", "metadata_of", "source"]

Source = Memory | AsyncMemory | AsyncClient
"""What can be asked: a memory of this process, its async twin, or one behind the HTTP API."""

METADATA = (
    "id", "path", "title", "summary", "created_at", "session", "position", "importance", "tags", "metadata",
    "rank", "score", "relevance", "confidence", "rerank_score", "superseded_by",
)  # fmt: skip
"""What is told of each hit, all of it JSON."""


def source(value: Any) -> Source:
    """Return ``value`` if it can be asked.

    >>> source("memory.db")
    Traceback (most recent call last):
    recollect.errors.ArgumentTypeError: memory: must be a Memory, an AsyncMemory or an AsyncClient, got str
    """
    if not isinstance(value, Source):
        raise ArgumentTypeError(
            "memory", f"must be a Memory, an AsyncMemory or an AsyncClient, got {type(value).__name__}"
        )
    return value


def ask(memory: Source, query: str, options: Mapping[str, Any]) -> Sequence[Hit]:
    """Return the hits of a search; where a loop is running in this thread, a client asks from another."""
    if isinstance(memory, AsyncClient):
        return _elsewhere(memory, query, options)
    if isinstance(memory, AsyncMemory):
        memory = memory.memory
    return memory.search(query, **options)


async def ask_async(memory: Source, query: str, options: Mapping[str, Any]) -> Sequence[Hit]:
    """Return the hits of a search, and let the loop go on meanwhile."""
    if isinstance(memory, Memory):
        memory = AsyncMemory(memory)
    return await memory.search(query, **options)


def metadata_of(hit: Hit) -> dict[str, Any]:
    """Return what is told of a hit beside its text.

    >>> from recollect.model import Candidate
    >>> metadata_of(Hit(1, Candidate("n1", path="tea.md", score=0.5, created_at="2026-04-18")))["created_at"]
    '2026-04-18T00:00:00Z'
    """
    told = hit.to_dict()
    return {name: told[name] for name in METADATA}


def _elsewhere(client: AsyncClient, query: str, options: Mapping[str, Any]) -> Sequence[Hit]:
    """Ask with a copy of the client in a thread and a loop of its own: connections belong to one loop."""

    async def asked() -> Sequence[Hit]:
        async with client.copy() as own:
            return await own.search(query, **options)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, asked()).result()
