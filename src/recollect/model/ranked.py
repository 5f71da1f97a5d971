"""What every answer to a query is: hits, best first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from recollect.model.hit import Hit

__all__ = ["Ranked"]


class Ranked(Sequence[Hit]):
    """A sequence over its own ``hits``; who inherits from it says what else was told."""

    __slots__ = ()
    hits: tuple[Hit, ...]

    def __len__(self) -> int:
        """Return how many hits there are."""
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        """Walk over the hits, best first."""
        return iter(self.hits)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Hit]: ...
    def __getitem__(self, place: int | slice) -> Hit | Sequence[Hit]:
        """Return a hit by its place, from 0."""
        return self.hits[place]
