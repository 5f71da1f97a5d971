"""A memory of a few notes, a server over it, and keys for some of its namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import recollect
from recollect import Memory
from recollect.server import KeyRing
from tests.server.http.running import running


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with recollect.open(tmp_path / "memory.db", embedder=None) as opened:
        opened.add("Prefers green tea.", id="n1", path="memory/tea.md", title="Tea", tags=["drink"])
        opened.add("Drank coffee, then tea.", id="n2", path="memory/coffee.md", session="s1", position=1)
        opened.add("A bicycle with new brakes.", id="n3", session="s1", position=2)
        yield opened


@pytest.fixture
def client(memory: Memory) -> Iterator[httpx.Client]:
    """Return a client of a server without keys."""
    with running(memory) as server:
        yield server.client


@pytest.fixture
def ring(tmp_path: Path) -> KeyRing:
    return KeyRing(tmp_path / "keys.json")


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def problem(response: httpx.Response, status: int, kind: str) -> str:
    """Check that a response is a problem of this kind, and return its detail."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    data = response.json()
    assert (data["type"], data["status"]) == (f"urn:recollect:{kind}", status)
    assert data["request_id"] == response.headers["x-request-id"]
    return str(data["detail"])
