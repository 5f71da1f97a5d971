"""What every route needs: the memory, thread pools, readiness, metrics, and the caller's namespace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Query, Request, Response

from recollect.errors import KeyFileError, RecollectError
from recollect.memory import Memory
from recollect.server.auth import Caller, KeyRing, Right
from recollect.server.cursors import Cursors
from recollect.server.http.problems import ProblemError
from recollect.server.http.request_log import RequestObserver
from recollect.server.http.routing import json_response, to_json
from recollect.server.http.settings import Settings
from recollect.server.http.telemetry import Metrics

T = TypeVar("T")

PROBE_TIMEOUT = 5.0
"""How many seconds the memory has to answer a readiness probe."""


class BoundedThreadPool:
    """A thread pool with a bounded queue and a timeout.

    Python cannot stop a thread: a task that times out keeps its thread until it is done, while the client gets its
    response at once. A queued task whose client has gone is never started.
    """

    def __init__(self, name: str, *, threads: int, max_queued: int, timeout: float) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"recollect-{name}")
        self._capacity = threads + max_queued
        self._timeout = timeout
        self._lock = Lock()
        self.active = 0
        """How many tasks are running or queued."""

    @classmethod
    def of(cls, name: str, threads: int, settings: Settings) -> BoundedThreadPool:
        """Create a pool with the queue length and timeout of ``settings``."""
        return cls(name, threads=threads, max_queued=settings.max_queued, timeout=settings.timeout)

    async def run(self, task: Callable[[], T]) -> T:
        """Run ``task`` in a thread; raise a problem if the queue is full or the task takes too long."""
        with self._lock:
            if self.active >= self._capacity:
                raise ProblemError("overloaded", headers={"Retry-After": "1"})
            self.active += 1
        future = self._pool.submit(task)
        future.add_done_callback(lambda _: self._release())
        try:
            async with asyncio.timeout(self._timeout):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise ProblemError("timed-out", f"it took longer than {self._timeout:g} seconds") from None

    def close(self) -> None:
        """Wait for running tasks and cancel queued ones."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _release(self) -> None:
        with self._lock:
            self.active -= 1


class Readiness:
    """Loads the models once, and probes the store and the key file."""

    def __init__(self, memory: Memory, ring: KeyRing | None = None) -> None:
        self._memory = memory
        self._ring = ring
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="recollect-readiness")
        self._models_loaded = False
        self._probe: asyncio.Future[None] | None = None

    async def load_models(self) -> None:
        """Load the models and run each once, so that no request waits for that."""
        await asyncio.get_running_loop().run_in_executor(self._pool, self._warm_up)
        self._models_loaded = True

    async def problem(self) -> str:
        """Return why the server is not ready, or an empty string; concurrent calls share one probe."""
        if not self._models_loaded:
            return "the models are being loaded"
        if self._probe is None or self._probe.done():
            self._probe = asyncio.get_running_loop().run_in_executor(self._pool, self._access)
        try:
            async with asyncio.timeout(PROBE_TIMEOUT):
                await asyncio.shield(self._probe)
        except KeyFileError:
            return "the keys cannot be read"
        except (TimeoutError, RecollectError):
            return "the memory does not answer"
        return ""

    def close(self) -> None:
        """Stop probing."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _access(self) -> None:
        if self._ring is not None:
            self._ring.keys()
        self._memory.count()

    def _warm_up(self) -> None:
        if self._memory.embedder is not None:
            self._memory.embedder.embed_query("warm up")
        self._memory.search("warm up", now=datetime.now(UTC))  # with a fixed time, it does not count as an access


@dataclass(frozen=True, slots=True)
class Service:
    """A memory with what a server needs around it."""

    memory: Memory
    settings: Settings
    readers: BoundedThreadPool
    writers: BoundedThreadPool
    readiness: Readiness
    metrics: Metrics
    observers: Sequence[RequestObserver]
    cursors: Cursors = field(default_factory=Cursors)

    @classmethod
    def of(
        cls, memory: Memory, settings: Settings, ring: KeyRing | None, observers: Sequence[RequestObserver]
    ) -> Service:
        """Create thread pools and metrics by the settings."""
        readers = BoundedThreadPool.of("readers", settings.read_threads, settings)
        writers = BoundedThreadPool.of("writers", settings.write_threads, settings)
        metrics = Metrics(readers=lambda: readers.active, writers=lambda: writers.active)
        readiness = Readiness(memory, ring)
        return cls(memory, settings, readers, writers, readiness, metrics, (metrics.record_request, *observers))

    async def read(self, task: Callable[[], Any]) -> Response:
        """Respond with the JSON of what ``task`` returns; both run in a reader thread."""
        return json_response(await self.readers.run(lambda: to_json(task())))

    async def write(self, task: Callable[[], Any], status: int = 200) -> Response:
        """Respond with the JSON of what ``task`` returns; both run in a writer thread."""
        return json_response(await self.writers.run(lambda: to_json(task())), status)

    def close(self) -> None:
        """Wait for running tasks."""
        self.readers.close()
        self.writers.close()
        self.readiness.close()


async def _service(request: Request) -> Service:
    return cast("Service", request.app.state.service)


async def _caller(request: Request) -> Caller:
    return cast("Caller", request.state.caller)


CurrentService = Annotated[Service, Depends(_service)]
CurrentCaller = Annotated[Caller, Depends(_caller)]
RequestedNamespace = Annotated[
    str | None,
    Query(
        alias="namespace",
        max_length=256,
        description="The namespace; the default is the only one of the key, or else `default`.",
    ),
]


async def _read_namespace(caller: CurrentCaller, requested: RequestedNamespace = None) -> str:
    return caller.namespace(requested, Right.READ)


async def _write_namespace(caller: CurrentCaller, requested: RequestedNamespace = None) -> str:
    return caller.namespace(requested, Right.WRITE)


ReadNamespace = Annotated[str, Depends(_read_namespace)]
"""The requested namespace, if the caller may read there."""
WriteNamespace = Annotated[str, Depends(_write_namespace)]
"""The requested namespace, if the caller may write there."""
