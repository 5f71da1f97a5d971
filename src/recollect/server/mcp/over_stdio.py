"""The protocol over standard input and output, for a client that starts the server itself."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any, cast

import anyio
from mcp.server.stdio import stdio_server

from recollect.memory import Memory
from recollect.server.mcp.server import memory_server
from recollect.server.rights import EVERYONE, Caller

__all__ = ["serve_stdio"]

READ_BYTES = 65536


def serve_stdio(memory: Memory, caller: Caller = EVERYONE, *, descriptor: int = 0) -> None:
    """Serve until standard input ends or SIGTERM comes; call it in the main thread.

    While it serves, whatever else is printed goes to standard error: standard output holds nothing but the protocol.
    """
    asyncio.run(_serve(memory, caller, descriptor))


async def _serve(memory: Memory, caller: Caller, descriptor: int) -> None:
    server = memory_server(memory, caller)
    lines = cast("anyio.AsyncFile[str]", _Lines(descriptor))  # of a file, only its lines are asked for
    with anyio.CancelScope() as scope, _at_sigterm(asyncio.get_running_loop(), scope.cancel):
        async with stdio_server(stdin=lines) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())


class _Lines:
    """The lines of a descriptor. They are read by a thread that nobody waits for: a read of a pipe cannot be ended."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def __aiter__(self) -> AsyncIterator[str]:
        lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def tell(line: bytes | None) -> None:
            loop.call_soon_threadsafe(lines.put_nowait, line)

        Thread(target=_read, args=(self._descriptor, tell), daemon=True).start()
        while (line := await lines.get()) is not None:
            yield line.decode("utf-8", errors="replace")


def _read(descriptor: int, tell: Callable[[bytes | None], None]) -> None:
    """Tell each line, and ``None`` at the end."""
    rest = b""
    with suppress(RuntimeError):  # the loop is closed: there is nobody left to tell
        while chunk := _chunk(descriptor):
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                tell(line)
        if rest:
            tell(rest)
        tell(None)


def _chunk(descriptor: int) -> bytes:
    """Return what can be read, nothing at the end; not by a file of Python's, which a process must not leave in use."""
    try:
        return os.read(descriptor, READ_BYTES)
    except OSError:
        return b""


@contextmanager
def _at_sigterm(loop: asyncio.AbstractEventLoop, do: Callable[[], Any]) -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, lambda *_: loop.call_soon_threadsafe(do))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
