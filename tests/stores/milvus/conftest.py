from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from milvus_lite.adapter.grpc.server import start_server_in_thread

from recollect.stores.milvus import embedding
from recollect.stores.milvus.schema import notes_schema
from recollect.stores.milvus.store import MilvusStore


@pytest.fixture
def lite(tmp_path: Path) -> Iterator[MilvusStore]:
    """Give a store in a folder."""
    store = MilvusStore(f"milvus://{tmp_path}/memory.db")
    yield store
    store.close()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Give the address of a server that several stores may share as they share a cluster."""
    with served(tmp_path, monkeypatch) as address:
        yield address


@contextmanager
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Give the address of a server that is there for a while.

    It is Milvus Lite behind its port, which knows no tokenizer that splits at spaces; all else is what a cluster is
    asked. What a cluster answers differently, it cannot show.
    """
    monkeypatch.setattr(embedding, "notes_schema", lambda dimension, *, lite: notes_schema(dimension, lite=True))  # noqa: ARG005 (the name is a cluster's)
    running, database, port = start_server_in_thread(str(tmp_path / "server"))
    yield f"milvus://127.0.0.1:{port}/default"
    running.stop(grace=None).wait()
    database.close()
