"""Endpoints for operators: evaluation reports, stats, health, readiness and metrics.

Reports are files in one folder. The folder may contain other files, which must not be served. Therefore a requested
name must be in the listing of the folder, symbolic links are not followed, and a file must begin and end like a report.
"""

from __future__ import annotations

import os
import re
import stat
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi import Path as PathParameter
from pydantic import BaseModel, Field

from recollect import __version__
from recollect.memory import Memory
from recollect.server.auth import Caller, Right
from recollect.server.http.problems import ProblemError
from recollect.server.http.service import READ, ReadCall, RequestedNamespace, StrictRoute, json_response
from recollect.text import well_formed

router = APIRouter(route_class=StrictRoute, tags=["Reports"])
health_router = APIRouter(route_class=StrictRoute, tags=["Health"])

MAX_REPORT_BYTES = 16 * 1_048_576

_REPORT_START = (
    b'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="generator" content="Recollect '
)
"""The first bytes of every report. Repeated here, since recollect.evaluation is slow to import."""
_REPORT_END = b"</html>\n"
_TITLE_BYTES = 8192  # how many bytes at the start of a report are searched for its title
_TITLE = re.compile(rb"<title>([^<]*)</title>")

_ALL_NAMESPACES: dict[str, Any] = {"x-right": "read of all namespaces"}
_REPORT_HEADERS = {
    # A report that is opened as a page of its own runs no script and loads and sends nothing.
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}


class ReportInfo(BaseModel):
    """An evaluation report."""

    name: str = Field(description="The name of the file.")
    title: str = Field(description="The title of the report.")
    changed_at: str = Field(description="When the file was written.")
    bytes: int = Field(description="The size of the file.")


class ReportList(BaseModel):
    """Evaluation reports."""

    reports: list[ReportInfo] = Field(description="The reports, newest first.")


@router.get("/v1/reports", response_model=ReportList, openapi_extra=_ALL_NAMESPACES)
def list_reports(call: ReadCall) -> dict[str, Any]:
    """List the evaluation reports in the folder `--reports`.

    Reports may quote questions and notes of any namespace.
    """
    call.caller.require_all_namespaces(Right.READ)
    folder = call.service.settings.reports
    return {"reports": [] if folder is None else [report.model_dump() for report in list_report_files(folder)]}


@router.get(
    "/v1/reports/{name}",
    response_class=Response,
    responses={200: {"description": "The report.", "content": {"text/html": {"schema": {"type": "string"}}}}},
    openapi_extra=_ALL_NAMESPACES,
)
def get_report(
    name: Annotated[str, PathParameter(description="The name of the file, as listed.")], call: ReadCall
) -> Response:
    """Get an evaluation report as HTML; its Content-Security-Policy forbids scripts and external resources."""
    call.caller.require_all_namespaces(Right.READ)
    folder = call.service.settings.reports
    html = None if folder is None else read_report(folder, name)
    if html is None:
        raise ProblemError("report-not-found", f"there is no report {name!r}")
    return Response(html, media_type="text/html", headers=_REPORT_HEADERS)


