"""What came of putting every question of a dataset to one system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Outcome", "Ranking"]


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a system answered to one question: the ids and scores of notes, best first, and how long that took."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    milliseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The rankings of one system for all questions of a dataset, and what each is worth."""

    dataset: str
    system: str
    """What to call it in a table: the preset's name, with the mode where that is not ``auto``."""
    preset: str
    mode: str
    embedder: str
    rankings: Mapping[str, Ranking]
    """By question, in the order of the dataset."""
    values: Mapping[str, NDArray[np.float64]]
    """By measure: the value of each question, in the order of the dataset."""
    strata: Mapping[str, NDArray[np.intp]]
    """By stratum: which places of ``values`` are its questions."""
