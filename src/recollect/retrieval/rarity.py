"""How rare the words of a query are among the notes that it is put to."""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import TYPE_CHECKING, NamedTuple

from recollect.query import Query
from recollect.retrieval.matching import sought

if TYPE_CHECKING:
    from recollect.stores.base import SearchIndex

__all__ = ["Rarity", "rarity_of"]

MOST_WORDS = 32
"""Of how many words of a query it is asked how rare they are: who searches by a whole page has no word to spare."""
_LEAST = 1e-6


class Rarity(NamedTuple):
    """How many notes there are, and how many hold each word of a query, by what the person wrote.

    >>> round(Rarity(100, {"tea": 4}).weight("tea"), 2)
    3.07
    """

    notes: int
    holding: Mapping[str, int]

    def weight(self, word: str) -> float:
        """Return the inverse document frequency of BM25, as FTS5 computes it: ``ln((N - n + 0.5) / (n + 0.5))``."""
        held = min(self.notes, self.holding[word])  # an index of the caller's own may count as it likes
        return max(_LEAST, log((self.notes - held + 0.5) / (held + 0.5)))

    def information(self, word: str) -> float:
        """Return the inverse document frequency ``ln(1 + (N - n + 0.5) / (n + 0.5))``, always above 0."""
        count = min(self.notes, self.holding[word])
        return log(1 + (self.notes - count + 0.5) / (count + 0.5))

    def share(self, word: str) -> float:
        """Return which share of the notes holds a word."""
        return self.holding[word] / self.notes if self.notes else 0.0


def rarity_of(tree: Query, index: SearchIndex, namespace: str) -> Rarity | None:
    """Return how rare the words of a query are; ``None`` where the index cannot tell, or there are too many."""
    words = sought(tree)
    count = getattr(index, "note_counts", None)
    if count is None or not 0 < len(words) <= MOST_WORDS:
        return None
    notes, holding = count(list(words.values()), namespace=namespace)
    return Rarity(notes, dict(zip(words, holding, strict=True)))
