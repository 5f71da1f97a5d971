from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from recollect.stores.postgres.connections import Connections
from tests.stores.postgres.server import Server

Opener = Callable[..., Connections]


@pytest.fixture
def open_connections(database: str) -> Iterator[Opener]:
    """Return a function that opens connections to the database of the test."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(closing(Connections(database, **options)))


@pytest.fixture
def connections(open_connections: Opener) -> Connections:
    return open_connections()


@pytest.fixture(scope="module")
def killable_server() -> Iterator[Server]:
    """Start a server that tests may kill."""
    server = Server()
    try:
        server.start()
        server.prepare()
        yield server
    finally:
        server.remove()


@pytest.fixture
def run_sql(postgres: Server, database: str) -> Callable[[str], list[tuple[Any, ...]]]:
    """Return a function that runs SQL in the test database as superuser, without row-level security."""
    name = database.rpartition("?")[0].rpartition("/")[2]
    return lambda statement: postgres.execute(statement, database=name)
