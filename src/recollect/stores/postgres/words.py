"""A note as words: the ``tsvector`` in which it is found, and what each word counts there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from recollect.stores.base import FIELD_WEIGHTS
from recollect.stores.postgres.text import lexeme, term
from recollect.stores.tokens import stems_of

__all__ = ["Words", "phrase_weight", "read_words"]

_WEIGHTS = tuple(FIELD_WEIGHTS.values())
_GAP = 16
"""Places between two fields, so that no phrase crosses from one to the other."""
_LAST_PLACE = 16_383
_MOST_PLACES = 255
_MOST_BYTES = 1_000_000


class Words(NamedTuple):
    """The words of a note."""

    tokens: int
    """How many there are, repeated ones too."""
    weights: dict[str, float]
    """For each term the sum of what its occurrences count."""
    places: dict[str, list[int]]
    """Where each term stands, over all fields."""
    fields: Sequence[int] = (0,) * 5
    """The place at which each field begins."""

    def vector(self, namespace: int) -> tuple[str, bool]:
        """Return the text of the ``tsvector``, and whether it is whole: a long note may have more than one holds.

        Where it is not, it may miss phrases, and of a note of a hundred thousand different words also words. What
        stands in the summary or the content, where titles may be named, has the label A; the rest has none.

        >>> read_words(["tea", "Green tea", "Sencha", "", "tea"]).vector(7)[0].replace(chr(31), "~")
        "'7~tea':1,19,69A '7~green':18 '7~sencha':36A"
        """
        _, _, summary, tags, content = self.fields
        whole = all(len(places) <= _MOST_PLACES and places[-1] < _LAST_PLACE for places in self.places.values())
        text = " ".join(
            lexeme(namespace, word)
            + ":"
            + ",".join(
                f"{min(place, _LAST_PLACE)}{'A' if place >= content or summary <= place < tags else ''}"
                for place in places[:_MOST_PLACES]
            )
            for word, places in self.places.items()
        )
        if len(text) * 4 <= _MOST_BYTES or len(text.encode()) <= _MOST_BYTES:
            return text, whole
        words = [lexeme(namespace, word) for word in self.places]
        sizes = accumulate(len(word.encode()) + 1 for word in words)
        return " ".join(word for word, size in zip(words, sizes, strict=True) if size <= _MOST_BYTES), False


def read_words(fields: Sequence[str | None]) -> Words:
    """Read the fields of a note, in the order of ``FIELD_WEIGHTS``, as the word index does.

    >>> words = read_words(["tea.md", "Green tea", None, "", "A cup of teas."])
    >>> words.tokens, words.weights["tea"], words.weights["cup"]
    (8, 14.0, 1.0)
    """
    tokens, at = 0, 1
    begins: list[int] = []
    weights: dict[str, float] = {}
    places: dict[str, list[int]] = {}
    for text, weight in zip(fields, _WEIGHTS, strict=True):
        begins.append(at)
        for stem in stems_of(text) if text else ():
            word = term(stem)
            weights[word] = weights.get(word, 0.0) + weight
            places.setdefault(word, []).append(at)
            at += 1
            tokens += 1
        at += _GAP
    return Words(tokens, weights, places, begins)


def phrase_weight(fields: Sequence[str | None], phrase: Sequence[str], *, prefix: bool = False) -> float:
    """Return what the occurrences of a phrase in a note count, which may overlap; its last word may be a prefix.

    >>> phrase_weight([None, "tea tea tea", "", "", "Teas, teapots"], ["tea", "tea"], prefix=True)
    21.0
    """
    *front, last = phrase
    weight = 0.0
    for text, each in zip(fields, _WEIGHTS, strict=True):
        words = stems_of(text) if text else []
        for end in range(len(front), len(words)):
            fits = words[end].startswith(last) if prefix else words[end] == last
            if fits and words[end - len(front) : end] == front:
                weight += each
    return weight
