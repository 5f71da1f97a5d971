"""Which notes hold which words, so that a question can be made of words that point at one note alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from recollect.evaluation.synthetic.rewording import root
from recollect.model import Note, embedding_text
from recollect.query.terms import DUTCH, ENGLISH
from recollect.text import split_words

__all__ = ["Lexicon", "content_words", "is_content_word"]

_STOPWORDS = ENGLISH | DUTCH
_SHORTEST = 3


def content_words(text: str) -> list[str]:
    """Return the words of a text that say what it is about, lower-cased, each once, in order.

    >>> content_words("What is the tea that she likes? Green tea!")
    ['tea', 'likes', 'green']
    """
    return list(dict.fromkeys(filter(is_content_word, split_words(text))))


def is_content_word(word: str) -> bool:
    """Return whether a lower-case word says what a text is about: it is no stopword and has three characters or more.

    >>> is_content_word("tea"), is_content_word("the"), is_content_word("it")
    (True, False, False)
    """
    return len(word) >= _SHORTEST and word not in _STOPWORDS


class Lexicon:
    """The words of some notes; forms of one word count as the same.

    >>> lexicon = Lexicon([Note(content="Green tea."), Note(content="Black teas."), Note(content="A bike.")])
    >>> sorted(lexicon.holders(["tea"])), lexicon.holders(["tea", "black"]), lexicon.is_rare("tea")
    ([0, 1], {1}, True)
    """

    def __init__(self, notes: Sequence[Note]) -> None:
        """Read the notes, with their titles and summaries."""
        self.notes = notes
        self._holders: dict[str, set[int]] = {}
        self.frequency: Counter[str] = Counter()
        """In how many notes each word stands, in just this form."""
        for place, note in enumerate(notes):
            words = set(split_words(embedding_text(note.title, note.summary, note.content)))
            self.frequency.update(words)
            for word in words:
                self._holders.setdefault(root(word), set()).add(place)
        self._rare = max(2, len(notes) // 100)
        self._telling = max(3, len(notes) // 20)

    def holders(self, words: Iterable[str]) -> set[int]:
        """Return the places of the notes that hold all of some words, in whatever form."""
        found = [self._holders.get(root(word), set()) for word in words]
        return set.intersection(*found) if found else set()

    def is_rare(self, word: str) -> bool:
        """Return whether few notes hold a word: one in a hundred, or two."""
        return 1 <= len(self._holders.get(root(word), ())) <= self._rare

    def is_telling(self, word: str) -> bool:
        """Return whether a word says something of the notes that hold it: one in twenty, or three, at most."""
        return 1 <= len(self._holders.get(root(word), ())) <= self._telling

    def holds(self, place: int, word: str) -> bool:
        """Return whether a note holds a word in whatever form."""
        return place in self._holders.get(root(word), ())
