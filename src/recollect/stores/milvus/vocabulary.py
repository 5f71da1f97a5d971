"""The words that the notes of a namespace hold, for those who misspelt one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from recollect.query import expression, parse
from recollect.query.expressions import Expression, Match
from recollect.stores import suggestions, tokens
from recollect.stores.changes import words_of
from recollect.stores.milvus.directory import Directory
from recollect.stores.milvus.searching import View
from recollect.stores.milvus.words import encoded
from recollect.stores.suggestions import LETTERS_LOOKED_AT, NOTES_LOOKED_AT, Vocabulary
from recollect.stores.tokens import indexed

if TYPE_CHECKING:
    from recollect.stores.milvus.reading import Reader

__all__ = ["similar_words"]


def similar_words(reader: Reader, directory: Directory, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return for each word that no note holds the words that notes hold and that are spelt most like it."""
    index = _Words(View(reader, directory))
    if not suggestions.unknown_words(index, words):
        return {}
    known: Vocabulary = directory.kept("vocabulary", lambda _: suggestions.vocabulary(_stems(directory)))
    return suggestions.similar_words(index, known, words)


def decoded(word: str) -> str:
    """Return the stem that is encoded as ``word``.

    >>> decoded("tea"), decoded("X73747261c39f65")
    ('tea', 'straße')
    """
    return bytes.fromhex(word[1:]).decode() if word.startswith("X") else word


def _stems(directory: Directory) -> Iterator[tuple[str, int]]:
    return ((decoded(word), notes) for word, notes in directory.words())


class _Words:
    """The words of the notes that can be seen."""

    def __init__(self, view: View) -> None:
        self._view = view

    def holds(self, plain: str) -> bool:
        """Return whether a note holds a word, given as the index reads it."""
        return self._finds(Match("term", plain))

    def finds(self, word: str) -> bool:
        """Return whether a search for the word finds a note."""
        node = expression(parse(word))
        return node is not None and self._finds(node)

    def _finds(self, node: Expression) -> bool:
        return not self._view.hidden.issuperset(self._view.matching(node).tolist())

    def spellings(self, stem: str) -> Counter[str]:
        """Return how the first notes that hold a stem spell its words."""
        return Counter(word for text in self._texts(stem) for word in tokens.spellings(text, stem))

    def _holders(self, word: str) -> Iterator[int]:
        held = self._view.directory.occurrences([word]).notes
        return (key for key in held.tolist() if key not in self._view.hidden)

    def _texts(self, stem: str) -> Iterator[str]:
        """Yield the fields that hold a stem, of the first notes."""
        notes = self._view.reader.notes(islice(self._holders(encoded(stem)), NOTES_LOOKED_AT))
        fields = (indexed(text) for stored in notes.values() for text in words_of(stored.row) if text)
        holding = (text for text in fields if stem in tokens.stems_of(text))
        return (text[:LETTERS_LOOKED_AT] for text in islice(holding, NOTES_LOOKED_AT))
