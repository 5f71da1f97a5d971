"""Every store that keeps the contract: the suite in ``test_contract.py`` runs over all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from recollect.stores.base import Store
from recollect.stores.sqlite.store import SQLiteStore

ENGINES: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda folder: SQLiteStore(folder / "memory.db"),
}
