"""A connection may be silent for a while, not for ever, and there are only so many of them."""

from __future__ import annotations

import asyncio
import sys
from secrets import token_hex
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from recollect.server.http.problems import ProblemError, problem_response
from recollect.server.http.settings import Settings

__all__ = ["IDLE_SECONDS", "Connection", "connection_class"]

IDLE_SECONDS = 15
"""How long a connection may be kept that asks for nothing, and how long the head of a request may take at most."""


class Connection(H11Protocol):
    """One connection: it is closed where no request comes of it in time, and at once where there are too many."""

    most: ClassVar[int]
    """How many connections may be open."""
    seconds: ClassVar[float]
    """How long the head of a request may take."""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it so, too
        """Wait for a request, unless there are too many who do."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self.logger.warning("more than %d connections; new ones are refused", self.most)
            self._refuse("overloaded", "too many connections are open", {"retry-after": "1"})
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Go on with what has come, and see whether a request is still waited for."""
        super().handle_events()
        if not getattr(self.cycle, "response_complete", True):  # there is no cycle before the first request
            self._stop_waiting()
        elif self._deadline is None and self.timeout_keep_alive_task is None and not self.transport.is_closing():
            # The first bytes of another request: no more of them may put off the end.
            self._await_head()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 (it says less than is known)
        """Answer what is no request."""
        error = sys.exception()
        if isinstance(error, h11.RemoteProtocolError) and error.error_status_hint == 431:
            self._refuse("headers-too-large")
        else:
            self._refuse("malformed", "what came is not HTTP as RFC 9112 has it")

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: a client may offer another protocol, and a server may go on without it."""

    def _await_head(self) -> None:
        self._deadline = self.loop.call_later(self.seconds, self._too_slow)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        self._refuse("too-slow", f"the headers took longer than {self.seconds:g} seconds to arrive")

    def _refuse(self, kind: str, detail: str = "", headers: dict[str, str] | None = None) -> None:
        """Answer in the application's place, as it would, and close."""
        request_id = token_hex(8)
        more = {"connection": "close", "x-request-id": request_id, "cache-control": "no-store", **(headers or {})}
        answer = problem_response(ProblemError(kind, detail, headers=more), request_id)
        status = answer.status_code
        try:
            for event in (
                h11.Response(status_code=status, headers=answer.raw_headers, reason=STATUS_PHRASES[status]),
                h11.Data(data=bytes(answer.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        except h11.LocalProtocolError:  # an answer has been given, or begun: there is nothing left to say
            self.transport.abort()
        else:
            self.transport.close()


def connection_class(settings: Settings) -> type[Connection]:
    """Return what the connections of a server with these settings are.

    >>> made = connection_class(Settings(seconds=5, connections=10))
    >>> made.seconds, made.most
    (5, 10)
    """
    limits = {"most": settings.connections, "seconds": min(settings.seconds, IDLE_SECONDS)}
    return type("LimitedConnection", (Connection,), limits)
