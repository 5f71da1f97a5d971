"""Notes: add, list, get, change and delete them."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Response

from recollect.errors import NoteNotFoundError
from recollect.model import Note
from recollect.server.http.answers import json_response, written
from recollect.server.http.requests import StrictRoute
from recollect.server.http.schemas import AddedNote, Batch, Created, Line, Name, NoteChanges, NotePage, StoredNote
from recollect.server.http.service import ReadIn, Served, WriteTo
from recollect.server.rights import Right

__all__ = ["NoteKey", "router"]

router = APIRouter(route_class=StrictRoute, tags=["Notes"])

NoteKey = Annotated[str, Path(description="The note's id or path; slashes may be written as they are or as `%2F`.")]
_READ: dict[str, Any] = {"x-right": str(Right.READ)}
_WRITE: dict[str, Any] = {"x-right": str(Right.WRITE)}


@router.post(
    "/v1/notes",
    status_code=201,
    response_model=StoredNote,
    responses={200: {"description": "A note that was there is changed.", "model": StoredNote}},
    openapi_extra=_WRITE,
)
async def add_note(body: AddedNote, home: WriteTo, service: Served) -> Response:
    """Store a note.

    When this answers, the note is on the disk and can be found. A note with the same id or path is changed: what is not
    given stays.
    """
    fields = body.model_dump(exclude_none=True)
    keys = [fields[name] for name in ("id", "path") if fields.get(name)]

    def work() -> tuple[bool, Note]:
        known = any(service.memory.has(key, namespace=home) for key in keys)
        return known, service.memory.add(**fields, namespace=home)

    known, note = await service.writers.run(work)
    headers = {"Location": f"/v1/notes/{quote(note.id, safe='')}"}
    return json_response(written(note.to_dict()), 200 if known else 201, headers)


@router.get("/v1/notes", response_model=NotePage, openapi_extra=_READ)
async def list_notes(
    home: ReadIn,
    service: Served,
    cursor: Annotated[str | None, Query(max_length=256, description="Where the page before ended.")] = None,
    limit: Annotated[int, Query(ge=1, le=500, description="How many notes.")] = 100,
    path_prefix: Annotated[Line, Query(description="Only notes whose path begins so.")] = "",
    tag: Annotated[list[Name] | None, Query(description="Only notes with this tag; several: with all.")] = None,
    session: Annotated[Line | None, Query(description="Only notes of this session.")] = None,
) -> Response:
    """List notes in the order in which they came.

    A cursor stays valid while notes are added and deleted, until the server is started anew.
    """
    after = service.cursors.place(cursor, home)
    filters = {"path_prefix": path_prefix, "tags": tag or [], "session": session}

    def work() -> bytes:
        page = service.memory.page(limit, after=after, namespace=home, filters=filters)
        following = None if page.next is None else service.cursors.sealed(page.next, home)
        return written({"notes": [note.to_dict() for note in page.notes], "next_cursor": following})

    return json_response(await service.readers.run(work))


@router.post("/v1/notes/batch", status_code=201, response_model=Created, openapi_extra=_WRITE)
async def add_notes(body: Batch, home: WriteTo, service: Served) -> Response:
    """Store many notes, all or none."""
    drafts = [note.model_dump(exclude_none=True) for note in body.notes]

    def work() -> bytes:
        stored = service.memory.add_many(drafts, namespace=home, whole=True)
        return written({"ids": [note.id for note in stored], "count": len(stored)})

    return json_response(await service.writers.run(work), 201)


@router.get("/v1/notes/{key:path}", response_model=StoredNote, openapi_extra=_READ)
async def get_note(key: NoteKey, home: ReadIn, service: Served) -> Response:
    """Get a note."""

    def work() -> bytes:
        note = service.memory.get(key, namespace=home)
        if note is None:
            raise _missing(key, home)
        return written(note.to_dict())

    return json_response(await service.readers.run(work))


@router.patch("/v1/notes/{key:path}", response_model=StoredNote, openapi_extra=_WRITE)
async def change_note(key: NoteKey, body: NoteChanges, home: WriteTo, service: Served) -> Response:
    """Change fields of a note; those that are missing or null stay."""
    changes = body.model_dump(exclude_none=True)

    def work() -> bytes:
        return written(service.memory.update(key, namespace=home, **changes).to_dict())

    return json_response(await service.writers.run(work))


@router.delete("/v1/notes/{key:path}", status_code=204, openapi_extra=_WRITE)
async def delete_note(key: NoteKey, home: WriteTo, service: Served) -> Response:
    """Delete a note, with its words, vectors and links."""
    if not await service.writers.run(lambda: service.memory.delete(key, namespace=home)):
        raise _missing(key, home)
    return Response(status_code=204)


def _missing(key: str, namespace: str) -> NoteNotFoundError:
    return NoteNotFoundError(f"there is no note {key!r} in namespace {namespace!r}")
