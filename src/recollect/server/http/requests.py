"""Requests are read strictly: JSON that is JSON, of a type that was declared, and no parameter that nobody knows."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, NoReturn

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from recollect.arguments import MAX_DEPTH, exceeds_max_depth
from recollect.server.http.problems import ProblemError

__all__ = ["StrictRoute", "parsed"]

LARGE = 65_536
"""From how many bytes on a body is read in a thread, so that others need not wait for it."""


_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class StrictRoute(APIRoute):
    """A route that refuses what it would otherwise pass over."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the usual handler behind some checks."""
        handle = super().get_route_handler()
        known = dict(_parameters(self.dependant))
        several = {name for name, annotation in known.items() if "list[" in annotation}
        has_body = self.body_field is not None
        answers = ["application/json", *self.responses.get(200, {}).get("content", {})]

        async def checked(request: Request) -> Response:
            if request.scope["query_string"]:
                _check_parameters(request, known.keys(), several)
            _check_accepted(request.headers.get("accept", "*/*"), answers)
            if has_body:
                _check_media_type(request.headers.get("content-type", ""))
            return await handle(_StrictRequest(request.scope, request.receive))

        return checked


def _parameters(dependant: Dependant) -> Iterator[tuple[str, str]]:
    """Yield the query parameters that a route or one of its dependencies takes, and what each is."""
    for field in dependant.query_params:
        yield field.alias, str(field.field_info.annotation)
    for inner in dependant.dependencies:
        yield from _parameters(inner)


class _StrictRequest(Request):
    async def json(self) -> Any:
        body = await self.body()
        return await asyncio.to_thread(parsed, body) if len(body) > LARGE else parsed(body)


def parsed(body: bytes) -> Any:
    """Return what a body says in JSON, as RFC 8259 has it: in UTF-8, of whole characters, without NaN.

    >>> parsed(b'{"importance": 0.5}')
    {'importance': 0.5}
    """
    try:
        value = json.loads(body.decode(), parse_constant=_refuse)
    except UnicodeDecodeError:
        raise ProblemError("malformed", "the body is not UTF-8") from None
    except RecursionError:
        raise ProblemError("malformed", "the body is nested too deep") from None
    except json.JSONDecodeError as error:
        raise ProblemError("malformed", f"the body is not JSON: {error.msg} at character {error.pos}") from None
    except ValueError as error:  # a number with more digits than Python reads, or no number
        raise ProblemError("malformed", f"the body is not JSON: {error}") from None
    if _SURROGATE.search(body) and not _is_text(value):
        raise ProblemError("malformed", "the body holds half a character: a surrogate that stands alone")
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and exceeds_max_depth(value):
        raise ProblemError("malformed", f"the body is nested deeper than {MAX_DEPTH} levels")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _is_text(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return False
    return True


def _check_parameters(request: Request, known: Any, several: set[str]) -> None:
    seen: set[str] = set()
    for name, _ in request.query_params.multi_items():
        if name not in known:
            expected = ", ".join(known) or "none"
            raise _invalid(name, f"is no parameter here; there are: {expected}")
        if name in seen and name not in several:
            raise _invalid(name, "is given twice")
        seen.add(name)


def _invalid(name: str, problem: str) -> ProblemError:
    return ProblemError("invalid", f"{name}: {problem}", errors=[{"field": f"query.{name}", "detail": problem}])


def _check_media_type(content_type: str) -> None:
    # A page of another site can send a form or plain text without asking; it cannot send JSON.
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise ProblemError("unsupported-media-type")


def _check_accepted(accept: str, answers: Sequence[str]) -> None:
    wanted = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    if not wanted & {"", "*/*", *answers, *(f"{each.partition('/')[0]}/*" for each in answers)}:
        raise ProblemError("not-acceptable", f"answers are {' or '.join(answers)}")
