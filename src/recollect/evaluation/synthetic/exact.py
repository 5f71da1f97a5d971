"""Questions for lexical search: single tokens by kind, phrases and rare words of a note."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from recollect.evaluation.synthetic.lexicon import Lexicon, content_words
from recollect.evaluation.synthetic.tokens import TOKEN_KINDS, tokens_of
from recollect.ingest import split_sentences
from recollect.text import split_words

__all__ = ["EXACT_KINDS", "exact_questions", "phrases", "rare_words"]

_TOKEN_QUESTIONS = tuple(kind for kind in TOKEN_KINDS if kind != "word")
EXACT_KINDS = (*_TOKEN_QUESTIONS, "phrase", "words")

_SHORTEST = 3
_PHRASE = (3, 6)
_WORDS = (2, 4)


def exact_questions(lexicon: Lexicon, place: int, draw: np.random.Generator) -> dict[str, str]:
    """Return questions made of words that only this note holds together, one of each kind that is possible.

    Kinds are single tokens (``identifier``, ``number``, ``name``, ``version``, ``path``), a ``phrase`` of three to six
    words, and two to four rare ``words``; their order is random.

    >>> from recollect.model import Note
    >>> notes = [Note(content="Deploys fail with ERR_4021."), Note(content="Deploys fail on Mondays.")]
    >>> exact_questions(Lexicon(notes), 0, np.random.default_rng(1))["identifier"]
    'ERR_4021'
    """
    made: dict[str, str] = {}
    for which in draw.permutation(len(EXACT_KINDS)):
        kind = EXACT_KINDS[which]
        for text in _candidates(kind, lexicon, place, draw):
            if lexicon.holders(split_words(text)) == {place}:
                made[kind] = text
                break
    return made


def _candidates(kind: str, lexicon: Lexicon, place: int, draw: np.random.Generator) -> Iterator[str]:
    if kind == "phrase":
        return phrases(lexicon, place, draw)
    if kind == "words":
        return rare_words(lexicon, place, draw)
    tokens = [token for token, found in tokens_of(lexicon.notes[place].content) if found == kind]
    long_enough = [token for token in tokens if len(token) >= _SHORTEST]
    return (long_enough[which] for which in draw.permutation(len(long_enough)))


def phrases(lexicon: Lexicon, place: int, draw: np.random.Generator) -> Iterator[str]:
    """Yield runs of three to six words of a note's sentences that hold a rare word.

    >>> from recollect.model import Note
    >>> list(phrases(Lexicon([Note(content="A vermilion barge lies there.")]), 0, np.random.default_rng(1)))
    ['a vermilion barge lies', 'vermilion barge lies there']
    """
    sentences = split_sentences(lexicon.notes[place].content)
    for which in draw.permutation(len(sentences)):
        words = split_words(sentences[which])
        length = int(draw.integers(*_PHRASE, endpoint=True))
        starts = max(len(words) - length + 1, 0)
        for start in draw.permutation(starts):
            phrase = words[start : start + length]
            if any(lexicon.is_rare(word) for word in content_words(" ".join(phrase))):
                yield " ".join(phrase)


def rare_words(lexicon: Lexicon, place: int, draw: np.random.Generator) -> Iterator[str]:
    """Yield two, three and four rare words of a note.

    >>> from recollect.model import Note
    >>> sorted(next(rare_words(Lexicon([Note(content="A vermilion barge.")]), 0, np.random.default_rng(0))).split())
    ['barge', 'vermilion']
    """
    rare = [word for word in content_words(lexicon.notes[place].content) if lexicon.is_rare(word)]
    order = [rare[which] for which in draw.permutation(len(rare))]
    for count in range(_WORDS[0], min(_WORDS[1], len(order)) + 1):
        yield " ".join(order[:count])
