from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given

from recollect import ArgumentError, Candidate, Filters, Hit, SearchResult, Step
from recollect.fusion import deduplicate
from recollect.retrieval import Trace
from tests.strategies import candidate


@given(candidate)
def test_copy_is_equal_and_independent(original: Candidate) -> None:
    original.evidence = ("lexical", 1, 2.0, 3.0)
    copied = original.copy()
    assert copied == original
    for field in fields(Candidate):
        setattr(copied, field.name, "changed")
        assert getattr(original, field.name) != "changed"


def test_rescored_appends_steps() -> None:
    step = Step("importance", "because", 0.5, 0.0, 1.0, 0.5, 1, 1)
    once = Candidate("n", score=1.0).rescored(0.5, [step])
    assert (once.score, once.steps, once.rescored(0.1).steps) == (0.5, (step,), (step,))


def test_candidate_checks_values() -> None:
    values = {"score": 1, "title": None, "importance": None, "created_at": "2026-04-18", "lexical_rank": 3}
    built = Candidate("n", **values)  # type: ignore[arg-type]
    assert built == Candidate("n", score=1.0, created_at=datetime(2026, 4, 18, tzinfo=UTC), lexical_rank=3)
    assert type(built.score) is float
    with pytest.raises(ArgumentError, match="^id: must be a string, got None"):
        Candidate(None)  # type: ignore[arg-type]
    naive = datetime(2026, 4, 18)  # noqa: DTZ001 (that is the point)
    assert Candidate("n", created_at=naive).created_at == datetime(2026, 4, 18, tzinfo=UTC)
    with pytest.raises(ArgumentError, match="^lexical_rank: must be a whole number, got 'x'"):
        Candidate("n", lexical_rank="x")  # type: ignore[arg-type]
    assert Candidate("n", steps=[]).steps == ()  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="^evidence: must be a list, got 5"):
        Candidate("n", evidence=5)  # type: ignore[arg-type]
    with pytest.raises(
        ArgumentError, match="^candidate: must be a Candidate or a mapping with its fields, got NoneType"
    ):
        Candidate.from_mapping(None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="^score: must be a finite number, got inf"):
        Candidate("n", score=float("inf"))
    with pytest.raises(ArgumentError, match="^score: must be a number, got 'x'"):
        Candidate("n", score="x")  # type: ignore[arg-type]


def test_candidate_checks_tags_and_metadata() -> None:
    built = Candidate("n", tags=["a", "b", "a"], metadata={"x": (1, 2)})  # type: ignore[arg-type]
    assert (built.tags, built.metadata) == (("a", "b"), {"x": [1, 2]})
    missing = Candidate("n", tags=None, metadata=None)  # type: ignore[arg-type]
    assert (missing.tags, missing.metadata) == ((), {})
    assert Candidate.from_mapping({"id": "n", "tags": ("a",), "metadata": {"x": 1}}).metadata == {"x": 1}
    assert Candidate.from_mapping({"id": "n", "metadata": None}) == Candidate("n")
    with pytest.raises(ArgumentError, match="^metadata: must be a mapping, got 5"):
        Candidate("n", metadata=5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="^tags: must be a list, got 5"):
        Candidate("n", tags=5)  # type: ignore[arg-type]


def test_relevance_is_none_before_fusion() -> None:
    assert Candidate("n").relevance is None
    assert Candidate("n", ceiling=0.5, evidence=("lexical", 1, 0.0, 0.25)).relevance == 0.5


def test_candidate_from_mapping() -> None:
    built = Candidate.from_mapping(
        {"id": "n", "title": None, "score": 2, "created_at": "2026-04-18T02:00:00+02:00", "unknown": object()}
    )
    assert built == Candidate("n", score=2.0, created_at=datetime(2026, 4, 18, tzinfo=UTC))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, r"candidates\[0\]: has no 'id'"),
        ({"id": "n", "title": 5}, r"candidates\[0\].title: must be a string, got 5"),
        ({"id": "n", "lexical_rank": -1}, r"candidates\[0\].lexical_rank: must not be negative"),
        ({"id": "n", "created_at": "soon"}, r"candidates\[0\].created_at: must be an ISO-8601 date or time"),
        ({"id": "n", "importance": float("inf")}, r"candidates\[0\].importance: must be a finite number"),
    ],
)
def test_mapping_errors_name_the_field(values: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{message}"):
        deduplicate([values])


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
        ({"tag": "x"}, "filters: has no condition 'tag'; the conditions are path_prefix, tags"),
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
    note = Candidate("n", "p.md", "T", "s", "c", score=0.5, created_at=created_at, importance=0.9, snippet="c")
    hit = Hit(1, note)
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


def search_result(*hits: tuple[str, float | None, tuple[str, ...]], threshold: float = 0.25) -> SearchResult:
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
    ranked = search_result(
        *((f"n{index}", confidence, ()) for index, confidence in enumerate(confidences)), threshold=threshold
    )
    assert ranked.weak_flags == weak
    assert [hit.id for hit in ranked.strong_hits] == [f"n{index}" for index, flag in enumerate(weak) if not flag]
    assert [hit.id for hit in ranked.weak_hits] == [f"n{index}" for index, flag in enumerate(weak) if flag]


def test_superseded_note_is_as_weak_as_its_successor() -> None:
    hits = [("new", 0.9, ()), ("old", 0.01, ("new",)), ("odd", 0.01, ()), ("older", 0.01, ("odd",))]
    assert search_result(*hits).weak_flags == [False, False, True, True]
    assert search_result(*hits, ("gone", 0.01, ("nowhere",))).weak_flags[-1]


def test_ranked_hits_are_a_sequence() -> None:
    ranked = search_result(("new", 0.9, ()), ("old", 0.01, ("new", "gone")))
    assert (ranked[0].id, [hit.id for hit in ranked[1:]]) == ("new", ["old"])
    assert repr(ranked) == "<SearchResult 'tea': 2 hits, has_answer=True, ['new', 'old']>"
    assert ranked.text_with_superseded_notice(ranked[0], "Sencha.") == "Sencha."
    assert ranked.text_with_superseded_notice(ranked[1], "Assam.") == "[Out of date: superseded by new, gone]\nAssam."
