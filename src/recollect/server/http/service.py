"""What every route needs: thread pools for the memory, the check of the caller's rights, and strict parsing."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from inspect import iscoroutinefunction
from threading import Lock
from time import perf_counter
from typing import Annotated, Any, NoReturn, TypeVar

from fastapi import Depends, Query, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from recollect.arguments import MAX_DEPTH, exceeds_max_depth, with_deep_stack
from recollect.errors import KeyFileError, RecollectError
from recollect.memory import Memory
from recollect.server.auth import Caller, Cursors, KeyRing, Right
from recollect.server.http.problems import ProblemError
from recollect.server.http.request_log import Metrics, RequestObserver, SearchTimes
from recollect.server.http.settings import Settings

T = TypeVar("T")

READ: dict[str, Any] = {"x-right": str(Right.READ)}
WRITE: dict[str, Any] = {"x-right": str(Right.WRITE)}
"""Entries for the OpenAPI description of an endpoint: the right that a caller needs."""

LARGE_BODY = 65_536  # a body with more bytes than this is parsed in a thread, so that it does not block the event loop

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")  # an escape from \ud800 to \udfff
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
PROBE_TIMEOUT = 5.0  # how many seconds a readiness probe waits for the memory


class BoundedThreadPool:
    """A thread pool with a bounded queue and a timeout.

    Python cannot stop a thread: a task that times out keeps its thread until it is done, while the client gets a
    response at once. A queued task whose client has disconnected is never started.
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
    """A memory with thread pools for reading and writing, cursors, metrics and readiness probes."""

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
        self._probe_pool = ThreadPoolExecutor(1, thread_name_prefix="recollect-readiness")
        self._probe: asyncio.Future[None] | None = None
        self._models_loaded = False

    async def load_models(self) -> None:
        """Load the models by embedding and searching once, so that no request waits for them."""

        def warm_up() -> None:
            if self.memory.embedder is not None:
                self.memory.embedder.embed_query("warm up")
            self.memory.search("warm up", now=datetime.now(UTC))  # with `now`, no access is recorded

        await asyncio.get_running_loop().run_in_executor(self._probe_pool, warm_up)
        self._models_loaded = True

    async def not_ready_reason(self) -> str:
        """Return why the server is not ready, or "" if it is ready; concurrent calls share one probe."""

        def probe() -> None:
            if self._ring is not None:
                self._ring.keys()
            self.memory.count()

        if not self._models_loaded:
            return "the models are being loaded"
        if self._probe is None or self._probe.done():
            self._probe = asyncio.get_running_loop().run_in_executor(self._probe_pool, probe)
        try:
            async with asyncio.timeout(PROBE_TIMEOUT):
                await asyncio.shield(self._probe)
        except KeyFileError:
            return "the keys cannot be read"
        except (TimeoutError, RecollectError):
            return "the memory does not answer"
        return ""

    def close(self) -> None:
        """Wait for running tasks and cancel queued ones."""
        self.readers.close()
        self.writers.close()
        self._probe_pool.shutdown(wait=True, cancel_futures=True)


@dataclass(slots=True)
class Call:
    """An authorised request: the caller has ``right`` in ``namespace``."""

    service: Service
    memory: Memory
    caller: Caller
    right: Right
    namespace: str
    searches: list[SearchTimes]  # the times of the searches of this request, for metrics and ``Server-Timing``
    queued: float = 0.0  # how many seconds the request waited for a thread


RequestedNamespace = Annotated[
    str | None,
    Query(
        alias="namespace",
        max_length=256,
        description="The namespace; by default the only namespace of the key, or `default` if the key has several.",
    ),
]


def _authorised_call(right: Right) -> Any:
    async def call(request: Request, requested: RequestedNamespace = None) -> Call:
        service, caller = request.app.state.service, request.state.caller
        namespace = caller.namespace(requested, right)
        return Call(service, service.memory, caller, right, namespace, request.state.searches)

    return Depends(call)


ReadCall = Annotated[Call, _authorised_call(Right.READ)]
"""The parameter of an endpoint that reads; the endpoint runs in a reader thread."""
WriteCall = Annotated[Call, _authorised_call(Right.WRITE)]
"""The parameter of an endpoint that writes; the endpoint runs in a writer thread."""


