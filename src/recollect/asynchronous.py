"""The asynchronous version of a memory: methods of the same names, each of which runs in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import wraps
from os import PathLike
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from recollect.memory import Memory
from recollect.opening import open as open_memory
from recollect.retrieval import SearchResult
from recollect.retrieval.options import SearchKeywords, SearchOptions, takes_search_options
from recollect.secrets import SecretsMode

P = ParamSpec("P")
R = TypeVar("R")


async def open_async(target: str | PathLike[str] = "recollect.db", **options: Any) -> AsyncMemory:
    """Open a memory for use in an asyncio event loop, with the options of :func:`recollect.open`.

    >>> import asyncio
    >>> from tempfile import TemporaryDirectory
    >>> async def remember(folder):
    ...     async with await open_async(f"{folder}/memory.db", embedder=None) as memory:
    ...         await memory.add("Prefers green tea.", path="memory/tea.md")
    ...         return [hit.path for hit in await memory.search("which tea?")]
    >>> with TemporaryDirectory() as folder:
    ...     asyncio.run(remember(folder))
    ['memory/tea.md']
    """
    return AsyncMemory(await asyncio.to_thread(open_memory, target, **options))


def _in_thread(
    method: Callable[Concatenate[Memory, P], R],
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, R]]:
    """Return the asynchronous version of a method of ``Memory``, with the signature and docstring of the method."""

    @wraps(method)
    async def call(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = await asyncio.to_thread(getattr(self.memory, method.__name__), *args, **kwargs)
        return result

    return call


class AsyncMemory:
    """A :class:`Memory` with asynchronous methods, which take the same arguments and return the same results.

    The attribute ``memory`` is the synchronous memory, which also has ``notes``, ``export`` and ``load``.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def with_secrets(self, secrets: SecretsMode | None) -> AsyncMemory:
        """Return a memory over the same store with another value of ``secrets``; see :meth:`Memory.with_secrets`."""
        return AsyncMemory(self.memory.with_secrets(secrets))

    @takes_search_options
    async def search_many(
        self, queries: Sequence[str], *, options: SearchOptions | None = None, **keywords: Unpack[SearchKeywords]
    ) -> list[SearchResult]:
        """Run :meth:`search` for several queries concurrently."""
        searches = (self.search(query, options=options, **keywords) for query in queries)
        return list(await asyncio.gather(*searches))

    add = _in_thread(Memory.add)
    add_many = _in_thread(Memory.add_many)
    update = _in_thread(Memory.update)
    get = _in_thread(Memory.get)
    has = _in_thread(Memory.has)
    count = _in_thread(Memory.count)
    page = _in_thread(Memory.page)
    delete = _in_thread(Memory.delete)
    search = _in_thread(Memory.search)
    compare = _in_thread(Memory.compare)
    link = _in_thread(Memory.link)
    unlink = _in_thread(Memory.unlink)
    neighbours = _in_thread(Memory.neighbours)
    ingest = _in_thread(Memory.ingest)
    ingest_texts = _in_thread(Memory.ingest_texts)
    reindex = _in_thread(Memory.reindex)
    set_embedder = _in_thread(Memory.set_embedder)
    stats = _in_thread(Memory.stats)
    doctor = _in_thread(Memory.doctor)
    backup = _in_thread(Memory.backup)
    close = _in_thread(Memory.close)
