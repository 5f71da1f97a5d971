"""How much a store holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["Figures"]


class Figures(NamedTuple):
    """What there is of each kind, as one transaction sees it."""

    notes: Mapping[str, int]
    links: int
    documents: int
    vectors: Mapping[str, int]
    expiring: int
    bytes: int
