"""Connections that are trusted, and cut all the same; and what is logged of it: nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from recollect.errors import StoreBusyError, StoreError
from recollect.stores.postgres import pool
from recollect.stores.postgres.connections import Connections, Transaction
from recollect.stores.postgres.pool import ConnectionCheck
from tests.stores.postgres.conftest import Opener

Ask = Callable[[str], list[tuple[Any, ...]]]

CUT = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
    "WHERE application_name = 'recollect' AND datname = current_database()"
)


def names(transaction: Transaction) -> list[str]:
    return [name for (name,) in transaction.connection.execute("SELECT name FROM namespaces ORDER BY name")]


@pytest.fixture
def trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "TRUST_SECONDS", 1_000.0)


@pytest.mark.usefixtures("trusting")
class TestConnectionCheck:
    def test_recent_connection_is_not_checked(self, connections: Connections, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[object] = []
        monkeypatch.setattr(ConnectionPool, "check_connection", asked.append)
        for _ in range(3):
            connections.read(names, namespace=None)
        assert len(asked) <= 1
        connections._check.distrust_idle()
        connections.read(names, namespace=None)
        assert len(asked) in (1, 2)

    def test_read_replaces_a_broken_connection(self, connections: Connections, ask: Ask) -> None:
        for _ in range(2):
            assert connections.read(names, namespace=None) == []
            assert ask(CUT)

    def test_write_replaces_a_broken_connection(self, connections: Connections, ask: Ask) -> None:
        for number in range(3):
            with connections.write([f"{number}"], create=True):
                pass
            assert ask(CUT)
        assert connections.read(names, namespace=None) == ["0", "1", "2"]

    def test_all_connections_are_checked_after_a_disconnect(self, opened: Opener, ask: Ask) -> None:
        connections = opened(pool_size=4)

        def many(transaction: Transaction) -> None:
            transaction.connection.execute("SELECT pg_sleep(0.3)")

        with ThreadPoolExecutor(4) as crew:
            for future in [crew.submit(connections.read, many, namespace=None) for _ in range(4)]:
                future.result(30)
        assert len(ask(CUT)) > 1
        with connections.write(["tea"], create=True):
            pass
        assert connections.read(names, namespace=None) == ["tea"]

    def test_repeated_disconnects_raise_an_error(
        self, connections: Connections, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def cut(*_: object) -> None:
            raise psycopg.OperationalError("server closed the connection unexpectedly")

        monkeypatch.setattr(connections, "_settings", cut)
        with pytest.raises(StoreError, match="cannot be reached"), connections.write(["tea"], create=True):
            raise AssertionError


def test_idle_connection_is_checked(connections: Connections, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(ConnectionPool, "check_connection", asked.append)
    monkeypatch.setattr(pool, "TRUST_SECONDS", 0.0)
    for _ in range(3):
        connections.read(names, namespace=None)
    assert len(asked) >= 2


class TestLogs:
    def test_psycopg_does_not_log_our_errors(
        self, connections: Connections, ask: Ask, caplog: pytest.LogCaptureFixture
    ) -> None:
        with connections.write(["tea"], create=True):
            pass
        with connections.write(["tea"]), ThreadPoolExecutor(1) as crew, pytest.raises(StoreBusyError):
            crew.submit(_enter, connections).result(30)
        assert ask(CUT)
        connections.read(names, namespace=None)
        assert [record for record in caplog.records if record.name.startswith("psycopg")] == []

    def test_psycopg_logs_errors_of_others(self, caplog: pytest.LogCaptureFixture) -> None:
        logging.getLogger("psycopg").warning("error ignored terminating somebody's pipeline")
        with pool.silence_psycopg():
            logging.getLogger("psycopg.pool").warning("discarding closed connection")
        logging.getLogger("psycopg.pool").warning("error connecting in 'recollect-pool-7'")
        logging.getLogger("psycopg.pool").warning("error connecting in 'pool-1'")
        assert [record.getMessage() for record in caplog.records] == [
            "error ignored terminating somebody's pipeline",
            "error connecting in 'pool-1'",
        ]


def _enter(connections: Connections) -> None:
    with connections.write(["tea"], timeout=0):
        raise AssertionError


def test_unknown_connection_is_checked(monkeypatch: pytest.MonkeyPatch, database: str) -> None:
    asked: list[object] = []
    monkeypatch.setattr(ConnectionPool, "check_connection", asked.append)
    with psycopg.connect(database) as connection:
        ConnectionCheck().check(connection)
    assert len(asked) == 1
