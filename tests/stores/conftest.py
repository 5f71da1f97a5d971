from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.stores.base import Store
from tests.stores.engines import ENGINES, release, server
from tests.stores.postgres.server import Server


@pytest.fixture(params=sorted(ENGINES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = ENGINES[request.param](tmp_path)
    yield opened
    opened.close()
    release(tmp_path)


@pytest.fixture(scope="session")
def postgres() -> Server:
    """Return the PostgreSQL server of the tests."""
    return server()


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    """Create an empty database; yield its address."""
    name = postgres.create()
    yield postgres.address(name)
    postgres.drop(name)
