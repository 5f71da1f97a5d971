"""Routes of the web UI. They serve static files, which need no key, since only the HTTP API returns notes."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from pathlib import PurePath

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute

_CONTENT_SECURITY_POLICY = "; ".join(
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
        "trusted-types recollect-report",  # the policy by which reports.js turns text into HTML
    )
)
"""The browser runs only scripts of this server, which may connect only to this server; no site may frame the web UI."""

_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": _CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}

_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


def web_routes() -> list[APIRoute]:
    """Return the routes of the web UI; its files are read once, so that no request reads the disk."""
    bodies = {file.name: file.read_bytes() for file in files("recollect.server.web").joinpath("static").iterdir()}
    etags = {name: f'"{sha256(body).hexdigest()[:32]}"' for name, body in bodies.items()}

    async def respond(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in bodies:
            raise HTTPException(404)
        headers = {**_HEADERS, "ETag": etags[name]}
        if_none_match = request.headers.get("if-none-match", "")
        tags = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}  # a proxy may mark a tag as weak
        if if_none_match == "*" or etags[name] in tags:
            return Response(status_code=304, headers=headers)
        return Response(bodies[name], media_type=_MEDIA_TYPES[PurePath(name).suffix], headers=headers)

    return [APIRoute(path, respond, include_in_schema=False) for path in ("/", "/web/{name}")]
