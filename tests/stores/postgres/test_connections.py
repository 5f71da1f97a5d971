"""Read and write transactions, locks, lost connections and unavailable servers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from recollect.errors import (
    ArgumentError,
    StoreBusyError,
    StoreError,
    StoreReadOnlyError,
    StoreUnavailableError,
    StoreVersionError,
)
from recollect.server.http.settings import Settings
from recollect.stores.postgres.connections import CONNECT_TIMEOUT, POOL_TIMEOUT, Connections
from recollect.stores.postgres.transaction import PostgresTransaction
from tests.frozen_clock import FrozenClock
from tests.stores.postgres.conftest import Opener
from tests.stores.postgres.server import ROLE, Server

RunSql = Callable[[str], list[tuple[Any, ...]]]


def setting(name: str) -> Callable[[PostgresTransaction], str]:
    def work(transaction: PostgresTransaction) -> str:
        row = transaction.connection.execute("SELECT current_setting(%s)", [name]).fetchone()
        assert row is not None
        return str(row[0])

    return work


def names(transaction: PostgresTransaction) -> list[str]:
    return [name for (name,) in transaction.connection.execute("SELECT name FROM namespaces ORDER BY name")]


def disconnect(transaction: PostgresTransaction, run_sql: RunSql) -> PostgresTransaction:
    run_sql(f"SELECT pg_terminate_backend({transaction.connection.info.backend_pid}, 5000)")
    return transaction


DISCONNECT_ALL = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
    "WHERE application_name = 'recollect' AND datname = current_database()"
)


class TestReading:
    def test_transaction_sets_namespace_and_time(self, connections: Connections, frozen_clock: FrozenClock) -> None:
        with connections.write(["tea", "work"], create=True) as transaction:
            keys = dict(transaction.namespaces)
        now = str(int(frozen_clock.now().timestamp()) * 1_000_000 + frozen_clock.now().microsecond)
        assert connections.read(lambda t: t.namespaces, namespace="tea") == {"tea": keys["tea"]}
        assert connections.read(setting("recollect.namespaces"), namespace="tea") == str(keys["tea"])
        assert connections.read(setting("recollect.namespaces"), namespace="unknown") == ""
        assert connections.read(setting("recollect.namespaces"), namespace=None) == "*"
        assert connections.read(setting("recollect.now"), namespace="tea") == now
        assert connections.read(setting("statement_timeout"), namespace="tea") == "1min"
        assert connections.read(setting("statement_timeout"), namespace="tea", statement_timeout=0) == "0"

    def test_pooled_connection_has_no_state(self, open_connections: Opener) -> None:
        connections = open_connections(pool_size=1)
        with connections.write(["tea"], create=True) as transaction:
            first = transaction.connection
        connections.read(names, namespace="tea")
        left = first.execute("SELECT current_setting('recollect.namespaces'), current_setting('recollect.now')")
        assert left.fetchall() == [("", "")]

    def test_read_has_a_consistent_snapshot(self, connections: Connections) -> None:
        def read_twice(transaction: PostgresTransaction) -> tuple[list[str], list[str]]:
            before = names(transaction)
            with connections.write(["tea"], create=True):
                pass
            return before, names(transaction)

        assert connections.read(read_twice, namespace=None) == ([], [])
        assert connections.read(names, namespace=None) == ["tea"]

    def test_read_transaction_cannot_write(self, connections: Connections) -> None:
        with pytest.raises(StoreReadOnlyError, match="cannot be written to"):
            connections.read(lambda t: t.connection.execute("DELETE FROM notes"), namespace=None)

    def test_statement_timeout(self, open_connections: Opener) -> None:
        connections = open_connections(statement_timeout=0.05)
        with pytest.raises(StoreError, match="took too long and was stopped; ask for less, or raise statement_timeout"):
            connections.read(lambda t: t.connection.execute("SELECT pg_sleep(20)"), namespace=None)

    def test_errors_of_the_caller_are_raised(self, connections: Connections) -> None:
        def work(_: PostgresTransaction) -> None:
            raise LookupError("ours")

        with pytest.raises(LookupError, match="ours"):
            connections.read(work, namespace=None)
        assert connections.read(names, namespace=None) == []


class TestWriting:
    def test_write_is_atomic(self, connections: Connections) -> None:
        with pytest.raises(LookupError), connections.write(["tea"], create=True):
            raise LookupError
        assert connections.read(names, namespace=None) == []

    def test_namespace_is_created_only_on_request(self, connections: Connections) -> None:
        with connections.write(["tea"]) as transaction:
            assert transaction.namespaces == {}
        with connections.write(["tea", "work"], create=True) as transaction:
            keys = dict(transaction.namespaces)
        with connections.write(["work", "tea", "more"], create=True) as transaction:
            assert transaction.namespaces == keys | {"more": max(keys.values()) + 1}  # existing names use no key
            listed = setting("recollect.namespaces")(transaction)
        assert sorted(map(int, listed.split(","))) == sorted(transaction.namespaces.values())

    def test_write_to_all_namespaces_locks_none(self, connections: Connections) -> None:
        with connections.write(["tea"], create=True):
            pass
        with connections.write(["tea"]), connections.write(None) as transaction:
            assert setting("recollect.namespaces")(transaction) == "*"
            assert transaction.namespaces == {}

    def test_writers_of_one_namespace_are_serialised(self, connections: Connections) -> None:
        with connections.write(["tea", "work"], create=True):
            pass
        with connections.write(["tea"]):
            for timeout in (0, 0.05):
                with (
                    pytest.raises(StoreBusyError, match="locked by other writers; nothing was written; try again"),
                    connections.write(["work", "tea"], timeout=timeout),
                ):
                    pass
            with connections.write(["work"]), connections.write(["tea"], lock=False) as transaction:
                assert set(transaction.namespaces) == {"tea"}

    def test_second_writer_sees_the_first_commit(self, connections: Connections) -> None:
        with connections.write(["tea"], create=True):
            pass

        def count_on(_: int) -> None:
            with connections.write(["tea"]) as transaction:
                row = transaction.connection.execute("SELECT revision FROM namespaces").fetchone()
                assert row is not None
                transaction.connection.execute("UPDATE namespaces SET revision = %s", [row[0] + 1])

        with ThreadPoolExecutor(4) as executor:
            list(executor.map(count_on, range(40)))
        rows = connections.read(
            lambda t: t.connection.execute("SELECT revision FROM namespaces").fetchall(), namespace=None
        )
        assert rows == [(40,)]

    def test_writers_of_several_namespaces_do_not_deadlock(self, connections: Connections) -> None:
        def write(number: int) -> None:
            namespaces = ["tea", "work", f"new {number % 5}"]
            with connections.write(namespaces[:: (-1) ** number], create=True) as transaction:
                assert set(transaction.namespaces) == set(namespaces)

        with ThreadPoolExecutor(6) as executor:
            list(executor.map(write, range(60)))
        assert len(connections.read(names, namespace=None)) == 7

    def test_read_only_store_rejects_writes(self, open_connections: Opener) -> None:
        open_connections()
        reader = open_connections(read_only=True)
        assert reader.read(names, namespace=None) == []
        with pytest.raises(StoreReadOnlyError, match="opened read-only"), reader.write(["tea"]):
            pass

    def test_read_only_database_rejects_writes(
        self, connections: Connections, open_connections: Opener, database: str, run_sql: RunSql
    ) -> None:
        with connections.write(["tea"], create=True):
            pass
        name = database.rpartition("?")[0].rpartition("/")[2]
        run_sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        fresh = open_connections()
        for namespaces in (["tea"], ["new"], None):
            with (
                pytest.raises(StoreReadOnlyError, match="it is a replica, or set to be read only") as caught,
                fresh.write(namespaces, create=True) as transaction,
            ):
                transaction.connection.execute("DELETE FROM namespaces")
            assert "\n" not in str(caught.value)
        assert fresh.read(names, namespace=None) == ["tea"]

    def test_swallowed_error_prevents_the_commit(self, connections: Connections) -> None:
        with (
            pytest.raises(StoreError, match="rejected a part of a change; nothing was written"),
            connections.write(["tea"], create=True) as transaction,
            pytest.raises(psycopg.Error),
        ):
            transaction.connection.execute("SELECT 1 / 0")
        assert connections.read(names, namespace=None) == []

    def test_error_at_commit_is_raised(self, connections: Connections) -> None:
        duplicate = "CREATE TEMP TABLE t (x int UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO t VALUES (1), (1)"
        with pytest.raises(StoreError, match="duplicate key"), connections.write(["tea"], create=True) as transaction:
            transaction.connection.execute(duplicate)
        assert connections.read(names, namespace=None) == []

    def test_newer_schema_during_a_session(self, connections: Connections, run_sql: RunSql) -> None:
        run_sql("UPDATE recollect.schema_version SET version = 999")
        with pytest.raises(StoreVersionError, match="its schema is 999"), connections.write(["tea"]):
            pass
        with pytest.raises(StoreVersionError, match="upgrade recollect"):
            connections.read(names, namespace="tea")


class TestFaults:
    def test_read_is_repeated_after_a_disconnect(self, connections: Connections, run_sql: RunSql) -> None:
        seen: list[int] = []

        def work(transaction: PostgresTransaction) -> list[str]:
            seen.append(transaction.connection.info.backend_pid)
            if len(seen) == 1:
                disconnect(transaction, run_sql)
            return names(transaction)

        assert connections.read(work, namespace=None) == []
        assert len(set(seen)) == 2

    def test_second_disconnect_raises_an_error(self, connections: Connections, run_sql: RunSql) -> None:
        def work(transaction: PostgresTransaction) -> list[str]:
            disconnect(transaction, run_sql)
            return names(transaction)

        with pytest.raises(StoreUnavailableError, match="cannot be reached"):
            connections.read(work, namespace=None)
        assert connections.read(names, namespace=None) == []

    def test_lost_idle_connections_are_replaced(self, open_connections: Opener, run_sql: RunSql) -> None:
        connections = open_connections(pool_size=4)

        def wait(transaction: PostgresTransaction) -> None:
            transaction.connection.execute("SELECT pg_sleep(0.3)")

        for number in range(2):
            with ThreadPoolExecutor(4) as executor:
                for future in [executor.submit(connections.read, wait, namespace=None) for _ in range(4)]:
                    future.result(30)
            assert len(run_sql(DISCONNECT_ALL)) > 1
            with connections.write([f"{number}"], create=True):
                pass
        assert connections.read(names, namespace=None) == ["0", "1"]

    def test_psycopg_does_not_log_our_errors(
        self, connections: Connections, run_sql: RunSql, caplog: pytest.LogCaptureFixture
    ) -> None:
        with connections.write(["tea"], create=True):
            pass
        with connections.write(["tea"]), pytest.raises(StoreBusyError), connections.write(["tea"], timeout=0):
            raise AssertionError
        assert run_sql(DISCONNECT_ALL)
        connections.read(names, namespace=None)
        assert [record for record in caplog.records if record.name.startswith("psycopg")] == []

    def test_write_is_not_repeated_after_a_disconnect(self, connections: Connections, run_sql: RunSql) -> None:
        with (
            pytest.raises(StoreError, match="cannot be reached"),
            connections.write(["tea"], create=True) as transaction,
        ):
            names(disconnect(transaction, run_sql))
        assert connections.read(names, namespace=None) == []

    def test_disconnect_during_commit(self, connections: Connections, run_sql: RunSql) -> None:
        with (
            pytest.raises(StoreError, match="a whole or not at all; check which before you repeat it"),
            connections.write(["tea"], create=True) as transaction,
        ):
            disconnect(transaction, run_sql)

    def test_exhausted_pool_raises_busy_error(self, open_connections: Opener) -> None:
        connections = open_connections(pool_size=1, pool_timeout=2)
        with (
            connections.write(["tea"], create=True),
            pytest.raises(StoreBusyError, match="all 1 connections were in use for 2 seconds; raise pool_size"),
        ):
            connections.read(names, namespace=None)
        patient = open_connections(pool_size=1, pool_timeout=30)
        inside, leave = threading.Event(), threading.Event()

        def hold(_: PostgresTransaction) -> None:
            inside.set()
            leave.wait(30)

        with ThreadPoolExecutor(2) as executor:
            blocking = executor.submit(patient.read, hold, namespace=None)
            inside.wait(30)
            waiting = executor.submit(patient.read, names, namespace=None)
            threading.Timer(1.2, leave.set).start()  # longer than one polling interval
            assert waiting.result(30) == ["tea"]
            blocking.result(30)

    def test_restart_between_calls(self, killable_server: Server) -> None:
        with closing(Connections(killable_server.address(killable_server.create()))) as connections:
            with connections.write(["tea"], create=True):
                pass
            killable_server.restart()
            assert connections.read(names, namespace=None) == ["tea"]
            killable_server.kill()
            killable_server.start()
            with connections.write(["work"], create=True):
                pass
            assert connections.read(names, namespace=None) == ["tea", "work"]

    def test_stopped_server_raises_unavailable_error(self, killable_server: Server) -> None:
        address = killable_server.address(killable_server.create())
        with closing(Connections(address)) as connections:
            connections.read(names, namespace=None)
            killable_server.stop()
            for _ in range(2):
                with pytest.raises(StoreUnavailableError, match="cannot be reached; check that the server runs"):
                    connections.read(names, namespace=None)
                with (
                    pytest.raises(StoreUnavailableError, match="cannot be reached; check that the server runs"),
                    connections.write(["tea"], create=True),
                ):
                    raise AssertionError
            with pytest.raises(StoreUnavailableError, match="cannot be reached; check that the server runs"):
                Connections(address)
            killable_server.start()
            assert connections.read(names, namespace=None) == []

    def test_unreachable_server_fails_within_the_request_timeout(self) -> None:
        # Wait for a free connection, then try both hosts, twice.
        assert Settings().timeout >= POOL_TIMEOUT + 2 * 2 * CONNECT_TIMEOUT


class TestClosing:
    def test_closed_connections_raise_an_error(self, open_connections: Opener) -> None:
        connections = open_connections()
        connections.read(names, namespace=None)
        connections.close()
        connections.close()
        with pytest.raises(StoreError, match="is closed; open it again to use it"):
            connections.read(names, namespace=None)

    def test_close_wakes_waiting_threads(self, open_connections: Opener) -> None:
        connections = open_connections(pool_size=1)
        with ThreadPoolExecutor(1) as executor, connections.write(["tea"], create=True):
            waiting = executor.submit(connections.read, names, namespace=None)
            threading.Event().wait(0.2)
            connections.close()
            with pytest.raises(StoreError, match="is closed; open it again to use it"):
                waiting.result(30)
        with pytest.raises(StoreError, match="is closed"), connections.write(["tea"]):
            pass

    def test_forked_process_opens_its_own_connections(self, connections: Connections) -> None:
        def backend(transaction: PostgresTransaction) -> int:
            return transaction.connection.info.backend_pid

        mine = connections.read(backend, namespace=None)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:  # pragma: no cover (another process)
            try:
                os.write(writing, str(connections.read(backend, namespace=None)).encode())
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as answer:
            theirs = int(answer.read())
        os.waitpid(child, 0)
        assert theirs != mine
        assert connections.read(backend, namespace=None) == mine


class TestAddresses:
    @pytest.mark.parametrize(
        "address",
        [
            "postgresql://ines:hu@zq@host/db",
            "postgresql://ines:hu/zq@host/db",
            "postgresql://ines:hu%zq@host/db",
            "postgresql://ines@host:huzq/db",
        ],
    )
    def test_invalid_address_is_not_shown(self, address: str) -> None:
        with pytest.raises(ArgumentError, match="target: is no address of a PostgreSQL database") as caught:
            Connections(address)
        assert "zq" not in str(caught.value)
        assert caught.value.__cause__ is None

    def test_no_message_shows_the_password(self, postgres: Server) -> None:
        with pytest.raises(StoreError, match="/missing") as caught:
            Connections(f"postgresql://recollect:hush@/missing?host={postgres.folder}")
        assert "hush" not in str(caught.value)

    @pytest.mark.parametrize(
        ("user", "database", "advice"),
        [
            (ROLE, "missing", "check the names of the database and of the user"),
            ("nobody", "postgres", "check the names of the database and of the user"),
            ("closed", "postgres", "check the names of the database and of the user"),
        ],
    )
    def test_refused_login_names_the_remedy(self, postgres: Server, user: str, database: str, advice: str) -> None:
        if user == "closed":
            postgres.execute("CREATE ROLE closed NOLOGIN")
        with pytest.raises(StoreError, match=f"refused the login; {advice}"):
            Connections(postgres.address(database, user))

    def test_server_at_max_connections_is_busy(self, postgres: Server) -> None:
        postgres.execute(f"CREATE DATABASE crowded OWNER {ROLE} CONNECTION LIMIT 0")
        with pytest.raises(StoreBusyError, match="has no connection left; raise max_connections"):
            Connections(postgres.address("crowded"))

    def test_location_has_host_and_port(self) -> None:
        with pytest.raises(StoreError, match=r"^postgresql://ines@localhost:1/db cannot be reached"):
            Connections("postgresql://ines:hush@localhost:1/db")


def test_transactions_use_our_clock(connections: Connections, frozen_clock: FrozenClock) -> None:
    now = int(connections.read(setting("recollect.now"), namespace=None))
    assert datetime.fromtimestamp(now / 1_000_000, UTC) == frozen_clock.now()
