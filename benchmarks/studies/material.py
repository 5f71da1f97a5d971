"""What the study is made on: four readings of three public collections, and by which measure each is judged."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from recollect.errors import RecollectError
from recollect.evaluation import Dataset, load_dataset

__all__ = ["Material", "materials"]


@dataclass(frozen=True, slots=True)
class Material:
    """A dataset, what to call it, and its measures, of which the first is the one that decides."""

    name: str
    dataset: Dataset
    measures: tuple[str, ...]
    swept: int
    """How many questions wide sweeps ask."""

    @property
    def measure(self) -> str:
        """The measure that decides."""
        return self.measures[0]

    @property
    def slug(self) -> str:
        """The name as a part of a file's name."""
        return re.sub(r"[^a-z]+", "-", self.name.lower())

    @property
    def sample(self) -> Material:
        """The same with the questions of wide sweeps."""
        return replace(self, dataset=self.dataset.sample(self.swept))

    def of(self, dataset: Dataset) -> Material:
        """Return the same measures on another dataset."""
        return replace(self, dataset=dataset)


_ALL = 1_000_000
_KNOWN = (
    ("LoCoMo turns", "locomo*.json", "turn", ("any@5", "any@10", "mrr"), 300),
    ("LoCoMo sessions", "locomo*.json", "session", ("any@5", "mrr"), 150),
    ("SciFact", "scifact*", None, ("ndcg@10", "recall@10"), 150),
    ("MuSiQue", "musique*", None, ("recall@10", "recall@5"), _ALL),
)


def materials(folder: Path, *, quick: bool = False, whole: bool = False) -> dict[str, Material]:
    """Return the collections in a folder by name; ``quick``: a few questions of each; ``whole``: sweeps ask all."""
    found = {}
    for name, pattern, level, measures, swept in _KNOWN:
        paths = sorted(folder.glob(pattern))
        if not paths:
            raise RecollectError(f"there is no {pattern} in {folder}: the study needs LoCoMo, SciFact and MuSiQue")
        dataset = load_dataset(paths[0], level=level)
        found[name] = Material(name, dataset.sample(4) if quick else dataset, measures, _ALL if whole else swept)
    return found
