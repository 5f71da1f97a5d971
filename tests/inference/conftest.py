"""A local hub, and a cache in a temporary folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.inference.catalogue import CatalogueEntry
from tests.inference.hub import HubServer, local_hub, write_embedder


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    """Serve a hub without repositories, to which downloads of this process go."""
    with local_hub(monkeypatch, tmp_path) as running:
        yield running


@pytest.fixture
def entry(hub: HubServer, tmp_path: Path) -> CatalogueEntry:
    """Put a tiny model on the hub, and return its entry."""
    entry = write_embedder(tmp_path / "upstream")
    hub.add_folder(tmp_path / "upstream")
    return entry
