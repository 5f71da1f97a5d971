"""The embedder of a served memory: downloaded, loaded and used in the background."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import numpy as np
import pytest

import recollect
from recollect import Memory
from recollect.embedders import EmbedderChoice, FunctionEmbedder
from recollect.inference.catalogue import CatalogueEntry
from recollect.inference.weights import find_weights, models_folder
from recollect.server import preparation
from recollect.server.mcp import mcp_extension
from recollect.server.preparation import EmbedderPreparation
from tests.inference.hub import Failures, HubServer, local_hub, use_only_embedder, write_embedder
from tests.server.http.running import running, wait_until

DOWNLOADING = "tiny is being downloaded; search is lexical until then"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with local_hub(monkeypatch, tmp_path) as running:
        yield running


@pytest.fixture
def entry(hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CatalogueEntry:
    """Put a tiny model on the hub, as the only model of the catalogue."""
    entry = write_embedder(tmp_path / "upstream")
    hub.add_folder(tmp_path / "upstream")
    use_only_embedder(monkeypatch, entry)
    return entry


@pytest.fixture
def memory(entry: CatalogueEntry, tmp_path: Path) -> Iterator[Memory]:
    """Open an empty memory; its model, the tiny one, is not installed."""
    assert find_weights(entry) is None
    with recollect.open(tmp_path / "memory.db") as memory:
        yield memory


@pytest.fixture
def lexical_memory(entry: CatalogueEntry, tmp_path: Path) -> Iterator[Memory]:
    """Open a memory with a note that has no vector."""
    assert find_weights(entry) is None
    with recollect.open(tmp_path / "lexical.db", embedder=None) as memory:
        memory.add("green tea")
    with recollect.open(tmp_path / "lexical.db") as memory:
        yield memory


@pytest.fixture
def embedded_memory(entry: CatalogueEntry, tmp_path: Path) -> Iterator[Memory]:
    """Open a memory with a vector of the tiny model, which is not installed."""
    tiny = FunctionEmbedder(lambda texts: np.ones((len(texts), 3)), name=entry.model_name)
    with recollect.open(tmp_path / "embedded.db", embedder=tiny) as memory:
        memory.add("green tea")
    with pytest.warns(recollect.RecollectWarning):
        memory = recollect.open(tmp_path / "embedded.db")
    with memory:
        yield memory


def prepare(memory: Memory, **options: bool) -> EmbedderPreparation:
    prepared = EmbedderPreparation(memory, **{"download": True, "embed": True, **options})
    prepared.start()
    return prepared


def model_of(memory: Memory) -> str:
    return memory.embedder.name if memory.embedder else ""


def test_search_is_lexical_until_the_model_is_downloaded(
    memory: Memory, hub: HubServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="recollect.server.preparation")
    hub.failures = Failures(content_after=Event())
    memory_of_mcp = memory.with_secrets("refuse")
    prepared = prepare(memory)
    with running(memory, extensions=[mcp_extension(memory_of_mcp)]) as server:
        assert server.client.post("/v1/notes", json={"content": "green tea"}).status_code == 201
        memory_of_mcp.add("black tea")
        found = server.client.post("/v1/search", json={"query": "green"}).json()
        assert found["warnings"] == [DOWNLOADING]
        assert len(found["hits"]) == 1
        assert call(server.url, "recall", query="green")["warnings"] == [DOWNLOADING]
        assert call(server.url, "stats")["embedder"] == f"no embedder: {DOWNLOADING}"
        assert server.client.get("/v1/stats").json()["embedder"] == f"no embedder: {DOWNLOADING}"
        assert DOWNLOADING in [finding.warning for finding in memory.doctor()]
        assert memory.stats().store.vectors == {}
        assert hub.failures.content_after
        hub.failures.content_after.set()
        wait_until(lambda: memory.stats().store.vectors == {"tiny/float32": 2} and model_of(memory_of_mcp))
        found = server.client.post("/v1/search", json={"query": "green"}).json()
        assert (found["warnings"], len(found["hits"])) == ([], 2)
        assert "warnings" not in call(server.url, "recall", query="green")
        memory_of_mcp.add("tea")
        assert memory.stats().unembedded == 0
    wait_until(lambda: "tiny is ready" in caplog.messages)
    prepared.stop()
    assert caplog.messages[0] == "tiny (1 MB) is being downloaded; search is lexical until then"


def call(url: str, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool over MCP, without the SDK, and return the structured response."""
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {"accept": "application/json, text/event-stream"}
    response = httpx.post(f"{url}/mcp", json=request, headers=headers)
    structured: dict[str, Any] = response.json()["result"]["structuredContent"]
    return structured


