"""The engines that the suite in ``test_contract.py`` tests.

An engine is a function from a folder to its store; the same folder opens the same store.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from functools import cache
from pathlib import Path

from recollect.stores.base import Store
from recollect.stores.postgres.schema import TABLES
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.sqlite.store import SQLiteStore
from tests.stores.postgres.server import Server

_databases: dict[Path, str] = {}
"""Folder to PostgreSQL database; databases of deleted folders are reused."""


@cache
def server() -> Server:
    """Return the PostgreSQL server that all tests of a process share."""
    started = Server()
    atexit.register(started.remove)
    started.start()
    started.prepare()
    return started


@cache
def _template_database() -> str:
    """Return the name of a database with an empty store, the template of the others."""
    name = server().create()
    PostgresStore(server().address(name)).close()
    return name


def _postgres(folder: Path) -> Store:
    if folder not in _databases:
        idle = next((candidate for candidate in _databases if not candidate.exists()), None)
        if idle is None:
            _databases[folder] = server().create(_template_database())
        else:
            _databases[folder] = _databases.pop(idle)
            _empty(_databases[folder])
    return PostgresStore(server().address(_databases[folder]))


_REFERENCED_TABLES = ("notes", "documents", "namespaces", "models")  # deleted last: other tables refer to them


def _empty(database: str) -> None:
    """Delete all rows of a database; for few rows this is faster than TRUNCATE or a new database."""
    tables = (*(table for table in TABLES if table not in _REFERENCED_TABLES), *_REFERENCED_TABLES)
    server().execute(";".join(f"DELETE FROM recollect.{table}" for table in tables), database=database)  # noqa: S608 (names of our own)


def release(folder: Path) -> None:
    """Mark the database of a folder as reusable."""
    if folder in _databases:
        _databases[folder / "released"] = _databases.pop(folder)


ENGINES: dict[str, Callable[[Path], Store]] = {
    "postgres": _postgres,
    "sqlite": lambda folder: SQLiteStore(folder / "memory.db"),
}
