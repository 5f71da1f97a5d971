"""Words that a memory uses alike, by the vectors of its embedder: the nearest to synonyms without a dictionary.

Vectors of words are near where words are used alike, so that opposites may be taken for synonyms.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from recollect.embedders import Embedder
from recollect.evaluation.synthetic.lexicon import Lexicon, content_words
from recollect.evaluation.synthetic.rewording import root

__all__ = ["words_alike"]

MOST_WORDS = 1000
"""How many words are embedded at most, those of most notes first."""
_NEAREST = 3
_NEARER_THAN = 0.998
"""Of all pairs of words, the share that must be farther apart; what is near in itself depends on the model."""
_SHORTEST = 4


def words_alike(lexicon: Lexicon, embedder: Embedder | None) -> Mapping[str, str]:
    """Return for words of several notes another that the embedder takes for much the same; none without an embedder.

    Two words are alike if each is among the three nearest of the other, and they are nearer than all but a few pairs
    are. Forms of one word are no two words.

    >>> words_alike(Lexicon([]), None)
    {}
    """
    if embedder is None:
        return {}
    shared = [word for word, notes in lexicon.frequency.items() if notes > 1 and _usable(word)]
    words = sorted(shared, key=lambda word: (-lexicon.frequency[word], word))[:MOST_WORDS]
    if not words:
        return {}
    vectors = embedder.embed_documents(words)
    _, roots = np.unique([root(word) for word in words], return_inverse=True)
    near = vectors @ vectors.T
    near[roots[:, None] == roots] = -np.inf
    apart = near[np.isfinite(near)]
    if not len(apart):
        return {}
    least = np.quantile(apart, _NEARER_THAN)
    ranked = np.argsort(-near, axis=1, kind="stable")[:, :_NEAREST]
    nearest = [[int(other) for other in row if near[place, other] >= least] for place, row in enumerate(ranked)]
    found: dict[str, str] = {}
    for place, others in enumerate(nearest):
        for other in others:
            if place in nearest[other]:
                found[words[place]] = words[other]
                break
    return found


def _usable(word: str) -> bool:
    return word.isalpha() and len(word) >= _SHORTEST and bool(content_words(word))
