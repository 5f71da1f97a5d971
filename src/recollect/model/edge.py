"""An edge: how two notes are connected."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["Edge"]


class Edge(NamedTuple):
    """A connection of a note that was asked about.

    >>> Edge("n1", "n2", "mention", "out").distance
    1
    """

    source: str
    """The id of the note that was asked about."""
    target: str
    """The id of the note at the other end."""
    kind: str
    """``previous``, ``next``, ``mention``, ``entity``, or a link's kind."""
    direction: Literal["out", "in"]
    """Whether it leads from the note that was asked about, or to it."""
    distance: int = 1
    """How many places lie between them in a conversation or document."""
