"""Questions in the words of a superseded note; the current note answers them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recollect.evaluation.synthetic.exact import phrases, rare_words
from recollect.evaluation.synthetic.lexicon import Lexicon
from recollect.model import Note
from recollect.text import split_words

__all__ = ["current_notes", "stale_question", "successors_of"]


def successors_of(notes: Sequence[Note]) -> dict[int, set[int]]:
    """Return for each superseded note the notes that superseded it directly, by index.

    >>> from recollect.model import Link
    >>> new = Note(id="n2", content="Mate.", links=(Link("supersedes", "tea.md"),))
    >>> successors_of([Note(id="n1", path="tea.md", content="Tea."), new])
    {0: {1}}
    """
    places = {note.path: place for place, note in enumerate(notes) if note.path}
    places |= {note.id: place for place, note in enumerate(notes)}
    found: dict[int, set[int]] = {}
    for place, note in enumerate(notes):
        for link in note.links:
            target = places.get(link.target)
            if link.kind == "supersedes" and target is not None and target != place:
                found.setdefault(target, set()).add(place)
    return found


def current_notes(place: int, successors: dict[int, set[int]]) -> tuple[set[int], set[int]]:
    """Return the notes at the end of a chain of supersessions, and all notes of the chain after the first.

    A cycle, in which notes supersede each other, has no current note.

    >>> current_notes(0, {0: {1}, 1: {2}})
    ({2}, {1, 2})
    >>> current_notes(0, {0: {1}, 1: {0}})
    (set(), {0, 1})
    """
    chain: set[int] = set()
    pending = set(successors.get(place, ()))
    while pending:
        chain |= pending
        pending = {later for each in pending for later in successors.get(each, ())} - chain
    return {each for each in chain if each not in successors}, chain


def stale_question(lexicon: Lexicon, place: int, chain: set[int], draw: np.random.Generator) -> str | None:
    """Return a phrase or rare words of a superseded note that only it and its successors hold all of, or ``None``.

    >>> lexicon = Lexicon([Note(content="Drinks strong coffee."), Note(content="Drinks green tea.")])
    >>> sorted(stale_question(lexicon, 0, {1}, np.random.default_rng(1)).split())
    ['drinks', 'strong']
    """
    forms = [phrases, rare_words]
    for which in draw.permutation(len(forms)):
        for text in forms[which](lexicon, place, draw):
            holders = lexicon.holders(split_words(text))
            if place in holders and holders <= {place} | chain:
                return str(text)
    return None
