from __future__ import annotations

import httpx
import pytest

from recollect import Memory
from recollect.server import KeyRing
from recollect.server.http.settings import Settings
from tests.server.http.conftest import bearer, problem
from tests.server.http.running import running, until


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:7700", "127.0.0.1:1", "127.1.2.3", "[::1]", "[::1]:7700"])
def test_an_open_server_answers_to_its_own_machine(client: httpx.Client, host: str) -> None:
    assert client.get("/v1/stats", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7700", "127.0.0.1.evil.example", "192.168.1.1", "[::2]", ""]
)
def test_and_to_no_other_name(client: httpx.Client, host: str) -> None:
    """A page of another site can let its own name lead here."""
    problem(client.get("/v1/stats", headers={"Host": host}), 421, "misdirected")
    problem(client.get("/health", headers={"Host": host}), 421, "misdirected")


def test_with_keys_a_server_has_any_name(memory: Memory, ring: KeyRing) -> None:
    _, key = ring.add("x", None, "read")
    with running(memory, ring=ring) as server:
        answer = server.client.get("/v1/stats", headers={**bearer(key), "Host": "memory.example"})
        assert answer.status_code == 200


@pytest.mark.parametrize(
    "header", ["Bearer KEY", "bearer KEY", "BEARER  KEY ", "Basic KEY", "KEY", "Bearer", "Bearer KEYx"]
)
def test_how_a_key_is_shown(memory: Memory, ring: KeyRing, header: str) -> None:
    _, key = ring.add("x", None, "read")
    with running(memory, ring=ring) as server:
        answer = server.client.get("/v1/stats", headers={"Authorization": header.replace("KEY", key).strip()})
    right = header.lower().startswith("bearer ") and "KEYx" not in header
    assert answer.status_code == (200 if right else 401)


def test_a_revoked_key_is_refused_from_the_next_request_on(memory: Memory, ring: KeyRing) -> None:
    key, text = ring.add("x", None, "read")
    ring.add("y", None, "read")
    with running(memory, ring=ring) as server:
        assert server.client.get("/v1/stats", headers=bearer(text)).status_code == 200
        KeyRing(ring.path).revoke(key.id)
        assert server.client.get("/v1/stats", headers=bearer(text)).status_code == 401


def test_keys_that_cannot_be_read_let_nobody_in(memory: Memory, ring: KeyRing) -> None:
    _, text = ring.add("x", None, "read")
    with running(memory, ring=ring) as server:
        ring.path.write_text("tea")
        detail = problem(server.client.get("/v1/stats", headers=bearer(text)), 503, "keys-unreadable")
        assert str(ring.path) not in detail
        assert problem(server.client.get("/ready"), 503, "not-ready") == "the keys cannot be read"
        assert server.client.get("/health").status_code == 200


def test_health_needs_no_key(memory: Memory, ring: KeyRing) -> None:
    ring.add("x", None, "read")
    with running(memory, ring=ring) as server:
        for path in ("/health", "/ready", "/openapi.json"):
            assert server.client.get(path).status_code == 200


def test_who_asks_too_often_waits(memory: Memory, ring: KeyRing) -> None:
    (_, one), (_, other) = ring.add("one", None, "read"), ring.add("other", None, "read")
    slow = Settings(keyed=True, rate=0.01, burst=3)
    with running(memory, slow, ring=ring, warm=False) as server:
        answers: list[httpx.Response] = []
        for key in (one, other):
            answers = [server.client.get("/v1/presets", headers=bearer(key)) for _ in range(4)]
            assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        problem(answers[-1], 429, "too-many-requests")
        assert 90 <= int(answers[-1].headers["retry-after"]) <= 100
        # Who tries keys has no endless supply of tries.
        tries = [server.client.get("/v1/presets", headers=bearer(f"rk_{number}_x")) for number in range(4)]
        assert [answer.status_code for answer in tries] == [401, 401, 401, 429]
        # And makes the server look neither dead nor busy.
        assert {server.client.get("/health", headers=headers).status_code for headers in ({}, bearer("rk_0_x"))} == {
            200
        }
        assert problem(server.client.get("/openapi.json"), 429, "too-many-requests")
        until(lambda: server.client.get("/ready").status_code == 200)
