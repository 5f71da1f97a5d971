"""Endpoints of stats, health and readiness."""

from __future__ import annotations

import asyncio
from threading import Event

import httpx
import pytest

from recollect import Memory, __version__
from recollect.server import KeyRing
from recollect.server.http.service import Service
from recollect.server.http.settings import Settings
from tests.server.http.conftest import bearer, problem
from tests.server.http.running import running, wait_until


def test_stats(client: httpx.Client, memory: Memory) -> None:
    memory.add("Elsewhere.", namespace="work")
    data = client.get("/v1/stats").json()
    assert data["notes"] == {"default": 3, "work": 1}
    assert data["version"] == __version__
    assert data["right"] == "admin"
    assert data["store"]["location"].endswith("memory.db")
    assert client.get("/v1/stats?namespace=work").json()["notes"] == {"work": 1}


@pytest.mark.parametrize(
    ("namespaces", "right", "notes", "store", "location"),
    [
        (["tea"], "admin", {"tea": 0}, False, False),
        (["work", "default"], "read", {"default": 3, "work": 1}, False, False),
        (["work"], "write", {"work": 1}, False, False),
        (None, "read", {"default": 3, "work": 1}, True, False),
        (None, "admin", {"default": 3, "work": 1}, True, True),
    ],
)
def test_stats_by_key(
    memory: Memory,
    ring: KeyRing,
    namespaces: list[str] | None,
    right: str,
    notes: dict[str, int],
    store: bool,
    location: bool,
) -> None:
    memory.add("Elsewhere.", namespace="work")
    _, key = ring.add("someone", namespaces, right)
    with running(memory, ring=ring) as server:
        data = server.client.get("/v1/stats", headers=bearer(key)).json()
        metrics = server.client.get("/metrics", headers=bearer(key)).status_code
    assert (data["notes"], data["right"]) == (notes, right)
    assert ("store" in data, "location" in data.get("store", {})) == (store, location)
    assert metrics == (200 if location else 403)


def test_health_and_readiness(memory: Memory) -> None:
    with running(memory) as server:
        assert server.client.get("/health").json() == {"status": "ok"}
        assert server.client.get("/ready").json() == {"status": "ok"}
        memory.close()
        response = server.client.get("/ready")
        assert problem(response, 503, "not-ready") == "the memory does not answer"
        assert response.headers["retry-after"] == "1"
        assert server.client.get("/health").status_code == 200


def test_not_ready_while_models_load(memory: Memory) -> None:
    with running(memory, warm=False) as server:
        service = server.app.state.service
        wait_until(lambda: server.client.get("/ready").status_code == 200)
        service._models_loaded = False
        assert problem(server.client.get("/ready"), 503, "not-ready") == "the models are being loaded"


def test_concurrent_readiness_requests_share_a_probe(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    proceed = Event()
    probes: list[int] = []

    def count() -> int:
        probes.append(1)
        proceed.wait(30)
        return 3

    async def probe() -> list[str]:
        service = Service(memory, Settings(), None, ())
        await service.load_models()
        monkeypatch.setattr(memory, "count", count, raising=False)
        tasks = [asyncio.create_task(service.not_ready_reason()) for _ in range(100)]
        await asyncio.sleep(0)  # all have started
        proceed.set()
        reasons = [*await asyncio.gather(*tasks), await service.not_ready_reason()]
        service.close()
        return reasons

    assert asyncio.run(probe()) == [""] * 101
    assert len(probes) == 2
