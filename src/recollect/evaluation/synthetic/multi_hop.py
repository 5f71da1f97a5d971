"""Questions that need two notes: words of one, and a word of another that it is connected with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recollect.evaluation.synthetic.lexicon import Lexicon, content_words

__all__ = ["connected_question"]

_WORDS = 2
_COMMONEST = 3
"""Of how many of the commonest words that tell a note one is drawn."""


def connected_question(
    lexicon: Lexicon, place: int, connected: Sequence[int], draw: np.random.Generator
) -> tuple[str, int] | None:
    """Return a question by way of one note about another that it is connected with, and the place of that one.

    Rare words of the first, which point at it alone, and a word of the second, by which it is known among all that the
    first is connected with: one of several notes where there is one, so that the connection is needed to find it. No
    word of the second's title is among them, and no note holds them all.

    >>> from recollect.model import Note
    >>> notes = [Note(content="Mira drives a vermilion van."), Note(title="Mira", content="Lives in Porto.")]
    >>> connected_question(Lexicon(notes), 0, [1], np.random.default_rng(0))
    ('what porto has to do with drives vermilion?', 1)
    """
    for which in draw.permutation(len(connected)):
        other = connected[which]
        title = content_words(lexicon.notes[other].title)
        of_first = [word for word in _telling(lexicon, place, without=[other]) if lexicon.is_rare(word)]
        of_second = _telling(lexicon, other, without=[place, *(near for near in connected if near != other)])
        common = sorted(of_second, key=lambda word: (-len(lexicon.holders([word])), word))
        known_by = [word for word in common if word not in title and lexicon.is_telling(word)][:_COMMONEST]
        first = [of_first[at] for at in draw.permutation(len(of_first))][:_WORDS]
        if len(first) == _WORDS and known_by and lexicon.holders(first) == {place}:
            return f"what {draw.choice(known_by)} has to do with {' '.join(first)}?", other
    return None


def _telling(lexicon: Lexicon, place: int, *, without: Sequence[int]) -> list[str]:
    """Return the words of a note that certain others do not hold."""
    words = content_words(lexicon.notes[place].content)
    return [word for word in words if not any(lexicon.holds(other, word) for other in without)]
