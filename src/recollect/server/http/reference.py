"""The reference of all endpoints, from the code: ``python -m recollect.server.http.reference > docs/http.md``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import FastAPI

from recollect.server.http.describing import describe
from recollect.server.http.problems import KINDS
from recollect.server.http.routes import ROUTERS

__all__ = ["described", "reference"]

_HEAD = """\
# The HTTP API

Every endpoint of `recollect serve`, written from the code by `python -m recollect.server.http.reference`. How to run a
server, its keys and its limits: [Serving a memory](server.md).

Bodies and answers are JSON (`application/json`). A field that is not known is refused, and so is a parameter. Below
`/v1`, the query parameter `namespace` says where; a body never does. A key is sent as `Authorization: Bearer rk_…`.
`HEAD` is answered wherever `GET` is. Every answer has an `X-Request-Id`: the one that the request came with, or a new
one; and a `Server-Timing` that says how many milliseconds it took. `/openapi.json` is the same as this page for
programs.
"""

_PROBLEMS = """\
## Problems

Whatever goes wrong is told as `application/problem+json`:

```json
{"type": "urn:recollect:note-not-found", "title": "There is no such note", "status": 404,
 "detail": "there is no note 'tea.md' in namespace 'default'", "request_id": "5f0c9a7be2d41f0c"}
```

`errors`, where it is there, lists the values that were refused: each a `field` and a `detail`. `429` and most of `503`
have a `Retry-After`.

| status | type | |
|---|---|---|
"""


def reference() -> str:
    """Return the page.

    >>> reference().splitlines()[0]
    '# The HTTP API'
    """
    return "\n".join(line.rstrip() for line in "".join(_page(described())).splitlines()) + "\n"


def described() -> dict[str, Any]:
    """Return the OpenAPI description of a server that asks for keys.

    >>> described()["paths"]["/v1/search"]["post"]["x-right"]
    'read'
    """
    app = FastAPI(title="Recollect")
    for router in ROUTERS:
        app.router.routes.extend(router.routes)
    return describe(app, keyed=True)()


def _page(schema: Mapping[str, Any]) -> Iterator[str]:
    yield _HEAD
    operations = [
        (path, method, operation) for path, methods in schema["paths"].items() for method, operation in methods.items()
    ]
    yield "\n| endpoint | | right |\n|---|---|---|\n"
    for path, method, operation in operations:
        title = _title(path, method)
        yield f"| [`{title}`](#{_anchor(title)}) | {_summary(operation)} | {operation['x-right']} |\n"
    told: list[str] = []
    subject = ""
    for path, method, operation in operations:
        (tag,) = operation["tags"]
        if tag != subject:
            subject = tag
            yield f"\n## {subject}\n"
        yield from _operation(path, method, operation, told)
    yield "\n## Shapes\n"
    for name in told:  # it grows while shapes name others
        yield from _shape(schema, name, told)
    yield f"\n{_PROBLEMS}"
    for kind, (status, title) in KINDS.items():
        yield f"| {status} | `urn:recollect:{kind}` | {title} |\n"


def _operation(path: str, method: str, operation: Mapping[str, Any], told: list[str]) -> Iterator[str]:
    yield f"\n### {_title(path, method)}\n\n{operation['description']}\n\n"
    yield f"Right: {operation['x-right']}.\n"
    parameters = operation.get("parameters", [])
    if parameters:
        yield "\n| parameter | type | |\n|---|---|---|\n"
        for each in parameters:
            where = " (in the path)" if each["in"] == "path" else " (required)" if each["required"] else ""
            kind = _type(each["schema"], told).removesuffix(" or null")
            yield f"| `{each['name']}`{where} | {kind} | {each['description']} |\n"
    if "requestBody" in operation:
        body = operation["requestBody"]["content"]["application/json"]["schema"]
        yield f"\nBody: {_type(body, told)}.\n"
    answers = [(int(status), answer) for status, answer in operation["responses"].items()]
    for status, answer in answers:
        if status < 300:
            yield f"\nAnswer {status}: {_content(answer, told)}.\n"
    problems = ", ".join(str(status) for status, _ in answers if status >= 300)
    yield f"\nProblems: {problems}.\n"


def _content(answer: Mapping[str, Any], told: list[str]) -> str:
    for media_type, content in answer.get("content", {}).items():
        return _type(content["schema"], told) if media_type == "application/json" else f"`{media_type}`"
    return "nothing"


def _shape(schema: Mapping[str, Any], name: str, told: list[str]) -> Iterator[str]:
    shape = schema["components"]["schemas"][name]
    asked = shape.get("additionalProperties") is False  # what is answered is always whole
    required = shape.get("required", []) if asked else []
    yield f"\n### {name}\n\n{shape['description']}\n\n| field | type | |\n|---|---|---|\n"
    for field, about in shape["properties"].items():
        mark = " (required)" if field in required else ""
        default = about.get("default")
        by_default = "" if default in (None, "", [], {}) else f" By default `{json.dumps(default).strip(chr(34))}`."
        yield f"| `{field}`{mark} | {_type(about, told)} | {about['description']}{by_default} |\n"


def _type(about: Mapping[str, Any], told: list[str]) -> str:
    """Return what a value is, and take down which shape is still to be told."""
    if "$ref" in about:
        name = about["$ref"].rpartition("/")[2]
        if name not in told:
            told.append(name)
        return f"[{name}](#{name.lower()})"
    if "anyOf" in about:
        return " or ".join(dict.fromkeys(_type(each, told) for each in about["anyOf"]))
    if "enum" in about:
        return ", ".join(f"`{each}`" for each in about["enum"])
    kind = about.get("type", "anything")
    if kind == "array":
        return f"list of {_type(about['items'], told)}"
    if kind == "object" and isinstance(about.get("additionalProperties"), Mapping):
        return f"object of {_type(about['additionalProperties'], told)}"
    return f"{kind}{_range(about)}"


def _range(about: Mapping[str, Any]) -> str:
    if "minimum" in about:
        most = about["maximum"]
        return f" from {about['minimum']:g} to {most:g}" if most < 2**53 else f" from {about['minimum']:g}"
    return f" of at most {about['maxLength']:,} characters" if "maxLength" in about else ""


def _summary(operation: Mapping[str, Any]) -> str:
    first: str = operation["description"].splitlines()[0]
    return first.rstrip(".")


def _title(path: str, method: str) -> str:
    return f"{method.upper()} {path}"


def _anchor(title: str) -> str:
    """Return what a heading is called in links, as Markdown's usual readers do it."""
    return "".join(letter for letter in title.lower().replace(" ", "-") if letter.isalnum() or letter in "-_")


if __name__ == "__main__":
    sys.stdout.write(reference())
