"""Endpoints for operators: stats, health, readiness, metrics."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from recollect import __version__
from recollect.memory import Memory
from recollect.server.auth import Caller, Right
from recollect.server.http.problems import ProblemError
from recollect.server.http.request_log import METRICS_MEDIA_TYPE
from recollect.server.http.service import READ, RequestedNamespace, StrictRoute, json_response

router = APIRouter(route_class=StrictRoute, tags=["Health"])


class Status(BaseModel):
    """The status of the server."""

    status: str = Field(description="`ok`.")


class Stats(BaseModel):
    """What a memory contains, as far as the key may know."""

    notes: dict[str, int] = Field(description="The number of notes in each namespace that the key may read.")
    embedder: str = Field(description="The embedder, and why it was chosen.")
    version: str = Field(description="The version of Recollect.")
    right: Literal["read", "write", "admin"] = Field(
        description="The right of the key in these namespaces; `admin` if the server requires no keys."
    )
    store: dict[str, Any] | None = Field(
        default=None,
        description="The whole store, for a key of all namespaces; its location, for admin.",
    )


@router.get("/v1/stats", response_model=Stats, openapi_extra=READ)
async def get_stats(request: Request, namespace: RequestedNamespace = None) -> Response:
    """Get statistics of one namespace, or of all that the key may read."""
    service, caller = request.app.state.service, request.state.caller
    visible = caller.grant.namespaces if namespace is None else {caller.namespace(namespace, Right.READ)}
    stats = await service.readers.run(lambda: _stats(service.memory, caller, visible))
    return json_response(stats)


@router.get("/health", response_model=Status, openapi_extra={"x-right": "none"})
async def health() -> Response:
    """Check that the server is alive."""
    return json_response({"status": "ok"})


@router.get("/ready", response_model=Status, openapi_extra={"x-right": "none"})
async def ready(request: Request) -> Response:
    """Check that the models are loaded, the memory answers and the keys can be read; else 503."""
    problem = await request.app.state.service.not_ready_reason()
    if problem:
        raise ProblemError("not-ready", problem)
    return json_response({"status": "ok"})


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"description": "The metrics.", "content": {"text/plain": {"schema": {"type": "string"}}}}},
    openapi_extra={"x-right": "admin of all namespaces"},
)
async def metrics(request: Request) -> Response:
    """Get metrics in the Prometheus text format."""
    request.state.caller.require_all_namespaces(Right.ADMIN)
    return Response(request.app.state.service.metrics.render(), media_type=METRICS_MEDIA_TYPE)


def _stats(memory: Memory, caller: Caller, visible: set[str] | None) -> dict[str, Any]:
    right = caller.grant.right
    data: dict[str, Any] = {"embedder": memory.described_embedder, "version": __version__, "right": str(right)}
    if visible is not None:  # other namespaces are not even counted
        return {"notes": {name: memory.count(namespace=name) for name in sorted(visible)}, **data}
    store = memory.stats().to_dict()
    hidden = {"notes", "embedder"} | (set() if right >= Right.ADMIN else {"location"})
    shown = {name: value for name, value in store.items() if name not in hidden}
    return {"notes": store["notes"], **data, "store": shown}
