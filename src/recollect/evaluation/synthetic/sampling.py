"""Which notes are asked about: spread over conversations, folders and lengths, so that no large one speaks for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import numpy as np

from recollect.model import Note

__all__ = ["spread"]

_LENGTHS = (100, 400)
"""Characters that divide short notes from middling ones, and these from long ones."""


def spread(notes: Sequence[Note], draw: np.random.Generator) -> Iterator[int]:
    """Yield the place of each note once: one of each kind in turn, in an order that is drawn.

    Notes are of one kind that share a session, or else a folder, and are about as long.

    >>> notes = [Note(content="tea", session="a")] * 4 + [Note(content="bike", session="b")]
    >>> [place < 4 for place in list(spread(notes, np.random.default_rng(0)))[:2]].count(True)
    1
    """
    kinds: dict[tuple[str, int], list[int]] = {}
    for place in draw.permutation(len(notes)):
        note = notes[place]
        home = note.session or note.path.rpartition("/")[0]
        length = sum(len(note.content) > bound for bound in _LENGTHS)
        kinds.setdefault((home, length), []).append(int(place))
    for turn in zip_longest(*kinds.values()):
        yield from (place for place in turn if place is not None)
