"""Errors as ``application/problem+json`` (RFC 9457): the one format of every error response."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.routing import Match

from recollect import errors
from recollect.text import well_formed

MEDIA_TYPE = "application/problem+json"

PROBLEM_TYPES: dict[str, tuple[int, str]] = {
    "malformed": (400, "The request is not HTTP, or its body is not JSON"),
    "unauthorised": (401, "A key is required"),
    "forbidden": (403, "The key does not grant this"),
    "not-found": (404, "This address does not exist"),
    "note-not-found": (404, "The note does not exist"),
    "report-not-found": (404, "The report does not exist"),
    "method-not-allowed": (405, "This address does not support the method"),
    "not-acceptable": (406, "The Accept header excludes the type of the response"),
    "too-slow": (408, "The request took too long to arrive"),
    "read-only": (409, "The memory is read-only"),
    "too-large": (413, "The request is too large"),
    "unsupported-media-type": (415, "The body must be application/json"),
    "misdirected": (421, "The request was sent to another host"),
    "invalid": (422, "A value is invalid"),
    "too-many-requests": (429, "Too many requests"),
    "headers-too-large": (431, "The address and the headers are too long"),
    "internal": (500, "The server failed"),
    "overloaded": (503, "Too many requests are queued, or connections open"),
    "store-busy": (503, "The memory is busy"),
    "not-ready": (503, "The server is not ready"),
    "model-unavailable": (503, "A model does not answer"),
    "keys-unreadable": (503, "The server cannot read its keys"),
    "store-unavailable": (503, "The memory cannot be reached"),
    "timed-out": (504, "The request took too long"),
    "store-full": (507, "The disk is full"),
}
"""HTTP status and title of each kind of problem; the ``type`` in a response is ``urn:recollect:KIND``."""

_RETRY_SOON = ("overloaded", "store-busy", "store-unavailable", "not-ready", "model-unavailable")
"""Problems whose responses have ``Retry-After: 1``."""

_KIND_BY_ERROR: dict[type[errors.RecollectError], str] = {
    errors.StoreBusyError: "store-busy",
    errors.StoreUnavailableError: "store-unavailable",
    errors.StoreFullError: "store-full",
    errors.StoreReadOnlyError: "read-only",
    errors.EmbedderError: "model-unavailable",
    errors.RerankerError: "model-unavailable",
    errors.KeyFileError: "keys-unreadable",
}
"""The kind of problem for each error whose message is not sent to clients, since it may name files of the server."""


class ProblemError(HTTPException):
    """A problem that becomes the response; ``kind`` is a key of ``PROBLEM_TYPES``."""

    def __init__(
        self,
        kind: str,
        detail: str = "",
        *,
        headers: Mapping[str, str] | None = None,
        invalid_fields: Sequence[Mapping[str, str]] = (),
    ) -> None:
        """Set the kind and the message (the kind's title by default); an invalid field has ``field`` and ``detail``."""
        status, title = PROBLEM_TYPES[kind]
        retry = {"Retry-After": "1"} if kind in _RETRY_SOON else {}
        super().__init__(status, detail or title, headers={**retry, **(headers or {})})
        self.kind = kind
        self.title = title
        self.invalid_fields = invalid_fields


def to_problem(error: Exception) -> ProblemError:
    """Return an error as the problem that a client may see."""
    match error:
        case ProblemError():
            return error
        case RequestValidationError():
            return _validation_problem(error)
        case StarletteHTTPException():
            kind_by_status = {404: "not-found", 405: "method-not-allowed"}
            return ProblemError(kind_by_status.get(error.status_code, "malformed"), headers=error.headers)
        case errors.ArgumentError():
            invalid_field = {"field": error.argument, "detail": error.problem}
            return ProblemError("invalid", str(error), invalid_fields=[invalid_field])
        case errors.NoteNotFoundError():
            return ProblemError("note-not-found", str(error))
        case errors.ForbiddenError():
            return ProblemError("forbidden", str(error))
        case errors.IngestError():
            return ProblemError("invalid", str(error))
    kinds = (kind for error_type, kind in _KIND_BY_ERROR.items() if isinstance(error, error_type))
    return ProblemError(next(kinds, "internal"))


def problem_response(problem: ProblemError, request_id: str) -> Response:
    """Return a problem as a response."""
    data: dict[str, Any] = {
        "type": f"urn:recollect:{problem.kind}",
        "title": problem.title,
        "status": problem.status_code,
        "detail": well_formed(problem.detail),
        "request_id": request_id,
    }
    if problem.invalid_fields:
        data["errors"] = [{name: well_formed(text) for name, text in item.items()} for item in problem.invalid_fields]
    body = json.dumps(data, ensure_ascii=False).encode()
    return Response(body, problem.status_code, media_type=MEDIA_TYPE, headers=problem.headers)


async def handle_error(request: Request, error: Exception) -> Response:
    """Respond to an expected error with a problem; raise an unexpected error again for the request log."""
    problem = to_problem(error)
    if problem.kind == "internal":
        raise error
    if problem.kind == "method-not-allowed":  # Starlette's error names only the methods of the first matching route
        routes = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
        methods = {method for route in routes for method in route.methods}
        if "GET" in methods:
            methods.add("HEAD")
        problem.headers = {"Allow": ", ".join(sorted(methods))}
    return problem_response(problem, request.state.request_id)


def _validation_problem(error: RequestValidationError) -> ProblemError:
    """Return a problem with up to 20 invalid fields and the reasons, but not the values, which may be private."""
    invalid_fields = [
        {"field": ".".join(map(str, item["loc"])), "detail": item["msg"].removeprefix("Value error, ")}
        for item in error.errors()
    ]
    first, *others = invalid_fields
    more = f" (and {len(others)} more)" if others else ""
    return ProblemError("invalid", f"{first['field']}: {first['detail']}{more}", invalid_fields=invalid_fields[:20])
