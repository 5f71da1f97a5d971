from __future__ import annotations

import copy
import pickle
from dataclasses import fields
from datetime import UTC, datetime

import pytest
from hypothesis import given

from recollect import ArgumentError, Candidate, Step
from recollect.fusion import deduplicate
from recollect.model.candidate import NO_METADATA, StoredMetadata, stored_metadata
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
    with pytest.raises(ArgumentError, match="^candidate: must be a mapping with a candidate's keys, got NoneType"):
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


def test_stored_metadata_decodes_on_first_read() -> None:
    broken = StoredMetadata("{no JSON")
    assert broken  # not decoded yet
    metadata = StoredMetadata('{"a": [1, {"b": null}], "c": "d"}')
    assert metadata._values is None
    assert metadata["a"] == [1, {"b": None}]
    assert metadata._values is not None
    assert (list(metadata), len(metadata)) == (["a", "c"], 2)


def test_stored_metadata_equals_dict() -> None:
    metadata = StoredMetadata('{"a": 1}')
    assert metadata == {"a": 1}
    assert metadata != {"a": 2}
    assert repr(metadata) == "{'a': 1}"


def test_notes_without_metadata_share_one_object() -> None:
    assert stored_metadata("{}") is NO_METADATA
    assert not NO_METADATA
    assert (dict(NO_METADATA), NO_METADATA.get("a")) == ({}, None)


def test_stored_metadata_can_be_copied_and_pickled() -> None:
    for read_before in (False, True):
        metadata = StoredMetadata('{"a": [1]}')
        assert not read_before or metadata["a"]
        assert copy.deepcopy(metadata) == {"a": [1]}
        assert pickle.loads(pickle.dumps(metadata)) == {"a": [1]}  # noqa: S301 (written here)


def test_stored_metadata_reads_deep_nesting() -> None:
    metadata = StoredMetadata('{"a": ' + "[" * 900 + "]" * 900 + "}")
    assert list(metadata) == ["a"]
