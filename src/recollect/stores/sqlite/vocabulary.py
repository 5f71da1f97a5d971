"""The words that a namespace's index holds, for those who misspelt one.

The index holds stems, such as ``kubernet``. They are what a word is compared with, in its own spelling and as a stem;
what is suggested is a word as a note spells it.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apsw

from recollect.query import parse, render_fts5
from recollect.stores.sqlite import expiry
from recollect.stores.sqlite.spelling import Spellings, by_length, distance, within
from recollect.stores.sqlite.titles import indexed

__all__ = ["SUGGESTIONS", "Vocabulary", "index_vocabulary", "open_vocabulary", "similar_words", "unknown_words"]

SUGGESTIONS = 3
"""The most words that are suggested for one."""
SHORTEST = 4
"""The fewest letters of a word that may be a misspelt one."""
LONG = 8
"""From how many letters on two edits are allowed."""
LONGEST = 64
"""Nobody spells longer ones."""
STEMS_LOOKED_UP = 12
NOTES_LOOKED_AT = 8
LETTERS_LOOKED_AT = 20_000
"""Of a note that is a whole book, this much is read; a word that comes later is not suggested for its sake."""

Vocabulary = Mapping[int, Spellings]
"""The stems by their length, each with the number of notes that hold it."""


class _Suggestion(NamedTuple):
    """A word that may be meant; the best sort first."""

    edits: int
    rarity: int
    word: str


def open_vocabulary(connection: apsw.Connection, namespace: int) -> None:
    """Make the vocabulary of a namespace's index readable on this connection, whose transaction begins anew.

    The tables are windows on the index without content of their own. They live in the connection alone, also where
    the file can only be read.
    """
    connection.execute("ROLLBACK")
    connection.pragma("query_only", value=False)
    try:
        for table, kind in (("stems", "row"), ("stem_places", "instance")):
            connection.execute(f"DROP TABLE IF EXISTS temp.{table}")
            connection.execute(f"CREATE VIRTUAL TABLE temp.{table} USING fts5vocab (main, words_{namespace}, {kind})")
    finally:
        connection.pragma("query_only", value=True)
    connection.execute("BEGIN")


def index_vocabulary(connection: apsw.Connection, *_: object) -> Vocabulary:
    """Return the stems of the namespace that is open on the connection; what was known before is of no help."""
    stems: dict[int, tuple[list[str], array[int]]] = {}
    for stem, notes in connection.execute("SELECT term, doc FROM temp.stems"):
        if len(stem) <= LONGEST:
            spelt, counts = stems.setdefault(len(stem), ([], array("q")))
            spelt.append(stem)
            counts.append(notes)
    return by_length(stems)


def unknown_words(connection: apsw.Connection, namespace: int, words: Sequence[str]) -> list[str]:
    """Return those of the words, each once, that may be misspelt: the index does not hold them."""
    index = _Index(connection, namespace)
    plain = {word: index.plain(word) for word in words}
    return [
        word
        for word, letters in plain.items()
        if SHORTEST <= len(letters) <= LONGEST and letters.isalpha() and not index.holds(letters)
    ]


def similar_words(
    connection: apsw.Connection, vocabulary: Vocabulary, namespace: int, words: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return for each word that the index does not hold those that it holds and that are spelt most like it."""
    index = _Index(connection, namespace)
    found = {}
    for word in unknown_words(connection, namespace, words):
        suggested = _suggestions(index, vocabulary, word)
        if suggested:
            found[word] = tuple(suggestion.word for suggestion in suggested[:SUGGESTIONS])
    return found


def _suggestions(index: _Index, vocabulary: Vocabulary, word: str) -> list[_Suggestion]:
    plain, stem = index.plain(word), index.stem(word)
    most = 1 if len(plain) < LONG else 2
    near: dict[str, tuple[int, int]] = {}
    for spelling in {plain, stem}:
        for each, (edits, notes) in within(spelling, most, vocabulary).items():
            near[each] = min((edits, -notes), near.get(each, (edits, -notes)))
    nearest = sorted((edits, rarity, each) for each, (edits, rarity) in near.items())
    suggested = []
    for _, rarity, each in nearest[:STEMS_LOOKED_UP]:
        spelt = index.spellings(each)
        if spelt:
            edits, _, form = min((distance(plain, index.plain(form)), -count, form) for form, count in spelt.items())
            if edits <= most:  # near stems alone are not enough: "medicine" is no misspelt "medical"
                suggested.append(_Suggestion(edits, rarity, form))
    return sorted(suggestion for suggestion in suggested if index.finds(suggestion.word))


class _Index:
    """The word index of a namespace, as one transaction sees it."""

    def __init__(self, connection: apsw.Connection, namespace: int) -> None:
        self._connection = connection
        self._namespace = namespace
        self._hidden = expiry.hidden(connection)
        self._plain = connection.fts5_tokenizer("unicode61", [])
        self._stemmed = connection.fts5_tokenizer("porter", ["unicode61"])

    def plain(self, word: str) -> str:
        """Return a word as the index reads it, without accents and in small letters; nothing for none or several."""
        return _single(self._plain, word)

    def stem(self, word: str) -> str:
        return _single(self._stemmed, word)

    def holds(self, plain: str) -> bool:
        return self._matches(f'"{plain}"')

    def finds(self, word: str) -> bool:
        """Return whether a search for the word finds a note."""
        expression = render_fts5(parse(word))
        return bool(expression) and self._matches(expression)

    def _matches(self, expression: str) -> bool:
        words = f"words_{self._namespace}"
        seen = "AND rowid IN (SELECT key FROM notes)" if self._hidden else ""
        sql = f"SELECT 1 FROM {words} WHERE {words} MATCH ? {seen} LIMIT 1"  # noqa: S608 (a number of our own)
        return self._connection.execute(sql, (expression,)).get is not None

    def spellings(self, stem: str) -> Counter[str]:
        """Return how the first notes that hold a stem spell its words."""
        return Counter(word for text in self._texts(stem) for word in self._words(text, stem))

    def _texts(self, stem: str) -> Iterator[str]:
        places = self._connection.execute(
            "SELECT DISTINCT doc, col FROM temp.stem_places WHERE term = ? LIMIT ?", (stem, NOTES_LOOKED_AT)
        ).fetchall()
        for note, column in places:
            yield self._connection.execute(
                f"SELECT substr({column}, 1, ?) FROM words_{self._namespace}_text WHERE key = ?",  # noqa: S608 (our own)
                (LETTERS_LOOKED_AT, note),
            ).get

    def _words(self, text: str, stem: str) -> Iterator[str]:
        encoded = text.encode()
        tokens: Any = self._stemmed(encoded, apsw.FTS5_TOKENIZE_DOCUMENT, None)
        for start, end, token in tokens:
            if token == stem:
                yield encoded[start:end].decode().lower()


def _single(tokenizer: apsw.FTS5Tokenizer, word: str) -> str:
    tokens: Any = tokenizer(indexed(word).encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False)
    return str(tokens[0][0]) if len(tokens) == 1 else ""
