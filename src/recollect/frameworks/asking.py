"""One question put to whatever holds the notes, from a thread or from a loop: what all frameworks need of a memory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from inspect import signature
from typing import Any

from recollect.asynchronous import AsyncMemory
from recollect.client import AsyncClient
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.memory import Memory
from recollect.model import Hit, RankedHits

__all__ = ["METADATA", "OPTIONS", "WEAK", "Source", "ask", "ask_async", "metadata_of", "search_options", "source"]

Source = Memory | AsyncMemory | AsyncClient
"""What can be asked: a memory of this process, its async twin, or one behind the HTTP API."""

METADATA = (
    "id", "path", "title", "summary", "created_at", "session", "position", "importance", "tags", "metadata",
    "rank", "score", "relevance", "confidence", "rerank_score", "superseded_by",
)  # fmt: skip
"""What is told of each hit, all of it JSON."""
WEAK = "weak"
"""The key of metadata that marks a hit of a search without an answer; other hits do not have it."""
OPTIONS = tuple(name for name in signature(Memory.search).parameters if name not in ("self", "query"))
"""The options of a search."""


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


def search_options(given: Mapping[str, Any], *, others: Sequence[str] = ()) -> dict[str, Any]:
    """Return ``given``, or raise an error if a name is no option of a search; ``others`` are further names to list.

    >>> search_options({"topk": 3}, others=["memory"])
    Traceback (most recent call last):
    recollect.errors.ArgumentError: topk: is not known here; there are memory, top_k, mode, preset, candidate_k, rerank,
    rerank_top_n, skip_retry_ladder, question_date, now, filters, namespace, vector, min_confidence, answer_threshold
    """
    for name in given:
        if name not in OPTIONS:
            raise ArgumentError(name, f"is not known here; there are {', '.join((*others, *OPTIONS))}")
    return dict(given)


def ask(memory: Source, query: str, options: Mapping[str, Any]) -> RankedHits:
    """Return the result of a search; where a loop is running in this thread, a client asks from another."""
    if isinstance(memory, AsyncClient):
        return _elsewhere(memory, query, options)
    if isinstance(memory, AsyncMemory):
        memory = memory.memory
    return memory.search(query, **options)


async def ask_async(memory: Source, query: str, options: Mapping[str, Any]) -> RankedHits:
    """Return the result of a search, and let the loop go on meanwhile."""
    if isinstance(memory, Memory):
        memory = AsyncMemory(memory)
    return await memory.search(query, **options)


def metadata_of(hit: Hit, *, weak: bool = False) -> dict[str, Any]:
    """Return the metadata of a hit; ``weak`` marks it as no answer.

    >>> from recollect.model import Candidate
    >>> metadata_of(Hit(1, Candidate("n1", path="tea.md", score=0.5, created_at="2026-04-18")))["created_at"]
    '2026-04-18T00:00:00Z'
    """
    told = hit.to_dict()
    return {name: told[name] for name in METADATA} | ({WEAK: True} if weak else {})


def _elsewhere(client: AsyncClient, query: str, options: Mapping[str, Any]) -> RankedHits:
    """Ask with a copy of the client in a thread and a loop of its own: connections belong to one loop."""

    async def asked() -> RankedHits:
        async with client.copy() as own:
            return await own.search(query, **options)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, asked()).result()
