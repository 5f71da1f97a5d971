"""Requests of these tests have no API keys of the environment, and use no proxy."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("COHERE_API_KEY", "VOYAGE_API_KEY", "OPENAI_API_KEY", "RECOLLECT_RERANKER_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr("recollect.inference.http_api.BACKOFF", 0.001)
