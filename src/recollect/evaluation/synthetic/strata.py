"""One generator of questions for each stratum.

A generator takes notes in a random order that alternates between sessions, folders and lengths, and yields at most one
question for each note. All randomness comes from the generator ``rng`` that is passed in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple, TypeVar

import numpy as np

from recollect.evaluation.synthetic.lexicon import TOKEN_KINDS, Lexicon, content_words, tokenise
from recollect.ingest import split_sentences
from recollect.model import Note
from recollect.text import split_words

T = TypeVar("T")

EXACT_KINDS = (*(kind for kind in TOKEN_KINDS if kind != "word"), "phrase", "words")

_MIN_TOKEN_LENGTH = 3
_LENGTH_BOUNDS = (100, 400)
"""The lengths, in characters, that separate short, medium and long notes."""

_MULTI_HOP_WORDS = 2
_MULTI_HOP_CHOICES = 3
"""The word of the second note is drawn from this many of its most frequent distinctive words."""

_MIN_TYPO_LENGTH = 5
"""An error in a shorter word often makes another word."""
_KEY_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_ADJACENT_KEYS = {
    key: row[max(0, index - 1) : index] + row[index + 1 : index + 2]
    for row in _KEY_ROWS
    for index, key in enumerate(row)
}

_MAX_SHARED = 0.5
_MIN_FOREIGN_WORDS = 3
"""Fewer content words do not show what a text is about."""


class QuestionDraft(NamedTuple):
    """A question, the indexes of the notes that answer it, and its kind within the stratum."""

    text: str
    relevant: tuple[int, ...]
    kind: str = ""


def shuffle_by_group(notes: Sequence[Note], rng: np.random.Generator) -> Iterator[int]:
    """Yield the index of each note once, in random order, from each group in turn.

    A group has the notes of one session, or else folder, of about the same length, so that no large session dominates.
    """
    groups: dict[tuple[str, int], list[int]] = {}
    for index in rng.permutation(len(notes)):
        note = notes[index]
        container = note.session or note.path.rpartition("/")[0]
        length = sum(len(note.content) > bound for bound in _LENGTH_BOUNDS)
        groups.setdefault((container, length), []).append(int(index))
    for indexes in zip_longest(*groups.values()):
        yield from (index for index in indexes if index is not None)


def _shuffled(items: Sequence[T], rng: np.random.Generator) -> list[T]:
    return [items[index] for index in rng.permutation(len(items))]


def exact_questions(lexicon: Lexicon, rng: np.random.Generator) -> Iterator[QuestionDraft]:
    """Yield a token, phrase or some rare words that only one note contains; the kind used least so far is preferred.

    Kinds are single tokens (``identifier``, ``number``, ``name``, ``version``, ``path``), a ``phrase`` of three to six
    words, and two to four rare ``words``.
    """
    counts: Counter[str] = Counter()
    for index in shuffle_by_group(lexicon.notes, rng):
        options = exact_options(lexicon, index, rng)
        if options:
            kind = min(options, key=lambda option: counts[option])
            counts[kind] += 1
            yield QuestionDraft(options[kind], (index,), kind)


def exact_options(lexicon: Lexicon, index: int, rng: np.random.Generator) -> dict[str, str]:
    """Return a text of each possible kind, in random order."""
    options: dict[str, str] = {}
    for number in rng.permutation(len(EXACT_KINDS)):
        kind = EXACT_KINDS[number]
        if kind == "phrase":
            texts = _phrases(lexicon, index, rng)
        elif kind == "words":
            texts = _rare_words(lexicon, index, rng)
        else:
            tokens = [token for token, form in tokenise(lexicon.notes[index].content) if form == kind]
            texts = iter(_shuffled([token for token in tokens if len(token) >= _MIN_TOKEN_LENGTH], rng))
        text = next((text for text in texts if lexicon.notes_with(split_words(text)) == {index}), None)
        if text is not None:
            options[kind] = text
    return options


def _phrases(lexicon: Lexicon, index: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield runs of three to six words of a sentence that contain a rare word."""
    for sentence in _shuffled(split_sentences(lexicon.notes[index].content), rng):
        words = split_words(sentence)
        length = int(rng.integers(3, 6, endpoint=True))
        for start in rng.permutation(max(len(words) - length + 1, 0)):
            phrase = " ".join(words[start : start + length])
            if any(lexicon.is_rare(word) for word in content_words(phrase)):
                yield phrase


