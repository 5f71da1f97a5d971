"""Every store that keeps the contract: the suite in ``test_contract.py`` runs over all of them.

An engine opens the store of a folder, and the same one again for the same folder.
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
"""The PostgreSQL database of each folder; one whose folder is gone is used again."""


@cache
def server() -> Server:
    """Return a PostgreSQL server, one for all tests of a process."""
    started = Server()
    atexit.register(started.remove)
    started.start()
    started.prepare()
    return started


@cache
def _ready() -> str:
    """Return the name of a database that is a store, and which others are copies of."""
    name = server().create()
    PostgresStore(server().address(name)).close()
    return name


def _postgres(folder: Path) -> Store:
    if folder not in _databases:
        idle = next((other for other in _databases if not other.exists()), None)
        if idle is None:
            _databases[folder] = server().create(_ready())
        else:
            _databases[folder] = _databases.pop(idle)
            _empty(_databases[folder])
    return PostgresStore(server().address(_databases[folder]))


_LAST = ("notes", "documents", "namespaces", "models")  # others refer to them


def _empty(database: str) -> None:
    """Take all rows from a database: with few in it, that is quicker than to truncate its tables or to make another."""
    tables = (*(table for table in TABLES if table not in _LAST), *_LAST)
    server().execute(";".join(f"DELETE FROM recollect.{table}" for table in tables), database=database)  # noqa: S608 (names of our own)


def release(folder: Path) -> None:
    """Let the database of a folder be used again for another: its store is no longer needed."""
    if folder in _databases:
        _databases[folder / "released"] = _databases.pop(folder)


ENGINES: dict[str, Callable[[Path], Store]] = {
    "postgres": _postgres,
    "sqlite": lambda folder: SQLiteStore(folder / "memory.db"),
}
