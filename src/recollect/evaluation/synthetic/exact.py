"""Questions of which words alone give the answer: identifiers, phrases and rare words of a note."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import regex

from recollect.characters import split_words
from recollect.evaluation.synthetic.lexicon import Lexicon, content_words
from recollect.ingest import split_sentences

__all__ = ["exact_question"]

_IDENTIFIER = regex.compile(r"[\p{L}\p{N}]+(?:[._/:#@-]?[\p{L}\p{N}]+)*")
_NAMED = regex.compile(r"\p{L}.*\p{N}|\p{N}.*\p{L}|_|\p{Ll}\p{Lu}|@")
"""What ordinary words have not: letters with digits, an underscore, a capital in the middle, an at sign."""
_PHRASE = (3, 6)
_WORDS = (2, 4)


def exact_question(lexicon: Lexicon, place: int, draw: np.random.Generator) -> str | None:
    """Return a question in a note's own words that no other note holds all of, or ``None`` where there is none.

    >>> from recollect.model import Note
    >>> notes = [Note(content="Deploys fail with ERR_4021."), Note(content="Deploys fail on Mondays.")]
    >>> exact_question(Lexicon(notes), 0, np.random.default_rng(1))
    'ERR_4021'
    """
    forms: list[Callable[..., Iterator[str]]] = [_identifiers, _phrases, _rare_words]
    for form in (forms[which] for which in draw.permutation(len(forms))):
        for text in form(lexicon, place, draw):
            if lexicon.holders(split_words(text)) == {place}:
                return str(text)
    return None


def _identifiers(lexicon: Lexicon, place: int, draw: np.random.Generator) -> Iterator[str]:
    found = [match[0] for match in _IDENTIFIER.finditer(lexicon.notes[place].content) if _NAMED.search(match[0])]
    yield from (found[which] for which in draw.permutation(len(found)))


def _phrases(lexicon: Lexicon, place: int, draw: np.random.Generator) -> Iterator[str]:
    sentences = split_sentences(lexicon.notes[place].content)
    for which in draw.permutation(len(sentences)):
        words = split_words(sentences[which])
        length = int(draw.integers(*_PHRASE, endpoint=True))
        starts = max(len(words) - length + 1, 0)
        for start in draw.permutation(starts):
            phrase = words[start : start + length]
            if any(lexicon.is_rare(word) for word in content_words(" ".join(phrase))):
                yield " ".join(phrase)


def _rare_words(lexicon: Lexicon, place: int, draw: np.random.Generator) -> Iterator[str]:
    rare = [word for word in content_words(lexicon.notes[place].content) if lexicon.is_rare(word)]
    order = [rare[which] for which in draw.permutation(len(rare))]
    for count in range(_WORDS[0], min(_WORDS[1], len(order)) + 1):
        yield " ".join(order[:count])
