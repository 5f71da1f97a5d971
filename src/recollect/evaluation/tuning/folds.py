"""Cross-validation: which questions are held out together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["folds_of"]


def folds_of(groups: Sequence[Hashable], folds: int, *, seed: int = 0) -> NDArray[np.intp]:
    """Return in which fold each question is held out.

    ``groups`` says which questions belong together, such as those to one collection: they are held out together, since
    what is learnt on some of them could be known of the others. Where all are of one group, each question stands for
    itself. Folds are as even as the groups allow; where there are fewer groups than folds, there are fewer folds.

    >>> folds_of(["a", "a", "b", "c"], 2).tolist()
    [0, 0, 1, 1]
    >>> np.bincount(folds_of(["home"] * 10, 5)).tolist()
    [2, 2, 2, 2, 2]
    """
    together: Sequence[Hashable] = groups if len(set(groups)) > 1 else range(len(groups))
    sizes = Counter(together)
    names = list(sizes)
    order = [names[place] for place in np.random.default_rng(seed).permutation(len(names))]
    order.sort(key=lambda name: -sizes[name])  # the largest first, so that the small ones even out
    filled = [0] * min(folds, len(order))
    home: dict[Hashable, int] = {}
    for name in order:
        home[name] = filled.index(min(filled))
        filled[home[name]] += sizes[name]
    return np.array([home[name] for name in together], dtype=np.intp)
