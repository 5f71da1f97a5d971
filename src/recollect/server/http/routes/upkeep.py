"""How the server is doing."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from recollect import __version__
from recollect.server.http.answers import json_response, written
from recollect.server.http.metrics import MEDIA_TYPE
from recollect.server.http.problems import ProblemError
from recollect.server.http.requests import StrictRoute
from recollect.server.http.schemas import Told
from recollect.server.http.service import AskedNamespace, Calling, Served, Service
from recollect.server.rights import Caller, Right

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["Upkeep"])


class Status(Told):
    """That all is well."""

    status: str = Field(description="`ok`.")


class Stats(Told):
    """What a memory holds, as far as the key may know."""

    notes: dict[str, int] = Field(description="How many notes each namespace has that the key may read.")
    embedder: str = Field(description="What embeds, and why it was chosen.")
    version: str = Field(description="The version of Recollect.")
    right: Literal["read", "write", "admin"] = Field(
        description="What the key may do in these namespaces; `admin` where no keys are asked for."
    )
    store: dict[str, Any] | None = Field(
        default=None,
        description="The whole store, for a key of all namespaces; where it lies, for admin.",
    )


@router.get("/v1/stats", response_model=Stats, openapi_extra={"x-right": str(Right.READ)})
async def get_stats(caller: Calling, service: Served, namespace: AskedNamespace = None) -> Response:
    """Tell what the memory holds, in one namespace or in all that the key may read."""
    asked = None if namespace is None else caller.namespace(namespace, Right.READ)
    return json_response(await service.readers.run(lambda: written(_stats(service, caller, asked))))


@router.get("/health", response_model=Status, openapi_extra={"x-right": "none"})
async def health() -> Response:
    """Tell that the server is alive."""
    return json_response(b'{"status":"ok"}')


@router.get("/ready", response_model=Status, openapi_extra={"x-right": "none"})
async def ready(service: Served) -> Response:
    """Tell whether the models are loaded, the memory answers and the keys can be read; 503 while not."""
    problem = await service.readiness.problem()
    if problem:
        raise ProblemError("not-ready", problem, headers={"Retry-After": "1"})
    return json_response(b'{"status":"ok"}')


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"description": "The figures.", "content": {"text/plain": {"schema": {"type": "string"}}}}},
    openapi_extra={"x-right": "admin of all namespaces"},
)
async def metrics(caller: Calling, service: Served) -> Response:
    """Give figures in the format that Prometheus reads."""
    caller.require_everywhere(Right.ADMIN)
    return Response(service.metrics.exposed(), media_type=MEDIA_TYPE)


def _stats(service: Service, caller: Caller, asked: str | None) -> dict[str, Any]:
    grant, memory = caller.grant, service.memory
    told: dict[str, Any] = {"embedder": memory.described_embedder, "version": __version__, "right": str(grant.right)}
    visible = [asked] if asked is not None else grant.namespaces
    if visible is not None:  # nothing of another namespace is so much as counted
        return {"notes": {name: memory.count(namespace=name) for name in sorted(visible)}, **told}
    store = memory.stats().to_dict()
    location = {} if grant.right >= Right.ADMIN else {"location"}
    hidden = {"notes", "embedder", *location}
    return {"notes": store["notes"], **told, "store": {k: v for k, v in store.items() if k not in hidden}}
