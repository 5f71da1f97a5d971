"""Words and tokens of notes: which notes contain a word (``Lexicon``), and which tokens only one note contains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest

import numpy as np
import regex

from recollect import arguments
from recollect.model import Note, embedding_text
from recollect.query.terms import DUTCH_STOPWORDS, ENGLISH_STOPWORDS
from recollect.text import split_words

TOKEN_KINDS = ("identifier", "number", "name", "version", "path", "word")

_STOPWORDS = ENGLISH_STOPWORDS | DUTCH_STOPWORDS
_MIN_LENGTH = 3  # the minimum length of a content word, a token and a word root, in characters
_SUFFIXES = ("ingly", "edly", "ies", "ied", "ing", "ed", "es", "ly", "s", "e", "y")  # ``word_root`` tries them in order

_TOKEN = regex.compile(r"[\p{L}\p{N}]+(?:[._/\\:#@,'’-][\p{L}\p{N}]+|_+[\p{L}\p{N}]+)*")
"""Letters and digits, with single punctuation marks or any number of underscores between them."""
_WORD = regex.compile(r"[\p{L}\p{N}]+")
_VERSION = regex.compile(
    r"v\d+(?:[._]\d+)*(?:-?[a-z]+[._]?\d*)?|\d+(?:\.\d+){2,}(?:-?[a-z]+[._]?\d*)?", regex.IGNORECASE
)
"""``v2``, ``v1.4``, ``1.4.2``, each also with a suffix such as ``-rc1``."""
_NUMBER = regex.compile(r"\d+(?:[.,:/-]\d+)*")  # digits, also with separators: numbers, dates and times
_PATH = regex.compile(r"[^/\\]+(?:[/\\][^/\\]+)+|[\p{L}\p{N}_-]*\p{L}[\p{L}\p{N}_-]*\.[a-z][a-z0-9]{1,4}")
"""Parts that are separated by slashes, or a file name with an extension of two to five characters."""
_IDENTIFIER = regex.compile(r"\p{L}.*\p{N}|\p{N}.*\p{L}|_|\p{Ll}\p{Lu}|@|#|\p{L}[.:]\p{L}")
"""Any of: a letter and a digit, ``_``, a capital after a small letter, ``@``, ``#``, ``.`` or ``:`` between letters."""
_INSIDE_SENTENCE = regex.compile(r"[\p{L}\p{N},;] $")  # the two characters before a word that does not begin a sentence
_JOINED_WORDS = regex.compile(r"\p{L}+(?:[-'’/,]\p{L}+)*")
"""Words of letters, joined by hyphens, apostrophes, slashes or commas."""


def content_words(text: str) -> list[str]:
    """Return the lower-case words of a text, each once, without stopwords and words of less than three characters."""
    return list(dict.fromkeys(filter(_is_content_word, split_words(text))))


def _is_content_word(word: str) -> bool:
    return len(word) >= _MIN_LENGTH and word not in _STOPWORDS