def list_report_files(folder: Path) -> list[ReportInfo]:
    """Return the reports in a folder, newest first."""
    reports = []
    for name in _html_names(folder):
        if report := _load_report(folder / name):
            html, modified = report
            match = _TITLE.search(html, 0, _TITLE_BYTES)
            title = unescape(match[1].decode(errors="replace")) if match else name
            changed_at = datetime.fromtimestamp(modified, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            reports.append(ReportInfo(name=name, title=title, changed_at=changed_at, bytes=len(html)))
    return sorted(reports, key=lambda report: (report.changed_at, report.name), reverse=True)


def read_report(folder: Path, name: str) -> bytes | None:
    """Return the HTML of a report, or ``None`` if the folder has no report with this name."""
    report = _load_report(folder / name) if name in _html_names(folder) else None
    return report[0] if report else None


def _html_names(folder: Path) -> list[str]:
    try:
        names = [entry.name for entry in folder.iterdir()]
    except FileNotFoundError:  # recollect eval --report may create the folder later
        return []
    return [name for name in names if name.endswith(".html") and well_formed(name) == name]


def _load_report(path: Path) -> tuple[bytes, float] | None:
    """Return HTML and modification time (Unix seconds) of a report; ``None`` if it is no report or cannot be read."""
    if path.is_symlink():
        return None
    try:
        with open(path, "rb", opener=_open_without_links) as file:
            status = os.fstat(file.fileno())
            html = file.read(MAX_REPORT_BYTES + 1) if stat.S_ISREG(status.st_mode) else b""
    except OSError:
        return None
    is_report = len(html) <= MAX_REPORT_BYTES and html.startswith(_REPORT_START) and html.endswith(_REPORT_END)
    return (html, status.st_mtime) if is_report else None


def _open_without_links(path: str, flags: int) -> int:
    """Open a file; fail if a symbolic link has replaced it since the check, and do not block on a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


class Status(BaseModel):
    """The status of the server."""

    status: str = Field(description="`ok`.")


class Stats(BaseModel):
    """What a memory contains, limited to what the key may read."""

    notes: dict[str, int] = Field(description="The number of notes in each namespace that the key may read.")
    embedder: str = Field(description="The embedder, and why it was chosen.")
    version: str = Field(description="The version of Recollect.")
    right: Literal["read", "write", "admin"] = Field(
        description="The right of the key in these namespaces; `admin` if the server requires no keys."
    )
    store: dict[str, Any] | None = Field(
        default=None,
        description="Statistics of the whole store, if the key is for all namespaces and the request names none. Only "
        "a key with the right admin gets the location.",
    )


@health_router.get("/v1/stats", response_model=Stats, openapi_extra=READ)
async def get_stats(request: Request, namespace: RequestedNamespace = None) -> Response:
    """Get statistics of one namespace, or of all namespaces that the key may read."""
    service, caller = request.app.state.service, request.state.caller
    namespaces = caller.grant.namespaces if namespace is None else {caller.namespace(namespace, Right.READ)}
    stats = await service.readers.run(lambda: _stats(service.memory, caller, namespaces))
    return json_response(stats)


@health_router.get("/health", response_model=Status, openapi_extra={"x-right": "none"})
async def health() -> Response:
    """Check that the server is alive."""
    return json_response({"status": "ok"})


@health_router.get("/ready", response_model=Status, openapi_extra={"x-right": "none"})
async def ready(request: Request) -> Response:
    """Check that the models are loaded, the memory responds and the keys can be read; otherwise the status is 503."""
    reason = await request.app.state.service.not_ready_reason()
    if reason:
        raise ProblemError("not-ready", reason)
    return json_response({"status": "ok"})


@health_router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"description": "The metrics.", "content": {"text/plain": {"schema": {"type": "string"}}}}},
    openapi_extra={"x-right": "admin of all namespaces"},
)
async def metrics(request: Request) -> Response:
    """Get metrics in the Prometheus text format."""
    request.state.caller.require_all_namespaces(Right.ADMIN)
    text = request.app.state.service.metrics.render()
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _stats(memory: Memory, caller: Caller, namespaces: set[str] | None) -> dict[str, Any]:
    """Return the fields of :class:`Stats` for these namespaces; ``None`` means all, and adds the field ``store``."""
    right = caller.grant.right
    data: dict[str, Any] = {"embedder": memory.described_embedder, "version": __version__, "right": str(right)}
    if namespaces is not None:
        return {"notes": {name: memory.count(namespace=name) for name in sorted(namespaces)}, **data}
    statistics = memory.stats().to_dict()
    omitted = {"notes", "embedder"} if right >= Right.ADMIN else {"notes", "embedder", "location"}
    store_fields = {name: value for name, value in statistics.items() if name not in omitted}
    return {"notes": statistics["notes"], **data, "store": store_fields}
