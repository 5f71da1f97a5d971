"""What a store in Milvus holds behind the contract."""

from __future__ import annotations

from typing import Any

from recollect.stores.milvus.client import Client
from recollect.stores.milvus.schema import RECORDS
from recollect.stores.milvus.store import MilvusStore


def client_of(store: MilvusStore) -> Client:
    return store._session.client


def collection_of(store: MilvusStore) -> str:
    """Return the name of the collection that is searched."""
    return store._session.state().active.collection


def entries_of(store: MilvusStore) -> list[dict[str, Any]]:
    return client_of(store).rows(RECORDS, 'kind == "journal"', ["key", "body"])
