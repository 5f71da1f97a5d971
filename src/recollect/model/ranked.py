"""What every answer to a query is: hits, best first."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import overload

from recollect.model.hit import Hit

__all__ = ["Ranked"]

_SHOWN = 3
"""How many hits ``repr`` names."""


WEAK_SHARE = 0.1
"""A hit of a search with an answer is weak if its confidence is below this share of the best, and the threshold."""


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

    @property
    def weak_flags(self) -> list[bool]:
        """For each hit whether it is a weak candidate, which interfaces for people and models show only on demand.

        If there is no answer, every hit is weak. If there is one, a hit is weak whose confidence is below the answer
        threshold and below a tenth of the best confidence; a hit without a confidence is not. Neither is a superseded
        note beside the note that supersedes it, if that one is not weak: together they tell what changed.
        """
        if not self.has_answer:
            return [True] * len(self.hits)
        least = min(self.answer_threshold, WEAK_SHARE * self.best_confidence)
        strong = {hit.id for hit in self.hits if hit.confidence is None or hit.confidence >= least}
        return [hit.id not in strong and strong.isdisjoint(hit.superseded_by) for hit in self.hits]

    @property
    def strong_hits(self) -> tuple[Hit, ...]:
        """The hits that are not weak, best first."""
        return tuple(hit for hit, weak in zip(self.hits, self.weak_flags, strict=True) if not weak)

    @property
    def weak_hits(self) -> tuple[Hit, ...]:
        """The hits that are weak, best first."""
        return tuple(hit for hit, weak in zip(self.hits, self.weak_flags, strict=True) if weak)

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
