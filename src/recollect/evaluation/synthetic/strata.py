"""One generator of questions for each stratum.

A generator takes notes in a random order that alternates between sessions, folders and lengths, and yields at most one
question for each note. All randomness comes from the generator ``rng`` that is passed in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from recollect.evaluation.synthetic.lexicon import TOKEN_KINDS, Lexicon, content_words, tokenise
from recollect.ingest import split_sentences
from recollect.model import Note
from recollect.query.dates import MONTHS
from recollect.text import split_words

EXACT_KINDS = (*(kind for kind in TOKEN_KINDS if kind != "word"), "phrase", "words")

_MIN_TOKEN_LENGTH = 3
_PHRASE_LENGTH = (3, 6)
_RARE_WORD_COUNT = (2, 4)
_LENGTH_BOUNDS = (100, 400)
"""Characters: short notes, medium notes, long notes."""

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

_MAX_NOTES_OF_MONTH = 5
_MAX_NOTES_OF_DAY = 3
_MIN_TOPIC_LENGTH = 4
_MAX_AGE_WITHOUT_YEAR = 11
"""Months."""

_MAX_SHARED = 0.5
_MIN_FOREIGN_WORDS = 3
"""Fewer content words do not show what a text is about."""


class QuestionDraft(NamedTuple):
    """A question, the indexes of the notes that answer it, its kind within the stratum, and when it is asked."""

    text: str
    relevant: tuple[int, ...]
    kind: str = ""
    asked_at: str = ""


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


def exact_questions(lexicon: Lexicon, rng: np.random.Generator) -> Iterator[QuestionDraft]:
    """Yield a token, phrase or some rare words that only one note contains; the kind used least so far is preferred.

    Kinds are single tokens (``identifier``, ``number``, ``name``, ``version``, ``path``), a ``phrase`` of three to six
    words, and two to four rare ``words``.
    """
    counts: Counter[str] = Counter()
    for index in shuffle_by_group(lexicon.notes, rng):
        options = _exact_options(lexicon, index, rng)
        if options:
            kind = min(options, key=lambda option: counts[option])
            counts[kind] += 1
            yield QuestionDraft(options[kind], (index,), kind)


def _exact_options(lexicon: Lexicon, index: int, rng: np.random.Generator) -> dict[str, str]:
    """Return a text of each possible kind, in random order."""
    options: dict[str, str] = {}
    for number in rng.permutation(len(EXACT_KINDS)):
        kind = EXACT_KINDS[number]
        for text in _exact_candidates(kind, lexicon, index, rng):
            if lexicon.notes_with(split_words(text)) == {index}:
                options[kind] = text
                break
    return options


def _exact_candidates(kind: str, lexicon: Lexicon, index: int, rng: np.random.Generator) -> Iterator[str]:
    if kind == "phrase":
        return _phrases(lexicon, index, rng)
    if kind == "words":
        return _rare_words(lexicon, index, rng)
    tokens = [token for token, its_kind in tokenise(lexicon.notes[index].content) if its_kind == kind]
    long_enough = [token for token in tokens if len(token) >= _MIN_TOKEN_LENGTH]
    return (long_enough[number] for number in rng.permutation(len(long_enough)))


def _phrases(lexicon: Lexicon, index: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield runs of three to six words of a sentence that contain a rare word."""
    sentences = split_sentences(lexicon.notes[index].content)
    for number in rng.permutation(len(sentences)):
        words = split_words(sentences[number])
        length = int(rng.integers(*_PHRASE_LENGTH, endpoint=True))
        for start in rng.permutation(max(len(words) - length + 1, 0)):
            phrase = " ".join(words[start : start + length])
            if any(lexicon.is_rare(word) for word in content_words(phrase)):
                yield phrase


