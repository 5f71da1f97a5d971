"""Questions with typing errors: rare words of a note, each with one error."""

from __future__ import annotations

import numpy as np

from recollect.evaluation.synthetic.lexicon import Lexicon, content_words

__all__ = ["misspelt", "typo_question"]

_SHORTEST = 5
"""An error in a shorter word often makes another word."""
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBOURS = {
    key: row[max(0, index - 1) : index] + row[index + 1 : index + 2] for row in _ROWS for index, key in enumerate(row)
}
"""The keys beside each key on an English keyboard."""


def misspelt(word: str, draw: np.random.Generator) -> str:
    """Return a word of ASCII letters with one error after its first letter.

    A letter is replaced by that of a neighbouring key, two letters are swapped, or one is dropped.

    >>> [misspelt("vermilion", np.random.default_rng(seed)) for seed in (0, 1)]
    ['vermilon', 'vermolion']
    """
    index = int(draw.integers(1, len(word) - 1))
    neighbour = str(draw.choice(list(_NEIGHBOURS[word[index]])))
    variants = [
        word[:index] + neighbour + word[index + 1 :],
        word[:index] + word[index + 1] + word[index] + word[index + 2 :],
        word[:index] + word[index + 1 :],
    ]
    order = [variants[which] for which in draw.permutation(len(variants))]
    return str(next(variant for variant in order if variant != word))


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
        wrong = misspelt(words[which], draw)
        if not lexicon.holders([wrong]):
            made.append(wrong)
        if len(made) == wanted:
            break
    return " ".join(made) or None
