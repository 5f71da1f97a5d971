"""What every answer to a query is: hits, best first."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import overload

from recollect.model.hit import Hit

__all__ = ["Ranked"]

_SHOWN = 3
"""How many hits ``repr`` names."""


class Ranked(Sequence[Hit]):
    """A sequence over its own ``hits``; who inherits from it says what else was told."""

    __slots__ = ()
    query: str
    hits: tuple[Hit, ...]

    @property
    @abstractmethod
    def answer_threshold(self) -> float:
        """The lowest confidence at which the best hit counts as an answer, from 0 to 1."""

    @property
    def best_confidence(self) -> float:
        """The highest confidence of the hits; 0 if there is none."""
        return max((hit.confidence or 0.0 for hit in self.hits), default=0.0)

    @property
    def has_answer(self) -> bool:
        """Whether there is a hit and the best confidence is at least the answer threshold."""
        return bool(self.hits) and self.best_confidence >= self.answer_threshold

    def __repr__(self) -> str:
        """Return the query, the number of hits, whether there is an answer and the first paths; no texts."""
        names = [hit.path or hit.id for hit in self.hits[:_SHOWN]]
        shown = ", ".join(map(repr, names)) + (", …" if len(self.hits) > _SHOWN else "")
        return f"<{type(self).__name__} {self.query!r}: {len(self.hits)} hits, has_answer={self.has_answer}, [{shown}]>"

    def marked_text(self, hit: Hit, text: str | None = None) -> str:
        """Return a hit's content, or a part of it, with a line before it that says which notes superseded it, if any.

        They are named by path if they are among the hits, else by id.
        """
        shown = hit.content if text is None else text
        if not hit.superseded_by:
            return shown
        paths = {other.id: other.path for other in self.hits}
        names = ", ".join(paths.get(note) or note for note in hit.superseded_by)
        return f"[Out of date: superseded by {names}]\n{shown}"

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