def _rare_words(lexicon: Lexicon, index: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield two, three and four rare words of a note."""
    rare = [word for word in content_words(lexicon.notes[index].content) if lexicon.is_rare(word)]
    shuffled = [rare[number] for number in rng.permutation(len(rare))]
    fewest, most = _RARE_WORD_COUNT
    for count in range(fewest, min(most, len(shuffled)) + 1):
        yield " ".join(shuffled[:count])


def multi_hop_questions(
    lexicon: Lexicon, rng: np.random.Generator, connected_ids: Callable[[Note], Sequence[str]]
) -> Iterator[QuestionDraft]:
    """Yield questions that need two connected notes: rare words of the first, and a word of the second.

    The rare words point at the first note alone. The word of the second tells it from the other notes that the first
    is connected with; several notes contain it where possible, so that the connection is needed. It is not in the
    second note's title, and no note contains all the words.
    """
    indexes = {note.id: index for index, note in enumerate(lexicon.notes)}
    for index in shuffle_by_group(lexicon.notes, rng):
        ids = connected_ids(lexicon.notes[index])
        connected = [indexes[note_id] for note_id in ids if note_id in indexes]  # one may be newer than the lexicon
        for number in rng.permutation(len(connected)):
            other = connected[number]
            text = _multi_hop_text(lexicon, index, other, connected, rng)
            if text is not None:
                yield QuestionDraft(text, (index, other))
                break


def _multi_hop_text(
    lexicon: Lexicon, index: int, other: int, connected: Sequence[int], rng: np.random.Generator
) -> str | None:
    own = [word for word in _words_not_in(lexicon, index, [other]) if lexicon.is_rare(word)]
    excluded = [index, *(near for near in connected if near != other)]
    by_frequency = sorted(
        _words_not_in(lexicon, other, excluded), key=lambda word: (-len(lexicon.notes_with([word])), word)
    )
    title = content_words(lexicon.notes[other].title)
    of_other = [word for word in by_frequency if word not in title and lexicon.is_distinctive(word)]
    chosen = [own[number] for number in rng.permutation(len(own))][:_MULTI_HOP_WORDS]
    if len(chosen) < _MULTI_HOP_WORDS or not of_other or lexicon.notes_with(chosen) != {index}:
        return None
    return f"what {rng.choice(of_other[:_MULTI_HOP_CHOICES])} has to do with {' '.join(chosen)}?"


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
        for number in rng.permutation(len(words)):
            wrong = _misspell(words[number], rng)
            if not lexicon.notes_with([wrong]):
                misspelt.append(wrong)
            if len(misspelt) == count:
                break
        if misspelt:
            yield QuestionDraft(" ".join(misspelt), (index,))


def _misspell(word: str, rng: np.random.Generator) -> str:
    """Return a word of ASCII letters with an adjacent key, two swapped letters or a missing letter after the first."""
    index = int(rng.integers(1, len(word) - 1))
    adjacent = str(rng.choice(list(_ADJACENT_KEYS[word[index]])))
    variants = [
        word[:index] + adjacent + word[index + 1 :],
        word[:index] + word[index + 1] + word[index] + word[index + 2 :],
        word[:index] + word[index + 1 :],
    ]
    shuffled = [variants[number] for number in rng.permutation(len(variants))]
    return str(next(variant for variant in shuffled if variant != word))


def temporal_questions(lexicon: Lexicon, rng: np.random.Generator) -> Iterator[QuestionDraft]:
    """Yield questions that the creation times of notes answer, no note in two of them, each kind about as often.

    A question is for all notes of a ``month`` or ``day`` with few notes, or for a word (``topic``) in the month of one
    of the notes that contain it. Dates that the text of another note names are not used, because that note may be an
    answer, too. Questions are asked at the time of the latest note. If all notes are of one month, there are none.
    """
    times = {index: note.created_at for index, note in enumerate(lexicon.notes) if note.created_at}
    months: dict[tuple[int, int], list[int]] = {}
    days: dict[str, list[int]] = {}
    for index, time in times.items():
        months.setdefault((time.year, time.month), []).append(index)
        days.setdefault(f"{time:%Y-%m-%d}", []).append(index)
    if len(months) < 2:
        return
    latest = max(times.values())
    used: set[int] = set()
    counts: Counter[str] = Counter()
    for index in shuffle_by_group(lexicon.notes, rng):
        if index not in times or index in used:
            continue
        time = times[index]
        month_name = MONTHS[time.month - 1]
        month, day = _month_text(time, latest, rng), _day_text(time, rng)
        of_month, of_day = months[time.year, time.month], days[f"{time:%Y-%m-%d}"]
        options: dict[str, tuple[str, list[int]]] = {}
        named_month = [[month_name.lower(), str(time.year)], [f"{time:%Y}", f"{time:%m}"]]
        if len(of_month) <= _MAX_NOTES_OF_MONTH and _notes_naming(lexicon, named_month) <= set(of_month):
            options["month"] = f"what happened in {month}?", of_month
        named_day = [[str(time.day), month_name.lower()], [f"{time:%Y}", f"{time:%m}", f"{time:%d}"]]
        if len(of_day) <= _MAX_NOTES_OF_DAY and _notes_naming(lexicon, named_day) <= set(of_day):
            options["day"] = f"what happened on {day}?", of_day
        topic = _topic(lexicon, index, set(of_month), rng)
        if topic and lexicon.notes_with([topic, month_name.lower()]) <= {index}:
            options["topic"] = f"{topic} in {month}", [index]
        free = [kind for kind, (_, relevant) in options.items() if used.isdisjoint(relevant)]
        if free:
            kind = min(free, key=lambda option: counts[option])
            counts[kind] += 1
            text, relevant = options[kind]
            used.update(relevant)
            yield QuestionDraft(text, tuple(relevant), kind, latest.isoformat())


def _month_text(time: datetime, latest: datetime, rng: np.random.Generator) -> str:
    """Return the month and year; half of the recent months are without the year."""
    name = MONTHS[time.month - 1]
    age = (latest.year - time.year) * 12 + latest.month - time.month
    without_year = age <= _MAX_AGE_WITHOUT_YEAR and rng.integers(2) == 1
    return name if without_year else f"{name} {time.year}"


def _day_text(time: datetime, rng: np.random.Generator) -> str:
    return f"{time.day} {MONTHS[time.month - 1]} {time.year}" if rng.integers(2) == 1 else f"{time:%Y-%m-%d}"


def _notes_naming(lexicon: Lexicon, forms: Sequence[Sequence[str]]) -> set[int]:
    """Return the notes that contain all words of one of the written forms of a date."""
    return set().union(*(lexicon.notes_with(words) for words in forms))


def _topic(lexicon: Lexicon, index: int, of_month: set[int], rng: np.random.Generator) -> str | None:
    """Return a rare word that several notes contain, but only this one of those of its month."""
    words = [
        word
        for word in content_words(lexicon.notes[index].content)
        if len(word) >= _MIN_TOPIC_LENGTH
        and word.isalpha()
        and lexicon.is_rare(word)
        and len(notes := lexicon.notes_with([word])) > 1
        and notes & of_month == {index}
    ]
    return str(rng.choice(words)) if words else None


def stale_questions(lexicon: Lexicon, rng: np.random.Generator) -> Iterator[QuestionDraft]:
    """Yield phrases or rare words of superseded notes; the current notes at the end of the chain answer.

    Only the superseded note and its successors contain all the words. Notes that supersede each other in a cycle have
    no current note and make no question.
    """
    successors = _successors(lexicon.notes)
    for index in shuffle_by_group(lexicon.notes, rng):
        current, chain = _current_notes(index, successors)
        allowed = {index} | chain

        def is_stale(text: str, index: int = index, allowed: set[int] = allowed) -> bool:
            return index in (notes := lexicon.notes_with(split_words(text))) and notes <= allowed

        text = _first_text(lexicon, index, rng, is_stale) if current else None
        if text is not None:
            yield QuestionDraft(text, tuple(sorted(current)))


def _first_text(lexicon: Lexicon, index: int, rng: np.random.Generator, accept: Callable[[str], bool]) -> str | None:
    """Return the first phrase or combination of rare words of a note that is accepted, or ``None``."""
    forms = (_phrases, _rare_words)
    texts = (text for number in rng.permutation(len(forms)) for text in forms[number](lexicon, index, rng))
    return next(filter(accept, texts), None)


def _successors(notes: Sequence[Note]) -> dict[int, set[int]]:
    """Return the direct successors of each superseded note; links name notes by id or path."""
    indexes = {note.path: index for index, note in enumerate(notes) if note.path}
    indexes |= {note.id: index for index, note in enumerate(notes)}
    successors: dict[int, set[int]] = {}
    for index, note in enumerate(notes):
        for link in note.links:
            target = indexes.get(link.target)
            if link.kind == "supersedes" and target is not None and target != index:
                successors.setdefault(target, set()).add(index)
    return successors


def _current_notes(index: int, successors: dict[int, set[int]]) -> tuple[set[int], set[int]]:
    """Return the notes at the end of a chain of supersessions, and all notes of the chain after the first."""
    chain: set[int] = set()
    pending = set(successors.get(index, ()))
    while pending:
        chain |= pending
        pending = {later for note in pending for later in successors.get(note, ())} - chain
    return {note for note in chain if note not in successors}, chain


def unanswerable_questions(lexicon: Lexicon, foreign: Lexicon, rng: np.random.Generator) -> Iterator[QuestionDraft]:
    """Yield phrases or rare words of notes of another collection that share few words with any note of ``lexicon``.

    Every note of ``lexicon`` contains less than half of the content words of the foreign note and of the question. No
    rule can exclude that a note answers in other words; that is likely only if both collections have the same topics.
    """
    for index in shuffle_by_group(foreign.notes, rng):
        if not _is_foreign(lexicon, foreign.notes[index].content):
            continue
        text = _first_text(foreign, index, rng, lambda text: _is_foreign(lexicon, text))
        if text is not None:
            yield QuestionDraft(text, ())


def _is_foreign(lexicon: Lexicon, text: str) -> bool:
    """Return whether a text has three content words or more, and no note contains half of them."""
    words = content_words(text)
    shared = Counter(note for word in words for note in lexicon.notes_with([word]))
    return len(words) >= _MIN_FOREIGN_WORDS and max(shared.values(), default=0) < _MAX_SHARED * len(words)
