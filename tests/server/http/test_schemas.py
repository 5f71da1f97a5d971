"""Requests and responses have the search options and note fields of the library."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from recollect.model import NOTE_FIELDS, Candidate, Hit, Note
from recollect.retrieval.options import search_options
from recollect.server.http import schemas
from recollect.server.mcp.note_tools import RememberRequest, UpdateRequest
from recollect.server.mcp.search_tools import SearchRequest as McpSearchRequest

NOT_OVER_HTTP = {"namespace", "vector"}
"""The namespace is a query parameter; the server embeds queries itself."""


@pytest.mark.parametrize(("model", "more"), [(schemas.SearchRequest, set()), (schemas.CompareRequest, {"presets"})])
def test_http_search_options(model: type[BaseModel], more: set[str]) -> None:
    options = {name for name in search_options() if name not in NOT_OVER_HTTP}
    if model is schemas.CompareRequest:
        options.remove("preset")
    assert set(model.model_fields) == options | {"query", "trace"} | more
    for name in options:
        assert model.model_fields[name].default == search_options()[name].default


def test_mcp_search_options() -> None:
    offered = {"top_k", "namespace"}
    assert offered == set(McpSearchRequest.model_fields) & set(search_options())
    filters = set(McpSearchRequest.model_fields) - offered - {"query", "include_weak"}
    assert filters < set(schemas.SearchFilters.model_fields)


def test_note_fields() -> None:
    assert set(schemas.NewNote.model_fields) == set(NOTE_FIELDS) - {"namespace"}
    assert set(schemas.NoteChanges.model_fields) == set(NOTE_FIELDS) - {"namespace", "id"}
    assert set(schemas.NoteResponse.model_fields) == set(NOTE_FIELDS)
    assert schemas.NoteResponse(**Note(content="tea").to_dict()).content == "tea"


def test_mcp_note_fields() -> None:
    by_hand = {name for name, field in NOTE_FIELDS.items() if field.by_hand}
    assert set(RememberRequest.model_fields) == by_hand - {"id", "links"} | {"supersedes"}
    assert set(UpdateRequest.model_fields) - {"key"} < by_hand


def test_hit_fields() -> None:
    assert set(schemas.Hit.model_fields) == {*Hit(1, Candidate("n1")).to_dict(), "weak"}
