"""Reciprocal rank fusion against a plain dictionary loop, and against ranx."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator

from benchmarks.timing import Comparison, compare
from recollect import Candidate
from recollect.fusion import reciprocal_rank_fusion


def ranked_lists(length: int) -> list[list[Candidate]]:
    """Return two rankings of ``length`` notes; about two thirds of the notes are in both."""
    rng = random.Random(length)  # noqa: S311 (sample data)
    ids = [f"note-{number:05d}" for number in range(length * 3 // 2)]
    return [
        [
            Candidate(
                name, f"memory/{name}.md", f"Title of {name}", "", "Some content.", score=float(length - position)
            )
            for position, name in enumerate(rng.sample(ids, length))
        ]
        for _ in range(2)
    ]


def bare_loop(lists: list[list[str]], k: int = 60) -> dict[str, float]:
    """Return the reciprocal rank fusion score of each id, computed by a plain loop."""
    scores: dict[str, float] = {}
    for ranking in lists:
        for rank, name in enumerate(ranking, 1):
            scores[name] = scores.get(name, 0.0) + 1 / (k + rank)
    return scores


def comparisons() -> Iterator[Comparison]:
    """Yield each comparison when it is complete."""
    small = ranked_lists(60)
    ids = [[candidate.id for candidate in ranking] for ranking in small]
    assert bare_loop(ids) == {hit.id: hit.score for hit in reciprocal_rank_fusion(small)}
    yield compare(
        "fuse two lists of 60",
        lambda: reciprocal_rank_fusion(small),
        "a bare dictionary loop",
        lambda: bare_loop(ids),
        at_most=10,
    )
    yield from _against_ranx()


def _against_ranx() -> Iterator[Comparison]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ranx import Run, fuse  # noqa: PLC0415 (compiles for seconds)

        large = ranked_lists(1000)
        runs = [Run({"query": {candidate.id: candidate.score for candidate in ranking}}) for ranking in large]
        yield compare(
            "fuse two lists of 1,000",
            lambda: reciprocal_rank_fusion(large),
            "ranx.fuse, compiled beforehand",
            lambda: fuse(runs=runs, norm=None, method="rrf", params={"k": 60}),
            at_most=1,
        )
