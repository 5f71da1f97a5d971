"""What a server refuses or cannot do becomes the error that a memory of this process would have raised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.errors import (
    ArgumentError,
    EmbedderError,
    ForbiddenError,
    NoteNotFoundError,
    RecollectError,
    ServerError,
    StoreBusyError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
)

__all__ = ["BY_KIND", "error_of"]

BY_KIND: dict[str, type[RecollectError]] = {
    "forbidden": ForbiddenError,
    "invalid": ArgumentError,
    "malformed": ArgumentError,
    "model-unavailable": EmbedderError,
    "note-not-found": NoteNotFoundError,
    "read-only": StoreReadOnlyError,
    "store-busy": StoreBusyError,
    "store-full": StoreFullError,
    "store-unavailable": StoreUnavailableError,
    "too-large": ArgumentError,
    "unauthorised": ForbiddenError,
}
"""The error behind each kind of problem; every other is the server's own, a ``ServerError``."""

_PLACES = ("body", "query", "path")
"""Where in a request a value stood, which is of no interest to who called a method."""


def error_of(status: int, problem: Mapping[str, Any], server: str) -> RecollectError:
    """Return the error that an answer tells of.

    >>> told = {"type": "urn:recollect:note-not-found", "detail": "there is no note 'n1'"}
    >>> error_of(404, told, "http://localhost:7700")
    NoteNotFoundError("there is no note 'n1'")
    >>> told = {"type": "urn:recollect:invalid", "errors": [{"field": "body.top_k", "detail": "must be at least 1"}]}
    >>> print(error_of(422, told, "http://localhost:7700"))
    top_k: must be at least 1
    >>> print(error_of(502, {}, "http://localhost:7700"))
    http://localhost:7700 answered with status 502
    """
    kind = BY_KIND.get(str(problem.get("type")).removeprefix("urn:recollect:"), ServerError)
    said = str(problem.get("detail") or f"answered with status {status}")
    if kind is ServerError:
        return ServerError(f"{server}: {said}" if problem.get("detail") else f"{server} {said}")
    return _argument_error(problem, said) if kind is ArgumentError else kind(said)


def _argument_error(problem: Mapping[str, Any], said: str) -> ArgumentError:
    """Return which argument was at fault; where the server names none, it is the request."""
    for error in problem.get("errors") or ():
        place, dot, field = error["field"].partition(".")
        return ArgumentError(field if dot and place in _PLACES else error["field"], error["detail"])
    return ArgumentError("request", said)