def word_root(word: str) -> str:
    """Return an approximate stem of a lower-case English word: a key that its inflected forms share."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _MIN_LENGTH:
            word = word.removesuffix(suffix)
            break
    # After the suffix is removed, forms may still differ in a final e, y or doubled letter: stop and stopp (stopped).
    return word[:-1] if len(word) > _MIN_LENGTH and (word[-1] in "ey" or word[-1] == word[-2]) else word


class Lexicon:
    """An index from words to notes; inflected forms of a word count as the same word.

    Methods identify a note by its index in ``notes``.
    """

    def __init__(self, notes: Sequence[Note]) -> None:
        self.notes = notes
        self._postings: dict[str, set[int]] = {}
        for index, note in enumerate(notes):
            for word in set(split_words(embedding_text(note.title, note.summary, note.content))):
                self._postings.setdefault(word_root(word), set()).add(index)
        self._max_notes_of_rare_word = max(2, len(notes) // 100)
        self._max_notes_of_distinctive_word = max(3, len(notes) // 20)

    def notes_with(self, words: Iterable[str]) -> set[int]:
        """Return the indexes of the notes that contain all of the words; no index if ``words`` is empty."""
        postings = [self._postings.get(word_root(word), set()) for word in words]
        return set.intersection(*postings) if postings else set()

    def contains(self, index: int, word: str) -> bool:
        """Return whether a note contains a word."""
        return index in self._postings.get(word_root(word), ())

    def is_rare(self, word: str) -> bool:
        """Return whether a word occurs, but in no more than 2 notes or 1 % of the notes (the larger number)."""
        return 1 <= len(self._postings.get(word_root(word), ())) <= self._max_notes_of_rare_word

    def is_distinctive(self, word: str) -> bool:
        """Return whether a word occurs, but in no more than 3 notes or 5 % of the notes (the larger number)."""
        return 1 <= len(self._postings.get(word_root(word), ())) <= self._max_notes_of_distinctive_word


def tokenise(text: str) -> Iterator[tuple[str, str]]:
    """Yield (token, kind) for each token of a text; the kind is one of ``TOKEN_KINDS``.

    A token is a run of letters and digits, with single punctuation marks inside, as in ``ERR_4021``, ``48,500`` or
    ``docs/api.md``. A ``name`` is a capitalised word that does not begin a sentence; a ``word`` is any other token.
    Words that are joined by a hyphen, an apostrophe, a slash or a comma are separate words.
    """
    for token in _TOKEN.finditer(text):
        kind = _token_kind(token[0])
        if kind != "word":
            yield token[0], kind
            continue
        for word in _WORD.finditer(token[0]):
            start = token.start() + word.start()
            is_name = word[0][0].isupper() and _INSIDE_SENTENCE.search(text, max(0, start - 2), start)
            yield word[0], "name" if is_name else "word"


def _token_kind(token: str) -> str:
    if _VERSION.fullmatch(token):
        return "version"
    if _NUMBER.fullmatch(token):
        return "number"
    if _JOINED_WORDS.fullmatch(token) and not regex.search(r"\p{Ll}\p{Lu}", token):
        return "word"
    if _PATH.fullmatch(token):
        return "path"
    return "identifier" if _IDENTIFIER.search(token) else "word"


def exact_tokens(notes: Sequence[Note], limit: int | None = None, seed: int = 0) -> Iterator[tuple[str, str, str]]:
    """Yield (token, kind, note id) for tokens that exactly one note contains, as they are written in the note.

    A token is a word that is no stopword, or an identifier, number, name, version or path, with three characters or
    more. A note contains a token if the token's words (``BZH-20931`` has two) occur next to each other in its path,
    title, summary or content or in a tag; case is ignored. Tokens are taken from all of these texts except the path. At
    most ``limit`` tokens are drawn, from the kinds in turn; the same ``seed`` draws the same tokens.

    >>> notes = [Note(id="n1", content="Booked BZH-20931 today."), Note(id="n2", content="Booked a table today.")]
    >>> sorted(exact_tokens(notes))
    [('20931', 'number', 'n1'), ('BZH', 'word', 'n1'), ('BZH-20931', 'identifier', 'n1'), ('table', 'word', 'n2')]
    """
    max_count = None if limit is None else arguments.at_least_one("limit", limit)
    rng = np.random.default_rng(arguments.count("seed", seed))
    words_of_texts = [  # for each note, the words of each of its texts
        [_folded_words(text) for text in (note.path, note.title, note.summary, *note.tags, note.content) if text]
        for note in notes
    ]
    postings: dict[str, set[int]] = {}
    for index, texts in enumerate(words_of_texts):
        for word in chain.from_iterable(texts):
            postings.setdefault(word, set()).add(index)
    by_kind: dict[str, list[tuple[str, str, str]]] = {kind: [] for kind in TOKEN_KINDS}
    for index, note in enumerate(notes):
        for token, kind in _distinct_tokens(note).values():
            words = _folded_words(token)
            others_with_words = set.intersection(*(postings[word] for word in words)) - {index}
            if not any(_contains_phrase(words_of_texts[other], words) for other in others_with_words):
                by_kind[kind].append((token, kind, note.id))
    shuffled = [[tokens[index] for index in rng.permutation(len(tokens))] for tokens in by_kind.values()]
    from_kinds_in_turn = (token for tokens in zip_longest(*shuffled) for token in tokens if token is not None)
    yield from islice(from_kinds_in_turn, max_count)


def _distinct_tokens(note: Note) -> dict[tuple[str, ...], tuple[str, str]]:
    """Return (token, kind) for each token of a note and each word inside a token; the key is its case-folded words."""
    tokens: dict[tuple[str, ...], tuple[str, str]] = {}
    for text in (note.title, note.summary, *note.tags, note.content):
        for token, kind in tokenise(text):
            if len(token) >= _MIN_LENGTH and (kind != "word" or _is_content_word(token.casefold())):
                tokens.setdefault(_folded_words(token), (token, kind))
    for token, _ in list(tokens.values()):
        for word in _WORD.findall(token):
            if _is_content_word(word.casefold()):
                tokens.setdefault(_folded_words(word), (word, _token_kind(word)))
    return tokens


def _folded_words(text: str) -> tuple[str, ...]:
    return tuple(split_words(text.casefold()))


def _contains_phrase(texts: Sequence[tuple[str, ...]], phrase: tuple[str, ...]) -> bool:
    """Return whether the words of a phrase follow each other in one of the texts."""
    length = len(phrase)
    return any(text[start : start + length] == phrase for text in texts for start in range(len(text) - length + 1))
