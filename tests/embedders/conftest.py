"""Models that these tests build are cached in a temporary folder for one run."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.embedders.server import EmbeddingServer


@pytest.fixture(scope="session", autouse=True)
def cache_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("RECOLLECT_CACHE")
    os.environ["RECOLLECT_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["RECOLLECT_CACHE"]
    else:
        os.environ["RECOLLECT_CACHE"] = before


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr("recollect.inference.http_api.BACKOFF", 0.001)
    with EmbeddingServer() as running:
        yield running
