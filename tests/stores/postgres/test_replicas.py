"""Replicas, failover and dumps of PostgreSQL work with a store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from recollect.errors import StoreError, StoreReadOnlyError
from recollect.model import Filters, draft_of
from recollect.query import parse
from recollect.stores.base import Store
from recollect.stores.postgres.store import PostgresStore
from tests.stores.postgres.server import ROLE, Server

NAMESPACE = "default"


def write_notes(store: Store, *texts: str) -> None:
    store.write([draft_of(text) for text in texts])


def search(store: Store, query: str) -> list[str]:
    return [
        candidate.content for candidate in store.search_text(parse(query), 10, namespace=NAMESPACE, filters=Filters())
    ]


@pytest.fixture
def primary_and_replica() -> Iterator[tuple[Server, Server, str]]:
    """Start a server with a database, and a replica of it."""
    primary = Server()
    replica: Server | None = None
    try:
        primary.start()
        primary.prepare()
        name = primary.create()
        replica = Server(primary=primary)
        replica.start()
        yield primary, replica, name
    finally:
        for server in (primary, replica):
            if server is not None:
                server.remove()


def wait_for(replica: Server, primary: Server) -> None:
    """Wait until a replica has replayed all commits."""
    ((written,),) = primary.execute("SELECT pg_current_wal_lsn()")
    for _ in range(600):
        ((caught_up,),) = replica.execute(f"SELECT pg_last_wal_replay_lsn() >= '{written}'")
        if caught_up:
            return
        time.sleep(0.05)
    raise AssertionError("the replica does not follow")


def test_replica_is_searched_and_rejects_writes(primary_and_replica: tuple[Server, Server, str]) -> None:
    primary, replica, name = primary_and_replica
    store = PostgresStore(primary.address(name))
    write_notes(store, "green tea", "black tea", "coffee")
    wait_for(replica, primary)
    reader = PostgresStore(replica.address(name), read_only=True)
    assert search(reader, "tea") == search(store, "tea")
    assert len(search(reader, "tea")) == 2
    write_notes(store, "mint tea")
    wait_for(replica, primary)
    assert "mint tea" in search(reader, "mint")
    with pytest.raises(StoreReadOnlyError, match="was opened read-only"):
        write_notes(reader, "rum")
    with pytest.raises(StoreError, match="read-only"), closing(PostgresStore(replica.address(name))) as writer:
        write_notes(writer, "rum")
    reader.close()
    store.close()


def test_failover_to_a_second_server(primary_and_replica: tuple[Server, Server, str]) -> None:
    primary, replica, name = primary_and_replica
    address = f"postgresql://{ROLE}@/{name}?host={primary.folder},{replica.folder}&target_session_attrs=read-write"
    store = PostgresStore(address)
    write_notes(store, "green tea")
    wait_for(replica, primary)
    primary.kill()
    replica.execute("SELECT pg_promote()")
    assert search(store, "tea") == ["green tea"]
    write_notes(store, "black tea")
    assert sorted(search(store, "tea")) == ["black tea", "green tea"]
    store.close()


def test_restore_from_pg_dump(postgres: Server, database: str) -> None:
    store = PostgresStore(database)
    write_notes(store, "green tea", "black tea")
    name = psycopg.conninfo.conninfo_to_dict(database)["dbname"]
    dump = str(postgres.folder / f"{name}.dump")
    postgres.run("pg_dump", "-h", str(postgres.folder), "-U", "postgres", "-Fc", "-f", dump, str(name))
    copy = postgres.create()
    postgres.run("pg_restore", "-h", str(postgres.folder), "-U", "postgres", "-d", copy, dump)
    restored = PostgresStore(postgres.address(copy))
    assert search(restored, "tea") == search(store, "tea")
    write_notes(restored, "mint tea")
    assert len(search(restored, "tea")) == 3
    assert not [finding for finding in restored.check() if finding.problem]
    restored.close()
    store.close()
    postgres.drop(copy)
