"""Questions that say what a note says in other words, as far as rules can: no model writes them.

A sentence of the note loses its rarest words, as far as what is left still points at the note alone; it gets other
endings, other forms of dates and numbers, words that the memory uses alike, another order and the shape of a question.
Half of the question's words at most are then words of the note as it stands. The rarest that is left keeps its root, so
that there is something to know the note by.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import regex

from recollect.evaluation.synthetic.lexicon import Lexicon, content_words
from recollect.evaluation.synthetic.rewording import inflected, reworded_dates, reworded_number
from recollect.ingest import split_sentences
from recollect.model import embedding_text
from recollect.text import split_words

__all__ = ["paraphrase"]

_SENTENCE = (4, 30)
"""How many words a sentence must have, and may have."""
_FEWEST_CONTENT_WORDS = 3
_LEAST_KEPT = 5
"""How many of them stay, where there are so many."""
_MOST_SHARED = 0.5
_FRAMES = ("what about {}?", "tell me about {}", "do you have {}?", "which was it: {}?")
"""Shapes of questions that add no word to look for."""
_WORD = regex.compile(r"\d{4}-\d\d-\d\d|\p{L}+ty-\p{L}+|[\p{L}\p{N}]+")
"""A date, a number such as forty-two, or a word."""
_NAME = regex.compile(r"(?<=[\p{L},;] )\p{Lu}\p{L}*")
"""A word with a capital that is not the first of its sentence."""


def paraphrase(lexicon: Lexicon, place: int, alike: Mapping[str, str], draw: np.random.Generator) -> str | None:
    """Return a sentence of a note in other words, or ``None`` where the rules change too little of all of them.

    >>> from recollect.model import Note
    >>> notes = [Note(content="Mira repaired three bikes in the shed."), Note(content="Mira is at work.")]
    >>> paraphrase(Lexicon(notes), 0, {}, np.random.default_rng(1))
    'tell me about 3 bike the shed miras repairing'
    """
    sentences = split_sentences(lexicon.notes[place].content)
    for which in draw.permutation(len(sentences)):
        words = content_words(sentences[which])
        fits = _SENTENCE[0] <= len(split_words(sentences[which])) <= _SENTENCE[1]
        if not fits or len(words) < _FEWEST_CONTENT_WORDS or lexicon.holders(words) != {place}:
            continue
        made = _reworded(lexicon, sentences[which], _kept(lexicon, place, words), alike)
        text = str(draw.choice(_FRAMES)).format(_reordered(made))
        if _is_other(lexicon, place, text):
            return text
    return None


def _kept(lexicon: Lexicon, place: int, words: list[str]) -> list[str]:
    """Return the words without the rarest, as far as those that stay are all held by one note alone."""
    kept = words
    for word in sorted(words, key=lambda word: (len(lexicon.holders([word])), word)):
        rest = [other for other in kept if other != word]
        if len(rest) >= _LEAST_KEPT and lexicon.holders(rest) == {place}:
            kept = rest
    return kept


def _reworded(lexicon: Lexicon, sentence: str, kept: list[str], alike: Mapping[str, str]) -> list[str]:
    """Return the words of a sentence, without content words that are not kept, each changed by the first rule that can.

    Of the words that are kept half at most become others: of more, it would be a question about another note.
    """
    dropped = set(content_words(sentence)).difference(kept)
    names = {word.lower() for word in _NAME.findall(sentence)}
    rarest = min(kept, key=lambda word: (len(lexicon.holders([word])), word))
    swapped = 0
    made: list[str] = []
    for word in _WORD.findall(reworded_dates(sentence).lower()):
        other = reworded_number(word)
        if other == word and word in kept and word not in names:
            other = inflected(word)
            if word != rarest and word in alike and swapped < len(kept) // 2:
                other = alike[word]
                swapped += 1
        if word in dropped:
            continue
        if made and not content_words(made[-1]) and not content_words(other):
            made.pop()  # of several stopwords the last is enough
        made.append(other)
    return made


def _reordered(words: list[str]) -> str:
    """Return the second part of a sentence before the first, cut before the stopword that is nearest the middle."""
    middle = len(words) / 2
    cuts = [place for place, word in enumerate(words) if 0 < place < len(words) and not content_words(word)]
    cut = min(cuts, key=lambda place: (abs(place - middle), place), default=round(middle))
    return " ".join([*words[cut:], *words[:cut]])


def _is_other(lexicon: Lexicon, place: int, text: str) -> bool:
    """Return whether a question shares few words with its note as they stand, but some, and names no other note."""
    note = lexicon.notes[place]
    asked, held = content_words(text), set(split_words(embedding_text(note.title, note.summary, note.content)))
    shared = sum(word in held for word in asked)
    known = any(lexicon.holds(place, word) for word in asked)
    return known and shared <= _MOST_SHARED * len(asked) and lexicon.holders(asked) <= {place}
