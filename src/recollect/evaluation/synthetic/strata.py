"""Generators of synthetic questions, one for each stratum.

A generator takes notes in a random order that alternates between sessions, folders and lengths, and yields at most one
question for each note. All randomness comes from the random number generator ``rng`` that is passed in.
"""

from __future__ import annotations

from bisect import bisect_left
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

EXACT_KINDS = (*(kind for kind in TOKEN_KINDS if kind != "word"), "phrase", "words")  # in the stratum ``exact``

_MIN_TOKEN_LENGTH = 3
_LENGTH_BOUNDS = (100, 400)  # the lengths, in characters, that separate short, medium and long notes

_MULTI_HOP_WORDS = 2  # the number of rare words of the first note in a multi-hop question
_MULTI_HOP_CHOICES = 3  # the word of the second note is drawn from this many distinctive words, those in most notes

_MIN_TYPO_LENGTH = 5  # the minimum length of a word to misspell: errors in shorter words often make another word
_KEY_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_ADJACENT_KEYS = {
    key: row[max(0, index - 1) : index] + row[index + 1 : index + 2]
    for row in _KEY_ROWS
    for index, key in enumerate(row)
}
"""For each letter, the letters to the left and to the right of it on a keyboard."""

_MAX_SHARED = 0.5  # A text is foreign if every note contains less than this fraction of its content words
_MIN_FOREIGN_WORDS = 3  # the minimum number of content words of a foreign text: fewer do not show what it is about


class QuestionDraft(NamedTuple):
    """The text of a question, the indexes of the relevant notes, and the kind of question within the stratum."""

    text: str
    relevant: tuple[int, ...]
    kind: str = ""


def shuffle_by_group(notes: Sequence[Note], rng: np.random.Generator) -> Iterator[int]:
    """Yield the index of each note once, in random order, from each group in turn, so that no session dominates.

    A group has the short, medium or long notes of one session or, for notes without a session, of one folder.
    """
    groups: dict[tuple[str, int], list[int]] = {}
    for index in rng.permutation(len(notes)):
        note = notes[index]
        container = note.session or note.path.rpartition("/")[0]
        length_class = bisect_left(_LENGTH_BOUNDS, len(note.content))
        groups.setdefault((container, length_class), []).append(int(index))
    for indexes in zip_longest(*groups.values()):
        yield from (index for index in indexes if index is not None)


def _shuffled(items: Sequence[T], rng: np.random.Generator) -> list[T]:
    return [items[index] for index in rng.permutation(len(items))]


def exact_questions(lexicon: Lexicon, rng: np.random.Generator) -> Iterator[QuestionDraft]:
    """Yield tokens, phrases and rare words that only one note contains, with the kinds in about equal numbers.

    Kinds are single tokens (``identifier``, ``number``, ``name``, ``version``, ``path``), a ``phrase`` of three to six
    words, and two to four rare ``words``.
    """
    counts: Counter[str] = Counter()
    for index in shuffle_by_group(lexicon.notes, rng):
        text_by_kind = exact_texts(lexicon, index, rng)
        if text_by_kind:
            least_used_kind = min(text_by_kind, key=lambda kind: counts[kind])
            counts[least_used_kind] += 1
            yield QuestionDraft(text_by_kind[least_used_kind], (index,), least_used_kind)


def exact_texts(lexicon: Lexicon, index: int, rng: np.random.Generator) -> dict[str, str]:
    """Return, by kind and in random order, a text that only this note contains; kinds without one are left out."""
    text_by_kind: dict[str, str] = {}
    for number in rng.permutation(len(EXACT_KINDS)):
        kind = EXACT_KINDS[number]
        if kind == "phrase":
            texts = _phrases(lexicon, index, rng)
        elif kind == "words":
            texts = _rare_words(lexicon, index, rng)
        else:
            tokens = [token for token, token_kind in tokenise(lexicon.notes[index].content) if token_kind == kind]
            texts = iter(_shuffled([token for token in tokens if len(token) >= _MIN_TOKEN_LENGTH], rng))
        text = next((text for text in texts if lexicon.notes_with(split_words(text)) == {index}), None)
        if text is not None:
            text_by_kind[kind] = text
    return text_by_kind


