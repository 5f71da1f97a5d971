"""A store is created once, also concurrently; row-level security applies to every query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import psycopg
import pytest

from recollect.errors import RecollectWarning, StoreDamagedError, StoreError, StoreVersionError
from recollect.stores.postgres import schema
from recollect.stores.postgres.connections import Connections
from recollect.stores.postgres.schema import ISOLATED_TABLES, TABLES
from recollect.stores.postgres.transaction import PostgresTransaction
from tests.frozen_clock import HOUR, FrozenClock
from tests.stores.postgres.conftest import Opener
from tests.stores.postgres.server import Server

RunSql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def bare(postgres: Server) -> Iterator[str]:
    """Create a database without extensions; yield its name."""
    name = postgres.create("template1")
    yield name
    postgres.drop(name)


def insert_note(transaction: PostgresTransaction, name: str, *, expires_at: int | None = None) -> int:
    (namespace,) = transaction.namespaces.values()
    row = transaction.connection.execute(
        "INSERT INTO notes (namespace, id, importance, created_at, updated_at, expires_at, tags, metadata, title, "
        "summary, content) VALUES (%s, %s, 0.5, 0, 0, %s, '', '{}', '', '', '') RETURNING key",
        [namespace, name, expires_at],
    ).fetchone()
    assert row is not None
    return int(row[0])


def ids(transaction: PostgresTransaction, table: str = "notes") -> list[str]:
    return [row[2] for row in transaction.connection.execute(f"TABLE {table} ORDER BY id")]


class TestOpening:
    def test_tables_are_created_once(self, open_connections: Opener, run_sql: RunSql) -> None:
        open_connections()
        made = run_sql("SELECT oid FROM pg_class WHERE relnamespace = 'recollect'::regnamespace ORDER BY oid")
        open_connections()
        assert run_sql("SELECT oid FROM pg_class WHERE relnamespace = 'recollect'::regnamespace ORDER BY oid") == made
        assert run_sql("SELECT version FROM recollect.schema_version") == [(schema.SCHEMA_VERSION,)]
        listed = run_sql("SELECT tablename FROM pg_tables WHERE schemaname = 'recollect'")
        assert {name for (name,) in listed} == {*TABLES, "schema_version"}

    def test_concurrent_creation_of_a_store(self, open_connections: Opener, run_sql: RunSql) -> None:
        with ThreadPoolExecutor(4) as executor:
            list(executor.map(lambda _: open_connections(), range(4)))
        assert run_sql("SELECT version FROM recollect.schema_version") == [(schema.SCHEMA_VERSION,)]

    def test_existing_empty_schema_is_used(self, open_connections: Opener, run_sql: RunSql) -> None:
        run_sql("CREATE SCHEMA recollect AUTHORIZATION recollect")
        open_connections()
        assert run_sql("SELECT version FROM recollect.schema_version") == [(schema.SCHEMA_VERSION,)]

    def test_extensions_in_another_schema(self, open_connections: Opener, run_sql: RunSql) -> None:
        run_sql('CREATE SCHEMA "add ons"; GRANT USAGE ON SCHEMA "add ons" TO recollect')
        run_sql('ALTER EXTENSION vector SET SCHEMA "add ons"')
        connections = open_connections()
        connections.read(lambda t: t.connection.execute("SELECT '[1]'::halfvec, similarity('a', 'b')"), namespace=None)

    def test_newer_schema_is_refused(self, open_connections: Opener, run_sql: RunSql) -> None:
        open_connections()
        run_sql("UPDATE recollect.schema_version SET version = 999")
        with pytest.raises(StoreVersionError, match="its schema is 999, this one knows 1.; upgrade recollect"):
            open_connections()

    def test_missing_version_is_damage(self, open_connections: Opener, run_sql: RunSql) -> None:
        open_connections()
        run_sql("DELETE FROM recollect.schema_version")
        with pytest.raises(StoreDamagedError, match="has no schema version"):
            open_connections()

    def test_missing_extension_is_damage(self, open_connections: Opener, run_sql: RunSql) -> None:
        open_connections()
        run_sql("DROP EXTENSION vector CASCADE")
        with pytest.raises(StoreDamagedError, match="lacks the extension 'vector'; run CREATE EXTENSION vector"):
            open_connections()

    def test_foreign_schema_is_refused(self, open_connections: Opener, run_sql: RunSql) -> None:
        run_sql("CREATE SCHEMA recollect AUTHORIZATION recollect; CREATE TABLE recollect.memories ()")
        with pytest.raises(StoreDamagedError, match="a schema 'recollect' that is not a store; choose"):
            open_connections()

    def test_new_store_read_only(self, open_connections: Opener) -> None:
        with pytest.raises(StoreError, match="^there is no memory at postgresql://.*; add a note to create one"):
            open_connections(read_only=True)

    def test_older_store_read_only(self, open_connections: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
        open_connections()
        monkeypatch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
        with pytest.raises(StoreError, match="older schema; open it for writing once"):
            open_connections(read_only=True)

    def test_extension_without_permission(self, postgres: Server, bare: str) -> None:
        with pytest.raises(StoreError, match="ask an administrator to run CREATE EXTENSION vector in this database"):
            Connections(postgres.address(bare))

    def test_server_without_pgvector(self, postgres: Server, bare: str) -> None:
        postgres.execute(f"ALTER DATABASE {bare} SET extension_control_path = '/nowhere'")
        with pytest.raises(StoreError, match="has no extension 'vector'; install pgvector on the server"):
            Connections(postgres.address(bare))

    def test_schema_without_permission(self, postgres: Server, bare: str) -> None:
        postgres.execute(f"ALTER DATABASE {bare} OWNER TO postgres")
        postgres.execute("CREATE EXTENSION vector; CREATE EXTENSION pg_trgm", database=bare)
        with pytest.raises(StoreError, match="ask an administrator to run CREATE SCHEMA recollect AUTHORIZATION"):
            Connections(postgres.address(bare))

    def test_failed_creation_leaves_nothing(self, postgres: Server, bare: str) -> None:
        with pytest.raises(StoreError):
            Connections(postgres.address(bare))
        assert postgres.execute("SELECT to_regnamespace('recollect')", database=bare) == [(None,)]

    def test_database_without_utf8_is_refused(self, postgres: Server) -> None:
        postgres.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0 OWNER recollect")
        with pytest.raises(StoreError, match="has the encoding LATIN1; create the database with ENCODING 'UTF8'"):
            Connections(postgres.address("latin"))
        postgres.drop("latin")

    def test_old_pgvector_is_refused(self, open_connections: Opener, run_sql: RunSql) -> None:
        run_sql("UPDATE pg_extension SET extversion = '0.6.2' WHERE extname = 'vector'")
        with pytest.raises(StoreError, match="has pgvector 0.6.2; 0.7 is needed"):
            open_connections()

    def test_old_server_is_refused(self, open_connections: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(schema, "_MIN_SERVER_VERSION", 990000)  # tests cannot start an old server
        with pytest.raises(StoreError, match="version 15 or newer is needed"):
            open_connections()

    def test_superuser_is_warned_about_policies(
        self, postgres: Server, open_connections: Opener, database: str
    ) -> None:
        open_connections()
        with (
            pytest.warns(RecollectWarning, match="opened by 'postgres', who bypasses row-level security"),
            closing(Connections(database.replace("recollect@", "postgres@"))),
        ):
            pass
        assert postgres.execute("SELECT rolsuper FROM pg_roles WHERE rolname = 'postgres'") == [(True,)]


class TestRowLevelSecurity:
    @pytest.fixture
    def notes(self, connections: Connections) -> dict[str, int]:
        keys = {}
        for namespace in ("tea", "work"):
            with connections.write([namespace], create=True) as transaction:
                keys[namespace] = insert_note(transaction, f"of {namespace}")
        return keys

    @pytest.mark.usefixtures("notes")
    def test_policy_restricts_queries_to_their_namespaces(self, connections: Connections) -> None:
        assert connections.read(ids, namespace="tea") == ["of tea"]
        assert connections.read(ids, namespace="work") == ["of work"]
        assert connections.read(ids, namespace="unknown") == []
        assert connections.read(ids, namespace=None) == ["of tea", "of work"]
        with connections.write(["tea", "work"]) as transaction:
            assert ids(transaction) == ["of tea", "of work"]

    @pytest.mark.usefixtures("notes")
    def test_policy_hides_everything_by_default(self, database: str) -> None:
        with psycopg.connect(database) as connection:
            assert connection.execute("SELECT id FROM recollect.notes").fetchall() == []

    def test_policy_rejects_writes_to_other_namespaces(self, connections: Connections, notes: dict[str, int]) -> None:
        with connections.write(["work"]) as transaction:
            elsewhere = dict(transaction.namespaces)
        with connections.write(["tea"]) as transaction:
            done = transaction.connection.execute("UPDATE notes SET title = 'x' WHERE key = %s", [notes["work"]])
            assert done.rowcount == 0
        with (
            pytest.raises(StoreError, match="row-level security policy"),
            connections.write(["tea"]) as transaction,
        ):
            insert_note(PostgresTransaction(transaction.connection, elsewhere), "smuggled")
        assert connections.read(ids, namespace=None) == ["of tea", "of work"]

    @pytest.mark.parametrize("table", ISOLATED_TABLES)
    def test_every_table_with_text_has_a_policy(self, open_connections: Opener, run_sql: RunSql, table: str) -> None:
        open_connections()
        policies = run_sql(
            "SELECT relname, relrowsecurity, relforcerowsecurity, polname FROM pg_class JOIN pg_policy "
            "ON polrelid = pg_class.oid WHERE relnamespace = 'recollect'::regnamespace"
        )
        assert (table, True, True, "wall") in policies

    def test_indexes_are_used_with_policies(self, connections: Connections) -> None:
        def plan(statement: str) -> str:
            def work(transaction: PostgresTransaction) -> str:
                transaction.connection.execute("SET LOCAL enable_seqscan = off")
                return "\n".join(line for (line,) in transaction.connection.execute(f"EXPLAIN {statement}"))

            return connections.read(work, namespace="tea")

        postings = plan("SELECT list FROM postings WHERE namespace = 7 AND term = ANY ('{a,b}')")
        assert "Index Cond: ((namespace = 7) AND (term = ANY ('{a,b}'::text[])))" in postings
        words = plan("SELECT n.id FROM words JOIN notes AS n ON n.key = note WHERE words @@ '''7 tea'''::tsquery")
        assert "Bitmap Index Scan on words_by_word" in words
        names = plan("SELECT note FROM names WHERE name % ANY ('{tea,pot}')")
        assert "Bitmap Index Scan on names_by_trigram" in names


def test_view_living_hides_expired_notes(connections: Connections, frozen_clock: FrozenClock) -> None:
    noon = int(frozen_clock.now().timestamp()) * 1_000_000
    with connections.write(["tea"], create=True) as transaction:
        insert_note(transaction, "for ever")
        insert_note(transaction, "until one", expires_at=noon + 3_600_000_000)
    assert connections.read(lambda t: ids(t, "living"), namespace="tea") == ["for ever", "until one"]
    frozen_clock.time += HOUR
    assert connections.read(lambda t: ids(t, "living"), namespace="tea") == ["for ever"]
    assert connections.read(lambda t: ids(t, "living"), namespace="work") == []
    assert connections.read(ids, namespace="tea") == ["for ever", "until one"]


def test_title_counts_mentions_until_its_last_note_is_deleted(connections: Connections) -> None:
    def titles(transaction: PostgresTransaction) -> list[tuple[Any, ...]]:
        return transaction.connection.execute("SELECT words, namers FROM titles ORDER BY words").fetchall()

    with connections.write(["tea"], create=True) as transaction:
        (namespace,) = transaction.namespaces.values()
        titled_notes = [insert_note(transaction, f"bearer {number}") for number in (1, 2)]
        mentioning_notes = [insert_note(transaction, f"namer {number}") for number in (1, 2, 3)]
        row = transaction.connection.execute(
            "INSERT INTO titles (namespace, stems, words) VALUES (%s, 'green tea', 'green tea') RETURNING key",
            [namespace],
        ).fetchone()
        assert row is not None
        values = [[(note, row[0]) for note in titled_notes], [(row[0], note) for note in mentioning_notes]]
        cursor = transaction.connection.cursor()
        cursor.executemany("INSERT INTO titled (note, title) VALUES (%s, %s)", values[0])
        cursor.executemany("INSERT INTO mentions (title, note, exact) VALUES (%s, %s, true)", values[1])
        assert titles(transaction) == [("green tea", 3)]
    with connections.write(["tea"]) as transaction:
        transaction.connection.execute(
            "DELETE FROM notes WHERE key = ANY (%s)", [[titled_notes[0], mentioning_notes[0]]]
        )
        assert titles(transaction) == [("green tea", 2)]
        transaction.connection.execute("DELETE FROM notes WHERE key = %s", [titled_notes[1]])
        assert titles(transaction) == []
        assert transaction.connection.execute("SELECT count(*) FROM mentions").fetchall() == [(0,)]
