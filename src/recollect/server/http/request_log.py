"""Give each request an id, and pass a record of the request to observers: the log and the Prometheus metrics.

Log and metrics contain route templates and key ids, but no text or paths of notes, no queries and no keys.
"""

from __future__ import annotations

import json
import logging
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from secrets import token_hex
from time import perf_counter
from typing import Any, NamedTuple, TextIO, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect import arguments
from recollect.retrieval import Trace
from recollect.server.http.problems import problem_response, to_problem

_KNOWN_METHODS = ("GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS")
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the histogram of request durations, in seconds."""
_REQUEST_ID = re.compile(r"(?!rk_)[A-Za-z0-9._-]{1,64}")
"""A valid ``X-Request-Id``: up to 64 letters, digits and ``._-``, but not a key (``rk_``) in the wrong header."""


class SearchTimes(NamedTuple):
    """The times of a search in seconds: waiting for a thread, the whole search, and its parts by name."""

    queued: float
    total: float
    parts: Mapping[str, float]

    @classmethod
    def from_trace(cls, trace: Trace, queued: float) -> SearchTimes:
        """Convert the times of a trace, which are in milliseconds."""
        parts = {
            "legs": max(trace.bm25_elapsed, trace.vector_elapsed),  # the legs run at the same time
            "context": trace.context_elapsed,
            "graph": trace.graph_elapsed,
            "ranking": trace.fusion_elapsed,  # fusion and stages
            "rerank": trace.rerank_elapsed,
        }
        parts["other"] = max(0.0, trace.total_elapsed - sum(parts.values()))  # parsing, snippets, confidence
        return cls(queued, trace.total_elapsed / 1000, {name: elapsed / 1000 for name, elapsed in parts.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """What the observers learn about a completed request."""

    method: str
    route: str  # the template of the path, such as ``/v1/notes/{key}``; empty if no route matched
    status: int
    seconds: float
    request_id: str
    key_id: str = ""  # the id of the caller's key; empty if there is no key
    searches: list[SearchTimes] = field(default_factory=list)
    error: BaseException | None = None  # the unexpected error, if one was raised


RequestObserver: TypeAlias = Callable[[RequestRecord], None]


class RequestLogMiddleware:
    """Gives each request an id, passes its record to observers, and responds to unexpected errors."""

    def __init__(self, app: ASGIApp, observers: Sequence[RequestObserver]) -> None:
        self._app = app
        self._observers = observers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and record it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = perf_counter()
        sent_id = Headers(scope=scope).get("x-request-id", "")
        request_id = sent_id if _REQUEST_ID.fullmatch(sent_id) else token_hex(8)
        # HEAD runs the route of GET; uvicorn leaves out the body.
        inner_scope = {**scope, "method": "GET" if scope["method"] == "HEAD" else scope["method"]}
        state = inner_scope["state"] = {**scope.get("state", {}), "request_id": request_id, "searches": []}
        status = 0  # until the response starts
        unexpected_error: BaseException | None = None

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                response_headers = MutableHeaders(scope=message)
                response_headers["x-request-id"] = request_id
                response_headers.setdefault("cache-control", "no-store")
                response_headers["x-content-type-options"] = "nosniff"
                times = {"total": perf_counter() - started}
                if state["searches"]:
                    times["search"] = sum(search.total for search in state["searches"])
                    times["wait"] = sum(search.queued for search in state["searches"])
                response_headers["server-timing"] = ", ".join(
                    f"{name};dur={seconds * 1000:.1f}" for name, seconds in times.items()
                )
            await send(message)

        try:
            await self._app(inner_scope, receive, send_with_headers)
        except Exception as error:  # noqa: BLE001 (the client waits for a response)
            unexpected_error = error
            if not status:
                await problem_response(to_problem(error), request_id)(inner_scope, receive, send_with_headers)
        finally:
            route = inner_scope.get("route")
            caller = state.get("caller")
            record = RequestRecord(
                method=scope["method"],
                route=getattr(route, "path_format", getattr(route, "path", "")),
                status=status,
                seconds=perf_counter() - started,
                request_id=request_id,
                key_id=caller.id if caller else "",
                searches=state["searches"],
                error=unexpected_error,
            )
            for observer in self._observers:
                observer(record)


class Log:
    """Writes each event as a line of JSON, or of text for a terminal."""

    def __init__(self, stream: TextIO, *, as_json: bool = True, quiet: bool = False) -> None:
        """Write to ``stream``; if ``quiet``, write only warnings and errors."""
        self._stream = stream
        self._as_json = as_json
        self._quiet = quiet

    def write(self, event: str, *, level: str = "info", **fields: Any) -> None:
        """Write one line."""
        if self._quiet and level == "info":
            return
        now = arguments.now()
        if self._as_json:
            timestamp = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            line = json.dumps({"time": timestamp, "level": level, "event": event, **fields})
        else:
            line = " ".join([f"{now:%H:%M:%S}", level, event, *(f"{name}={value}" for name, value in fields.items())])
        self._stream.write(f"{line}\n")
        self._stream.flush()

    def record_request(self, record: RequestRecord) -> None:
        """Write a line about a request."""
        fields: dict[str, Any] = {
            "method": record.method,
            "route": record.route,
            "status": record.status,
            "ms": round(record.seconds * 1000, 2),
            "request_id": record.request_id,
        }
        if record.key_id:
            fields["key"] = record.key_id
        if record.error is not None:
            fields |= _error_fields(record.error)
        level = "error" if record.error is not None or record.status >= 500 else "info"
        if record.status == 503:  # the client is asked to try again later
            level = "warning"
        self.write("request", level=level, **fields)


class LibraryLogHandler(logging.Handler):
    """Passes the messages of libraries to the log; the levels of their loggers say which."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write the message of a record; if it has an exception, write only the exception's type and location."""
        error = record.exc_info[1] if record.exc_info else None
        details = {"message": record.getMessage()} if error is None else _error_fields(error)
        self._log.write("library", level=record.levelname.lower(), logger=record.name, **details)


