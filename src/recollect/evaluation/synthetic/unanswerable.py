"""Questions without an answer: they are made of notes of another collection."""

from __future__ import annotations

from collections import Counter

import numpy as np

from recollect.evaluation.synthetic.exact import exact_questions
from recollect.evaluation.synthetic.lexicon import Lexicon, content_words
from recollect.evaluation.synthetic.paraphrase import paraphrase

__all__ = ["foreign_question", "is_foreign"]

_MOST_SHARED = 0.5
_FEWEST_WORDS = 3
"""Fewer content words do not show what a text is about."""


def is_foreign(lexicon: Lexicon, text: str) -> bool:
    """Return whether every note holds less than half of the content words of a text, of which there are three or more.

    >>> from recollect.model import Note
    >>> lexicon = Lexicon([Note(content="Green tea."), Note(content="A red bike.")])
    >>> is_foreign(lexicon, "green lighthouse keepers"), is_foreign(lexicon, "red bikes for rent")
    (True, False)
    """
    words = content_words(text)
    shared = Counter(place for word in words for place in lexicon.holders([word]))
    return len(words) >= _FEWEST_WORDS and max(shared.values(), default=0) < _MOST_SHARED * len(words)


def foreign_question(lexicon: Lexicon, foreign: Lexicon, place: int, draw: np.random.Generator) -> str | None:
    """Return a question about a note of another collection that the notes of ``lexicon`` have little in common with.

    It is a paraphrase or an exact question about the foreign note. No rule can exclude that a note answers it in other
    words, which is likely if both collections have the same topics and unlikely otherwise.

    >>> from recollect.model import Note
    >>> foreign = Lexicon([Note(content="The lighthouse keepers sing at dusk.")])
    >>> foreign_question(Lexicon([Note(content="Green tea.")]), foreign, 0, np.random.default_rng(0))
    'the lighthouse keepers sing at dusk'
    """
    if not is_foreign(lexicon, foreign.notes[place].content):
        return None  # a paraphrase may have few words in common even with its own note
    reworded = paraphrase(foreign, place, {}, draw)
    exact = exact_questions(foreign, place, draw)
    options = [
        text for text in (reworded, exact.get("phrase"), exact.get("words")) if text and is_foreign(lexicon, text)
    ]
    return options[int(draw.integers(len(options)))] if options else None
