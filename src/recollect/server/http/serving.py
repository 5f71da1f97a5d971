"""A memory is served until somebody says stop; what is under way then is finished first."""

from __future__ import annotations

import errno
import logging
import os
import socket
import stat
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from recollect.errors import ArgumentError, KeyFileError, RecollectError
from recollect.memory import Memory
from recollect.server.http.app import Extension, create_app
from recollect.server.http.connections import IDLE_SECONDS, connection_class
from recollect.server.http.finished import Observer
from recollect.server.http.limits import HEADER_BYTES
from recollect.server.http.logs import Log
from recollect.server.http.settings import Settings, is_loopback
from recollect.server.keys import KeyRing

__all__ = ["serve"]

WAITING_CONNECTIONS = 1024
"""How many connections the system keeps until they are taken up."""


def serve(
    memory: Memory,
    settings: Settings,
    *,
    log: Log,
    ring: KeyRing | None = None,
    observers: Sequence[Observer] = (),
    extensions: Sequence[Extension] = (),
    api: bool = True,
    listening: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve a memory until the process is told to stop (Ctrl-C, SIGTERM), and finish what is under way.

    ``listening`` is told the address when the server is ready. The memory stays the caller's to close. Raise
    ``RecollectError`` if it cannot begin, or if a model cannot be loaded.
    """
    check_keys(settings, ring)
    with closing(_bound(settings)) as listener:
        place = listener.getsockname()
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"http://{host}:{place[1]}"
        failure: list[BaseException] = []

        async def ready(problem: BaseException | None) -> None:
            if problem is None:
                listening(address)
            else:
                failure.append(problem)
                server.should_exit = True

        app = create_app(
            memory,
            replace(settings, keyed=ring is not None),
            ring=ring,
            observers=(log.finished, *observers),
            extensions=extensions,
            api=api,
            ready=ready,
        )
        _let_log(log)
        if ring is not None:
            _warn_of_readers(ring, log)
        server = Server(configuration(app, settings))
        server.run(sockets=[listener])
    if failure:
        raise RecollectError(f"the server could not be made ready: {failure[0]}") from failure[0]


def check_keys(settings: Settings, ring: KeyRing | None) -> None:
    """Raise unless whoever can reach the server is known, or is on this machine."""
    if ring is None and not is_loopback(settings.host):
        raise ArgumentError(
            "keys", f"{settings.host} can be reached by others, so keys are needed; recollect keys add makes them"
        )
    if ring is not None and not ring.keys():
        raise KeyFileError(f"there is no key in {ring.path}; recollect keys add makes one")


def configuration(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    """Return how an application is served."""
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        http=connection_class(settings),
        # So many are taken up at once, before the first of them is counted: few, or they would use up the files.
        backlog=max(1, settings.connections // 8),
        h11_max_incomplete_event_size=HEADER_BYTES,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=round(settings.shutdown_seconds),
    )


def _warn_of_readers(ring: KeyRing, log: Log) -> None:
    """Say so if others than its owner may read or change the file of keys."""
    mode = stat.S_IMODE(ring.path.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        told = f"others than its owner may open it (mode {mode:04o}); chmod 600 {ring.path}"
        log.write("keys", level="warning", message=told)


class Server(uvicorn.Server):
    """Stops at a signal, and leaves the process to go on: whoever called it has things to close."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and let more wait than are taken up at once."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(WAITING_CONNECTIONS)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop."""
        super().handle_exit(sig, frame)
        self._captured_signals.clear()


def _bound(settings: Settings) -> socket.socket:
    """Return a socket that has its address already, so that what is wrong with that is told at once."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise ArgumentError("host", f"{settings.host!r} is no address: {error.strerror}") from None
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError as error:
        made.close()
        where = f"port {settings.port} of {settings.host}"
        if error.errno == errno.EADDRINUSE:
            raise RecollectError(f"{where} is in use; stop what uses it, or choose another with --port") from None
        raise RecollectError(f"{where} cannot be used: {error.strerror}") from None
    return made


def _let_log(log: Log) -> None:
    for name in ("uvicorn.error", "asyncio", "mcp", "recollect"):
        logger = logging.getLogger(name)
        logger.handlers = [log.handler()]
        logger.propagate = False
        logger.setLevel(logging.WARNING)