def _error_fields(error: BaseException) -> dict[str, Any]:
    """Return the type and at most 8 frames (innermost first) of an error, but not its message, which may be private."""
    frames = traceback.extract_tb(error.__traceback__)
    locations = [f"{PurePath(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames)]
    return {"error": type(error).__name__, "at": locations[:8]}


class Metrics:
    """Prometheus metrics of one server, in their own registry, so that two servers in a process do not share them."""

    def __init__(self, **active_tasks: Callable[[], int]) -> None:
        """Register the metrics; ``active_tasks`` has for each thread pool a function that counts its tasks."""
        registry = self._registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        labels = ("method", "route", "status")
        self._requests = Counter("recollect_http_requests", "Requests.", labels, registry=registry)
        self._durations = Histogram(
            "recollect_http_request_seconds", "Request duration.", ("route",), registry=registry, buckets=_BUCKETS
        )
        self._searches = Counter("recollect_searches", "Searches.", registry=registry)
        self._search_seconds = Counter(
            "recollect_search_seconds",
            "Search time by part: legs (the slower of lexical and vector), context, graph, ranking, rerank, other "
            "(rest of the search), server (HTTP and JSON), queued (waiting for a thread).",
            ("part",),
            registry=registry,
        )
        gauge = Gauge("recollect_active_tasks", "Tasks running or queued.", ("pool",), registry=registry)
        for pool, count in active_tasks.items():
            gauge.labels(pool).set_function(count)

    def record_request(self, record: RequestRecord) -> None:
        """Count a request and its searches."""
        method = record.method if record.method in _KNOWN_METHODS else "other"  # so that a client cannot create labels
        self._requests.labels(method, record.route, str(record.status)).inc()
        self._durations.labels(record.route).observe(record.seconds)
        if not record.searches:
            return
        server_seconds = record.seconds  # the times of waiting and searching are subtracted below
        for times in record.searches:
            self._searches.inc()
            for part, seconds in (*times.parts.items(), ("queued", times.queued)):
                self._search_seconds.labels(part).inc(seconds)
            server_seconds -= times.queued + times.total
        self._search_seconds.labels("server").inc(max(0.0, server_seconds))

    def render(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(self._registry)
