"""A namespace's posting lists as one transaction sees them: a snapshot, without what is gone, and what came since."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.query.expressions import AnyOf, Expression, Match
from recollect.stores.bm25 import Scores, idf, length_norms, saturation
from recollect.stores.sqlite.postings.added import Added, Few
from recollect.stores.sqlite.postings.key_index import KeyIndex
from recollect.stores.sqlite.postings.ranking import Postings, contenders, peak
from recollect.stores.sqlite.postings.snapshot import Snapshot
from recollect.stores.tokens import BREAK, stems_of

__all__ = ["AnyWord", "Moment", "any_word"]


LONGEST = 8_000
"""Longer words are FTS5's matter: it cuts them at some length in bytes."""


class AnyWord(NamedTuple):
    """A query for any of several words."""

    node: Expression
    words: tuple[str, ...]
    """What its leaves are in the index; nothing where one holds no word."""


def any_word(node: Expression) -> AnyWord | None:
    """Return a query that is a choice between single words; ``None`` for any other.

    >>> any_word(AnyOf((Match("term", "Teas"), Match("term", "milk"), Match("term", "?!")))).words
    ('tea', 'milk', '')
    >>> any_word(AnyOf((Match("term", "tea"), Match("prefix", "mil")))) is None
    True
    """
    words = []
    for leaf in node.parts if isinstance(node, AnyOf) else (node,):
        if not isinstance(leaf, Match) or leaf.kind == "prefix":
            return None
        held = stems_of(leaf.text)
        if len(held) > 1 or any(BREAK in word or len(word) > LONGEST for word in held):
            return None
        words.append("".join(held))
    return AnyWord(node, tuple(words))


class _Leaf(NamedTuple):
    """A word: the list of the snapshot, and what of it was added."""

    rows: NDArray[np.int32]
    weights: NDArray[np.unsignedinteger[Any]]
    few: Few
    holding: int
    peak: float


class Moment(NamedTuple):
    """What a search looks at."""

    snapshot: Snapshot
    key_index: KeyIndex
    """The rows of the snapshot by their keys."""
    dead: NDArray[np.int32]
    """Rows of the snapshot that changed or went since, rising."""
    added: Added
    size: int
    """How many of the added there were."""
    gone: NDArray[np.int64]
    """Which of these changed or went again, rising."""
    notes: int
    tokens: int

    @property
    def since(self) -> int:
        """How much came, changed or went since the snapshot."""
        return self.size + len(self.dead)

    def holding(self, word: str) -> int:
        """Return how many notes hold a word."""
        return self._leaf(word).holding

    def search(self, query: AnyWord, limit: int) -> Scores:
        """Return the best notes, and all that tie with the last of them."""
        if not self.tokens:
            return Scores(np.empty(0, np.int64), np.empty(0))
        average = self.tokens / self.notes
        leaves = {word: self._leaf(word) for word in dict.fromkeys(query.words)}
        rarity = {word: idf(self.notes, leaf.holding) for word, leaf in leaves.items()}
        lists = [
            Postings(
                leaf.rows, leaf.weights, rarity[word], rarity[word] * peak(leaf.peak, self.snapshot.average, average)
            )
            for word, leaf in ((word, leaves[word]) for word in query.words)
            if len(leaf.rows)
        ]
        rows = contenders(lists, self.snapshot.lengths, average, limit, self.dead)
        few = np.unique(np.concatenate([leaf.few.rows for leaf in leaves.values()]))
        return self._scored(query, leaves, rarity, rows, few).best(limit)

    def scores(self, query: AnyWord, keys: NDArray[np.int64]) -> Scores:
        """Return those of the notes with these keys that match, with the scores that ``search`` gives them.

        The time grows linearly with the number of keys and words, and logarithmically with the number of notes.
        """
        if not self.tokens:
            return Scores(np.empty(0, np.int64), np.empty(0))
        rows = self.key_index.rows_of(keys)
        rows = rows[~np.isin(rows, self.dead)] if len(self.dead) else rows
        few = np.empty(0, np.int64)
        if self.size:
            few = np.flatnonzero(np.isin(self.added.keys(slice(self.size)), keys))
            few = few[~np.isin(few, self.gone)] if len(self.gone) else few
        leaves, rarity = {}, {}
        for word in dict.fromkeys(query.words):
            leaf = self._leaf(word)
            if len(leaf.rows) and leaf.rows[-1] >= len(self.snapshot.keys):
                raise LookupError(f"the posting list of {word!r} ends after the last row")
            if len(leaf.few.rows):
                asked = np.isin(leaf.few.rows, few)
                leaf = leaf._replace(few=Few(leaf.few.rows[asked], leaf.few.weights[asked]))
            leaves[word] = leaf
            rarity[word] = idf(self.notes, leaf.holding)
        scored = self._scored(query, leaves, rarity, rows, few)
        matching = scored.scores > 0  # every matching word adds a positive score
        return Scores(scored.notes[matching], scored.scores[matching])

    def _scored(
        self,
        query: AnyWord,
        leaves: Mapping[str, _Leaf],
        rarity: Mapping[str, float],
        rows: NDArray[np.int32],
        few: NDArray[np.int64],
    ) -> Scores:
        """Return the scores of rows of the snapshot, followed by those of added rows."""
        norms = length_norms(self._lengths(rows, few), self.tokens / self.notes)
        scores = np.zeros(len(norms))
        # Word by word, in the order of the query: the same sums in another order have other last bits.
        for word in query.words:
            held, weights = _found(leaves[word], rows, few)
            scores[held] += rarity[word] * saturation(weights, norms[held])
        return Scores(self._keys(rows, few), scores)

    def _keys(self, rows: NDArray[np.int32], few: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the keys of rows of the snapshot, and behind them of those that were added."""
        keys = self.snapshot.keys[rows]
        return np.concatenate((keys, self.added.keys(few))) if len(few) else keys

    def _lengths(self, rows: NDArray[np.int32], few: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how many words each has, likewise."""
        lengths = self.snapshot.lengths[rows].astype(np.float64)
        return np.concatenate((lengths, self.added.lengths(few))) if len(few) else lengths

    def _leaf(self, word: str) -> _Leaf:
        base = self.snapshot
        number = base.find(word) if word else None
        few = self.added.holding(word, self.size)
        if len(self.gone):
            alive = ~np.isin(few.rows, self.gone)
            few = Few(few.rows[alive], few.weights[alive])
        if number is None:
            return _Leaf(base.rows[:0], base.weights[:0], few, len(few.rows), 0.0)
        start, end = base.places[number : number + 2].tolist()
        rows = base.rows[start:end]
        lost = np.isin(self.dead, rows).sum() if len(self.dead) else 0
        holding = len(rows) - int(lost) + len(few.rows)
        return _Leaf(rows, base.weights[start:end], few, holding, float(base.peaks[number]))


def _found(
    leaf: _Leaf, rows: NDArray[np.int32], few: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return in which of these rows, those of the snapshot before those that were added, a word counts how much."""
    held, weights = np.empty(0, np.int64), np.empty(0)
    if len(leaf.rows):
        places = np.minimum(np.searchsorted(leaf.rows, rows), len(leaf.rows) - 1)
        held = np.flatnonzero(leaf.rows[places] == rows)
        weights = leaf.weights[places[held]].astype(np.float64)
    if len(leaf.few.rows):
        held = np.concatenate((held, len(rows) + np.searchsorted(few, leaf.few.rows)))
        weights = np.concatenate((weights, leaf.few.weights))
    return held, weights
