"""Errors as ``application/problem+json`` (RFC 9457): the one format of every error response."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.routing import Match

from recollect import errors
from recollect.text import well_formed

MEDIA_TYPE = "application/problem+json"


class ProblemType(NamedTuple):
    """A type of problem: its HTTP status and title."""

    status: int
    title: str


PROBLEM_TYPES = {
    "malformed": ProblemType(400, "The request is not HTTP, or its body is not JSON"),
    "unauthorised": ProblemType(401, "A key is required"),
    "forbidden": ProblemType(403, "The key does not grant this"),
    "not-found": ProblemType(404, "This address does not exist"),
    "note-not-found": ProblemType(404, "The note does not exist"),
    "report-not-found": ProblemType(404, "The report does not exist"),
    "method-not-allowed": ProblemType(405, "This address does not support the method"),
    "not-acceptable": ProblemType(406, "The Accept header excludes the type of the response"),
    "too-slow": ProblemType(408, "The request took too long to arrive"),
    "read-only": ProblemType(409, "The memory is read-only"),
    "too-large": ProblemType(413, "The request is too large"),
    "unsupported-media-type": ProblemType(415, "The body must be application/json"),
    "misdirected": ProblemType(421, "The request was sent to another host"),
    "invalid": ProblemType(422, "A value is invalid"),
    "too-many-requests": ProblemType(429, "Too many requests"),
    "headers-too-large": ProblemType(431, "The address and the headers are too long"),
    "internal": ProblemType(500, "The server failed"),
    "overloaded": ProblemType(503, "Too many requests are queued, or connections open"),
    "store-busy": ProblemType(503, "The memory is busy"),
    "not-ready": ProblemType(503, "The server is not ready"),
    "model-unavailable": ProblemType(503, "A model does not answer"),
    "keys-unreadable": ProblemType(503, "The server cannot read its keys"),
    "timed-out": ProblemType(504, "The request took too long"),
    "store-unavailable": ProblemType(503, "The memory cannot be reached"),
    "store-full": ProblemType(507, "The disk is full"),
}
"""Every problem that a response may name, as ``urn:recollect:TYPE``."""

_ROUTING_TYPES = {404: "not-found", 405: "method-not-allowed"}

_RETRY = {"Retry-After": "1"}

_ERROR_TYPES: dict[type[errors.RecollectError], tuple[str, dict[str, str]]] = {
    errors.StoreBusyError: ("store-busy", _RETRY),
    errors.StoreUnavailableError: ("store-unavailable", _RETRY),
    errors.StoreFullError: ("store-full", {}),
    errors.StoreReadOnlyError: ("read-only", {}),
    errors.EmbedderError: ("model-unavailable", _RETRY),
    errors.RerankerError: ("model-unavailable", _RETRY),
    errors.KeyFileError: ("keys-unreadable", {}),
}
"""Errors whose messages are not for clients: they may name files of the server."""


class ProblemError(HTTPException):
    """A problem that becomes the response."""

    def __init__(
        self,
        kind: str,
        detail: str = "",
        *,
        headers: Mapping[str, str] | None = None,
        errors: Sequence[Mapping[str, str]] = (),
    ) -> None:
        """Set the type, a message for this request, and the invalid values."""
        status, title = PROBLEM_TYPES[kind]
        super().__init__(status, detail or title, headers=dict(headers or {}))
        self.kind = kind
        self.errors = errors


def to_problem(error: Exception) -> ProblemError:
    """Return an error as the problem that a client may see.

    >>> to_problem(errors.ArgumentError("top_k", "must be at least 1, got 0")).errors
    [{'field': 'top_k', 'detail': 'must be at least 1, got 0'}]
    >>> to_problem(errors.RecollectError("/home/ines/memory.db is odd")).detail
    'The server failed'
    """
    match error:
        case ProblemError():
            return error
        case RequestValidationError():
            return _validation_problem(error)
        case StarletteHTTPException():
            return ProblemError(_ROUTING_TYPES.get(error.status_code, "malformed"), headers=error.headers)
        case errors.ArgumentError():
            return ProblemError("invalid", str(error), errors=[{"field": error.argument, "detail": error.problem}])
        case errors.NoteNotFoundError():
            return ProblemError("note-not-found", str(error))
        case errors.ForbiddenError():
            return ProblemError("forbidden", str(error))
        case errors.IngestError():
            return ProblemError("invalid", str(error))
    for error_type, (kind, headers) in _ERROR_TYPES.items():
        if isinstance(error, error_type):
            return ProblemError(kind, headers=headers)
    return ProblemError("internal")


def problem_response(problem: ProblemError, request_id: str) -> Response:
    """Return a problem as a response."""
    data: dict[str, Any] = {
        "type": f"urn:recollect:{problem.kind}",
        "title": PROBLEM_TYPES[problem.kind].title,
        "status": problem.status_code,
        "detail": well_formed(problem.detail),
        "request_id": request_id,
    }
    if problem.errors:
        data["errors"] = [{name: well_formed(text) for name, text in error.items()} for error in problem.errors]
    body = json.dumps(data, ensure_ascii=False).encode()
    return Response(body, problem.status_code, media_type=MEDIA_TYPE, headers=problem.headers)


def add_problem_handlers(app: FastAPI) -> None:
    """Let an application respond to every expected error with a problem."""
    for error in (StarletteHTTPException, RequestValidationError, errors.RecollectError):
        app.add_exception_handler(error, _handle)


async def _handle(request: Request, error: Exception) -> Response:
    problem = to_problem(error)
    if problem.kind == "internal":
        raise error  # the request log writes where it failed
    if problem.kind == "method-not-allowed":
        problem.headers = {"Allow": ", ".join(sorted(_allowed_methods(request)))}
    return problem_response(problem, request.state.request_id)


def _allowed_methods(request: Request) -> set[str]:
    """Return the methods of all routes at the address of a request; Starlette's own error has those of the first."""
    methods: set[str] = set()
    for route in request.app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            methods |= route.methods
    return methods | {"HEAD"} if "GET" in methods else methods


def _validation_problem(error: RequestValidationError) -> ProblemError:
    """Return which fields are invalid and why, without their values, which may be long and private."""
    errors = [
        {"field": ".".join(map(str, item["loc"])), "detail": item["msg"].removeprefix("Value error, ")}
        for item in error.errors()
    ]
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return ProblemError("invalid", f"{first['field']}: {first['detail']}{more}", errors=errors[:20])
