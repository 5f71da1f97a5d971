"""Searches: find, explain and compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from recollect.retrieval import SearchResult, presets
from recollect.server.http.answers import json_response, written
from recollect.server.http.finished import SearchTimes
from recollect.server.http.questions import (
    MOST,
    Compared,
    Comparison,
    Explained,
    Found,
    Mode,
    PresetName,
    PresetsTold,
    Question,
    Words,
)
from recollect.server.http.requests import StrictRoute
from recollect.server.http.service import ReadIn, Served, Service
from recollect.server.rights import Right

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["Search"])

_READ: dict[str, Any] = {"x-right": str(Right.READ)}


@router.post("/v1/search", response_model=Found, openapi_extra=_READ)
async def search(body: Question, home: ReadIn, service: Served, request: Request) -> Response:
    """Find the best notes for a query: by words, by meaning and by connections."""
    return await _answer(service, request, _arguments(body, home), lambda found: _told(found, trace=body.trace))


@router.get("/v1/search", response_model=Found, openapi_extra=_READ)
async def search_by_address(
    home: ReadIn,
    service: Served,
    request: Request,
    q: Annotated[Words, Query(description="What is looked for.")],
    top_k: Annotated[int, Query(ge=0, le=MOST, description="How many hits.")] = 10,
    mode: Annotated[Mode, Query(description="By words, by meaning, or by both.")] = "auto",
    preset: Annotated[PresetName | None, Query(description="How to search.")] = None,
) -> Response:
    """Find the best notes for a query that stands in the address.

    Proxies write addresses into their logs; what is nobody's business is better asked by POST.
    """
    asked = {"query": q, "top_k": top_k, "mode": mode, "preset": preset, "namespace": home}
    return await _answer(service, request, asked, lambda found: _told(found, trace=False))


@router.post("/v1/explain", response_model=Explained, openapi_extra=_READ)
async def explain(body: Question, home: ReadIn, service: Served, request: Request) -> Response:
    """Find the best notes for a query, with the trace and an account of every score for a person."""
    return await _answer(
        service,
        request,
        _arguments(body, home),
        lambda found: {**_told(found, trace=True), "explanation": found.explain()},
    )


@router.post("/v1/compare", response_model=Compared, openapi_extra=_READ)
async def compare(body: Comparison, home: ReadIn, service: Served, request: Request) -> Response:
    """Search for the same query under several presets."""
    asked = _arguments(body, home)
    chosen = list(dict.fromkeys(body.presets)) if body.presets else None
    submitted = perf_counter()

    def work() -> tuple[bytes, list[SearchTimes]]:
        waited = perf_counter() - submitted
        results = service.memory.compare(asked.pop("query"), chosen, **asked)
        told = {name: _told(result, trace=body.trace) for name, result in results.items()}
        # They waited together, once.
        times = [
            SearchTimes.of(result.trace, 0.0 if place else waited) for place, result in enumerate(results.values())
        ]
        return written({"results": told}), times

    answer, times = await service.readers.run(work)
    request.state.searches.extend(times)
    return json_response(answer)


@router.get("/v1/presets", response_model=PresetsTold, openapi_extra=_READ)
async def list_presets(home: ReadIn, service: Served) -> Response:  # noqa: ARG001 (a key is needed here, too)
    """List the ways to search."""
    told = [{"name": each.name, "about": each.about, "settings": each.to_dict()} for each in presets().values()]
    return json_response(written({"presets": told, "default": service.memory.preset.name}))


async def _answer(
    service: Service,
    request: Request,
    asked: Mapping[str, Any],
    shape: Callable[[SearchResult], dict[str, Any]],
) -> Response:
    """Search in a thread, write the answer there, and leave behind where the time went."""
    submitted = perf_counter()

    def work() -> tuple[bytes, SearchTimes]:
        waited = perf_counter() - submitted
        found = service.memory.search(**asked)
        return written(shape(found)), SearchTimes.of(found.trace, waited)

    answer, times = await service.readers.run(work)
    request.state.searches.append(times)
    return json_response(answer)


def _arguments(body: Question | Comparison, namespace: str) -> dict[str, Any]:
    """Return what a body asks of :meth:`Memory.search`."""
    return {**body.model_dump(exclude={"trace", "presets"}, exclude_none=True), "namespace": namespace}


def _told(found: SearchResult, *, trace: bool) -> dict[str, Any]:
    told: dict[str, Any] = {
        "query": found.query,
        "has_answer": found.has_answer,
        "answer_threshold": found.answer_threshold,
        "excluded": list(found.excluded),
        "hits": [{**hit.to_dict(), "weak": weak} for hit, weak in zip(found, found.weak_flags, strict=True)],
        "warnings": list(found.warnings),
    }
    return {**told, "trace": found.trace.to_dict(), "account": found.account(limit=None)} if trace else told
