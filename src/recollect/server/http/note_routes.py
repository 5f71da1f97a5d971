"""Endpoints of notes, links and ingest."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Response

from recollect.errors import ArgumentError, NoteNotFoundError
from recollect.model import Note
from recollect.server.http import schemas
from recollect.server.http.routing import READ, WRITE, StrictRoute, json_response, to_json
from recollect.server.http.schemas import Line, Name
from recollect.server.http.service import CurrentService, ReadNamespace, WriteNamespace

router = APIRouter(route_class=StrictRoute)

NoteKey = Annotated[str, Path(description="The note's id or path; slashes may be written as they are or as `%2F`.")]
_NOTES: list[Any] = ["Notes"]
_LINKS: list[Any] = ["Links"]


@router.post(
    "/v1/notes",
    status_code=201,
    response_model=schemas.NoteResponse,
    responses={200: {"description": "An existing note was updated.", "model": schemas.NoteResponse}},
    openapi_extra=WRITE,
    tags=_NOTES,
)
async def add_note(body: schemas.AddNoteRequest, namespace: WriteNamespace, service: CurrentService) -> Response:
    """Store a note.

    When the response arrives, the note is on disk and searchable. If a note has the same id or path, it is updated;
    fields that are missing keep their values.
    """
    fields = body.model_dump(exclude_none=True)
    keys = [fields[name] for name in ("id", "path") if fields.get(name)]

    def task() -> tuple[bool, Note]:
        exists = any(service.memory.has(key, namespace=namespace) for key in keys)
        return exists, service.memory.add(**fields, namespace=namespace)

    exists, note = await service.writers.run(task)
    headers = {"Location": f"/v1/notes/{quote(note.id, safe='')}"}
    return json_response(to_json(note.to_dict()), 200 if exists else 201, headers)


@router.get("/v1/notes", response_model=schemas.NoteList, openapi_extra=READ, tags=_NOTES)
async def list_notes(
    namespace: ReadNamespace,
    service: CurrentService,
    cursor: Annotated[str | None, Query(max_length=256, description="The `next_cursor` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=500, description="The number of notes.")] = 100,
    path_prefix: Annotated[Line, Query(description="Only notes whose path begins with it.")] = "",
    tag: Annotated[list[Name] | None, Query(description="Only notes with this tag; several: with all of them.")] = None,
    session: Annotated[Line | None, Query(description="Only notes of this session.")] = None,
) -> Response:
    """List notes in insertion order.

    A cursor stays valid while notes are added and deleted, until the server restarts.
    """
    after = service.cursors.decode(cursor, namespace)
    filters = {"path_prefix": path_prefix, "tags": tag or [], "session": session}

    def task() -> dict[str, Any]:
        page = service.memory.page(limit, after=after, namespace=namespace, filters=filters)
        next_cursor = service.cursors.encode(page.next, namespace)
        return {"notes": [note.to_dict() for note in page.notes], "next_cursor": next_cursor}

    return await service.read(task)


@router.post("/v1/notes/batch", status_code=201, response_model=schemas.CreatedNotes, openapi_extra=WRITE, tags=_NOTES)
async def add_notes(body: schemas.NoteBatch, namespace: WriteNamespace, service: CurrentService) -> Response:
    """Store many notes in one transaction."""
    drafts = [note.model_dump(exclude_none=True) for note in body.notes]

    def task() -> dict[str, Any]:
        stored = service.memory.add_many(drafts, namespace=namespace, whole=True)
        return {"ids": [note.id for note in stored], "count": len(stored)}

    return await service.write(task, 201)


@router.get("/v1/notes/{key:path}", response_model=schemas.NoteResponse, openapi_extra=READ, tags=_NOTES)
async def get_note(key: NoteKey, namespace: ReadNamespace, service: CurrentService) -> Response:
    """Get a note."""

    def task() -> dict[str, Any]:
        note = service.memory.get(key, namespace=namespace)
        if note is None:
            raise _not_found(key, namespace)
        return note.to_dict()

    return await service.read(task)


@router.patch("/v1/notes/{key:path}", response_model=schemas.NoteResponse, openapi_extra=WRITE, tags=_NOTES)
async def update_note(
    key: NoteKey, body: schemas.NoteChanges, namespace: WriteNamespace, service: CurrentService
) -> Response:
    """Change fields of a note; fields that are missing or null keep their values."""
    changes = body.model_dump(exclude_none=True)
    return await service.write(lambda: service.memory.update(key, namespace=namespace, **changes).to_dict())


@router.delete("/v1/notes/{key:path}", status_code=204, openapi_extra=WRITE, tags=_NOTES)
async def delete_note(key: NoteKey, namespace: WriteNamespace, service: CurrentService) -> Response:
    """Delete a note with its index entries, vectors and links."""
    if not await service.writers.run(lambda: service.memory.delete(key, namespace=namespace)):
        raise _not_found(key, namespace)
    return Response(status_code=204)


def _not_found(key: str, namespace: str) -> NoteNotFoundError:
    return NoteNotFoundError(f"there is no note {key!r} in namespace {namespace!r}")


@router.post("/v1/links", response_model=schemas.LinkCreated, openapi_extra=WRITE, tags=_LINKS)
async def add_link(body: schemas.LinkRequest, namespace: WriteNamespace, service: CurrentService) -> Response:
    """Link a note to another, which may not exist yet."""
    return await service.write(
        lambda: {"created": service.memory.link(body.source, body.target, kind=body.kind, namespace=namespace)}
    )


@router.delete("/v1/links", response_model=schemas.LinkRemoved, openapi_extra=WRITE, tags=_LINKS)
async def remove_link(
    namespace: WriteNamespace,
    service: CurrentService,
    source: Annotated[Name, Query(description="Id or path of the note that the link starts from.")],
    target: Annotated[Name, Query(description="The target, as it was written.")],
    kind: Annotated[Name, Query(description="The kind of the link.")] = schemas.NoteLink.model_fields["kind"].default,
) -> Response:
    """Remove a link."""
    return await service.write(
        lambda: {"removed": service.memory.unlink(source, target, kind=kind, namespace=namespace)}
    )


@router.get("/v1/neighbours/{key:path}", response_model=schemas.NeighbourList, openapi_extra=READ, tags=_LINKS)
async def get_neighbours(key: NoteKey, namespace: ReadNamespace, service: CurrentService) -> Response:
    """Get the notes that are linked with a note, mention it or are mentioned by it, or share an entity with it."""

    def task() -> dict[str, Any]:
        neighbours = service.memory.neighbours(key, namespace=namespace)
        data = [{"kind": item.kind, "direction": item.direction, "note": item.note.to_dict()} for item in neighbours]
        return {"neighbours": data}

    return await service.read(task)


@router.post("/v1/ingest", response_model=schemas.IngestResponse, openapi_extra=WRITE, tags=["Ingest"])
async def ingest(body: schemas.IngestRequest, namespace: WriteNamespace, service: CurrentService) -> Response:
    """Ingest the texts of Markdown, text and JSONL files.

    A text replaces all notes of the earlier text with its path; unchanged texts are skipped. A text that cannot be read
    is listed among the problems, and the others are ingested. The server reads no files of its own.
    """
    texts = {document.path: document.content for document in body.documents}
    if len(texts) < len(body.documents):
        raise ArgumentError("documents", "two of them have the same path")
    return await service.write(
        lambda: service.memory.ingest_texts(texts, prefix=body.prefix, namespace=namespace).to_dict()
    )
