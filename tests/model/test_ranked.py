"""Which hits are weak candidates."""

from __future__ import annotations

import pytest

from recollect import SearchResult
from recollect.model import Candidate, Hit
from recollect.retrieval import Trace


def result(*hits: tuple[str, float | None, tuple[str, ...]], threshold: float = 0.25) -> SearchResult:
    found = tuple(
        Hit(rank, Candidate(name, confidence=confidence, superseded_by=superseded_by))
        for rank, (name, confidence, superseded_by) in enumerate(hits, 1)
    )
    return SearchResult("tea", found, Trace(mode="bm25", original_query="tea", answer_threshold=threshold))


@pytest.mark.parametrize(
    ("confidences", "threshold", "weak"),
    [
        ([0.5, 0.3, 0.05, 0.0499, 0.0], 0.25, [False, False, False, True, True]),
        ([0.0899, 0.9], 0.25, [True, False]),
        ([0.9, 0.06, 0.04], 0.05, [False, False, True]),  # above the threshold nothing is weak
        ([0.9, 0.0], 0.0, [False, False]),
        ([0.2, 0.1], 0.25, [True, True]),
        ([None, None], 0.0, [False, False]),
        ([None, None], 0.25, [True, True]),
        ([0.9, None], 0.25, [False, False]),
        ([], 0.25, []),
    ],
)
def test_hits_far_below_the_best_are_weak(confidences: list[float | None], threshold: float, weak: list[bool]) -> None:
    found = result(*((f"n{n}", each, ()) for n, each in enumerate(confidences)), threshold=threshold)
    assert found.weak_flags == weak
    assert [hit.id for hit in found.strong_hits] == [f"n{n}" for n, flag in enumerate(weak) if not flag]
    assert [hit.id for hit in found.weak_hits] == [f"n{n}" for n, flag in enumerate(weak) if flag]


def test_a_superseded_note_goes_with_the_note_that_supersedes_it() -> None:
    hits = [("new", 0.9, ()), ("old", 0.01, ("new",)), ("odd", 0.01, ()), ("older", 0.01, ("odd",))]
    assert result(*hits).weak_flags == [False, False, True, True]
    assert result(*hits, ("gone", 0.01, ("nowhere",))).weak_flags[-1]
