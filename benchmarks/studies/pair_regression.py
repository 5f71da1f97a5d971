"""Logistic regression on pairs of candidates of the same query: learns a linear score that ranks candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pairs", "fit_weights", "pairs_of", "standardised"]

Floats: TypeAlias = NDArray[np.float64]

NEWTON_STEPS = 10
FREE_PENALTY = 1e-3
"""The maximum penalty of the features that are practically without a penalty."""


def standardised(columns: Floats) -> Floats:
    """Return columns with mean 0 and standard deviation 1; a missing value (NaN) and a constant column become 0.

    >>> standardised(np.array([[1.0, 5.0, np.nan], [3.0, 5.0, np.nan]])).tolist()
    [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    is_known = ~np.isnan(columns)
    counts = np.maximum(1, is_known.sum(axis=0))
    means = np.where(is_known, columns, 0.0).sum(axis=0) / counts
    centred = np.where(is_known, columns - means, 0.0)
    deviations = np.sqrt((centred**2).sum(axis=0) / counts)
    return np.asarray(centred / np.where(deviations > 1e-9, deviations, 1.0))


class Pairs(NamedTuple):
    """Pairs of candidates of the same head: the differences of their features, and what the regression learns."""

    differences: Floats
    probabilities: Floats
    """The target probability that the first candidate of the pair is better."""
    weights: Floats
    """The weight of each pair; those of a collection add up to 1."""


def pairs_of(heads: Sequence[tuple[Floats, Floats]]) -> Pairs:
    """Return the pairs with different targets of heads, each with features and targets; each head has the same weight.

    The target probability is the logistic function of the difference of the targets (Burges et al., "Learning to rank
    using gradient descent", 2005). The weight of a pair in its head is the change of the discount 1 / log2(rank + 1) if
    the two candidates swap their ranks, as in LambdaRank, but by the ranks of the search.
    """
    differences, probabilities, weights = [], [], []
    for rows, targets in heads:
        first, second = np.triu_indices(len(targets), 1)
        unequal = targets[first] != targets[second]
        first, second = first[unequal], second[unequal]
        if len(first):
            differences.append(rows[first] - rows[second])
            probabilities.append(logistic(targets[first] - targets[second]))
            discounts = 1 / np.log2(np.arange(len(targets)) + 2)
            changes = discounts[first] - discounts[second]
            weights.append(changes / changes.sum())
    count = len(weights)
    if not count:
        return Pairs(np.empty((0, 0)), np.empty(0), np.empty(0))
    return Pairs(np.concatenate(differences), np.concatenate(probabilities), np.concatenate(weights) / count)


def logistic(values: Floats) -> Floats:
    """Return ``1 / (1 + exp(-x))``."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -values)))


def fit_weights(collections: Sequence[Pairs], penalty: float, free: Sequence[int] = (0,)) -> Floats:
    """Return the weights of a logistic regression on pairs, by Newton's method; each collection has the same weight.

    The penalty is that of the squared weights (ridge). That of the features ``free`` is at most ``FREE_PENALTY``. With
    the score of the search among them, a large penalty leaves its order.
    """
    differences = np.concatenate([part.differences for part in collections])
    targets = np.concatenate([part.probabilities for part in collections])
    pair_weights = np.concatenate([part.weights for part in collections])
    ridge = np.full(differences.shape[1], penalty)
    ridge[list(free)] = min(penalty, FREE_PENALTY)
    weights = np.zeros(len(ridge))
    for _ in range(NEWTON_STEPS):
        probabilities = logistic(differences @ weights)
        gradient = differences.T @ (pair_weights * (targets - probabilities)) - ridge * weights
        curvature = pair_weights * probabilities * (1 - probabilities)
        hessian = (differences * curvature[:, None]).T @ differences + np.diag(ridge)
        weights = weights + np.linalg.solve(hessian, gradient)
    return weights
