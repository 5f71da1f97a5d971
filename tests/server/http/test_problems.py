"""Errors of the library have a status, and their messages reveal nothing private."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from recollect import (
    ArgumentError,
    EmbedderError,
    IngestError,
    Memory,
    RerankerError,
    StoreBusyError,
    StoreDamagedError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
)
from tests.server.http.conftest import problem


@pytest.mark.parametrize(
    ("error", "status", "kind", "detail"),
    [
        (ArgumentError("path", "is taken"), 422, "invalid", "path: is taken"),
        (IngestError("tea.md: odd"), 422, "invalid", "tea.md: odd"),
        (StoreBusyError("/home/m.db is busy"), 503, "store-busy", "The memory is busy"),
        (StoreUnavailableError("db is down"), 503, "store-unavailable", "The memory cannot be reached"),
        (StoreFullError("/home/m.db is full"), 507, "store-full", "The disk is full"),
        (StoreReadOnlyError("/home/m.db is read-only"), 409, "read-only", "The memory is read-only"),
        (StoreDamagedError("/home/m.db is damaged"), 500, "internal", "The server failed"),
        (EmbedderError("http://inside/ said no"), 503, "model-unavailable", "A model does not answer"),
        (RerankerError("http://inside/ said no"), 503, "model-unavailable", "A model does not answer"),
        (KeyError("note"), 500, "internal", "The server failed"),
    ],
)
def test_status_of_errors(
    client: httpx.Client,
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    status: int,
    kind: str,
    detail: str,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(memory, "add", fail, raising=False)
    response = client.post("/v1/notes", json={"content": "x"})
    assert problem(response, status, kind) == detail
    assert ("retry-after" in response.headers) == (status == 503)


def test_all_invalid_values_are_listed(client: httpx.Client) -> None:
    response = client.post("/v1/search", json={"query": 3, "top_k": "x", "mode": "odd"})
    assert problem(response, 422, "invalid") == "body.query: Input should be a valid string (and 2 more)"
    assert [error["field"] for error in response.json()["errors"]] == ["body.query", "body.top_k", "body.mode"]
