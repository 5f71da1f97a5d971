"""What a memory holds, in figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from recollect.stores.base import StoreStats

__all__ = ["MemoryStats"]


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """What a memory holds, and what it embeds with."""

    store: StoreStats
    embedder: str
    """What embeds, and why it was chosen."""
    unembedded: int
    """How many notes have no vector of the embedder's model."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON-ready data."""
        store = asdict(self.store)
        if self.store.model:
            store["model"] = self.store.model._asdict()
        return {**store, "embedder": self.embedder, "unembedded": self.unembedded}