@pytest.mark.parametrize(
    ("failures", "reason"),
    [
        (Failures(status=500), "the hub answered 500; try again later"),
        (Failures(content=bytes(10**6)), "is not the expected one, so nothing was installed"),
        (Failures(break_after=0), "the connection was lost"),
        (Failures(size=10**18), "MB are needed and"),
    ],
)
def test_failed_download_leads_to_the_static_model(
    lexical_memory: Memory, hub: HubServer, caplog: pytest.LogCaptureFixture, failures: Failures, reason: str
) -> None:
    hub.failures = failures
    static = model_of(lexical_memory)
    prepare(lexical_memory)
    wait_until(lambda: lexical_memory.stats().store.vectors == {static: 1})
    (message,) = caplog.messages
    assert reason in message
    assert static in message
    assert "\n" not in message


def test_failed_download_without_the_static_model(
    hub: HubServer, memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    hub.failures = Failures(status=500)
    memory.set_embedder(EmbedderChoice(None, "nothing is installed"))
    prepare(memory)
    wait_until(lambda: caplog.messages)
    assert caplog.messages[0].endswith("; the embedder is no embedder: nothing is installed")


@pytest.mark.parametrize("options", [{"download": False}, {}])
def test_nothing_is_downloaded_if_it_is_off(
    memory: Memory, hub: HubServer, monkeypatch: pytest.MonkeyPatch, options: dict[str, bool]
) -> None:
    if not options:
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    prepare(memory, **options).stop()
    assert memory.embedder is not None
    assert hub.requests == []


def test_memory_with_vectors_of_another_model_keeps_them(memory: Memory, hub: HubServer) -> None:
    memory.add("green tea")
    prepare(memory).stop()
    assert (memory.search("tea").warnings, hub.requests) == ([], [])


def test_model_of_the_vectors_is_downloaded(embedded_memory: Memory, entry: CatalogueEntry) -> None:
    prepare(embedded_memory)
    wait_until(lambda: model_of(embedded_memory) == entry.model_name)
    assert embedded_memory.search("green").warnings == []


def test_failed_download_keeps_the_vectors(embedded_memory: Memory, hub: HubServer, entry: CatalogueEntry) -> None:
    hub.failures = Failures(status=500)
    static = model_of(embedded_memory)
    prepare(embedded_memory)
    wait_until(lambda: model_of(embedded_memory) == static)
    assert embedded_memory.vector_model == entry.model_name


def test_notes_without_vectors_are_embedded(lexical_memory: Memory) -> None:
    static = model_of(lexical_memory)
    prepare(lexical_memory, download=False, embed=False).stop()
    assert lexical_memory.vector_model is None
    prepare(lexical_memory, download=False)
    wait_until(lambda: lexical_memory.vector_model == static)


def test_error_of_the_embedder_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def fails(texts: list[str]) -> Any:
        raise ValueError(f"{len(texts)} text")

    with recollect.open(tmp_path / "memory.db", embedder=fails) as memory:
        prepare(memory, download=False, embed=False)
        wait_until(lambda: caplog.messages)
    assert caplog.messages[0].startswith("preparing the embedder failed: ")


def test_stop_during_the_download(memory: Memory, hub: HubServer, caplog: pytest.LogCaptureFixture) -> None:
    hub.failures = Failures(content_after=Event())
    prepared = prepare(memory)
    wait_until(hub.ranges)
    prepared.stop()  # at once
    assert hub.failures.content_after
    hub.failures.content_after.set()
    wait_until((models_folder() / "tiny" / "recollect.json").exists)
    assert memory.stats().store.vectors == {}
    assert caplog.messages == []


def test_stop_while_notes_are_embedded(
    entry: CatalogueEntry, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, released = Event(), Event()

    def slow(texts: list[str]) -> Any:
        if len(texts) > 1:
            begun.set()
            released.wait(30)
        return np.ones((len(texts), 3))

    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add_many([f"note {number}" for number in range(300)])
        memory.set_embedder(EmbedderChoice(FunctionEmbedder(slow, dimension=3), "test"))
        prepared = prepare(memory, download=False)
        assert begun.wait(30)
        monkeypatch.setattr(preparation, "STOP_SECONDS", 0.01)
        prepared.stop()
        released.set()
        monkeypatch.setattr(preparation, "STOP_SECONDS", 30)
        prepared.stop()
        assert 0 < memory.stats().unembedded < 300
    assert caplog.messages == []
    assert find_weights(entry) is None
