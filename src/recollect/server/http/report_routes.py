"""Endpoints of evaluation reports: files of one folder that Recollect wrote, and no others.

The folder may contain anything. A name is looked up in the listing of the folder, never joined to its path; symbolic
links are not followed; and a file must begin and end as a report does.
"""

from __future__ import annotations

import os
import re
import stat
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Response
from fastapi import Path as PathParameter
from pydantic import BaseModel, Field

from recollect.server.auth import Right
from recollect.server.http.problems import ProblemError
from recollect.server.http.service import ReadCall, StrictRoute
from recollect.text import well_formed

router = APIRouter(route_class=StrictRoute, tags=["Reports"])

MAX_REPORT_BYTES = 16 * 1_048_576

_BEGIN = (
    b'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="generator" content="Recollect '
)
"""The first bytes of every report. Repeated here, since recollect.evaluation is slow to import."""
_END = b"</html>\n"
_HEAD_BYTES = 8192
"""How far into the file the title is searched."""
_TITLE = re.compile(rb"<title>([^<]*)</title>")

_ALL_NAMESPACES: dict[str, Any] = {"x-right": "read of all namespaces"}
_HEADERS = {
    # Opened by itself, a report runs, loads and sends nothing.
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}


class ReportInfo(BaseModel):
    """An evaluation report."""

    name: str = Field(description="The name of the file.")
    title: str = Field(description="The title of the report.")
    changed_at: str = Field(description="When it was written.")
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
    """Get an evaluation report as HTML; its Content-Security-Policy lets it run and load nothing."""
    call.caller.require_all_namespaces(Right.READ)
    folder = call.service.settings.reports
    html = None if folder is None else read_report(folder, name)
    if html is None:
        raise ProblemError("report-not-found", f"there is no report {name!r}")
    return Response(html, media_type="text/html", headers=_HEADERS)


def list_report_files(folder: Path) -> list[ReportInfo]:
    """Return the reports in a folder, newest first."""
    reports = []
    for name in _html_names(folder):
        if report := _load(folder / name):
            html, changed = report
            match = _TITLE.search(html, 0, _HEAD_BYTES)
            title = unescape(match[1].decode(errors="replace")) if match else name
            changed_at = datetime.fromtimestamp(changed, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            reports.append(ReportInfo(name=name, title=title, changed_at=changed_at, bytes=len(html)))
    return sorted(reports, key=lambda report: (report.changed_at, report.name), reverse=True)


def read_report(folder: Path, name: str) -> bytes | None:
    """Return a report, or ``None`` if the folder has no report with this name."""
    report = _load(folder / name) if name in _html_names(folder) else None
    return report[0] if report else None


def _html_names(folder: Path) -> list[str]:
    try:
        names = [entry.name for entry in folder.iterdir()]
    except FileNotFoundError:  # the next report may create it
        return []
    return [name for name in names if name.endswith(".html") and well_formed(name) == name]


def _load(path: Path) -> tuple[bytes, float] | None:
    """Return a report and when it was changed; ``None`` if the file is not a report or cannot be read."""
    if path.is_symlink():
        return None
    try:
        with open(path, "rb", opener=_open_without_links) as file:
            status = os.fstat(file.fileno())
            html = file.read(MAX_REPORT_BYTES + 1) if stat.S_ISREG(status.st_mode) else b""
    except OSError:
        return None
    is_report = len(html) <= MAX_REPORT_BYTES and html.startswith(_BEGIN) and html.endswith(_END)
    return (html, status.st_mtime) if is_report else None


def _open_without_links(path: str, flags: int) -> int:
    """Open neither a symbolic link that was made meanwhile nor, blocking, a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
