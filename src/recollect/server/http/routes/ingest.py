"""Texts of files become notes."""

from __future__ import annotations

from fastapi import APIRouter, Response

from recollect.errors import ArgumentError
from recollect.server.http.answers import json_response, written
from recollect.server.http.requests import StrictRoute
from recollect.server.http.schemas import Documents, IngestedReport
from recollect.server.http.service import Served, WriteTo
from recollect.server.rights import Right

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["Ingest"])


@router.post("/v1/ingest", response_model=IngestedReport, openapi_extra={"x-right": str(Right.WRITE)})
async def ingest(body: Documents, home: WriteTo, service: Served) -> Response:
    """Take in the texts of Markdown, text and JSONL files.

    A text replaces all notes of the one that came before under its path; texts that did not change are left. One that
    cannot be read is named among the problems, and the rest goes on. No file of the server is read.
    """
    texts = {document.path: document.content for document in body.documents}
    if len(texts) < len(body.documents):
        raise ArgumentError("documents", "two of them have the same path")

    def work() -> bytes:
        return written(service.memory.ingest_texts(texts, prefix=body.prefix, namespace=home).to_dict())

    return json_response(await service.writers.run(work))
