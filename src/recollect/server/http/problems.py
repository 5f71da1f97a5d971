"""What went wrong, as ``application/problem+json`` (RFC 9457): one shape for every error that a server answers with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.routing import Match

from recollect.errors import (
    ArgumentError,
    EmbedderError,
    ForbiddenError,
    IngestError,
    KeyFileError,
    NoteNotFoundError,
    RecollectError,
    RerankerError,
    StoreBusyError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
)
from recollect.text import well_formed

__all__ = ["KINDS", "MEDIA_TYPE", "Kind", "ProblemError", "handle_problems", "problem_of", "problem_response"]

MEDIA_TYPE = "application/problem+json"


class Kind(NamedTuple):
    """A kind of problem: the status of its answers, and what it is, in words for a person."""

    status: int
    title: str


KINDS = {
    "malformed": Kind(400, "The request is no HTTP, or its body no JSON"),
    "unauthorised": Kind(401, "A key is needed"),
    "forbidden": Kind(403, "The key does not grant this"),
    "not-found": Kind(404, "There is nothing at this address"),
    "note-not-found": Kind(404, "There is no such note"),
    "report-not-found": Kind(404, "There is no such report"),
    "method-not-allowed": Kind(405, "This method means nothing here"),
    "not-acceptable": Kind(406, "The answer is of a type that was not asked for"),
    "too-slow": Kind(408, "The request took too long to arrive"),
    "read-only": Kind(409, "The memory cannot be written to"),
    "too-large": Kind(413, "The request is too large"),
    "unsupported-media-type": Kind(415, "The body must be application/json"),
    "misdirected": Kind(421, "The request was meant for another host"),
    "invalid": Kind(422, "A value cannot be used"),
    "too-many-requests": Kind(429, "Too many requests"),
    "headers-too-large": Kind(431, "The address and the headers are too long"),
    "internal": Kind(500, "Something failed in the server"),
    "overloaded": Kind(503, "Too many requests are waiting, or connections open"),
    "store-busy": Kind(503, "The memory is kept busy by others"),
    "not-ready": Kind(503, "The server is not ready"),
    "model-unavailable": Kind(503, "A model does not answer"),
    "keys-unreadable": Kind(503, "The server cannot read its keys"),
    "timed-out": Kind(504, "It took too long"),
    "store-unavailable": Kind(503, "The memory cannot be reached"),
    "store-full": Kind(507, "There is no room left"),
}
"""Every problem that an answer may name, as ``urn:recollect:KIND``."""

_BY_STATUS = {404: "not-found", 405: "method-not-allowed"}
"""What routing raises by itself."""

_RETRY = {"Retry-After": "1"}


class ProblemError(HTTPException):
    """A problem on its way to whoever asked."""

    def __init__(
        self,
        kind: str,
        detail: str = "",
        *,
        headers: Mapping[str, str] | None = None,
        errors: Sequence[Mapping[str, str]] = (),
    ) -> None:
        """Name the kind, say what it was this time, and which values were at fault."""
        status, title = KINDS[kind]
        super().__init__(status, detail or title, headers=dict(headers or {}))
        self.kind = kind
        self.errors = errors


def problem_of(error: Exception) -> ProblemError:
    """Return an error as what the outside may know of it.

    >>> problem_of(ArgumentError("top_k", "must be at least 1, got 0")).errors
    [{'field': 'top_k', 'detail': 'must be at least 1, got 0'}]
    >>> problem_of(RecollectError("/home/ines/memory.db is odd")).detail
    'Something failed in the server'
    """
    match error:
        case ProblemError():
            return error
        case RequestValidationError():
            return _invalid(error)
        case StarletteHTTPException():
            kind = _BY_STATUS.get(error.status_code, "malformed")
            return ProblemError(kind, headers=error.headers)
        case ArgumentError():
            return ProblemError("invalid", str(error), errors=[{"field": error.argument, "detail": error.problem}])
        case NoteNotFoundError():
            return ProblemError("note-not-found", str(error))
        case ForbiddenError():
            return ProblemError("forbidden", str(error))
        case IngestError():
            return ProblemError("invalid", str(error))
        case StoreBusyError():
            return ProblemError("store-busy", headers=_RETRY)
        case StoreUnavailableError():
            return ProblemError("store-unavailable", headers=_RETRY)
        case StoreFullError():
            return ProblemError("store-full")
        case StoreReadOnlyError():
            return ProblemError("read-only")
        case EmbedderError() | RerankerError():
            return ProblemError("model-unavailable", headers=_RETRY)
        case KeyFileError():
            return ProblemError("keys-unreadable")
        case _:
            return ProblemError("internal")  # what it says may hold what nobody else should see


def problem_response(problem: ProblemError, request_id: str) -> Response:
    """Return a problem as an answer."""
    told: dict[str, Any] = {
        "type": f"urn:recollect:{problem.kind}",
        "title": KINDS[problem.kind].title,
        "status": problem.status_code,
        "detail": well_formed(problem.detail),
        "request_id": request_id,
    }
    if problem.errors:
        told["errors"] = [{name: well_formed(text) for name, text in error.items()} for error in problem.errors]
    body = json.dumps(told, ensure_ascii=False).encode()
    return Response(body, problem.status_code, media_type=MEDIA_TYPE, headers=problem.headers)


def handle_problems(app: FastAPI) -> None:
    """Let an application answer every error that is raised on purpose as a problem."""
    for error in (StarletteHTTPException, RequestValidationError, RecollectError):
        app.add_exception_handler(error, _handle)


async def _handle(request: Request, error: Exception) -> Response:
    problem = problem_of(error)
    if problem.kind == "internal":
        raise error  # who records requests tells it where its words may stand
    if problem.kind == "method-not-allowed":
        problem.headers = {"Allow": ", ".join(sorted(_methods(request)))}
    return problem_response(problem, request.state.request_id)


def _methods(request: Request) -> set[str]:
    """Return the methods of every route at the address of a request; routing itself knows of the first alone."""
    found: set[str] = set()
    for route in request.app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            found |= route.methods
    return found | {"HEAD"} if "GET" in found else found


def _invalid(error: RequestValidationError) -> ProblemError:
    """Return which values were refused and why, without the values: they may be long, and none of a log's business."""
    errors = [
        {"field": ".".join(map(str, found["loc"])), "detail": found["msg"].removeprefix("Value error, ")}
        for found in error.errors()
    ]
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return ProblemError("invalid", f"{first['field']}: {first['detail']}{more}", errors=errors[:20])
