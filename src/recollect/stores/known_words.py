"""Which words the notes and the titles of a namespace may hold, so that nobody looks for what cannot be there.

To ask the word index for a title takes as long as to write a short note, and who writes thousands of notes with titles
of their own would ask thousands of times in vain. What is known here is in memory only, and may say of a word that it
is there though it is not, never the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["KnownWords"]

BUCKETS = 2**22
WORTH_READING = 256
"""How many notes with titles must come at once for the words of a whole namespace to be read."""

_HELD, _BEGINS, _TITLE = 1, 2, 4


class KnownWords:
    """The words of the namespace that was written to last, in buckets; one writer uses it at a time.

    It holds as long as nobody else writes there. Who asks says which state of which namespace is meant, by anything
    that is equal as long as that is so.

    >>> known = KnownWords()
    >>> known.begin("as it was", words=["green"], titles=["tea"])
    >>> known.knows("as it was"), known.knows("as it is")
    (True, False)
    >>> known.may_hold([(1, "green tea"), (2, "black tea")])
    {1}
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self._state: object = None
        self._marks = bytearray()

    def knows(self, state: object) -> bool:
        """Return whether it holds every word of the namespace in this state."""
        return self._state is not None and self._state == state

    def begin(self, state: object, words: Iterable[str] = (), titles: Iterable[str] = ()) -> None:
        """Hold the words of a namespace from now on, which are those of its notes, and the stems of its titles."""
        self._state = state
        self._marks = bytearray(BUCKETS)
        self.add_and_tell(words)
        self.add_titles(titles)

    def forget(self) -> None:
        """Know nothing any more."""
        self._state = None
        self._marks = bytearray()

    def add_titles(self, titles: Iterable[str]) -> None:
        """Hold these titles, which are new, their words, which some note bears, and the runs that they begin with."""
        marks = self._marks
        for title in titles:
            marks[hash(title) % BUCKETS] |= _TITLE | _BEGINS
            words = title.split(" ")
            for word in words:
                marks[hash(word) % BUCKETS] |= _HELD
            for depth in range(1, len(words)):
                marks[hash(" ".join(words[:depth])) % BUCKETS] |= _BEGINS

    def may_hold(self, titles: Iterable[tuple[int, str]]) -> set[int]:
        """Return of titles with a number each the numbers of those whose every word a note may hold."""
        marks, held = self._marks, set()
        for number, title in titles:
            for word in reversed(title.split(" ")):  # the last tells most: chapter 17
                if not marks[hash(word) % BUCKETS] & _HELD:
                    break
            else:
                held.add(number)
        return held

    def may_be_title(self, title: str) -> bool:
        """Return whether this may be a title already."""
        return bool(self._marks[hash(title) % BUCKETS] & _TITLE)

    def may_begin(self, runs: Iterable[str]) -> set[str]:
        """Return the runs of words that a title may begin with."""
        marks = self._marks
        return {run for run in runs if marks[hash(run) % BUCKETS] & _BEGINS}

    def add_and_tell(self, words: Iterable[str]) -> set[str]:
        """Hold these words of notes as well, and return those that a title may begin with."""
        marks, beginning = self._marks, set()
        for word in words:
            place = hash(word) % BUCKETS
            if marks[place] & _BEGINS:
                beginning.add(word)
            marks[place] |= _HELD
        return beginning
