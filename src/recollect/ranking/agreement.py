"""Unanimity: when two legs agree at the top, a reranker would change nothing and need not run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recollect import arguments

__all__ = ["Unanimity", "unanimity"]

_WINDOW = 3


@dataclass(frozen=True, slots=True)
class Unanimity:
    """The lexical leg's top three, and at how many places the vector leg has the same note.

    >>> Unanimity(("a", "b", "c"), 2).agreements
    2
    """

    ids: tuple[str, ...]
    agreements: int


def unanimity(lexical_ids: Sequence[str], vector_ids: Sequence[str], agree_min: int = 2) -> Unanimity | None:
    """Return how far two legs agree on their top three, or ``None`` if on fewer than ``agree_min`` places.

    Legs with fewer than three notes never agree.

    >>> unanimity(["a", "b", "c", "d"], ["a", "b", "x", "y"])
    Unanimity(ids=('a', 'b', 'c'), agreements=2)
    """
    needed = arguments.count("agree_min", agree_min)
    lexical, vector = _window("lexical_ids", lexical_ids), _window("vector_ids", vector_ids)
    if min(len(lexical), len(vector)) < _WINDOW:
        return None
    agreements = sum(one == other for one, other in zip(lexical, vector, strict=True))
    return Unanimity(tuple(lexical), agreements) if agreements >= needed else None


def _window(argument: str, ids: Sequence[str]) -> list[str]:
    first = arguments.sequence(argument, ids)[:_WINDOW]
    return [arguments.text(f"{argument}[{place}]", each) for place, each in enumerate(first)]
