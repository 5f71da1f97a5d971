"""Endpoints that read and write notes and links, ingest texts and search."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Response

from recollect.errors import ArgumentError, NoteNotFoundError
from recollect.retrieval import SearchResult, presets
from recollect.retrieval.options import Mode, search_options
from recollect.server.http import schemas
from recollect.server.http.request_log import SearchTimes
from recollect.server.http.schemas import Line, Name
from recollect.server.http.service import READ, WRITE, Call, ReadCall, StrictRoute, WriteCall, json_response

router = APIRouter(route_class=StrictRoute)
search_router = APIRouter(route_class=StrictRoute, tags=["Search"])

NoteKey = Annotated[str, Path(description="The note's id or path; slashes may be written as they are or as `%2F`.")]
_NOTES: list[Any] = ["Notes"]
_LINKS: list[Any] = ["Links"]
_OPTIONS = search_options()


@router.post(
    "/v1/notes",
    status_code=201,
    response_model=schemas.NoteResponse,
    responses={200: {"description": "An existing note was updated.", "model": schemas.NoteResponse}},
    openapi_extra=WRITE,
    tags=_NOTES,
)
def add_note(body: schemas.AddNoteRequest, call: WriteCall) -> Response:
    """Store a note.

    When the response arrives, the note is on disk and searchable. An existing note with the same id or path is updated;
    fields that are missing keep their values.
    """
    fields = body.model_dump(exclude_none=True)
    exists = any(call.memory.has(key, namespace=call.namespace) for key in (body.id, body.path) if key)
    note = call.memory.add(**fields, namespace=call.namespace)
    headers = {"Location": f"/v1/notes/{quote(note.id, safe='')}"}
    return json_response(note.to_dict(), 200 if exists else 201, headers)


@router.get("/v1/notes", response_model=schemas.NoteList, openapi_extra=READ, tags=_NOTES)
def list_notes(
    call: ReadCall,
    cursor: Annotated[str | None, Query(max_length=256, description="The `next_cursor` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=500, description="The number of notes.")] = 100,
    path_prefix: Annotated[Line, Query(description="Only notes whose path begins with this prefix.")] = "",
    tag: Annotated[
        list[Name] | None, Query(description="Only notes with this tag; if repeated, only notes with all these tags.")
    ] = None,
    session: Annotated[Line | None, Query(description="Only notes of this session.")] = None,
) -> dict[str, Any]:
    """List notes in insertion order.

    A cursor stays valid while notes are added and deleted, until the server restarts.
    """
    cursors, namespace = call.service.cursors, call.namespace
    filters = {"path_prefix": path_prefix, "tags": tag or [], "session": session}
    page = call.memory.page(limit, after=cursors.decode(cursor, namespace), namespace=namespace, filters=filters)
    return {"notes": [note.to_dict() for note in page.notes], "next_cursor": cursors.encode(page.next, namespace)}


@router.post("/v1/notes/batch", status_code=201, response_model=schemas.CreatedNotes, openapi_extra=WRITE, tags=_NOTES)
def add_notes(body: schemas.NoteBatch, call: WriteCall) -> dict[str, Any]:
    """Store many notes in one transaction."""
    drafts = [note.model_dump(exclude_none=True) for note in body.notes]
    stored = call.memory.add_many(drafts, namespace=call.namespace, whole=True)  # all or none
    return {"ids": [note.id for note in stored], "count": len(stored)}


@router.get("/v1/notes/{key:path}", response_model=schemas.NoteResponse, openapi_extra=READ, tags=_NOTES)
def get_note(key: NoteKey, call: ReadCall) -> dict[str, Any]:
    """Get a note."""
    note = call.memory.get(key, namespace=call.namespace)
    if note is None:
        raise _not_found(key, call)
    return note.to_dict()


@router.patch("/v1/notes/{key:path}", response_model=schemas.NoteResponse, openapi_extra=WRITE, tags=_NOTES)
def update_note(key: NoteKey, body: schemas.NoteChanges, call: WriteCall) -> dict[str, Any]:
    """Change fields of a note; fields that are missing or null keep their values."""
    return call.memory.update(key, namespace=call.namespace, **body.model_dump(exclude_none=True)).to_dict()


@router.delete("/v1/notes/{key:path}", status_code=204, openapi_extra=WRITE, tags=_NOTES)
def delete_note(key: NoteKey, call: WriteCall) -> Response:
    """Delete a note with its index entries, vectors and links."""
    if not call.memory.delete(key, namespace=call.namespace):
        raise _not_found(key, call)
    return Response(status_code=204)


def _not_found(key: str, call: Call) -> NoteNotFoundError:
    return NoteNotFoundError(f"there is no note {key!r} in namespace {call.namespace!r}")


@router.post("/v1/links", response_model=schemas.LinkCreated, openapi_extra=WRITE, tags=_LINKS)
def add_link(body: schemas.LinkRequest, call: WriteCall) -> dict[str, Any]:
    """Link a note to another, which may not exist yet."""
    return {"created": call.memory.link(body.source, body.target, kind=body.kind, namespace=call.namespace)}


@router.delete("/v1/links", response_model=schemas.LinkRemoved, openapi_extra=WRITE, tags=_LINKS)
def remove_link(
    call: WriteCall,
    source: Annotated[Name, Query(description="Id or path of the note that the link starts from.")],
    target: Annotated[Name, Query(description="The target, as it is written in the link.")],
    kind: Annotated[Name, Query(description="The kind of the link.")] = schemas.NoteLink.model_fields["kind"].default,
) -> dict[str, Any]:
    """Remove a link."""
    return {"removed": call.memory.unlink(source, target, kind=kind, namespace=call.namespace)}


@router.get("/v1/neighbours/{key:path}", response_model=schemas.NeighbourList, openapi_extra=READ, tags=_LINKS)
def get_neighbours(key: NoteKey, call: ReadCall) -> dict[str, Any]:
    """Get the neighbours of a note: notes next to it in its session, or connected by a link, a mention or an entity."""
    neighbours = call.memory.neighbours(key, namespace=call.namespace)
    data = [{"kind": item.kind, "direction": item.direction, "note": item.note.to_dict()} for item in neighbours]
    return {"neighbours": data}


@router.post("/v1/ingest", response_model=schemas.IngestResponse, openapi_extra=WRITE, tags=["Ingest"])
def ingest(body: schemas.IngestRequest, call: WriteCall) -> dict[str, Any]:
    """Ingest the texts of Markdown, text and JSONL files.

    A text replaces all notes of an earlier text with the same path; unchanged texts are skipped. A text that cannot be
    read is listed among the problems, and the others are ingested. The server does not read files on its own disk.
    """
    texts = {document.path: document.content for document in body.documents}
    if len(texts) < len(body.documents):
        raise ArgumentError("documents", "two documents have the same path; send each path once")
    return call.memory.ingest_texts(texts, prefix=body.prefix, namespace=call.namespace).to_dict()


@search_router.post("/v1/search", response_model=schemas.SearchResponse, openapi_extra=READ)
def search(body: schemas.SearchRequest, call: ReadCall) -> dict[str, Any]:
    """Search with lexical search, vector search and the graph of notes."""
    return _search_response(_search(call, body), trace=body.trace)


@search_router.get("/v1/search", response_model=schemas.SearchResponse, openapi_extra=READ)
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
    body = schemas.SearchRequest(query=q, top_k=top_k, mode=mode, preset=preset)
    return _search_response(_search(call, body), trace=False)


@search_router.post("/v1/explain", response_model=schemas.ExplainResponse, openapi_extra=READ)
def explain(body: schemas.SearchRequest, call: ReadCall) -> dict[str, Any]:
    """Search, and return the trace and an explanation of every score as text."""
    result = _search(call, body)
    return {**_search_response(result, trace=True), "explanation": result.explain()}


@search_router.post("/v1/compare", response_model=schemas.CompareResponse, openapi_extra=READ)
def compare(body: schemas.CompareRequest, call: ReadCall) -> dict[str, Any]:
    """Search with several presets."""
    names = list(dict.fromkeys(body.presets)) if body.presets else None
    options = body.model_dump(exclude={"query", "trace", "presets"}, exclude_none=True)
    results = call.memory.compare(body.query, names, **options, namespace=call.namespace)
    _record_times(call, *results.values())
    return {"results": {name: _search_response(result, trace=body.trace) for name, result in results.items()}}


@search_router.get("/v1/presets", response_model=schemas.PresetList, openapi_extra=READ)
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
        call.searches.append(SearchTimes.from_trace(result.trace, call.queued))
        call.queued = 0.0  # a request waits for a thread once, before its first search


def _search_response(result: SearchResult, *, trace: bool) -> dict[str, Any]:
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
