"""Questions with spelling mistakes: rare words of a note, each with one slip of the fingers."""

from __future__ import annotations

import numpy as np

from recollect.evaluation.synthetic.lexicon import Lexicon, content_words

__all__ = ["misspelt", "typo_question"]

_SHORTEST = 5
"""Of shorter words, a slip often makes another word."""
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBOURS = {
    key: row[max(0, index - 1) : index] + row[index + 1 : index + 2] for row in _ROWS for index, key in enumerate(row)
}
"""The keys beside each key on an English keyboard."""


def misspelt(word: str, draw: np.random.Generator) -> str:
    """Return a word of ASCII letters with one mistake after its first letter.

    Either a neighbouring key is struck, or two letters change places, or one is dropped.

    >>> [misspelt("vermilion", np.random.default_rng(seed)) for seed in (0, 1)]
    ['vermilon', 'vermolion']
    """
    at = int(draw.integers(1, len(word) - 1))
    struck = str(draw.choice(list(_NEIGHBOURS[word[at]])))
    slips = [
        word[:at] + struck + word[at + 1 :],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + word[at + 1 :],
    ]
    order = [slips[which] for which in draw.permutation(len(slips))]
    return str(next(slip for slip in order if slip != word))


def typo_question(lexicon: Lexicon, place: int, draw: np.random.Generator) -> str | None:
    """Return one or two words that a note alone holds, misspelt so that no note holds them, or ``None``.

    >>> from recollect.model import Note
    >>> notes = [Note(content="A vermilion van."), Note(content="A van.")]
    >>> typo_question(Lexicon(notes), 0, np.random.default_rng(0))
    'vermiion'
    """
    words = [
        word
        for word in content_words(lexicon.notes[place].content)
        if len(word) >= _SHORTEST and word.isascii() and word.isalpha() and lexicon.holders([word]) == {place}
    ]
    wanted = int(draw.integers(1, 2, endpoint=True))
    made = []
    for which in draw.permutation(len(words)):
        slip = misspelt(words[which], draw)
        if not lexicon.holders([slip]):
            made.append(slip)
        if len(made) == wanted:
            break
    return " ".join(made) or None
