from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a store of the test's own lies."""
    return tmp_path / "memory.db"
