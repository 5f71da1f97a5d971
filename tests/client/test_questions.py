"""What callers pass, as JSON."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import PurePosixPath
from typing import Any

import pytest

from recollect.client.questions import document_of, draft_of, json_ready, key_of, listing_of
from recollect.errors import ArgumentError
from recollect.model import Filters, Link, Note
from recollect.retrieval import presets


def test_everything_becomes_json() -> None:
    given: dict[str, Any] = {
        "now": datetime(2026, 4, 18, 12, tzinfo=UTC),
        "question_date": date(2026, 4, 18),
        "filters": Filters(tags=("tea",), created_after=datetime(2026, 1, 1, tzinfo=UTC)),
        "links": [Link("supersedes", "n2"), ("related", "n3")],
        "min_confidence": 0.3,
        "rerank": False,
        "nothing": None,
    }
    assert json.loads(json.dumps(json_ready(given))) == {
        "now": "2026-04-18T12:00:00+00:00",
        "question_date": "2026-04-18",
        "filters": {"tags": ["tea"], "created_after": "2026-01-01T00:00:00+00:00"},
        "links": [["supersedes", "n2"], ["related", "n3"]],
        "min_confidence": 0.3,
        "rerank": False,
        "nothing": None,
    }


def test_a_preset_is_named() -> None:
    with pytest.raises(ArgumentError, match="preset: must be the name of a preset: the server has its own"):
        json_ready({"preset": presets()["default"]})


def test_a_note_is_told_without_its_namespace_and_without_what_it_does_not_say() -> None:
    note = Note(content="", path="tea.md", created_at="2026-04-18", links=["n2"], namespace="tea")  # type: ignore[arg-type]
    assert draft_of(note) == {
        "content": "",
        "path": "tea.md",
        "tags": [],
        "created_at": "2026-04-18T00:00:00Z",
        "importance": 0.5,
        "links": [{"kind": "related", "target": "n2"}],
        "metadata": {},
    }
    assert json_ready([note]) == [draft_of(note)]


def test_a_mapping_says_what_it_holds() -> None:
    assert draft_of({"content": None, "title": "", "tags": ("a",), "path": None}) == {
        "title": "",
        "tags": ["a"],
    }
    with pytest.raises(ArgumentError, match="note: must be a Note, a mapping or a string, got int"):
        draft_of(7)  # type: ignore[arg-type]


def test_a_key_is_one_part_of_an_address() -> None:
    assert key_of("a/b?c#d%") == "a%2Fb%3Fc%23d%25"
    assert key_of(Note(content="", id="n1")) == "n1"
    with pytest.raises(ArgumentError, match="key: must not be empty"):
        key_of("")


def test_a_listing_filters() -> None:
    assert listing_of(None) == []
    assert listing_of(Filters(tags=("a", "b"), session="")) == [("tag", "a"), ("tag", "b"), ("session", "")]


def test_a_document_is_a_path_and_a_text() -> None:
    assert document_of({"path": "a.md", "content": "x"}) == {"path": "a.md", "content": "x"}
    assert document_of((PurePosixPath("a/b.md"), "x")) == {"path": "a/b.md", "content": "x"}