def _phrases(lexicon: Lexicon, index: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield phrases of three to six consecutive words of a sentence, each with at least one rare word."""
    for sentence in _shuffled(split_sentences(lexicon.notes[index].content), rng):
        words = split_words(sentence)
        length = int(rng.integers(3, 6, endpoint=True))
        for start in rng.permutation(max(len(words) - length + 1, 0)):
            phrase = " ".join(words[start : start + length])
            if any(lexicon.is_rare(word) for word in content_words(phrase)):
                yield phrase


def _rare_words(lexicon: Lexicon, index: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield up to three texts: two, three and four rare words of a note."""
    words = _shuffled([word for word in content_words(lexicon.notes[index].content) if lexicon.is_rare(word)], rng)
    for count in range(2, min(4, len(words)) + 1):
        yield " ".join(words[:count])


def multi_hop_questions(
    lexicon: Lexicon, rng: np.random.Generator, connected_ids: Callable[[Note], Sequence[str]]
) -> Iterator[QuestionDraft]:
    """Yield questions that need two connected notes: rare words of the first, and a word of the second.

    Only the first note contains all of the rare words. The word of the second note distinguishes this note from the
    other notes that are connected with the first one. If possible, several notes contain the word, so that a search
    needs the connection. The word is not in the second note's title, and no note contains all words of the question.
    """
    index_by_id = {note.id: index for index, note in enumerate(lexicon.notes)}
    for index in shuffle_by_group(lexicon.notes, rng):
        ids = connected_ids(lexicon.notes[index])
        connected = [index_by_id[note_id] for note_id in ids if note_id in index_by_id]  # not notes added since
        for second in _shuffled(connected, rng):
            text = _multi_hop_text(lexicon, index, second, connected, rng)
            if text is not None:
                yield QuestionDraft(text, (index, second))
                break


def _multi_hop_text(
    lexicon: Lexicon, first: int, second: int, connected: Sequence[int], rng: np.random.Generator
) -> str | None:
    """Return a question that needs the notes ``first`` and ``second``; ``None`` if their words do not allow one."""
    rare_words = [word for word in _words_not_in(lexicon, first, [second]) if lexicon.is_rare(word)]
    excluded = [first, *(neighbour for neighbour in connected if neighbour != second)]
    words = sorted(_words_not_in(lexicon, second, excluded), key=lambda word: (-len(lexicon.notes_with([word])), word))
    title_words = content_words(lexicon.notes[second].title)
    distinctive_words = [word for word in words if word not in title_words and lexicon.is_distinctive(word)]
    chosen_words = _shuffled(rare_words, rng)[:_MULTI_HOP_WORDS]
    if len(chosen_words) < _MULTI_HOP_WORDS or not distinctive_words or lexicon.notes_with(chosen_words) != {first}:
        return None
    return f"what {rng.choice(distinctive_words[:_MULTI_HOP_CHOICES])} has to do with {' '.join(chosen_words)}?"


def _words_not_in(lexicon: Lexicon, index: int, excluded: Sequence[int]) -> list[str]:
    """Return the content words of a note that none of the excluded notes contains."""
    words = content_words(lexicon.notes[index].content)
    return [word for word in words if not any(lexicon.contains(other, word) for other in excluded)]


def typo_questions(lexicon: Lexicon, rng: np.random.Generator) -> Iterator[QuestionDraft]:
    """Yield one or two words that only one note contains, misspelt so that no note contains the misspelling."""
    for index in shuffle_by_group(lexicon.notes, rng):
        long_words = [word for word in content_words(lexicon.notes[index].content) if len(word) >= _MIN_TYPO_LENGTH]
        ascii_words = [word for word in long_words if word.isascii() and word.isalpha()]
        words = [word for word in ascii_words if lexicon.notes_with([word]) == {index}]
        count = int(rng.integers(1, 2, endpoint=True))
        misspelt: list[str] = []
        for word in _shuffled(words, rng):
            misspelling = misspell(word, rng)
            if not lexicon.notes_with([misspelling]):
                misspelt.append(misspelling)
            if len(misspelt) == count:
                break
        if misspelt:
            yield QuestionDraft(" ".join(misspelt), (index,))


def misspell(word: str, rng: np.random.Generator) -> str:
    """Return a word of ASCII letters with a typing error: an adjacent key, two swapped letters or a missing letter."""
    index = int(rng.integers(1, len(word) - 1))  # the first letter stays
    adjacent = str(rng.choice(list(_ADJACENT_KEYS[word[index]])))
    variants = [
        word[:index] + adjacent + word[index + 1 :],
        word[:index] + word[index + 1] + word[index] + word[index + 2 :],
        word[:index] + word[index + 1 :],
    ]
    return next(variant for variant in _shuffled(variants, rng) if variant != word)


def unanswerable_questions(lexicon: Lexicon, foreign: Lexicon, rng: np.random.Generator) -> Iterator[QuestionDraft]:
    """Yield phrases or rare words from those notes of ``foreign`` that share few words with the notes of ``lexicon``.

    Every note of ``lexicon`` contains less than half of the content words of the foreign note, and of the question. A
    note may still answer the question in other words; this is likely only if both collections have the same topics.
    """
    for index in shuffle_by_group(foreign.notes, rng):
        if is_foreign(lexicon, foreign.notes[index].content):
            generators = _shuffled([_phrases, _rare_words], rng)
            texts = (text for generator in generators for text in generator(foreign, index, rng))
            text = next((text for text in texts if is_foreign(lexicon, text)), None)
            if text is not None:
                yield QuestionDraft(text, ())


def is_foreign(lexicon: Lexicon, text: str) -> bool:
    """Return whether a text has three content words or more, and every note contains less than half of them."""
    words = content_words(text)
    shared_words = Counter(index for word in words for index in lexicon.notes_with([word]))  # a count for each note
    return len(words) >= _MIN_FOREIGN_WORDS and max(shared_words.values(), default=0) < _MAX_SHARED * len(words)
