"""What a server refuses or cannot do becomes the error that a memory of this process would have raised."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from recollect import errors
from recollect.errors import ArgumentError, ForbiddenError, NoteNotFoundError, RecollectError, ServerError

__all__ = ["error_of"]

_BY_NAME: dict[str, type[RecollectError]] = {
    name.removesuffix("Error").lower(): kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, RecollectError)
}
"""The tree by names as the types of problems spell them: ``note-not-found`` is ``notenotfound`` here."""

_BY_STATUS: dict[int, type[RecollectError]] = {
    400: ArgumentError,
    401: ForbiddenError,
    403: ForbiddenError,
    404: NoteNotFoundError,
    413: ArgumentError,
    422: ArgumentError,
}


def error_of(status: int, problem: Mapping[str, Any], server: str) -> RecollectError:
    """Return the error that an answer tells of: by the type of the problem, or else by the status.

    >>> error_of(404, {"type": "/problems/note-not-found", "detail": "there is no note 'n1'"}, "http://localhost:7700")
    NoteNotFoundError("there is no note 'n1'")
    >>> error_of(422, {"detail": "top_k: must be at least 1, got 0"}, "http://localhost:7700").argument
    'top_k'
    >>> print(error_of(502, {}, "http://localhost:7700"))
    http://localhost:7700 answered with status 502
    """
    kind = _BY_NAME.get(_spelt(problem.get("type"))) or (
        _BY_STATUS.get(status, ServerError) if problem else ServerError
    )
    said = str(problem.get("detail") or problem.get("title") or f"answered with status {status}")
    if issubclass(kind, ArgumentError):
        argument, _, rest = said.partition(": ")
        return kind(argument, rest) if rest else ArgumentError("request", said)
    return (
        ServerError(f"{server} {said}" if not problem else f"{server}: {said}") if kind is ServerError else kind(said)
    )


def _spelt(told: Any) -> str:
    name = re.split(r"[/:#]", told)[-1] if isinstance(told, str) else ""
    return name.replace("-", "").replace("_", "").lower().removesuffix("error")
