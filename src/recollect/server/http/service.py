"""What every route needs: the memory, thread pools, readiness, metrics, and the call with its namespace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query, Request

from recollect.errors import KeyFileError, RecollectError
from recollect.memory import Memory
from recollect.server.auth import Caller, KeyRing, Right
from recollect.server.cursors import Cursors
from recollect.server.http.problems import ProblemError
from recollect.server.http.request_log import Metrics, RequestObserver, SearchTimes
from recollect.server.http.settings import Settings

T = TypeVar("T")

PROBE_TIMEOUT = 5.0
"""How many seconds the memory has to answer a readiness probe."""


class BoundedThreadPool:
    """A thread pool with a bounded queue and a timeout.

    Python cannot stop a thread: a task that times out keeps its thread until it is done, while the client gets its
    response at once. A queued task whose client has gone is never started.
    """

    def __init__(self, name: str, threads: int, settings: Settings) -> None:
        """Create ``threads`` threads, with the queue length and timeout of ``settings``."""
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"recollect-{name}")
        self._capacity = threads + settings.max_queued
        self._timeout = settings.timeout
        self._lock = Lock()
        self.active = 0
        """How many tasks are running or queued."""

    async def run(self, task: Callable[[], T]) -> T:
        """Run ``task`` in a thread; raise a problem if the queue is full or the task takes too long."""
        with self._lock:
            if self.active >= self._capacity:
                raise ProblemError("overloaded")
            self.active += 1
        future = self._pool.submit(task)
        future.add_done_callback(self._release)
        try:
            async with asyncio.timeout(self._timeout):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise ProblemError("timed-out", f"it took longer than {self._timeout:g} seconds") from None

    def close(self) -> None:
        """Wait for running tasks and cancel queued ones."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _release(self, _: Future[Any]) -> None:
        with self._lock:
            self.active -= 1


class Service:
    """A memory with what a server needs around it: thread pools, cursors, metrics and readiness."""

    def __init__(
        self, memory: Memory, settings: Settings, ring: KeyRing | None, observers: Sequence[RequestObserver]
    ) -> None:
        self.memory = memory
        self.settings = settings
        self.readers = BoundedThreadPool("readers", settings.read_threads, settings)
        self.writers = BoundedThreadPool("writers", settings.write_threads, settings)
        self.metrics = Metrics(readers=lambda: self.readers.active, writers=lambda: self.writers.active)
        self.observers = (self.metrics.record_request, *observers)
        self.cursors = Cursors()
        self._ring = ring
        self._probes = ThreadPoolExecutor(1, thread_name_prefix="recollect-readiness")
        self._probe: asyncio.Future[None] | None = None
        self._models_loaded = False

    async def load_models(self) -> None:
        """Load the models and run each once, so that no request waits for that."""

        def warm_up() -> None:
            if self.memory.embedder is not None:
                self.memory.embedder.embed_query("warm up")
            self.memory.search("warm up", now=datetime.now(UTC))  # with a fixed time, it does not count as an access

        await asyncio.get_running_loop().run_in_executor(self._probes, warm_up)
        self._models_loaded = True

    async def not_ready_reason(self) -> str:
        """Return why the server is not ready, or an empty string; concurrent calls share one probe."""

        def probe() -> None:
            if self._ring is not None:
                self._ring.keys()
            self.memory.count()

        if not self._models_loaded:
            return "the models are being loaded"
        if self._probe is None or self._probe.done():
            self._probe = asyncio.get_running_loop().run_in_executor(self._probes, probe)
        try:
            async with asyncio.timeout(PROBE_TIMEOUT):
                await asyncio.shield(self._probe)
        except KeyFileError:
            return "the keys cannot be read"
        except (TimeoutError, RecollectError):
            return "the memory does not answer"
        return ""

    def close(self) -> None:
        """Wait for running tasks."""
        self.readers.close()
        self.writers.close()
        self._probes.shutdown(wait=True, cancel_futures=True)


@dataclass(slots=True)
class Call:
    """A request to a route: the caller's right in ``namespace`` has been checked."""

    service: Service
    memory: Memory
    caller: Caller
    right: Right
    namespace: str
    searches: list[SearchTimes]
    """The times of its searches, for the request log."""
    queued: float = 0.0
    """How many seconds it waited for a thread."""


RequestedNamespace = Annotated[
    str | None,
    Query(
        alias="namespace",
        max_length=256,
        description="The namespace; the default is the only one of the key, or else `default`.",
    ),
]


def _call_with(right: Right) -> Any:
    async def call(request: Request, requested: RequestedNamespace = None) -> Call:
        service, caller = request.app.state.service, request.state.caller
        namespace = caller.namespace(requested, right)
        return Call(service, service.memory, caller, right, namespace, request.state.searches)

    return Depends(call)


ReadCall = Annotated[Call, _call_with(Right.READ)]
"""A call to read in the requested namespace, in a reader thread."""
WriteCall = Annotated[Call, _call_with(Right.WRITE)]
"""A call to write to the requested namespace, in a writer thread."""
