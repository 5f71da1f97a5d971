"""Texts as a word index reads them: in words and their stems, by the tokenizers of FTS5, whatever keeps the index.

Every thread has tokenizers of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any

import apsw

from recollect.query import normalise

__all__ = ["BREAK", "indexed", "plain", "spellings", "spellings_of", "stem", "stems", "stems_of", "words"]

BREAK = "\ue000"
"""Stands between texts that are read at once: for the tokenizer a word, and in no title."""


class _Tokenizers(threading.local):
    """Made when a thread first needs them: who only searches often does not."""

    @cached_property
    def _connection(self) -> apsw.Connection:
        return apsw.Connection(":memory:")

    @cached_property
    def plain(self) -> apsw.FTS5Tokenizer:
        return self._connection.fts5_tokenizer("unicode61")

    @cached_property
    def stemming(self) -> apsw.FTS5Tokenizer:
        return self._connection.fts5_tokenizer("porter", ["unicode61"])


_own = _Tokenizers()


def indexed(text: Any) -> Any:
    """Return ``text`` as the word index takes it: in the spelling that queries are brought to."""
    return text if text is None or text.isascii() else normalise(text)


def words(texts: Sequence[str]) -> list[str]:
    """Return the folded words of texts, with a break between one and the next.

    >>> words(["Robert-Bosch Straße", "cafés"]) == ["robert", "bosch", "straße", BREAK, "cafes"]
    True
    """
    return _read(_own.plain, texts)


def stems(texts: Sequence[str]) -> list[str]:
    """Return the words of texts as the word index holds them, with a break between one and the next.

    >>> stems(["green cafés"])
    ['green', 'cafe']
    """
    return _read(_own.stemming, texts)


def stems_of(text: str) -> list[str]:
    """Return the words of one text as the word index holds them.

    >>> stems_of("Brewing cafés, o'neil")
    ['brew', 'cafe', 'o', 'neil']
    """
    return _tokens(_own.stemming, indexed(text))


def plain(word: str) -> str:
    """Return a word without accents and in small letters, as the index reads it; nothing for none or several.

    >>> plain("Café"), plain("green tea")
    ('cafe', '')
    """
    return _single(_own.plain, word)


def stem(word: str) -> str:
    """Return a word as the index holds it; nothing for none or several.

    >>> stem("Kubernetes")
    'kubernet'
    """
    return _single(_own.stemming, word)


def spellings(text: str, stem: str) -> Iterator[str]:
    """Yield the words of a text that the index holds as ``stem``, in small letters.

    >>> list(spellings("Cafés, and a cafe.", "cafe"))
    ['cafés', 'cafe']
    """
    for _, spelt in spellings_of(text, (stem,)):
        yield spelt


def spellings_of(text: str, stems: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the words of a text that the index holds as one of ``stems``, in lower case, each after its stem.

    >>> list(spellings_of("Cafés, two teas.", {"cafe", "tea"}))
    [('cafe', 'cafés'), ('tea', 'teas')]
    """
    encoded = text.encode()
    tokens: Any = _own.stemming(encoded, apsw.FTS5_TOKENIZE_DOCUMENT, None)
    for start, end, token in tokens:
        if token in stems:
            yield token, encoded[start:end].decode().lower()


def _read(tokenizer: apsw.FTS5Tokenizer, texts: Sequence[str]) -> list[str]:
    taken: str = f" {BREAK} ".join(map(indexed, texts))
    if taken.count(BREAK) >= len(texts):  # one of them holds what stands between them
        taken = f" {BREAK} ".join(indexed(text).replace(BREAK, f"{BREAK}{BREAK}") for text in texts)
    return _tokens(tokenizer, taken)


def _tokens(tokenizer: apsw.FTS5Tokenizer, text: str) -> list[str]:
    found: Any = tokenizer(
        text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
    )
    held: list[str] = found
    return held


def _single(tokenizer: apsw.FTS5Tokenizer, word: str) -> str:
    tokens: Any = tokenizer(indexed(word).encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False)
    return str(tokens[0][0]) if len(tokens) == 1 else ""
