"""A memory of two namespaces with keys, and real servers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

import recollect
from recollect.server.auth import KeyRing
from recollect.server.http import Settings
from recollect.server.mcp import mcp_extension
from tests.server.http.running import running as serve

MODES = ("auto", "legacy")
"""Both eras of the protocol: without a handshake, and with one."""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[recollect.Memory]:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Prefers green tea.", id="t1", path="tea/green.md", title="Green", tags=["own"], namespace="tea")
        memory.add("Black tea is for guests.", id="t2", path="tea/black.md", summary="Guests.", namespace="tea")
        memory.add("The safe opens with marzipan.", id="s1", path="safe/word.md", title="Marzipan", namespace="safe")
        yield memory


class Keys(NamedTuple):
    ring: KeyRing
    tea: str
    """May write in ``tea``."""
    safe: str
    """May administer ``safe``."""
    reader: str
    """May read ``tea``."""
    everywhere: str


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    ring = KeyRing(tmp_path / "keys.json")
    grants: list[tuple[str, list[str] | None, str]] = [
        ("tea", ["tea"], "write"),
        ("safe", ["safe"], "admin"),
        ("reader", ["tea"], "read"),
        ("root", None, "admin"),
    ]
    return Keys(ring, *(ring.add(*grant)[1] for grant in grants))


@contextmanager
def running(memory: recollect.Memory, ring: KeyRing | None = None, **settings: Any) -> Iterator[str]:
    """Serve a memory on a free port, and yield the MCP address."""
    selected = Settings(require_keys=ring is not None, rate=0, **settings)
    with serve(memory, selected, ring=ring, extensions=[mcp_extension(memory, selected)]) as server:
        yield f"{server.url}/mcp"


@pytest.fixture
def served(memory: recollect.Memory, keys: Keys) -> Iterator[str]:
    """Serve the memory with keys, and return the address."""
    with running(memory, keys.ring) as url:
        yield url


@asynccontextmanager
async def connected(url: str, key: str | None = None, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client
