from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime

import pytest
from hypothesis import given

from recollect import ArgumentError, Candidate, Step
from recollect.fusion import deduplicate
from tests.generated import candidate


@given(candidate)
def test_a_copy_is_equal_and_apart(original: Candidate) -> None:
    original.evidence = ("lexical", 1, 2.0, 3.0)
    copied = original.copy()
    assert copied == original
    for field in fields(Candidate):
        setattr(copied, field.name, "changed")
        assert getattr(original, field.name) != "changed"


def test_a_rescored_copy_keeps_its_record() -> None:
    step = Step("importance", "because", 0.5, 0.0, 1.0, 0.5, 1, 1)
    once = Candidate("n", score=1.0).rescored(0.5, [step])
    assert (once.score, once.steps, once.rescored(0.1).steps) == (0.5, (step,), (step,))


def test_what_a_caller_passes_is_checked() -> None:
    given = {"score": 1, "title": None, "importance": None, "created_at": "2026-04-18", "lexical_rank": 3}
    found = Candidate("n", **given)  # type: ignore[arg-type]
    assert found == Candidate("n", score=1.0, created_at=datetime(2026, 4, 18, tzinfo=UTC), lexical_rank=3)
    assert type(found.score) is float
    with pytest.raises(ArgumentError, match="^id: must be a string, got None"):
        Candidate(None)  # type: ignore[arg-type]
    naive = datetime(2026, 4, 18)  # noqa: DTZ001 (that is the point)
    assert Candidate("n", created_at=naive).created_at == datetime(2026, 4, 18, tzinfo=UTC)
    with pytest.raises(ArgumentError, match="^lexical_rank: must be a whole number, got 'x'"):
        Candidate("n", lexical_rank="x")  # type: ignore[arg-type]
    assert Candidate("n", steps=[]).steps == ()  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="^evidence: must be a list, got 5"):
        Candidate("n", evidence=5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="^candidate: must be a mapping with a candidate's keys, got NoneType"):
        Candidate.from_mapping(None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="^score: must be a finite number, got inf"):
        Candidate("n", score=float("inf"))
    with pytest.raises(ArgumentError, match="^score: must be a number, got 'x'"):
        Candidate("n", score="x")  # type: ignore[arg-type]


def test_tags_and_metadata_are_checked() -> None:
    found = Candidate("n", tags=["a", "b", "a"], metadata={"x": (1, 2)})  # type: ignore[arg-type]
    assert (found.tags, found.metadata) == (("a", "b"), {"x": [1, 2]})
    missing = Candidate("n", tags=None, metadata=None)  # type: ignore[arg-type]
    assert (missing.tags, missing.metadata) == ((), {})
    assert Candidate.from_mapping({"id": "n", "tags": ("a",), "metadata": {"x": 1}}).metadata == {"x": 1}
    assert Candidate.from_mapping({"id": "n", "metadata": None}) == Candidate("n")
    with pytest.raises(ArgumentError, match="^metadata: must be a mapping, got 5"):
        Candidate("n", metadata=5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="^tags: must be a list, got 5"):
        Candidate("n", tags=5)  # type: ignore[arg-type]


def test_relevance_is_known_after_fusion() -> None:
    assert Candidate("n").relevance is None
    assert Candidate("n", ceiling=0.5, evidence=("lexical", 1, 0.0, 0.25)).relevance == 0.5


def test_a_mapping_becomes_a_candidate() -> None:
    found = Candidate.from_mapping(
        {"id": "n", "title": None, "score": 2, "created_at": "2026-04-18T02:00:00+02:00", "unknown": object()}
    )
    assert found == Candidate("n", score=2.0, created_at=datetime(2026, 4, 18, tzinfo=UTC))


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
def test_what_is_wrong_in_a_mapping_is_named(values: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{message}"):
        deduplicate([values])
