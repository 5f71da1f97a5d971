"""Prometheus metrics and OpenTelemetry spans, made from request records."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from recollect import __version__
from recollect.errors import RecollectError
from recollect.server.http.request_log import RequestRecord, SearchTimes

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

METRICS_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_METHODS = ("GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS")
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Prometheus metrics in a registry of their own, so that servers of one process do not share them."""

    def __init__(self, **active_tasks: Callable[[], int]) -> None:
        """Register the metrics; ``active_tasks`` returns the number of tasks of each thread pool."""
        registry = self._registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        labels = ("method", "route", "status")
        self._requests = Counter("recollect_http_requests", "Requests.", labels, registry=registry)
        self._seconds = Histogram(
            "recollect_http_request_seconds", "Request duration.", ("route",), registry=registry, buckets=_BUCKETS
        )
        self._searches = Counter("recollect_searches", "Searches.", registry=registry)
        self._parts = Counter(
            "recollect_search_seconds",
            "Search time by part: legs (the slower of lexical and vector), context, graph, ranking, rerank, other "
            "(rest of the search), server (HTTP and JSON), queued (waiting for a thread).",
            ("part",),
            registry=registry,
        )
        active = Gauge("recollect_active_tasks", "Tasks running or queued.", ("pool",), registry=registry)
        for pool, count in active_tasks.items():
            active.labels(pool).set_function(count)

    def record_request(self, record: RequestRecord) -> None:
        """Count a request and its searches."""
        method = record.method if record.method in _METHODS else "other"  # else clients could make up labels
        self._requests.labels(method, record.route, str(record.status)).inc()
        self._seconds.labels(record.route).observe(record.seconds)
        if not record.searches:
            return
        outside = record.seconds
        for times in record.searches:
            self._searches.inc()
            seconds = {"queued": times.queued, "legs": times.legs, "other": times.other}
            seconds |= {part: times.parts[part] for part in ("context", "graph", "ranking", "rerank")}
            for part, value in seconds.items():
                self._parts.labels(part).inc(value)
            outside -= times.queued + times.total
        self._parts.labels("server").inc(max(0.0, outside))

    def render(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(self._registry)


class Spans:
    """Makes a span of each request, with child spans of its searches and their parts."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("recollect", __version__)

    def record_request(self, record: RequestRecord) -> None:
        """Make the spans of a request."""
        from opentelemetry.trace import SpanKind, Status, StatusCode  # noqa: PLC0415 (an extra)
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415 (an extra)

        attributes: dict[str, str | int] = {
            "http.request.method": record.method,
            "http.route": record.route,
            "http.response.status_code": record.status,
            "recollect.request_id": record.request_id,
        }
        if record.key_id:
            attributes["recollect.key"] = record.key_id
        span = self._tracer.start_span(
            f"{record.method} {record.route}".strip(),
            TraceContextTextMapPropagator().extract({"traceparent": record.traceparent}),
            SpanKind.SERVER,
            attributes=attributes,
            start_time=record.started,
        )
        if record.status >= 500:
            span.set_status(Status(StatusCode.ERROR))
        ended = record.started + _nanoseconds(record.seconds)
        search_end = ended
        for times in reversed(record.searches):
            search_end = self._search_span(span, times, search_end)
        span.end(ended)

    def close(self) -> None:
        """Send pending spans."""
        self._provider.shutdown()

    def _search_span(self, parent: Span, times: SearchTimes, ended: int) -> int:
        """Make the spans of a search and return when it started.

        Durations are measured; start times follow from the order of the parts. Both legs start together.
        """
        from opentelemetry.trace import set_span_in_context  # noqa: PLC0415 (an extra)

        started = ended - _nanoseconds(times.total)
        span = self._tracer.start_span("search", set_span_in_context(parent), start_time=started)
        span.set_attribute("recollect.queued_ms", round(times.queued * 1000, 3))
        context = set_span_in_context(span)
        last_end = started
        for part, seconds in times.parts.items():
            if not seconds:
                continue
            start = started if part in ("lexical", "vector") else last_end
            end = start + _nanoseconds(seconds)
            self._tracer.start_span(part, context, start_time=start).end(end)
            last_end = max(last_end, end)
        span.end(ended)
        return started


def otlp_spans() -> Spans:
    """Return spans that are exported by OTLP over HTTP; ``OTEL_…`` environment variables configure it."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 (an extra)
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 (an extra)
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 (an extra)
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 (an extra)
    except ImportError:
        raise RecollectError("--telemetry needs OpenTelemetry; pip install 'recollectdb[telemetry]'") from None
    provider = TracerProvider(resource=Resource.create({"service.name": "recollect", "service.version": __version__}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Spans(provider)


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)
