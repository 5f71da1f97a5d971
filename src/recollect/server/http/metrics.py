"""Figures about a server in the format that Prometheus reads."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from recollect.server.http.crew import Crew
from recollect.server.http.finished import Finished

__all__ = ["MEDIA_TYPE", "Metrics"]

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_METHODS = ("GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS")
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Counts what a server does, in a registry of its own: several servers in a process do not meet."""

    def __init__(self) -> None:
        """Begin at nothing."""
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = Counter(
            "recollect_http_requests",
            "Requests, by method, route and status.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "recollect_http_request_seconds",
            "How long requests took, by route.",
            ("route",),
            registry=self._registry,
            buckets=_BUCKETS,
        )
        self._searches = Counter("recollect_searches", "Searches.", registry=self._registry)
        self._parts = Counter(
            "recollect_search_seconds",
            "Where the time of searches went: legs (words and meaning: a model and a store), context, graph, ranking, "
            "rerank, rest (of the search), server (all around it), waiting (for a thread).",
            ("part",),
            registry=self._registry,
        )

    def watch(self, **crews: Crew) -> None:
        """Show how much work is waiting or under way."""
        gauge = Gauge("recollect_busy", "Work that is waiting or under way.", ("crew",), registry=self._registry)
        for name, crew in crews.items():
            gauge.labels(name).set_function(lambda crew=crew: crew.busy)  # type: ignore[misc]  # mypy has no type for a lambda with a default

    def finished(self, request: Finished) -> None:
        """Count a request."""
        method = request.method if request.method in _METHODS else "other"  # else anybody could make up labels
        self._requests.labels(method, request.route, str(request.status)).inc()
        self._seconds.labels(request.route).observe(request.seconds)
        if not request.searches:
            return
        around = request.seconds
        for times in request.searches:
            self._searches.inc()
            self._parts.labels("waiting").inc(times.waited)
            self._parts.labels("legs").inc(times.legs)
            for part in ("context", "graph", "ranking", "rerank"):
                self._parts.labels(part).inc(times.parts[part])
            self._parts.labels("rest").inc(times.rest)
            around -= times.waited + times.total
        self._parts.labels("server").inc(max(0.0, around))

    def exposed(self) -> bytes:
        """Return all figures as text."""
        return generate_latest(self._registry)
