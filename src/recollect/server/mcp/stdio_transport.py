"""MCP over standard input and output, for a client that starts the server."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from threading import Thread
from typing import cast

import anyio
from mcp.server.stdio import stdio_server

from recollect.memory import Memory
from recollect.server.auth import EVERYONE, Caller
from recollect.server.mcp.server import memory_server

READ_BYTES = 65536


def serve_stdio(memory: Memory, caller: Caller = EVERYONE, *, descriptor: int = 0) -> None:
    """Serve until standard input ends or SIGTERM arrives; call it in the main thread.

    Meanwhile, other output is redirected to standard error: standard output has the protocol only.
    """
    asyncio.run(_serve(memory, caller, descriptor))


async def _serve(memory: Memory, caller: Caller, descriptor: int) -> None:
    server = memory_server(memory, caller)
    lines = cast("anyio.AsyncFile[str]", _lines(descriptor))  # the SDK only iterates over it
    loop = asyncio.get_running_loop()
    with anyio.CancelScope() as scope:
        previous = signal.signal(signal.SIGTERM, lambda *_: loop.call_soon_threadsafe(scope.cancel))
        try:
            async with stdio_server(stdin=lines) as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
        finally:
            signal.signal(signal.SIGTERM, previous)


async def _lines(descriptor: int) -> AsyncIterator[str]:
    """Yield lines that a daemon thread reads: a blocking read cannot be cancelled."""
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def put(line: bytes | None) -> None:
        loop.call_soon_threadsafe(lines.put_nowait, line)

    Thread(target=_read_lines, args=(descriptor, put), daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line.decode("utf-8", errors="replace")


def _read_lines(descriptor: int, put: Callable[[bytes | None], None]) -> None:
    """Pass each line to ``put``, and ``None`` at the end.

    A Python file object would still be locked when the process exits.
    """
    rest = b""
    with suppress(RuntimeError):  # the loop is closed
        with suppress(OSError):
            while chunk := os.read(descriptor, READ_BYTES):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    put(line)
        if rest:
            put(rest)
        put(None)
