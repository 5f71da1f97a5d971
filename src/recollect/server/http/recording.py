"""Every request gets an id and leaves a record, whatever becomes of it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from secrets import token_hex

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.server.http.finished import Finished, Observer, SearchTimes
from recollect.server.http.problems import problem_of, problem_response

__all__ = ["Recording"]

_ID = re.compile(r"(?!rk_)[A-Za-z0-9._-]{1,64}")
"""What a request may be called; not a key, which somebody may have put in the wrong header."""


class Recording:
    """Tells observers of each request that is over, and answers where nothing else did."""

    def __init__(self, app: ASGIApp, observers: Sequence[Observer]) -> None:
        """Stand before ``app``, in front of everybody else."""
        self._app = app
        self._observers = observers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, and take down what became of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, clock = time.time_ns(), time.perf_counter()
        headers = Headers(scope=scope)
        asked_id = headers.get("x-request-id", "")
        request_id = asked_id if _ID.fullmatch(asked_id) else token_hex(8)
        # What HEAD is answered with is what GET would be; the server leaves out the body.
        inner = {**scope, "method": "GET" if scope["method"] == "HEAD" else scope["method"]}
        state = inner["state"] = {**scope.get("state", {}), "request_id": request_id, "searches": []}
        status = 0
        fault: BaseException | None = None

        async def tell(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                told = MutableHeaders(scope=message)
                told["x-request-id"] = request_id
                told.setdefault("cache-control", "no-store")
                told["x-content-type-options"] = "nosniff"
                told["server-timing"] = _timing(time.perf_counter() - clock, state["searches"])
            await send(message)

        try:
            await self._app(inner, receive, tell)
        except Exception as error:  # noqa: BLE001 (whatever it is, somebody waits for an answer)
            fault = error
            if not status:
                await problem_response(problem_of(error), request_id)(inner, receive, tell)
        finally:
            route = inner.get("route")
            caller = state.get("caller")
            finished = Finished(
                method=scope["method"],
                route=getattr(route, "path_format", getattr(route, "path", "")),
                status=status,
                started=started,
                seconds=time.perf_counter() - clock,
                request_id=request_id,
                key_id=caller.id if caller else "",
                parent=headers.get("traceparent", ""),
                searches=state["searches"],
                fault=fault,
            )
            for observer in self._observers:
                observer(finished)


def _timing(seconds: float, searches: Sequence[SearchTimes]) -> str:
    """Return where the time of an answer went, as browsers show it, in milliseconds."""
    spent = {"total": seconds}
    if searches:
        spent["search"] = sum(times.total for times in searches)
        spent["wait"] = sum(times.waited for times in searches)
    return ", ".join(f"{name};dur={took * 1000:.1f}" for name, took in spent.items())
