"""Run the HTTP server until it is stopped: sockets, connection limits, logging and graceful shutdown."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from secrets import token_hex
from types import FrameType
from typing import ClassVar

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from recollect.errors import ArgumentError, KeyFileError, RecollectError
from recollect.memory import Memory
from recollect.server.auth import KeyRing
from recollect.server.http.app import Extension, create_app
from recollect.server.http.middleware import MAX_HEADER_BYTES
from recollect.server.http.problems import ProblemError, problem_response
from recollect.server.http.request_log import LibraryLogHandler, Log
from recollect.server.http.settings import Settings, is_loopback

IDLE_TIMEOUT = 15
"""Seconds until an idle connection is closed; the headers of a request must also arrive within this time."""
BACKLOG = 1024  # how many connections may wait in the listen queue of the socket


def serve(
    memory: Memory,
    settings: Settings,
    *,
    log: Log,
    ring: KeyRing | None = None,
    extensions: Sequence[Extension] = (),
    api: bool = True,
    on_ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve a memory until Ctrl-C or SIGTERM, then finish running requests. The caller closes the memory.

    ``on_ready`` gets the address when the server is ready. Raise ``RecollectError`` if the server cannot start or a
    model cannot be loaded.
    """
    check_keys(settings, ring)
    with closing(bind(settings)) as listener:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"http://{host}:{listener.getsockname()[1]}"
        failures: list[BaseException] = []

        def on_models_loaded(error: BaseException | None) -> None:
            if error is None:
                on_ready(address)
            else:
                failures.append(error)
                server.should_exit = True

        app = create_app(
            memory,
            replace(settings, require_keys=ring is not None),
            ring=ring,
            observers=[log.record_request],
            extensions=extensions,
            api=api,
            on_models_loaded=on_models_loaded,
        )
        for name in ("uvicorn.error", "asyncio", "mcp", "recollect"):
            logger = logging.getLogger(name)
            logger.handlers = [LibraryLogHandler(log)]
            logger.propagate = False
            logger.setLevel(logging.WARNING)
        mode = 0 if ring is None else stat.S_IMODE(ring.path.stat().st_mode)
        if ring is not None and os.name == "posix" and mode & 0o077:  # a permission of the group or of others
            message = f"other users may open the key file (mode {mode:04o}); run chmod 600 {ring.path}"
            log.write("keys", level="warning", message=message)
        server = Server(uvicorn_config(app, settings))
        server.run(sockets=[listener])
    if failures:
        raise RecollectError(f"the server could not start: {failures[0]}") from failures[0]


def check_keys(settings: Settings, ring: KeyRing | None) -> None:
    """Raise an error if other machines could reach the server without a key, or if the key file has no keys."""
    if ring is None and not is_loopback(settings.host):
        raise ArgumentError(
            "keys", f"are required, since other machines can reach {settings.host}; create them with recollect keys add"
        )
    if ring is not None and not ring.keys():
        raise KeyFileError(f"{ring.path} has no keys; create one with recollect keys add")


def uvicorn_config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    """Return the configuration of uvicorn."""
    limits = {"max_connections": settings.max_connections, "header_timeout": min(settings.timeout, IDLE_TIMEOUT)}
    connection_class = type("ConfiguredConnection", (LimitedConnection,), limits)  # uvicorn calls it without limits
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        http=connection_class,
        # asyncio accepts this many connections before max_connections is checked; more could exhaust file descriptors.
        backlog=max(1, settings.max_connections // 8),
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        timeout_keep_alive=IDLE_TIMEOUT,
        timeout_graceful_shutdown=round(settings.shutdown_timeout),
    )


class Server(uvicorn.Server):
    """A uvicorn server that stops at a signal without ending the process, so that the caller can close the memory."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Set the real listen queue: uvicorn's ``backlog`` only bounds how many connections are accepted at once."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(BACKLOG)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin the shutdown, without raising the signal again at its end."""
        super().handle_exit(sig, frame)
        self._captured_signals.clear()


def bind(settings: Settings) -> socket.socket:
    """Return a socket that is bound to the address, so that errors are raised before the server starts."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise ArgumentError("host", f"{settings.host!r} is not an address: {error.strerror}") from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        port = f"port {settings.port} of {settings.host}"
        if error.errno == errno.EADDRINUSE:
            raise RecollectError(f"{port} is in use; stop the other program or choose another --port") from None
        raise RecollectError(f"{port} cannot be used: {error.strerror}") from None
    return listener


class LimitedConnection(H11Protocol):
    """A connection that is rejected if too many are open or the headers of a request take too long."""

    max_connections: ClassVar[int]
    header_timeout: ClassVar[float]
    _header_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # declared so by uvicorn
        """Start the timer for the headers, or reject the connection if too many are open."""
        super().connection_made(transport)
        if len(self.connections) > self.max_connections:
            self.logger.warning("more than %d connections; new ones are rejected", self.max_connections)
            self._reject("overloaded", "too many connections are open")
        else:
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle received bytes, and start or stop the timer for the headers."""
        super().handle_events()
        # uvicorn's cycle is the current request with its response. It is None before the first request. The keep-alive
        # task exists while the connection is idle between two requests.
        is_responding = not getattr(self.cycle, "response_complete", True)
        if is_responding:
            self._stop_timer()
        elif self._header_timer is None and self.timeout_keep_alive_task is None and not self.transport.is_closing():
            self._start_timer()  # at the first bytes of the next request; later bytes do not extend the deadline

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 (the exception says more)
        """Respond to bytes that are not HTTP, or to headers that are too long."""
        error = sys.exception()
        if isinstance(error, h11.RemoteProtocolError) and error.error_status_hint == 431:
            self._reject("headers-too-large")
        else:
            self._reject("malformed", "the request is not HTTP/1.1 (RFC 9112)")

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: a client may offer another protocol, and a server may ignore the offer."""

    def _start_timer(self) -> None:
        message = f"the headers took longer than {self.header_timeout:g} seconds to arrive"
        self._header_timer = self.loop.call_later(self.header_timeout, self._reject, "too-slow", message)

    def _stop_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _reject(self, kind: str, detail: str = "") -> None:
        """Respond with a problem in the format of the application, and close the connection."""
        request_id = token_hex(8)
        headers = {"connection": "close", "x-request-id": request_id, "cache-control": "no-store"}
        response = problem_response(ProblemError(kind, detail, headers=headers), request_id)
        status = response.status_code
        try:
            for event in (
                h11.Response(status_code=status, headers=response.raw_headers, reason=STATUS_PHRASES[status]),
                h11.Data(data=bytes(response.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        except h11.LocalProtocolError:  # a response has already started
            self.transport.abort()
        else:
            self.transport.close()
