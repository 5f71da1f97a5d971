"""Where the page is found: at ``/``, its parts below ``/page/``. Nobody needs a key for it; nobody may frame it."""

from __future__ import annotations

from functools import partial

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from recollect.server.page.loading import PageFile, page_files

__all__ = ["CONTENT_SECURITY", "is_page", "page_routes"]

CONTENT_SECURITY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types recollect-report",
    )
)
"""What the page may do in a browser: run its own scripts, and ask its own server. What a note says runs nowhere."""

_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": CONTENT_SECURITY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}


def is_page(path: str) -> bool:
    """Return whether a path belongs to the page, which says nothing about anybody's notes.

    >>> is_page("/"), is_page("/page/app.js"), is_page("/v1/notes")
    (True, True, False)
    """
    return path == "/" or path.startswith("/page/")


def page_routes() -> list[Route]:
    """Return the routes of the page, with its files in memory.

    >>> [route.path for route in page_routes()]
    ['/', '/page/{name}']
    """
    held = page_files()
    return [
        _PageRoute("/", partial(_first, held), include_in_schema=False),
        _PageRoute("/page/{name}", partial(_part, held), include_in_schema=False),
    ]


class _PageRoute(Route):
    """A route that is known by its template to who records requests, as those of the API are."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        return match, {**found, "route": self} if found else found


async def _first(held: dict[str, PageFile], request: Request) -> Response:
    return _answer(held["index.html"], request)


async def _part(held: dict[str, PageFile], request: Request) -> Response:
    asked = held.get(request.path_params["name"])
    if asked is None:
        raise HTTPException(404)
    return _answer(asked, request)


def _answer(asked: PageFile, request: Request) -> Response:
    headers = {**_HEADERS, "ETag": asked.tag}
    if _is_known(asked.tag, request.headers.get("if-none-match", "")):
        return Response(status_code=304, headers=headers)
    return Response(asked.body, media_type=asked.media_type, headers=headers)


def _is_known(tag: str, known: str) -> bool:
    """Return whether a tag is among those that a browser has; a proxy may have marked it as weak."""
    return known == "*" or tag in {each.strip().removeprefix("W/") for each in known.split(",")}
