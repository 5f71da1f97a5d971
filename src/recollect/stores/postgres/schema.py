"""How a database becomes a store, and an older store a current one.

Everything lies in a schema ``recollect``, whose table ``schema_version`` counts the migrations that it has been
through. Who opens a store brings it up to date, one at a time, in one transaction.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from psycopg import Connection, errors
from psycopg.rows import TupleRow

from recollect.errors import RecollectWarning, StoreDamagedError, StoreError, StoreVersionError
from recollect.stores.postgres.definitions import MIGRATIONS

__all__ = ["SCHEMA_VERSION", "prepare", "require_version"]

SCHEMA_VERSION = len(MIGRATIONS)

_OLDEST_SERVER = 150000
_OLDEST_VECTOR = (0, 7)
_LOCK = (0x5265636C, 0)  # "Recl"
_PACKAGES = {"vector": "pgvector", "pg_trgm": "PostgreSQL's contrib modules"}


def prepare(connection: Connection[TupleRow], location: str, *, read_only: bool = False) -> str:
    """Bring the store up to date where that is needed and allowed, and return the search path that finds its names."""
    if connection.info.server_version < _OLDEST_SERVER:
        raise StoreError(
            f"{location} runs PostgreSQL {connection.info.server_version // 10000}; version 15 or newer is needed"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(f"{location} keeps text in {encoding}, not in every character; create it with ENCODING 'UTF8'")
    version = _version(connection, location)
    require_version((version,), location)
    if version < SCHEMA_VERSION:
        if read_only and version == 0:
            raise StoreError(f"there is no memory at {location}; add a note to create one, or name another database")
        if read_only:
            raise StoreError(f"{location} has an older version; open it once without read_only=True, as a write does")
        _migrate(connection, location)
    _warn_of_roles_without_walls(connection, location)
    return _search_path(connection, location)


def require_version(row: Sequence[Any] | None, location: str) -> None:
    """Raise an error if the store, whose version is the first value of ``row``, is newer than this program."""
    version = row[0] if row else None
    if version is None:
        raise StoreDamagedError(f"{location} does not say which version its tables have; restore a backup")
    if version > SCHEMA_VERSION:
        raise StoreVersionError(
            f"{location} was written by a newer Recollect (its schema is {version}, this one knows {SCHEMA_VERSION}); "
            "upgrade recollect to open it"
        )


def _version(connection: Connection[TupleRow], location: str) -> int:
    table, others = _one(
        connection,
        "SELECT to_regclass('recollect.schema_version') IS NOT NULL, "
        "EXISTS (SELECT 1 FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace WHERE nspname = 'recollect')",
    )
    if table:
        version: int = _one(connection, "SELECT max(version) FROM recollect.schema_version")[0]
        return version
    if others:
        raise StoreDamagedError(
            f"{location} has a schema 'recollect' that is no store's; choose another database, or rename the schema"
        )
    return 0


def _migrate(connection: Connection[TupleRow], location: str) -> None:
    """Bring the store up to date in one transaction; another process may do so at the same moment."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", _LOCK)
        before = _version(connection, location)
        for extension in _PACKAGES:
            _add_extension(connection, extension, location)
        if before == 0:
            _create_schema(connection, location)
        connection.execute("SELECT set_config('search_path', %s, true)", [_search_path(connection, location)])
        for migration in MIGRATIONS[before:]:
            connection.execute(migration)
        connection.execute("UPDATE recollect.schema_version SET version = %s", [SCHEMA_VERSION])


def _create_schema(connection: Connection[TupleRow], location: str) -> None:
    try:
        with connection.transaction():
            connection.execute("CREATE SCHEMA IF NOT EXISTS recollect")
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            f"{location} does not let this role create the schema 'recollect'; "
            "ask an administrator to run CREATE SCHEMA recollect AUTHORIZATION with its name"
        ) from error
    connection.execute(
        "CREATE TABLE recollect.schema_version (version int NOT NULL); INSERT INTO recollect.schema_version VALUES (0)"
    )


def _add_extension(connection: Connection[TupleRow], name: str, location: str) -> None:
    if _one(connection, "SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = %s)", [name])[0]:
        return
    try:
        with connection.transaction():
            connection.execute(f"CREATE EXTENSION {name}")
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            f"{location} does not let this role add the extension {name!r}; "
            f"ask an administrator to run CREATE EXTENSION {name} in this database"
        ) from error
    except (errors.FeatureNotSupported, errors.UndefinedFile) as error:
        raise StoreError(f"{location} has no extension {name!r}; install {_PACKAGES[name]} on the server") from error


def _search_path(connection: Connection[TupleRow], location: str) -> str:
    """Return our schema and those of the extensions, which administrators put where they like."""
    rows = connection.execute(
        "SELECT extname, extversion, quote_ident(nspname) FROM pg_extension "
        "JOIN pg_namespace AS n ON n.oid = extnamespace WHERE extname = ANY (%s)",
        [list(_PACKAGES)],
    ).fetchall()
    homes = {name: (version, home) for name, version, home in rows}
    for name in _PACKAGES:
        if name not in homes:
            raise StoreDamagedError(f"{location} has lost the extension {name!r}; run CREATE EXTENSION {name} there")
    version = homes["vector"][0]
    if tuple(map(int, version.split(".")[:2])) < _OLDEST_VECTOR:
        raise StoreError(
            f"{location} has pgvector {version}; 0.7 is needed: install it, and run ALTER EXTENSION vector UPDATE"
        )
    return ", ".join(dict.fromkeys(["recollect", *(home for _, home in homes.values())]))


def _warn_of_roles_without_walls(connection: Connection[TupleRow], location: str) -> None:
    role, passes = _one(
        connection, "SELECT rolname, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
    )
    if passes:
        warnings.warn(
            f"{location} is opened by {role!r}, for whom row level security does not count: only the queries keep "
            "namespaces apart; use a role that is no superuser and has no BYPASSRLS",
            RecollectWarning,
            stacklevel=2,
        )


def _one(connection: Connection[TupleRow], statement: str, values: Sequence[Any] = ()) -> TupleRow:
    row = connection.execute(statement, values).fetchone()
    assert row is not None  # noqa: S101 (each of these statements returns one row)
    return row
