"""What importances do to an order, where they say nothing: drawn by chance, as no collection has any."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial

import numpy as np

from benchmarks.studies.fusing import POOL, convex
from benchmarks.studies.laboratory import Laboratory, Legs, Values
from benchmarks.studies.tables import difference_table, table
from recollect.fusion import reciprocal_rank_fusion
from recollect.model import Candidate
from recollect.ranking import composite, importance_prior

__all__ = ["arithmetic", "random_importances"]

DRAWS = 5
_NOW = datetime(2026, 1, 1, tzinfo=UTC)
Blend = Callable[[Sequence[Candidate]], list[Candidate]]

BLENDS: dict[str, Blend] = {
    "× (0.9 + 0.1·importance)": partial(importance_prior, base=0.9, slope=0.1),
    "× (0.7 + 0.3·importance)": importance_prior,
    "0.80·relevance + 0.15·importance": partial(composite, now=_NOW),
    "0.90·relevance + 0.05·importance": partial(composite, now=_NOW, weights=(0.9, 0.05, 0.05)),
}


def _steep(legs: Legs) -> list[Candidate]:
    return reciprocal_rank_fusion([legs.lexical[:POOL], legs.vector[:POOL]], k=5, rank_base=0, ties="first_seen")


def _flat(legs: Legs) -> list[Candidate]:
    return reciprocal_rank_fusion([legs.lexical[:POOL], legs.vector[:POOL]], k=60, ties="first_seen")


FUSIONS: dict[str, Callable[[Legs], list[Candidate]]] = {
    "RRF, k = 60": _flat,
    "RRF, k = 5": _steep,
    "convex, vectors 0.6": partial(convex, vector=0.6, zero=0.0),
}


def random_importances(lab: Laboratory) -> dict[str, str]:
    """Draw importances from 0 to 1 for every note, several times, and measure what is lost."""
    rows: dict[str, dict[str, Values]] = {}
    for name, material in lab.materials.items():
        column: dict[str, Values] = {}
        for fusion, rank in FUSIONS.items():
            column[fusion] = lab.values(material.sample, lab.encoder, rank)[material.measure]
            for blend, apply in BLENDS.items():
                draws = [
                    lab.values(material.sample, lab.encoder, partial(_drawn, rank=rank, apply=apply, seed=seed))
                    for seed in range(DRAWS)
                ]
                column[f"{fusion} {blend}"] = np.mean([each[material.measure] for each in draws], axis=0)
        rows[f"{name}, {material.measure}"] = column
    return {
        f"importance {fusion}": difference_table(
            "score", {name: {key: each for key, each in column.items() if key.startswith(fusion)}
                      for name, column in rows.items()}, fusion,
        )
        for fusion in FUSIONS
    }  # fmt: skip


def _drawn(legs: Legs, *, rank: Callable[[Legs], list[Candidate]], apply: Blend, seed: int) -> list[Candidate]:
    found = rank(legs)
    for candidate in found:
        candidate.importance = random.Random(f"{seed} {candidate.id}").random()  # noqa: S311 (a draw)
    return apply(found)


def arithmetic(_: Laboratory) -> dict[str, str]:
    """Tell how far down a note may be found, by one leg alone, and still pass the first, by its importance alone."""
    rows = []
    for fusion, k, first in (("RRF, k = 60", 60, 1), ("RRF, k = 5, from rank 0", 5, 0)):
        for blend, apply in BLENDS.items():
            last = 1
            for place in range(1, 200):
                best = Candidate("best", score=1 / (k + first), importance=0.0)
                other = Candidate("other", score=1 / (k + first + place), importance=1.0)
                if apply([best, other])[0].id == "other":
                    last = place + 1
            rows.append([fusion, blend, str(last) if last > 1 else "none"])
    return {"arithmetic": table(["fusion", "score", "last place that passes the first"], rows)}