def _rare_words(lexicon: Lexicon, index: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield two, three and four rare words of a note."""
    rare = _shuffled([word for word in content_words(lexicon.notes[index].content) if lexicon.is_rare(word)], rng)
    for count in range(2, min(4, len(rare)) + 1):
        yield " ".join(rare[:count])


def multi_hop_questions(
    lexicon: Lexicon, rng: np.random.Generator, connected_ids: Callable[[Note], Sequence[str]]
) -> Iterator[QuestionDraft]:
    """Yield questions that need two connected notes: rare words of the first, and a word of the second.

    Only the first note contains the rare words. The word of the second note distinguishes it from the other notes that
    are connected with the first; where possible several notes contain it, so that the connection is needed. It is not
    in the second note's title, and no note contains all the words.
    """
    indexes = {note.id: index for index, note in enumerate(lexicon.notes)}
    for index in shuffle_by_group(lexicon.notes, rng):
        ids = connected_ids(lexicon.notes[index])
        connected = [indexes[note_id] for note_id in ids if note_id in indexes]  # one may be newer than the lexicon
        for other in _shuffled(connected, rng):
            text = _multi_hop_text(lexicon, index, other, connected, rng)
            if text is not None:
                yield QuestionDraft(text, (index, other))
                break


def _multi_hop_text(
    lexicon: Lexicon, index: int, other: int, connected: Sequence[int], rng: np.random.Generator
) -> str | None:
    own_words = [word for word in _words_not_in(lexicon, index, [other]) if lexicon.is_rare(word)]
    excluded = [index, *(neighbour for neighbour in connected if neighbour != other)]
    by_frequency = sorted(
        _words_not_in(lexicon, other, excluded), key=lambda word: (-len(lexicon.notes_with([word])), word)
    )
    title = content_words(lexicon.notes[other].title)
    other_words = [word for word in by_frequency if word not in title and lexicon.is_distinctive(word)]
    chosen = _shuffled(own_words, rng)[:_MULTI_HOP_WORDS]
    if len(chosen) < _MULTI_HOP_WORDS or not other_words or lexicon.notes_with(chosen) != {index}:
        return None
    return f"what {rng.choice(other_words[:_MULTI_HOP_CHOICES])} has to do with {' '.join(chosen)}?"


def _words_not_in(lexicon: Lexicon, index: int, excluded: Sequence[int]) -> list[str]:
    """Return the content words of a note that none of the excluded notes contains."""
    words = content_words(lexicon.notes[index].content)
    return [word for word in words if not any(lexicon.contains(other, word) for other in excluded)]


def typo_questions(lexicon: Lexicon, rng: np.random.Generator) -> Iterator[QuestionDraft]:
    """Yield one or two words that one note alone contains, misspelt so that no note contains them."""
    for index in shuffle_by_group(lexicon.notes, rng):
        words = [
            word
            for word in content_words(lexicon.notes[index].content)
            if len(word) >= _MIN_TYPO_LENGTH
            and word.isascii()
            and word.isalpha()
            and lexicon.notes_with([word]) == {index}
        ]
        count = int(rng.integers(1, 2, endpoint=True))
        misspelt: list[str] = []
        for word in _shuffled(words, rng):
            wrong = misspell(word, rng)
            if not lexicon.notes_with([wrong]):
                misspelt.append(wrong)
            if len(misspelt) == count:
                break
        if misspelt:
            yield QuestionDraft(" ".join(misspelt), (index,))


def misspell(word: str, rng: np.random.Generator) -> str:
    """Return a word of ASCII letters with an adjacent key, two swapped letters or a missing letter after the first."""
    index = int(rng.integers(1, len(word) - 1))
    adjacent = str(rng.choice(list(_ADJACENT_KEYS[word[index]])))
    variants = [
        word[:index] + adjacent + word[index + 1 :],
        word[:index] + word[index + 1] + word[index] + word[index + 2 :],
        word[:index] + word[index + 1 :],
    ]
    return next(variant for variant in _shuffled(variants, rng) if variant != word)


def unanswerable_questions(lexicon: Lexicon, foreign: Lexicon, rng: np.random.Generator) -> Iterator[QuestionDraft]:
    """Yield phrases or rare words of notes of another collection that share few words with any note of ``lexicon``.

    Every note of ``lexicon`` contains less than half of the content words of the foreign note and of the question. No
    rule can exclude that a note answers in other words; that is likely only if both collections have the same topics.
    """
    for index in shuffle_by_group(foreign.notes, rng):
        if is_foreign(lexicon, foreign.notes[index].content):
            texts = (text for form in _shuffled([_phrases, _rare_words], rng) for text in form(foreign, index, rng))
            text = next((text for text in texts if is_foreign(lexicon, text)), None)
            if text is not None:
                yield QuestionDraft(text, ())


def is_foreign(lexicon: Lexicon, text: str) -> bool:
    """Return whether a text has three content words or more, and no note contains half of them."""
    words = content_words(text)
    shared = Counter(note for word in words for note in lexicon.notes_with([word]))
    return len(words) >= _MIN_FOREIGN_WORDS and max(shared.values(), default=0) < _MAX_SHARED * len(words)