def json_response(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return data as a JSON response."""
    body = with_deep_stack(lambda: _ENCODER.encode(data)).encode()
    return Response(body, status, headers=headers, media_type="application/json")


class StrictRoute(APIRoute):
    """A route that rejects unknown or repeated parameters, unsupported media types, and JSON that violates RFC 8259."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Wrap an endpoint that is not ``async``, so that it runs in a thread; it must have a parameter ``call``."""
        if not iscoroutinefunction(endpoint):
            endpoint = _run_in_thread(endpoint, options.get("status_code") or 200)
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that checks a request and then calls FastAPI's handler."""
        handle = super().get_route_handler()
        parameters = dict(_query_parameters(self.dependant))
        repeatable = {name for name, annotation in parameters.items() if "list[" in annotation}
        has_body = self.body_field is not None
        media_types = ["application/json", *self.responses.get(200, {}).get("content", {})]
        type_ranges = {f"{media_type.partition('/')[0]}/*" for media_type in media_types}
        acceptable = {"", "*/*", *media_types, *type_ranges}

        async def check_and_handle(request: Request) -> Response:
            if request.scope["query_string"]:
                _check_parameters(request, parameters, repeatable)
            accept = request.headers.get("accept", "*/*").split(",")
            accepted = {part.partition(";")[0].strip().lower() for part in accept}
            if not accepted & acceptable:
                raise ProblemError("not-acceptable", f"responses are {' or '.join(media_types)}")
            content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            # Only JSON is accepted: a page of another site can make a browser send a form or text, but not JSON (CORS).
            if has_body and content_type != "application/json":
                raise ProblemError("unsupported-media-type")
            return await handle(_StrictRequest(request.scope, request.receive))

        return check_and_handle


def _run_in_thread(endpoint: Callable[..., Any], status: int) -> Callable[..., Coroutine[Any, Any, Response]]:
    """Return an endpoint that calls ``endpoint`` and serialises its return value, both in a thread."""

    @wraps(endpoint)
    async def run(call: Call, **arguments: Any) -> Response:
        submitted = perf_counter()

        def task() -> Response:
            call.queued = perf_counter() - submitted
            data = endpoint(call=call, **arguments)
            return data if isinstance(data, Response) else json_response(data, status)

        pool = call.service.readers if call.right is Right.READ else call.service.writers
        return await pool.run(task)

    return run


def _query_parameters(dependant: Dependant) -> Iterator[tuple[str, str]]:
    """Yield name and annotation of each query parameter of a route and its dependencies."""
    for field in dependant.query_params:
        yield field.alias, str(field.field_info.annotation)
    for dependency in dependant.dependencies:
        yield from _query_parameters(dependency)


def _check_parameters(request: Request, parameters: Mapping[str, str], repeatable: set[str]) -> None:
    for name in request.query_params:
        if name not in parameters:
            detail = f"is not a parameter of this endpoint; it has: {', '.join(parameters) or 'none'}"
        elif len(request.query_params.getlist(name)) > 1 and name not in repeatable:
            detail = "may not be repeated"
        else:
            continue
        invalid_field = {"field": f"query.{name}", "detail": detail}
        raise ProblemError("invalid", f"{name}: {detail}", invalid_fields=[invalid_field])


class _StrictRequest(Request):
    async def json(self) -> Any:
        body = await self.body()
        return await asyncio.to_thread(parse_json, body) if len(body) > LARGE_BODY else parse_json(body)


def parse_json(body: bytes) -> Any:
    """Parse a body as RFC 8259 requires (UTF-8, no lone surrogates, no NaN), at most ``MAX_DEPTH`` levels deep."""
    try:
        value = json.loads(body.decode(), parse_constant=_reject_constant)
        if _SURROGATE.search(body):
            json.dumps(value, ensure_ascii=False).encode()  # raises UnicodeEncodeError if a surrogate has no partner
    except UnicodeDecodeError:
        raise ProblemError("malformed", "the body is not UTF-8") from None
    except UnicodeEncodeError:
        raise ProblemError("malformed", "the body has a lone surrogate, which is not a character") from None
    except RecursionError:
        raise ProblemError("malformed", "the body is nested too deep") from None
    except json.JSONDecodeError as error:
        raise ProblemError("malformed", f"the body is not JSON: {error.msg} at character {error.pos}") from None
    except ValueError as error:  # NaN, or a number with more digits than Python reads
        raise ProblemError("malformed", f"the body is not JSON: {error}") from None
    may_be_deep = body.count(b"[") + body.count(b"{") > MAX_DEPTH  # a fast check, true for few bodies
    if may_be_deep and exceeds_max_depth(value):
        raise ProblemError("malformed", f"the body is nested deeper than {MAX_DEPTH} levels")
    return value


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number in JSON")
