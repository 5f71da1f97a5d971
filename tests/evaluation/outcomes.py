"""Outcomes for tests: small ones with given values, and simulated ones like those of a real evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from recollect import Note
from recollect.evaluation import Collection, Dataset, Outcome, Question, Ranking

MEASURES = ("any@1", "any@5", "any@10", "all@5", "recall@5", "recall@10", "ndcg@10", "mrr")

_SUBJECTS = (
    "tea,the router,Anna's birthday,the boiler,a flat in Ghent,the trip to Porto,her violin,the old bicycle".split(",")
)
_TEMPLATES = (
    "When did we last talk about {}?",
    "What did she decide about {}, and who was there when she did?",
    "Who knows most of {}?",
    "Why was {} put off?",
)


def outcome(
    system: str,
    values: Mapping[str, Sequence[float]],
    *,
    strata: Mapping[str, Sequence[int]] | None = None,
    ranks: Sequence[int | None] | None = None,
    dataset: str = "tiny",
    embedder: str = "minilm",
) -> Outcome:
    """Return an outcome over the questions q0, q1, …, each with the note ``right`` at its rank in ``ranks``."""
    count = len(next(iter(values.values())))
    rankings = {}
    for index, rank in enumerate(ranks or [1] * count):
        ids = tuple("right" if position == rank else f"wrong{position}" for position in range(1, 11))
        scores = tuple(1 / position for position in range(1, 11))
        rankings[f"q{index}"] = Ranking(ids, scores, 2.0 + index % 7)
    return Outcome(
        dataset=dataset,
        system=system,
        preset=system.split(" ", maxsplit=1)[0],
        mode="auto",
        embedder=embedder,
        rankings=rankings,
        values={name: np.array(column, dtype=np.float64) for name, column in values.items()},
        strata={name: np.array(indexes, dtype=np.intp) for name, indexes in (strata or {}).items()},
    )


def dataset(
    count: int, *, name: str = "tiny", texts: Sequence[str] = (), synthetic: bool = False, remarks: Sequence[str] = ()
) -> Dataset:
    """Return a dataset of the questions q0, q1, …, each answered by the note ``right``."""
    notes = (Note(id="right", content="The right one."), Note(id="wrong1", content="A wrong one."))
    questions = tuple(
        Question(
            id=f"q{index}",
            text=texts[index] if index < len(texts) else _TEMPLATES[index % 4].format(_SUBJECTS[index % 8]),
            collection="home",
            relevant={"right": 1},
        )
        for index in range(count)
    )
    collection = Collection(id="home", notes=notes)
    return Dataset(
        name=name, collections={"home": collection}, questions=questions, synthetic=synthetic, remarks=tuple(remarks)
    )


def simulated_outcome(system: str, spread: float, count: int, *, seed: int = 0) -> Outcome:
    """Return an outcome over ``count`` questions with random ranks of the right note, better for a small ``spread``."""
    question_random, system_random = np.random.default_rng(7), np.random.default_rng(seed)
    hardness = question_random.exponential(1.0, count)
    ranks = [
        int(rank) if rank <= 10 else None
        for rank in 1 + np.floor(hardness * spread * system_random.uniform(0.5, 1.5, count))
    ]
    values: dict[str, list[float]] = {name: [] for name in MEASURES}
    for rank in ranks:
        position = rank or 99  # 99: not in the ranking
        for name in MEASURES:
            cutoff = int(name.rpartition("@")[2] if "@" in name else 10)
            hit = float(position <= cutoff)
            graded = {"ndcg@10": 1 / np.log2(position + 1), "mrr": 1 / position}
            values[name].append(hit * graded.get(name, 1.0))
    kinds = ("single-hop", "multi-hop", "temporal", "open-domain", "adversarial")
    strata = {kind: list(range(index, count, len(kinds))) for index, kind in enumerate(kinds)}
    strata["rare"] = [0, 1, 2]
    return outcome(system, values, strata=strata, ranks=ranks, dataset="locomo-like, turns")


def realistic_outcomes(count: int = 400) -> tuple[list[Outcome], Dataset]:
    """Return four systems over a few hundred questions, with texts that attempt HTML injection."""
    outcomes = [
        simulated_outcome("bm25", 4.0, count, seed=1),
        simulated_outcome("default", 2.2, count, seed=2),
        simulated_outcome("memini (semantic)", 4.1, count, seed=3),
        simulated_outcome("weighted-graph", 6.5, count, seed=4),
    ]
    texts = ["<script>document.title='broken out'</script> & <img src=x onerror=alert(1)>", "| a | `b` ]]> </svg> \x00"]
    data = dataset(
        count,
        name="locomo-like, turns",
        texts=texts,
        remarks=["4 of 404 questions were left out: their evidence is unknown."],
    )
    return outcomes, data
