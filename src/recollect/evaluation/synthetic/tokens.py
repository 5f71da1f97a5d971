"""Tokens of notes by kind, and those that exactly one note holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import numpy as np
import regex

from recollect import arguments
from recollect.evaluation.synthetic.lexicon import is_content_word
from recollect.model import Note
from recollect.text import split_words

__all__ = ["TOKEN_KINDS", "exact_tokens", "searchable_texts", "tokens_of"]

TOKEN_KINDS = ("identifier", "number", "name", "version", "path", "word")

_TOKEN = regex.compile(r"[\p{L}\p{N}]+(?:[._/\\:#@,'’-][\p{L}\p{N}]+|_+[\p{L}\p{N}]+)*")
"""Letters and digits, with single punctuation marks between them."""
_SHORTEST = 3
_VERSION = regex.compile(
    r"v\d+(?:[._]\d+)*(?:-?[a-z]+[._]?\d*)?|\d+(?:\.\d+){2,}(?:-?[a-z]+[._]?\d*)?", regex.IGNORECASE
)
_NUMBER = regex.compile(r"\d+(?:[.,:/-]\d+)*")
_PATH = regex.compile(r"[^/\\]+(?:[/\\][^/\\]+)+|[\p{L}\p{N}_-]*\p{L}[\p{L}\p{N}_-]*\.[a-z][a-z0-9]{1,4}")
_IDENTIFIER = regex.compile(r"\p{L}.*\p{N}|\p{N}.*\p{L}|_|\p{Ll}\p{Lu}|@|#|\p{L}[.:]\p{L}")
"""What ordinary words lack: letters with digits, an underscore, a capital in the middle, or one of these marks."""
_IN_A_SENTENCE = regex.compile(r"[\p{L}\p{N},;] $")
_WORDS_WITH_SIGNS = regex.compile(r"\p{L}+(?:[-'’/,]\p{L}+)*")


def tokens_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield the tokens of a text as they are written, each with its kind, one of ``TOKEN_KINDS``.

    A token is a run of letters and digits, with single punctuation marks inside, as in ``ERR_4021``, ``48,500`` or
    ``docs/api.md``. A ``name`` is a capitalised word that does not begin a sentence; a ``word`` is any other token.
    Words that are joined by a hyphen, an apostrophe, a slash or a comma are separate words.

    >>> list(tokens_of("We asked Ines about v2.3.1 in docs/api.md; it costs 48,500 since ERR_4021."))[2:4]
    [('Ines', 'name'), ('about', 'word')]
    >>> [each for each in tokens_of("Use v2.3.1 in docs/api.md for 48,500 since ERR_4021.") if each[1] != "word"]
    [('v2.3.1', 'version'), ('docs/api.md', 'path'), ('48,500', 'number'), ('ERR_4021', 'identifier')]
    """
    for found in _TOKEN.finditer(text):
        kind = _kind(found[0])
        if kind != "word":
            yield found[0], kind
        else:
            for word in regex.finditer(r"[\p{L}\p{N}]+", found[0]):
                start = found.start() + word.start()
                named = word[0][0].isupper() and _IN_A_SENTENCE.search(text, max(0, start - 2), start)
                yield word[0], "name" if named else "word"


def exact_tokens(notes: Sequence[Note], limit: int | None = None, seed: int = 0) -> Iterator[tuple[str, str, str]]:
    """Yield tokens that exactly one note holds, as they are written there, each with its kind and the note's id.

    These are the whole case-folded words of three characters or more that are no stopwords, and identifiers, numbers,
    versions and paths of three characters or more whose words follow each other in no other note. Tokens are drawn from
    titles, summaries, tags and contents, and must not be in another note's path either. At most ``limit`` are drawn, of
    each kind in turn, the same with the same ``seed``.

    >>> notes = [Note(id="n1", content="Booked BZH-20931 today."), Note(id="n2", content="Booked a table today.")]
    >>> sorted(exact_tokens(notes))
    [('20931', 'number', 'n1'), ('BZH', 'word', 'n1'), ('BZH-20931', 'identifier', 'n1'), ('table', 'word', 'n2')]
    """
    most = None if limit is None else arguments.at_least_one("limit", limit)
    sequences = [[_folded(text) for text in searchable_texts(note)] for note in notes]
    holders: dict[str, set[int]] = {}
    for index, texts in enumerate(sequences):
        for words in texts:
            for word in words:
                holders.setdefault(word, set()).add(index)
    found: dict[str, list[tuple[str, str, str]]] = {kind: [] for kind in TOKEN_KINDS}
    for index, note in enumerate(notes):
        for token, kind in _distinct_tokens(note).values():
            words = _folded(token)
            near = set.intersection(*(holders[word] for word in words))
            if near == {index} or not any(_follows(words, sequences[other]) for other in near - {index}):
                found[kind].append((token, kind, note.id))
    draw = np.random.default_rng(arguments.count("seed", seed))
    drawn = [[each[place] for place in draw.permutation(len(each))] for each in found.values()]
    turns = (each for turn in zip_longest(*drawn) for each in turn if each is not None)
    for count, each in enumerate(turns):
        if count == most:
            return
        yield each


def searchable_texts(note: Note) -> list[str]:
    """Return the texts of a note that lexical search reads.

    >>> searchable_texts(Note(content="Green.", title="Tea", tags=["drinks"]))
    ['Tea', 'drinks', 'Green.']
    """
    return [text for text in (note.path, note.title, note.summary, *note.tags, note.content) if text]


def _kind(token: str) -> str:
    if _VERSION.fullmatch(token):
        return "version"
    if _NUMBER.fullmatch(token):
        return "number"
    if _WORDS_WITH_SIGNS.fullmatch(token) and not regex.search(r"\p{Ll}\p{Lu}", token):
        return "word"
    if _PATH.fullmatch(token):
        return "path"
    return "identifier" if _IDENTIFIER.search(token) else "word"


def _distinct_tokens(note: Note) -> dict[tuple[str, ...], tuple[str, str]]:
    """Return the tokens of a note by their case-folded words, the words inside of tokens included."""
    tokens: dict[tuple[str, ...], tuple[str, str]] = {}
    for text in (note.title, note.summary, *note.tags, note.content):
        for token, kind in tokens_of(text):
            if len(token) >= _SHORTEST and (kind != "word" or is_content_word(token.casefold())):
                tokens.setdefault(_folded(token), (token, kind))
    for token, _ in list(tokens.values()):
        for word in regex.findall(r"[\p{L}\p{N}]+", token):
            if is_content_word(word.casefold()):
                tokens.setdefault(_folded(word), (word, _kind(word)))
    return tokens


def _folded(text: str) -> tuple[str, ...]:
    return tuple(split_words(text.casefold()))


def _follows(words: tuple[str, ...], texts: Sequence[tuple[str, ...]]) -> bool:
    """Return whether the words follow each other in one of the texts."""
    length = len(words)
    return any(text[start : start + length] == words for text in texts for start in range(len(text) - length + 1))
