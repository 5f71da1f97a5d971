"""Links between notes, and what else connects them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from recollect.server.http.answers import json_response, written
from recollect.server.http.requests import StrictRoute
from recollect.server.http.routes.notes import NoteKey
from recollect.server.http.schemas import LinkBody, LinkMade, LinkRemoved, Name, Neighbours
from recollect.server.http.service import ReadIn, Served, WriteTo
from recollect.server.rights import Right

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["Connections"])

_WRITE: dict[str, Any] = {"x-right": str(Right.WRITE)}


@router.post("/v1/links", response_model=LinkMade, openapi_extra=_WRITE)
async def add_link(body: LinkBody, home: WriteTo, service: Served) -> Response:
    """Link a note to another; the target may come later."""
    made = await service.writers.run(
        lambda: service.memory.link(body.source, body.target, kind=body.kind, namespace=home)
    )
    return json_response(written({"created": made}))


@router.delete("/v1/links", response_model=LinkRemoved, openapi_extra=_WRITE)
async def remove_link(
    home: WriteTo,
    service: Served,
    source: Annotated[Name, Query(description="The id or path of the note that the link begins at.")],
    target: Annotated[Name, Query(description="Where it leads, as it was written.")],
    kind: Annotated[Name, Query(description="What it means.")] = "related",
) -> Response:
    """Take a link away."""
    removed = await service.writers.run(lambda: service.memory.unlink(source, target, kind=kind, namespace=home))
    return json_response(written({"removed": removed}))


@router.get("/v1/neighbours/{key:path}", response_model=Neighbours, openapi_extra={"x-right": str(Right.READ)})
async def get_neighbours(key: NoteKey, home: ReadIn, service: Served) -> Response:
    """Get the notes beside a note, linked with it, that name it or are named by it, or share an entity with it."""

    def work() -> bytes:
        found = service.memory.neighbours(key, namespace=home)
        told = [{"kind": each.kind, "direction": each.direction, "note": each.note.to_dict()} for each in found]
        return written({"neighbours": told})

    return json_response(await service.readers.run(work))
