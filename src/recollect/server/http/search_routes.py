"""Endpoints of searches: search, explain, compare, presets."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from recollect.retrieval import SearchResult, presets
from recollect.retrieval.options import Mode, search_options
from recollect.server.http import schemas
from recollect.server.http.request_log import SearchTimes
from recollect.server.http.routing import READ, StrictRoute, json_response, to_json
from recollect.server.http.service import CurrentService, ReadNamespace, Service

router = APIRouter(route_class=StrictRoute, tags=["Search"])

_OPTIONS = search_options()


@router.post("/v1/search", response_model=schemas.SearchResponse, openapi_extra=READ)
async def search(
    body: schemas.SearchRequest, namespace: ReadNamespace, service: CurrentService, request: Request
) -> Response:
    """Search by lexical search, vector search and the graph of notes."""
    return await _search(service, request, body, namespace, lambda result: _to_dict(result, trace=body.trace))


@router.get("/v1/search", response_model=schemas.SearchResponse, openapi_extra=READ)
async def search_by_url(
    namespace: ReadNamespace,
    service: CurrentService,
    request: Request,
    q: Annotated[schemas.QueryText, Query(description="The query.")],
    top_k: Annotated[schemas.Count, Query(description=_OPTIONS["top_k"].help)] = _OPTIONS["top_k"].default,
    mode: Annotated[Mode, Query(description=_OPTIONS["mode"].help)] = _OPTIONS["mode"].default,
    preset: Annotated[schemas.PresetName | None, Query(description=schemas.PRESET_HELP)] = None,
) -> Response:
    """Search with a query in the URL.

    Proxies log URLs; send private queries by POST.
    """
    body = schemas.SearchRequest(query=q, top_k=top_k, mode=mode, preset=preset)
    return await _search(service, request, body, namespace, lambda result: _to_dict(result, trace=False))


@router.post("/v1/explain", response_model=schemas.ExplainResponse, openapi_extra=READ)
async def explain(
    body: schemas.SearchRequest, namespace: ReadNamespace, service: CurrentService, request: Request
) -> Response:
    """Search, and explain every score: with the trace and an explanation as text."""
    return await _search(
        service,
        request,
        body,
        namespace,
        lambda result: {**_to_dict(result, trace=True), "explanation": result.explain()},
    )


@router.post("/v1/compare", response_model=schemas.CompareResponse, openapi_extra=READ)
async def compare(
    body: schemas.CompareRequest, namespace: ReadNamespace, service: CurrentService, request: Request
) -> Response:
    """Search with several presets."""
    options = _search_options(body, namespace)
    names = list(dict.fromkeys(body.presets)) if body.presets else None

    def run() -> tuple[dict[str, Any], list[SearchResult]]:
        results = service.memory.compare(options.pop("query"), names, **options)
        data = {name: _to_dict(result, trace=body.trace) for name, result in results.items()}
        return {"results": data}, list(results.values())

    return await _respond(service, request, run)


@router.get("/v1/presets", response_model=schemas.PresetList, openapi_extra=READ)
async def list_presets(namespace: ReadNamespace, service: CurrentService) -> Response:  # noqa: ARG001 (it checks the key)
    """List the presets."""
    data = [{"name": preset.name, "about": preset.about, "settings": preset.to_dict()} for preset in presets().values()]
    return json_response(to_json({"presets": data, "default": service.memory.preset.name}))


async def _search(
    service: Service,
    request: Request,
    body: schemas.SearchRequest,
    namespace: str,
    to_data: Callable[[SearchResult], dict[str, Any]],
) -> Response:
    def run() -> tuple[dict[str, Any], list[SearchResult]]:
        result = service.memory.search(**_search_options(body, namespace))
        return to_data(result), [result]

    return await _respond(service, request, run)


async def _respond(
    service: Service, request: Request, run: Callable[[], tuple[dict[str, Any], list[SearchResult]]]
) -> Response:
    """Search and serialise in a thread, and record the times of the searches."""
    submitted = perf_counter()

    def task() -> tuple[bytes, list[SearchTimes]]:
        queued = perf_counter() - submitted
        data, results = run()
        # Searches of one request were queued together, once.
        return to_json(data), [SearchTimes.of(result.trace, 0.0 if i else queued) for i, result in enumerate(results)]

    body, times = await service.readers.run(task)
    request.state.searches.extend(times)
    return json_response(body)


def _search_options(body: schemas.SearchParameters, namespace: str) -> dict[str, Any]:
    """Return the arguments of :meth:`Memory.search`."""
    return {**body.model_dump(exclude={"trace", "presets"}, exclude_none=True), "namespace": namespace}


def _to_dict(result: SearchResult, *, trace: bool) -> dict[str, Any]:
    data: dict[str, Any] = {
        "query": result.query,
        "has_answer": result.has_answer,
        "answer_threshold": result.answer_threshold,
        "excluded": list(result.excluded),
        "hits": [{**hit.to_dict(), "weak": weak} for hit, weak in zip(result, result.weak_flags, strict=True)],
        "warnings": list(result.warnings),
    }
    return (
        {**data, "trace": result.trace.to_dict(), "explanation_data": result.explanation_data(limit=None)}
        if trace
        else data
    )
