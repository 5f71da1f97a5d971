"""Killed servers, lost connections and exhausted pools: no commit is lost, and no batch is written in part."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest

from recollect.errors import StoreBusyError, StoreError
from recollect.model import Candidate, Filters, Link
from recollect.query import parse
from recollect.stores.postgres.store import PostgresStore
from tests.stores.postgres.server import Server

BATCH = 10
NAMESPACE = "default"


@pytest.fixture(scope="module")
def durable_server() -> Iterator[Server]:
    server = Server(durable=True)
    try:
        server.start()
        server.prepare()
        yield server
    finally:
        server.remove()


def search(store: PostgresStore) -> list[Candidate]:
    return store.search_text(parse("tea"), 10, namespace=NAMESPACE, filters=Filters())


def is_healthy(store: PostgresStore) -> bool:
    return not any(finding.problem for finding in store.check())


@pytest.mark.parametrize("after", [1, 5, 12])
def test_killed_server_keeps_commits(durable_server: Server, after: int) -> None:
    acknowledged: list[str] = []
    enough = threading.Event()

    def write(store: PostgresStore) -> None:
        for batch in range(1_000):
            drafts = [
                {
                    "path": f"{batch}/{number}",
                    "content": "a cup of green tea",
                    "title": f"Tea number {batch} {number}",
                    "links": (Link("related", "0/0"),),
                    "metadata": {"entities": ["tea"]},
                    "vector": [batch, number, 1.0],
                }
                for number in range(BATCH)
            ]
            acknowledged.extend(note.path for note in store.write(drafts).notes)
            if batch == after:
                enough.set()

    def kill() -> None:
        enough.wait(60)
        durable_server.kill()

    with closing(PostgresStore(durable_server.address(durable_server.create()), pool_timeout=5)) as store:
        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(StoreError):
            write(store)
        killer.join()
        durable_server.start()
        paths = [note.path for note in store.notes()]
        # The interrupted batch may have been committed completely.
        assert len(paths) in (len(acknowledged), len(acknowledged) + BATCH)
        assert paths[: len(acknowledged)] == acknowledged
        assert len(acknowledged) > after * BATCH
        assert store.stats().links == sum(store.stats().vectors.values()) == len(paths)
        assert is_healthy(store)


class BlockedSearch:
    """A search that waits for a locked table, and whose connection can be terminated."""

    def __init__(self, run_sql: Callable[[str], list[tuple[Any, ...]]], search: Future[list[Candidate]]) -> None:
        self._run_sql = run_sql
        self._search = search

    def disconnect(self) -> None:
        """Terminate the connection of the search when the search waits for the lock."""
        terminate = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'recollect' "
            "AND datname = current_database() AND wait_event_type = 'Lock'"
        )
        while not self._run_sql(terminate):
            assert not self._search.done()


@pytest.fixture
def block_search(
    postgres: Server, database: str, run_sql: Callable[[str], list[tuple[Any, ...]]]
) -> Callable[[PostgresStore], Any]:
    name = database.rpartition("?")[0].rpartition("/")[2]

    @contextmanager
    def wait(store: PostgresStore) -> Iterator[tuple[BlockedSearch, Future[list[Candidate]]]]:
        with ThreadPoolExecutor(1) as executor, psycopg.connect(postgres.address(name, "postgres")) as locker:
            locker.execute("LOCK TABLE recollect.postings IN ACCESS EXCLUSIVE MODE")
            future = executor.submit(search, store)
            yield BlockedSearch(run_sql, future), future

    return wait


def test_search_is_repeated_after_a_disconnect(database: str, block_search: Callable[[PostgresStore], Any]) -> None:
    with closing(PostgresStore(database)) as store:
        store.write([{"path": "tea.md", "content": "green tea"}])
        with block_search(store) as (blocked, future):
            blocked.disconnect()
        assert [candidate.path for candidate in future.result(60)] == ["tea.md"]


def test_search_fails_after_two_disconnects(database: str, block_search: Callable[[PostgresStore], Any]) -> None:
    with closing(PostgresStore(database)) as store:
        store.write([{"path": "tea.md", "content": "green tea"}])
        with block_search(store) as (blocked, future):
            blocked.disconnect()
            blocked.disconnect()
            with pytest.raises(StoreError, match="cannot be reached"):
                future.result(60)
        assert [candidate.path for candidate in search(store)] == ["tea.md"]


def test_exhausted_pool_raises_busy_error(database: str, block_search: Callable[[PostgresStore], Any]) -> None:
    address = f"{database}&pool_size=1"
    with closing(PostgresStore.at(f"{address}&pool_timeout=1")) as hasty, closing(PostgresStore.at(address)) as patient:
        hasty.write([{"path": "tea.md", "content": "green tea"}])
        with (
            block_search(hasty) as (_, future),
            pytest.raises(StoreBusyError, match="all 1 connections were in use for 1 seconds; raise pool_size"),
        ):
            list(hasty.notes())
        assert len(future.result(60)) == 1
        with ThreadPoolExecutor(1) as executor, block_search(patient):
            notes = executor.submit(list, patient.notes())
        assert len(notes.result(60)) == 1


def test_restart_between_calls(killable_server: Server) -> None:
    with closing(PostgresStore(killable_server.address(killable_server.create()))) as store:
        store.write([{"path": "tea.md", "content": "green tea", "vector": [1.0, 0.0]}])
        killable_server.restart()
        assert len(search(store)) == 1
        killable_server.restart()
        assert len(store.write([{"path": "pot.md", "content": "tea pot", "vector": [0.0, 1.0]}]).notes) == 1
        killable_server.kill()
        killable_server.start()
        assert len(search(store)) == 2
        assert is_healthy(store)


def test_statement_timeout_is_named(database: str, block_search: Callable[[PostgresStore], Any]) -> None:
    with closing(PostgresStore.at(f"{database}&statement_timeout=0.2")) as store:
        store.write([{"content": "green tea"}])
        with (
            block_search(store) as (_, future),
            pytest.raises(StoreError, match="took too long .* raise statement_timeout"),
        ):
            future.result(60)
