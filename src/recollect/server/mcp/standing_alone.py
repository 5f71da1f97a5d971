"""The protocol over HTTP on a server of its own, which serves nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address

from starlette.applications import Starlette
from starlette.routing import Route

from recollect.errors import ArgumentError
from recollect.server.mcp.over_http import McpApp

__all__ = ["ADDRESS", "refuse_strangers", "standing_alone"]

ADDRESS = "/mcp"
"""Where clients find it."""


def standing_alone(mcp: McpApp) -> Starlette:
    """Return a whole app around ``mcp``, which it runs as long as it runs itself."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with mcp.lifespan():
            yield

    return Starlette(routes=[Route(ADDRESS, mcp)], lifespan=lifespan)


def refuse_strangers(host: str, *, has_keys: bool) -> None:
    """Raise an error if a server without keys would listen where others than this machine reach it.

    >>> refuse_strangers("127.0.0.1", has_keys=False)
    >>> refuse_strangers("0.0.0.0", has_keys=False)
    Traceback (most recent call last):
    recollect.errors.ArgumentError: --host: others could reach 0.0.0.0 and do everything there; make keys with
    recollect keys add and pass the file with --keys, or listen on 127.0.0.1
    """
    if not has_keys and not _is_loopback(host):
        raise ArgumentError(
            "--host",
            f"others could reach {host} and do everything there; make keys with recollect keys add and pass the file "
            "with --keys, or listen on 127.0.0.1",
        )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
