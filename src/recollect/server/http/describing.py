"""The OpenAPI description: what FastAPI finds out by itself, and the problems and keys that it cannot know of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from recollect import __version__
from recollect.server.http.admission import OPEN
from recollect.server.http.problems import KINDS, MEDIA_TYPE

__all__ = ["describe"]

_PROBLEM = {
    "type": "object",
    "title": "Problem",
    "description": "What went wrong, as RFC 9457 has it.",
    "required": ["type", "title", "status", "detail", "request_id"],
    "properties": {
        "type": {
            "type": "string",
            "enum": [f"urn:recollect:{kind}" for kind in KINDS],
            "description": "The kind of problem.",
        },
        "title": {"type": "string", "description": "The kind in words."},
        "status": {"type": "integer", "description": "The status of the answer."},
        "detail": {"type": "string", "description": "What it was this time."},
        "request_id": {"type": "string", "description": "What the server's log calls the request."},
        "errors": {
            "type": "array",
            "description": "Which values were refused, and why.",
            "items": {
                "type": "object",
                "required": ["field", "detail"],
                "properties": {
                    "field": {"type": "string", "description": "Where the value stands."},
                    "detail": {"type": "string", "description": "What is wrong with it."},
                },
            },
        },
    },
}


_NAMING = {("post", "/v1/notes"), ("post", "/v1/links"), ("delete", "/v1/links")}
"""What names notes otherwise than by its address: those that are replaced, or linked."""


def describe(app: FastAPI, *, keyed: bool) -> Callable[[], dict[str, Any]]:
    """Return what describes an application, and makes the description once."""

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _completed(
                get_openapi(title=app.title, version=__version__, description=app.description, routes=app.routes),
                keyed=keyed,
            )
        return app.openapi_schema

    return described


def _completed(schema: dict[str, Any], *, keyed: bool) -> dict[str, Any]:
    components = schema.setdefault("components", {})
    kept = {name: each for name, each in components.get("schemas", {}).items() if not name.endswith("ValidationError")}
    components["schemas"] = {**kept, "Problem": _PROBLEM}
    if keyed:
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            if keyed and path not in OPEN:
                operation["security"] = [{"key": []}]
            for status in _statuses(path, method, operation, keyed=keyed):
                operation["responses"][str(status)] = _answer(status)
            operation["responses"] = dict(sorted(operation["responses"].items()))
    return schema


def _statuses(path: str, method: str, operation: dict[str, Any], *, keyed: bool) -> set[int]:
    """Return the problems that an operation may come to, but for those that nobody foresees."""
    found = {406, 422, 429, 431}
    if not keyed:
        found.add(421)
    elif path not in OPEN:
        found |= {401, 403, 503}
    if "requestBody" in operation:
        found |= {400, 408, 413, 415}
    if path.startswith("/v1/"):
        found |= {503, 504}
    if "{" in path or (method, path) in _NAMING:
        found.add(404)
    if method != "get" and operation["x-right"] == "write":
        found |= {409, 507}
    if path == "/ready":
        found.add(503)
    return found


def _answer(status: int) -> dict[str, Any]:
    titles = [kind.title for kind in KINDS.values() if kind.status == status]
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {"description": "; ".join(titles), "content": content}
