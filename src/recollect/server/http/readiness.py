"""Whether a server can answer: its models are loaded, its store answers, and its keys can be read."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from recollect.errors import KeyFileError, RecollectError
from recollect.memory import Memory
from recollect.server.keys import KeyRing

__all__ = ["Readiness"]

PROBE_SECONDS = 5.0


class Readiness:
    """Loads the models of a memory once, and asks its store and its keys whether they are there."""

    def __init__(self, memory: Memory, ring: KeyRing | None = None) -> None:
        """Begin unready."""
        self._memory = memory
        self._ring = ring
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="recollect-readiness")
        self._warm = False
        self._asking: asyncio.Future[None] | None = None

    async def warm(self) -> None:
        """Load the models and let them work once, so that nobody has to wait for that; raise what goes wrong."""
        await asyncio.get_running_loop().run_in_executor(self._pool, self._warm_up)
        self._warm = True

    async def problem(self) -> str:
        """Return why the server is not ready; empty if it is. Who asks at the same time gets the same answer."""
        if not self._warm:
            return "the models are being loaded"
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().run_in_executor(self._pool, self._ask)
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                await asyncio.shield(self._asking)
        except KeyFileError:
            return "the keys cannot be read"
        except (TimeoutError, RecollectError):
            return "the memory does not answer"
        return ""

    def close(self) -> None:
        """Ask nothing more."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _ask(self) -> None:
        if self._ring is not None:
            self._ring.keys()
        self._memory.count()

    def _warm_up(self) -> None:
        if self._memory.embedder is not None:
            self._memory.embedder.embed_query("warm up")
        self._memory.search("warm up", now=datetime.now(UTC))  # as of a given time, which counts as no reading
