"""Evaluation reports: list them and get one."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import Field

from recollect.server.http.answers import json_response, written
from recollect.server.http.problems import ProblemError
from recollect.server.http.requests import StrictRoute
from recollect.server.http.schemas import Told
from recollect.server.http.service import Calling, ReadIn, Served
from recollect.server.reports import report_text, reports_in
from recollect.server.rights import Right

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["Reports"])

_EVERYWHERE: dict[str, Any] = {"x-right": "read of all namespaces"}
_HEADERS = {
    # Also where it is opened by itself, nothing in it runs, loads or is sent.
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}


class ListedReport(Told):
    """An evaluation report."""

    name: str = Field(description="The name of its file.")
    title: str = Field(description="What stands at its head.")
    changed_at: datetime = Field(description="When it was written.")
    bytes: int = Field(description="How large it is.")


class ReportList(Told):
    """Evaluation reports."""

    reports: list[ListedReport] = Field(description="The reports, the newest first.")


@router.get("/v1/reports", response_model=ReportList, openapi_extra=_EVERYWHERE)
async def list_reports(caller: Calling, home: ReadIn, service: Served) -> Response:  # noqa: ARG001 (they are of no namespace)
    """List the evaluation reports in the folder that `--reports` names; none where it names none.

    They may quote the questions and notes of anybody.
    """
    caller.require_everywhere(Right.READ)
    folder = service.settings.reports

    def work() -> bytes:
        listed = [] if folder is None else reports_in(folder)
        return written({"reports": [{**report._asdict(), "changed_at": _told(report.changed_at)} for report in listed]})

    return json_response(await service.readers.run(work))


@router.get(
    "/v1/reports/{name}",
    response_class=Response,
    responses={200: {"description": "The report.", "content": {"text/html": {"schema": {"type": "string"}}}}},
    openapi_extra=_EVERYWHERE,
)
async def get_report(
    name: Annotated[str, Path(description="The name of its file, as it is listed.")],
    caller: Calling,
    home: ReadIn,  # noqa: ARG001 (as above)
    service: Served,
) -> Response:
    """Get an evaluation report: a page of HTML that needs nothing else, and that a browser lets do nothing."""
    caller.require_everywhere(Right.READ)
    folder = service.settings.reports
    found = None if folder is None else await service.readers.run(lambda: report_text(folder, name))
    if found is None:
        raise ProblemError("report-not-found", f"there is no report {name!r}")
    return Response(found, media_type="text/html", headers=_HEADERS)


def _told(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
