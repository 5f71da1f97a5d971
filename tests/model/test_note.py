from __future__ import annotations

import inspect
import json
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentError, Candidate, Link, Memory, Note
from recollect.model import DRAFT_FIELDS, NOTE_FIELDS, draft_of, embedding_text
from tests.strategies import any_text, nested

line = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=20)
name = line.filter(str.strip)
moment = st.datetimes(timezones=st.just(UTC))
data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | line,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(line, inner, max_size=3),
    max_leaves=5,
)
notes = st.builds(
    Note,
    content=any_text,
    id=line,
    path=line,
    title=any_text,
    summary=any_text,
    tags=st.lists(name, max_size=3),
    created_at=st.none() | moment,
    updated_at=st.none() | moment,
    last_accessed_at=st.none() | moment,
    expires_at=st.none() | moment,
    importance=st.floats(0, 1),
    session=line,
    position=st.none() | st.integers(0, 2**63 - 1),
    links=st.lists(st.tuples(name, name), max_size=3),
    metadata=st.dictionaries(line, data, max_size=3),
    namespace=name,
)


@given(notes)
def test_note_json_round_trip(note: Note) -> None:
    assert Note(**json.loads(json.dumps(note.to_dict()))) == note


@given(notes)
def test_draft_of_note_round_trip(note: Note) -> None:
    assert Note(**draft_of(note)) == note


def test_draft_removes_expiry_with_never() -> None:
    assert Note(content="tea", expires_at="never") == Note(content="tea")  # type: ignore[arg-type]
    assert draft_of({"content": "tea", "expires_at": "never"}) == {"content": "tea", "expires_at": None}
    assert draft_of({"content": "tea", "expires_at": None}) == {"content": "tea"}


def test_note_normalises_values() -> None:
    note = Note(
        content="lone \udc00",
        tags=["b", "a", "b"],  # type: ignore[arg-type]
        created_at="2026-04-18T02:00:00+02:00",  # type: ignore[arg-type]
        importance=1,
        links=["x", {"target": "y"}, {"kind": "supersedes", "target": "z"}, ("k", "t"), "x"],  # type: ignore[arg-type]
        metadata={"t": (1, 2)},
    )
    assert note.content == "lone \ufffd"
    assert note.tags == ("b", "a")
    assert note.created_at == datetime(2026, 4, 18, tzinfo=UTC)
    assert note.links == (Link("related", "x"), Link("related", "y"), Link("supersedes", "z"), Link("k", "t"))
    assert note.metadata == {"t": [1, 2]}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"content": None}, "content: must be a string, got None"),
        ({"id": "a\nb"}, "id: must be one line without control characters"),
        ({"path": 7}, "path: must be a string"),
        ({"tags": "tea"}, "tags: must be a list, got 'tea'"),
        ({"tags": ["ok", " "]}, r"tags\[1\]: must not be empty"),
        ({"created_at": "yesterday"}, "created_at: must be an ISO-8601 date or time"),
        ({"importance": 1.5}, "importance: must lie between 0 and 1, got 1.5"),
        ({"position": -1}, "position: must not be negative"),
        ({"position": 2**63}, "position: must be at most 9223372036854775807"),
        ({"links": [7]}, r"links\[0\]: must be a kind and a target"),
        ({"links": [("a", "b", "c")]}, r"links\[0\]: must be a kind and a target"),
        ({"links": [{"kind": "x"}]}, r"links\[0\].target: must be a string, got None"),
        ({"metadata": [1]}, "metadata: must be a mapping"),
        ({"metadata": {"x": object()}}, "metadata: must be JSON data"),
        ({"metadata": {"x": float("nan")}}, "metadata: must be JSON data"),
        ({"metadata": {"a": nested(64)}}, "metadata: must not be nested deeper than 64 levels; make it flatter$"),
        ({"metadata": {"a": nested(100_000)}}, "metadata: must not be nested deeper than 64 levels"),
        ({"metadata": {1: "x"}}, "metadata: must have strings as keys"),
        ({"namespace": ""}, "namespace: must not be empty"),
    ],
)
def test_note_rejects_invalid_values(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{problem}"):
        Note(**{"content": "x", **fields})


def test_draft_has_only_given_fields() -> None:
    assert draft_of("tea") == {"content": "tea"}
    assert draft_of({"content": "tea", "title": None, "tags": []}) == {"content": "tea", "tags": ()}
    assert draft_of({"vector": [1, 2]})["vector"].tolist() == [1, 2]
    draft = draft_of(Note(content="tea"))
    assert {"id", "path", "created_at"}.isdisjoint(draft)
    assert draft["position"] is None
    with pytest.raises(ArgumentError, match="^note: has no field 'text'; it may have id, path, title"):
        draft_of({"text": "tea"})
    with pytest.raises(ArgumentError, match="^note: must be a Note, a mapping or a string, got int"):
        draft_of(7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("vector", "problem"),
    [
        ("abc", "must be a list of numbers"),
        ([[[1, 2]]], r"must be a list of numbers, or one for each chunk, got an array of shape \(1, 1, 2\)"),
        (1.5, r"must be a list of numbers, or one for each chunk, got an array of shape \(\)"),
        ([], "must be a list of numbers, or one for each chunk"),
        ([[], []], "must be a list of numbers, or one for each chunk"),
        ([[1, 2], [3]], "must be a list of numbers"),
        ([1, float("nan")], "must contain finite numbers only"),
        ([object()], "must be a list of numbers"),
    ],
)
def test_draft_checks_vector(vector: Any, problem: str) -> None:
    with pytest.raises(ArgumentError, match=f"^vector: {problem}"):
        draft_of({"vector": vector})


def test_embedding_text_joins_non_empty_fields() -> None:
    assert embedding_text("", "", "content") == "content"
    assert embedding_text("Title", "summary", "content") == "Title\nsummary\ncontent"


def test_note_fields_table_lists_every_field_once() -> None:
    assert list(NOTE_FIELDS) == [field.name for field in fields(Note)] == list(Note(content="tea").to_dict())
    assert list(DRAFT_FIELDS) == [*NOTE_FIELDS, "vector"]
    assert all(field.name == name and field.description.endswith(".") for name, field in DRAFT_FIELDS.items())


def test_note_fields_table_has_the_defaults_of_a_note() -> None:
    note = Note(content="tea")
    assert {name: field.default for name, field in NOTE_FIELDS.items() if name != "content"} == {
        name: getattr(note, name) for name in NOTE_FIELDS if name != "content"
    }
    assert Candidate("n").importance == NOTE_FIELDS["importance"].default


def test_memory_add_has_a_keyword_for_every_draft_field() -> None:
    parameters = inspect.signature(Memory.add).parameters
    assert set(parameters) - {"self", "supersedes"} == set(DRAFT_FIELDS)
    assert all(parameters[name].default is None for name in DRAFT_FIELDS)
