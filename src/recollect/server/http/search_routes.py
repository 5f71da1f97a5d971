"""Endpoints of searches: search, explain, compare, presets."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from recollect.retrieval import SearchResult, presets
from recollect.retrieval.options import Mode, search_options
from recollect.server.http import schemas
from recollect.server.http.request_log import SearchTimes
from recollect.server.http.service import READ, Call, ReadCall, StrictRoute

router = APIRouter(route_class=StrictRoute, tags=["Search"])

_OPTIONS = search_options()


@router.post("/v1/search", response_model=schemas.SearchResponse, openapi_extra=READ)
def search(body: schemas.SearchRequest, call: ReadCall) -> dict[str, Any]:
    """Search by lexical search, vector search and the graph of notes."""
    return _to_dict(_search(call, body), trace=body.trace)


@router.get("/v1/search", response_model=schemas.SearchResponse, openapi_extra=READ)
def search_by_url(
    call: ReadCall,
    q: Annotated[schemas.QueryText, Query(description="The query.")],
    top_k: Annotated[schemas.Count, Query(description=_OPTIONS["top_k"].help)] = _OPTIONS["top_k"].default,
    mode: Annotated[Mode, Query(description=_OPTIONS["mode"].help)] = _OPTIONS["mode"].default,
    preset: Annotated[schemas.PresetName | None, Query(description=schemas.PRESET_HELP)] = None,
) -> dict[str, Any]:
    """Search with a query in the URL.

    Proxies log URLs; send private queries by POST.
    """
    return _to_dict(_search(call, schemas.SearchRequest(query=q, top_k=top_k, mode=mode, preset=preset)), trace=False)


@router.post("/v1/explain", response_model=schemas.ExplainResponse, openapi_extra=READ)
def explain(body: schemas.SearchRequest, call: ReadCall) -> dict[str, Any]:
    """Search, and explain every score: with the trace and an explanation as text."""
    result = _search(call, body)
    return {**_to_dict(result, trace=True), "explanation": result.explain()}


@router.post("/v1/compare", response_model=schemas.CompareResponse, openapi_extra=READ)
def compare(body: schemas.CompareRequest, call: ReadCall) -> dict[str, Any]:
    """Search with several presets."""
    names = list(dict.fromkeys(body.presets)) if body.presets else None
    options = body.model_dump(exclude={"query", "trace", "presets"}, exclude_none=True)
    results = call.memory.compare(body.query, names, **options, namespace=call.namespace)
    _record_times(call, *results.values())
    return {"results": {name: _to_dict(result, trace=body.trace) for name, result in results.items()}}


@router.get("/v1/presets", response_model=schemas.PresetList, openapi_extra=READ)
def list_presets(call: ReadCall) -> dict[str, Any]:
    """List the presets."""
    data = [{"name": preset.name, "about": preset.about, "settings": preset.to_dict()} for preset in presets().values()]
    return {"presets": data, "default": call.memory.preset.name}


def _search(call: Call, body: schemas.SearchRequest) -> SearchResult:
    result = call.memory.search(**body.model_dump(exclude={"trace"}, exclude_none=True), namespace=call.namespace)
    _record_times(call, result)
    return result


def _record_times(call: Call, *results: SearchResult) -> None:
    for result in results:
        call.searches.append(SearchTimes.of(result.trace, call.queued))
        call.queued = 0.0  # searches of one request were queued together, once


def _to_dict(result: SearchResult, *, trace: bool) -> dict[str, Any]:
    data: dict[str, Any] = {
        "query": result.query,
        "has_answer": result.has_answer,
        "answer_threshold": result.answer_threshold,
        "excluded": list(result.excluded),
        "hits": [{**hit.to_dict(), "weak": weak} for hit, weak in zip(result, result.weak_flags, strict=True)],
        "warnings": list(result.warnings),
    }
    if trace:
        data |= {"trace": result.trace.to_dict(), "explanation_data": result.explanation_data(limit=None)}
    return data
