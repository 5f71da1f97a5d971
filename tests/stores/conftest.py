from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.stores.base import Store
from tests.stores.engines import ENGINES


@pytest.fixture(params=sorted(ENGINES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = ENGINES[request.param](tmp_path)
    yield opened
    opened.close()
