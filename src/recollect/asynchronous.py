"""The async version of a memory: the same methods, each run in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar, Unpack

from recollect.memory import Key, Memory, MemoryStats
from recollect.model import Note
from recollect.opening import open as open_memory
from recollect.retrieval import PresetSpec, SearchResult
from recollect.retrieval.options import SearchKeywords, SearchOptions, takes_search_options
from recollect.secrets import SecretsMode
from recollect.stores.base import Finding, Neighbour, Page

if TYPE_CHECKING:
    from recollect.ingest import IngestReport

__all__ = ["AsyncMemory", "open_async"]

P = ParamSpec("P")
R = TypeVar("R")


async def open_async(target: str | PathLike[str] = "recollect.db", **options: Any) -> AsyncMemory:
    """Open a memory for use in a running loop; the options are those of :func:`recollect.open`.

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


class AsyncMemory:
    """A :class:`Memory` whose methods are awaited; their arguments and results are the same."""

    def __init__(self, memory: Memory) -> None:
        """Wrap an open memory."""
        self.memory = memory

    async def __aenter__(self) -> Self:
        """Return the memory itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.close()

    async def add(self, content: str | None = None, **fields: Any) -> Note:
        """Store a note; see :meth:`Memory.add`."""
        return await _in_thread(self.memory.add, content, **fields)

    def with_secrets(self, secrets: SecretsMode | None) -> AsyncMemory:
        """Return a memory over the same store with another value of ``secrets``; see :meth:`Memory.with_secrets`."""
        return AsyncMemory(self.memory.with_secrets(secrets))

    async def add_many(self, notes: Iterable[Note | str | Mapping[str, Any]], **options: Any) -> list[Note]:
        """Store many notes; see :meth:`Memory.add_many`."""
        return await _in_thread(self.memory.add_many, notes, **options)

    async def update(self, key: Key, **changes: Any) -> Note:
        """Change a note; see :meth:`Memory.update`."""
        return await _in_thread(self.memory.update, key, **changes)

    async def get(self, key: Key, **options: Any) -> Note | None:
        """Return a note; see :meth:`Memory.get`."""
        return await _in_thread(self.memory.get, key, **options)

    async def has(self, key: Key, **options: Any) -> bool:
        """Return whether a note exists; see :meth:`Memory.has`."""
        return await _in_thread(self.memory.has, key, **options)

    async def count(self, **options: Any) -> int:
        """Return how many notes a namespace has; see :meth:`Memory.count`."""
        return await _in_thread(self.memory.count, **options)

    async def page(self, limit: int = 100, **options: Any) -> Page:
        """Return the next notes of a namespace; see :meth:`Memory.page`."""
        return await _in_thread(self.memory.page, limit, **options)

    async def delete(self, *keys: Key, **options: Any) -> int:
        """Delete notes; see :meth:`Memory.delete`."""
        return await _in_thread(self.memory.delete, *keys, **options)

    @takes_search_options
    async def search(
        self, query: str, *, options: SearchOptions | None = None, **keywords: Unpack[SearchKeywords]
    ) -> SearchResult:
        """Search; see :meth:`Memory.search`."""
        return await _in_thread(self.memory.search, query, options=options, **keywords)

    @takes_search_options
    async def search_many(
        self, queries: Sequence[str], *, options: SearchOptions | None = None, **keywords: Unpack[SearchKeywords]
    ) -> list[SearchResult]:
        """Search for each of several queries, at the same time."""
        searches = (self.search(query, options=options, **keywords) for query in queries)
        return list(await asyncio.gather(*searches))

    @takes_search_options
    async def compare(
        self,
        query: str,
        presets: Iterable[PresetSpec] | None = None,
        *,
        options: SearchOptions | None = None,
        **keywords: Unpack[SearchKeywords],
    ) -> dict[str, SearchResult]:
        """Search for the same query under several presets; see :meth:`Memory.compare`."""
        return await _in_thread(self.memory.compare, query, presets, options=options, **keywords)

    async def link(self, source: Key, target: Key, **options: Any) -> bool:
        """Link two notes; see :meth:`Memory.link`."""
        return await _in_thread(self.memory.link, source, target, **options)

    async def unlink(self, source: Key, target: Key, **options: Any) -> bool:
        """Remove a link; see :meth:`Memory.unlink`."""
        return await _in_thread(self.memory.unlink, source, target, **options)

    async def neighbours(self, key: Key, **options: Any) -> list[Neighbour]:
        """Return connected notes; see :meth:`Memory.neighbours`."""
        return await _in_thread(self.memory.neighbours, key, **options)

    async def ingest(self, source: str | PathLike[str], **options: Any) -> IngestReport:
        """Ingest files; see :meth:`Memory.ingest`."""
        return await _in_thread(self.memory.ingest, source, **options)

    async def ingest_texts(self, texts: Mapping[str, str], **options: Any) -> IngestReport:
        """Ingest the texts of files; see :meth:`Memory.ingest_texts`."""
        return await _in_thread(self.memory.ingest_texts, texts, **options)

    async def reindex(self, **options: Any) -> int:
        """Embed notes without a vector; see :meth:`Memory.reindex`."""
        return await _in_thread(self.memory.reindex, **options)

    async def stats(self) -> MemoryStats:
        """Return what the memory holds; see :meth:`Memory.stats`."""
        return await _in_thread(self.memory.stats)

    async def doctor(self, **options: Any) -> list[Finding]:
        """Check every part; see :meth:`Memory.doctor`."""
        return await _in_thread(self.memory.doctor, **options)

    async def backup(self, target: str | PathLike[str], **options: Any) -> None:
        """Write a copy; see :meth:`Memory.backup`."""
        return await _in_thread(self.memory.backup, target, **options)

    async def close(self) -> None:
        """Close the store."""
        await _in_thread(self.memory.close)


async def _in_thread(method: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    return await asyncio.to_thread(method, *args, **kwargs)
