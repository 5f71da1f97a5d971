from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from recollect import ArgumentError, Candidate, Filters, Hit, SearchResult
from recollect.retrieval import Trace


def test_filters_from_a_mapping() -> None:
    filters = Filters.of({"tags": "tea", "created_after": "2026-01-01", "session": None, "metadata": {"a": 1}})
    assert filters == Filters(tags=("tea",), created_after=datetime(2026, 1, 1, tzinfo=UTC), metadata={"a": 1})
    assert filters
    assert Filters.of(filters) is filters


def test_filters_without_condition_are_false() -> None:
    assert not Filters.of(None)
    assert not Filters.of({})
    assert Filters(session="")  # notes without a session


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (7, "filters: must be Filters or a mapping, got int"),
        ({"tag": "x"}, "filters: has no condition 'tag'; there are path_prefix, tags"),
        ({"path_prefix": 7}, "filters.path_prefix: must be a string"),
        ({"created_before": "soon"}, "filters.created_before: must be an ISO-8601"),
        ({"metadata": {"x": object()}}, "filters.metadata: must be JSON data"),
    ],
)
def test_filters_reject_invalid_values(value: Any, problem: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{problem}"):
        Filters.of(value)


def test_hit_has_fields_of_its_note() -> None:
    created_at = datetime(2026, 4, 18, tzinfo=UTC)
    candidate = Candidate("n", "p.md", "T", "s", "c", score=0.5, created_at=created_at, importance=0.9, snippet="c")
    hit = Hit(1, candidate)
    assert (hit.session, hit.position, hit.confidence, hit.rerank_score, hit.superseded_by) == (
        "",
        None,
        None,
        None,
        (),
    )
    assert (hit.id, hit.path, hit.title, hit.summary, hit.content) == ("n", "p.md", "T", "s", "c")
    assert (hit.snippet, hit.created_at, hit.importance, hit.score, hit.relevance) == ("c", created_at, 0.9, 0.5, None)
    assert (hit.tags, hit.metadata) == ((), {})
    assert hit.to_dict()["created_at"] == "2026-04-18T00:00:00Z"
    assert Hit(1, Candidate("n")).to_dict()["created_at"] is None


def test_hit_has_tags_and_metadata() -> None:
    hit = Hit(1, Candidate("n", tags=("drinks", "tea"), metadata={"author": "Ines", "pages": [1, 2]}))
    assert hit.tags == ("drinks", "tea")
    assert hit.metadata == {"author": "Ines", "pages": [1, 2]}
    hit.metadata["author"] = "Olaf"  # a copy
    assert hit.metadata["author"] == "Ines"
    data = hit.to_dict()
    assert (data["tags"], data["metadata"]) == (["drinks", "tea"], {"author": "Ines", "pages": [1, 2]})


def result(*hits: tuple[str, float | None, tuple[str, ...]], threshold: float = 0.25) -> SearchResult:
    ranked = tuple(
        Hit(rank, Candidate(name, confidence=confidence, superseded_by=superseded_by))
        for rank, (name, confidence, superseded_by) in enumerate(hits, 1)
    )
    return SearchResult("tea", ranked, Trace(mode="bm25", original_query="tea", answer_threshold=threshold))


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
def test_weak_flags(confidences: list[float | None], threshold: float, weak: list[bool]) -> None:
    ranked = result(*((f"n{n}", confidence, ()) for n, confidence in enumerate(confidences)), threshold=threshold)
    assert ranked.weak_flags == weak
    assert [hit.id for hit in ranked.strong_hits] == [f"n{n}" for n, flag in enumerate(weak) if not flag]
    assert [hit.id for hit in ranked.weak_hits] == [f"n{n}" for n, flag in enumerate(weak) if flag]


def test_superseded_note_is_as_weak_as_its_successor() -> None:
    hits = [("new", 0.9, ()), ("old", 0.01, ("new",)), ("odd", 0.01, ()), ("older", 0.01, ("odd",))]
    assert result(*hits).weak_flags == [False, False, True, True]
    assert result(*hits, ("gone", 0.01, ("nowhere",))).weak_flags[-1]


def test_ranked_hits_are_a_sequence() -> None:
    ranked = result(("new", 0.9, ()), ("old", 0.01, ("new", "gone")))
    assert (ranked[0].id, [hit.id for hit in ranked[1:]]) == ("new", ["old"])
    assert repr(ranked) == "<SearchResult 'tea': 2 hits, has_answer=True, ['new', 'old']>"
    assert ranked.marked_text(ranked[0], "Sencha.") == "Sencha."
    assert ranked.marked_text(ranked[1], "Assam.") == "[Out of date: superseded by new, gone]\nAssam."
