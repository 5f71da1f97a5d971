"""Reciprocal ranks against a convex combination, and what the constant and the depth of the lists do.

The lists of both legs are found once; fusing them is repeated outside of the pipeline with the same functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.studies.laboratory import Laboratory, Legs, Values
from benchmarks.studies.material import Material
from benchmarks.studies.tables import against, best_of, difference_table, table
from recollect.evaluation import Sweep, interval
from recollect.evaluation.report.plots import sweep_lines
from recollect.evaluation.report.wording import fraction
from recollect.fusion import convex_combination, reciprocal_rank_fusion
from recollect.model import Candidate

__all__ = ["convex", "damping_and_depth", "methods", "reciprocal", "shape"]

POOL = 60
CONSTANTS = (1, 5, 10, 20, 60, 100)
DEPTHS = (20, 60, 200)
WEIGHTS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)

WORDS, MEANING = "BM25 alone", "vectors alone"
FLAT, STEEP = "RRF, k = 60", "RRF, k = 5"
SCORES = ("convex, min-max, vectors 0.5", "convex, zero is 0, vectors 0.3", "convex, zero is 0, vectors 0.6")
Rank = Callable[[Legs], list[Candidate]]


def reciprocal(legs: Legs, *, k: float, depth: int = POOL) -> list[Candidate]:
    """Fuse the ranks of both legs."""
    return reciprocal_rank_fusion([legs.lexical[:depth], legs.vector[:depth]], k=k, ties="first_seen", limit=POOL)


def convex(legs: Legs, *, vector: float, zero: float | None = None, depth: int = POOL) -> list[Candidate]:
    """Fuse the scores of both legs; ``zero`` is the score that counts as nothing, the worst of a list if none."""
    lists = [legs.lexical[:depth], legs.vector[:depth]]
    return convex_combination(lists, weights=[1 - vector, vector], least=[zero, zero], limit=POOL)


def _ways() -> dict[str, Rank]:
    ways: dict[str, Rank] = {
        WORDS: lambda legs: legs.lexical,
        MEANING: lambda legs: legs.vector,
        FLAT: partial(reciprocal, k=60),
        STEEP: partial(reciprocal, k=5),
    }
    for weight in (0.3, 0.5, 0.7):
        ways[f"convex, min-max, vectors {weight:g}"] = partial(convex, vector=weight)
    for weight in (0.3, 0.5, 0.6, 0.7):
        ways[f"convex, zero is 0, vectors {weight:g}"] = partial(convex, vector=weight, zero=0.0)
    return ways


def methods(lab: Laboratory) -> dict[str, str]:
    """Compare the methods on each collection with each embedder: with RRF at k = 60, at k = 5, and the better leg."""
    told = {}
    against_legs, against_ranks = [], []
    for embedder in lab.embedders:
        found: dict[str, dict[str, Values]] = {}
        for name, material in lab.materials.items():
            values = {way: lab.values(material, embedder, rank)[material.measure] for way, rank in _ways().items()}
            found[f"{name}, {material.measure}"] = values
            best = best_of(values, [WORDS, MEANING])
            case = f"{name}, {embedder}"
            against_legs.append([case, best, *(against(values[way], values[best]) for way in (FLAT, STEEP, *SCORES))])
            against_ranks.append([case, *(against(values[way], values[STEEP]) for way in SCORES)])
        told[f"methods {embedder}"] = difference_table("fusion", found, FLAT)
        lab.pictures[f"study-weights-{embedder}.svg"] = _weights(lab, embedder)
    told["better leg"] = table(["against the better leg", "which is", FLAT, STEEP, *SCORES], against_legs)
    told["scores"] = table([f"against {STEEP}", *SCORES], against_ranks)
    return told


def _weights(lab: Laboratory, embedder: str) -> str:
    series = {}
    for name, material in lab.materials.items():
        points = []
        for weight in WEIGHTS:
            values = lab.values(material, embedder, partial(convex, vector=weight, zero=0.0))[material.measure]
            points.append((weight, *interval(values)))
        series[f"{name}, {material.measure}"] = points
    sweep = Sweep(title=f"Convex, {embedder}", parameter="weight of the vectors", measure="value", series=series)
    return sweep_lines(sweep)


def damping_and_depth(lab: Laboratory) -> dict[str, str]:
    """Turn k at three depths of the lists."""
    told = {}
    for embedder in lab.embedders:
        rows = []
        for name, material in lab.materials.items():
            series: dict[str, list[tuple[float, float, float, float]]] = {}
            for depth in DEPTHS:
                values = {
                    k: lab.values(material, embedder, partial(reciprocal, k=k, depth=depth))[material.measure]
                    for k in CONSTANTS
                }
                series[f"pool {depth}"] = [(k, *interval(each)) for k, each in values.items()]
                cells = [fraction(float(each.mean())) for each in values.values()]
                rows.append(
                    [name, str(depth), *cells, against(values[60], values[5]), against(values[100], values[10])]
                )
            if embedder == lab.encoder:
                sweep = Sweep(title=f"RRF, {name}", parameter="k", measure=material.measure, series=series)
                lab.pictures[f"study-k-{material.slug}.svg"] = sweep_lines(sweep)
        heads = ["collection", "pool", *(f"k = {k}" for k in CONSTANTS), "60 against 5", "100 against 10"]
        told[f"k {embedder}"] = table(heads, rows)
    return told


def shape(lab: Laboratory) -> dict[str, str]:
    """Repeat the published comparison: on turns, RRF with k = 60 is below BM25 alone, and with k = 5 above."""
    material: Material = lab.materials["LoCoMo turns"]
    measures = ("any@5", "any@10", "mrr")
    ways = {name: rank for name, rank in _ways().items() if not name.startswith("convex")}
    rows = []
    for embedder in lab.embedders:
        found = {name: lab.values(material, embedder, rank, measures) for name, rank in ways.items()}
        for name, values in found.items():
            cells = [
                fraction(float(values[each].mean())) if name == WORDS else against(values[each], found[WORDS][each])
                for each in measures
            ]
            rows.append([embedder, name, *cells])
    return {"shape": table(["embedder", "fusion", *measures], rows)}
