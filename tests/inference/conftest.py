"""A local hub, and a cache in a temporary folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import huggingface_hub.constants
import pytest

from recollect.inference.catalogue import CatalogueEntry
from tests.inference.hub import HubServer, write_embedder


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    """Serve a hub without repositories, to which downloads of this process go."""
    monkeypatch.setenv("NO_PROXY", "*")
    for variable in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hf-cache"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    # huggingface_hub would ask huggingface.co for this list.
    (tmp_path / "harnesses.json").write_text('{"standardEnvVars": [], "harnesses": {}}')
    monkeypatch.setattr(huggingface_hub.constants, "AGENT_HARNESSES_PATH", str(tmp_path / "harnesses.json"))
    huggingface_hub.close_session()
    with HubServer() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running
    huggingface_hub.close_session()


@pytest.fixture
def entry(hub: HubServer, tmp_path: Path) -> CatalogueEntry:
    """Put a tiny model on the hub, and return its entry."""
    entry = write_embedder(tmp_path / "upstream")
    hub.add_folder(tmp_path / "upstream")
    return entry
