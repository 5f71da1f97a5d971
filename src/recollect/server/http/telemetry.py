"""Spans for OpenTelemetry, made when a request is over, of times that were measured. They hold nobody's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect import __version__
from recollect.errors import RecollectError
from recollect.server.http.finished import Finished, SearchTimes

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

__all__ = ["Spans", "exporting"]


class Spans:
    """Makes a span of each request, and below it one of each search and of each of its parts."""

    def __init__(self, provider: TracerProvider) -> None:
        """Make spans with what ``provider`` does with them."""
        self._provider = provider
        self._tracer = provider.get_tracer("recollect", __version__)

    def finished(self, request: Finished) -> None:
        """Make the spans of a request."""
        from opentelemetry.trace import SpanKind, Status, StatusCode  # noqa: PLC0415 (an extra)
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415 (an extra)

        context = TraceContextTextMapPropagator().extract({"traceparent": request.parent})
        attributes: dict[str, str | int] = {
            "http.request.method": request.method,
            "http.route": request.route,
            "http.response.status_code": request.status,
            "recollect.request_id": request.request_id,
        }
        if request.key_id:
            attributes["recollect.key"] = request.key_id
        span = self._tracer.start_span(
            f"{request.method} {request.route}".strip(),
            context,
            SpanKind.SERVER,
            attributes=attributes,
            start_time=request.started,
        )
        if request.status >= 500:
            span.set_status(Status(StatusCode.ERROR))
        ended = request.started + _nanoseconds(request.seconds)
        last = ended
        for times in reversed(request.searches):
            last = self._search(span, times, last)
        span.end(ended)

    def close(self) -> None:
        """Send what has not been sent."""
        self._provider.shutdown()

    def _search(self, above: Span, times: SearchTimes, ended: int) -> int:
        """Make the spans of a search that ended about then, and return when it began.

        How long each part took is measured; when it began is what their order says. The words and the meaning begin
        together: a query is embedded while its words are looked for.
        """
        from opentelemetry.trace import set_span_in_context  # noqa: PLC0415 (an extra)

        begun = ended - _nanoseconds(times.total)
        span = self._tracer.start_span("search", set_span_in_context(above), start_time=begun)
        span.set_attribute("recollect.waited_ms", round(times.waited * 1000, 3))
        inside = set_span_in_context(span)
        at = begun
        for part, took in times.parts.items():
            if not took:
                continue
            start = begun if part in ("words", "meaning") else at
            end = start + _nanoseconds(took)
            self._tracer.start_span(part, inside, start_time=start).end(end)
            at = max(at, end)
        span.end(ended)
        return begun


def exporting() -> Spans:
    """Return spans that are sent to a collector by OTLP over HTTP, as the environment's ``OTEL_…`` variables say."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 (an extra)
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 (an extra)
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 (an extra)
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 (an extra)
    except ImportError:
        raise RecollectError("spans need OpenTelemetry; pip install 'recollectdb[telemetry]'") from None
    provider = TracerProvider(resource=Resource.create({"service.name": "recollect", "service.version": __version__}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Spans(provider)


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)
