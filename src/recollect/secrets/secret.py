"""A secret that was found: where it stands, and what it is."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Secret"]


class Secret(NamedTuple):
    """A piece of a text that should not be stored. It says where, not what: nobody can print it by mistake.

    >>> Secret(0, 20, "AWS access key").kind
    'AWS access key'
    """

    start: int
    end: int
    kind: str
