"""Write the references of the HTTP API and the MCP tools from the code: ``python -m scripts.api_reference``.

The program writes ``docs/http.md``, and the part of ``docs/mcp.md`` between ``BEGIN`` and ``END``. A test fails if a
page is stale.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from mcp.types import ToolAnnotations

from recollect.server.http.app import ROUTERS, openapi_schema
from recollect.server.http.problems import PROBLEM_TYPES
from recollect.server.mcp.server import NOTE_TEMPLATE, TOOLS, USE_MEMORY
from recollect.server.mcp.tools import Tool

DOCS = Path(__file__).parents[1] / "docs"
BEGIN = "<!-- begin: written by python -m scripts.api_reference -->"
END = "<!-- end -->"

_HTTP_HEAD = """\
# HTTP API

This page lists every endpoint of `recollect serve`. It is generated from the code by `python -m scripts.api_reference`.
[Serving a memory](server.md) explains how to run a server, its keys and its limits.

- Bodies and responses are JSON (`application/json`). Unknown fields and parameters are errors.
- The query parameter `namespace` selects the namespace of every endpoint below `/v1`; a body never does.
- Send a key as `Authorization: Bearer rk_…`.
- `HEAD` works wherever `GET` does.
- Every response has an `X-Request-Id`, that of the request or a new one, and a `Server-Timing` in milliseconds.
- `/openapi.json` has the content of this page for programs.
"""

_HTTP_PROBLEMS = """\
## Problems

Every error is `application/problem+json`:

```json
{"type": "urn:recollect:note-not-found", "title": "The note does not exist", "status": 404,
 "detail": "there is no note 'tea.md' in namespace 'default'", "request_id": "5f0c9a7be2d41f0c"}
```

`errors`, if present, lists invalid values, each with `field` and `detail`. `429` and most of `503` have a
`Retry-After`.

| status | type | title |
|---|---|---|
"""


def http_reference() -> str:
    """Return the text of docs/http.md."""
    return "\n".join(line.rstrip() for line in "".join(_http_page(http_schema())).splitlines()) + "\n"


def http_schema() -> dict[str, Any]:
    """Return the OpenAPI description of a server that requires keys."""
    app = FastAPI(title="Recollect")
    for router in ROUTERS:
        app.router.routes.extend(router.routes)
    return openapi_schema(app, require_keys=True)


def _http_page(schema: Mapping[str, Any]) -> Iterator[str]:
    yield _HTTP_HEAD
    operations = [
        (f"{method.upper()} {path}", operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    yield "\n| endpoint | description | right |\n|---|---|---|\n"
    for title, operation in operations:
        summary = operation["description"].splitlines()[0].rstrip(".")
        yield f"| [`{title}`](#{_anchor(title)}) | {summary} | {operation['x-right']} |\n"
    schemas: list[str] = []
    section = ""
    for title, operation in operations:
        (tag,) = operation["tags"]
        if tag != section:
            section = tag
            yield f"\n## {section}\n"
        yield from _http_operation(title, operation, schemas)
    yield "\n## Schemas\n"
    for name in schemas:  # the list grows in the loop: schemas refer to other schemas
        yield from _http_model(schema["components"]["schemas"][name], name, schemas)
    yield f"\n{_HTTP_PROBLEMS}"
    for kind, (status, title) in PROBLEM_TYPES.items():
        yield f"| {status} | `urn:recollect:{kind}` | {title} |\n"


def _http_operation(title: str, operation: Mapping[str, Any], schemas: list[str]) -> Iterator[str]:
    yield f"\n### {title}\n\n{operation['description']}\n\nRight: {operation['x-right']}.\n"
    parameters = operation.get("parameters", [])
    if parameters:
        yield "\n| parameter | type | description |\n|---|---|---|\n"
        for parameter in parameters:
            qualifier = " (required)" if parameter["required"] else ""
            if parameter["in"] == "path":
                qualifier = " (in the path)"
            type_text = _http_type(parameter["schema"], schemas).removesuffix(" or null")
            yield f"| `{parameter['name']}`{qualifier} | {type_text} | {parameter['description']} |\n"
    if "requestBody" in operation:
        body = operation["requestBody"]["content"]["application/json"]["schema"]
        yield f"\nBody: {_http_type(body, schemas)}.\n"
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            yield f"\nResponse {status}: {_http_content(response, schemas)}.\n"


def _http_content(response: Mapping[str, Any], schemas: list[str]) -> str:
    for media_type, content in response.get("content", {}).items():
        return _http_type(content["schema"], schemas) if media_type == "application/json" else f"`{media_type}`"
    return "empty"


def _http_model(model: Mapping[str, Any], name: str, schemas: list[str]) -> Iterator[str]:
    is_request = model.get("additionalProperties") is False
    required = model.get("required", []) if is_request else []  # responses have all fields
    yield f"\n### {name}\n\n{model['description']}\n\n| field | type | description |\n|---|---|---|\n"
    for field, schema in model["properties"].items():
        qualifier = " (required)" if field in required else ""
        default = schema.get("default")
        default_text = "" if default in (None, "", [], {}) else f" Default: `{json.dumps(default).strip(chr(34))}`."
        yield f"| `{field}`{qualifier} | {_http_type(schema, schemas)} | {schema['description']}{default_text} |\n"


def _http_type(schema: Mapping[str, Any], schemas: list[str]) -> str:
    """Return the type of a value as Markdown; append the names of the schemas that it refers to to ``schemas``."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in schemas:
            schemas.append(name)
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_http_type(option, schemas) for option in schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {_http_type(schema['items'], schemas)}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"object of {_http_type(schema['additionalProperties'], schemas)}"
    if "minimum" in schema:
        limit = f" to {schema['maximum']:g}" if schema["maximum"] < 2**53 else ""
        return f"{kind} from {schema['minimum']:g}{limit}"
    return f"{kind} of at most {schema['maxLength']:,} characters" if "maxLength" in schema else str(kind)


def _anchor(title: str) -> str:
    """Return the anchor that Markdown renderers give to a heading."""
    return "".join(letter for letter in title.lower().replace(" ", "-") if letter.isalnum() or letter in "-_")


def with_mcp_reference(page: str) -> str:
    """Return ``page`` with the reference of the MCP tools between ``BEGIN`` and ``END``."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{_mcp_reference()}\n{END}{after}"


def _mcp_reference() -> str:
    lines = [line for tool in TOOLS.values() for line in _mcp_tool(tool)]
    lines += [f"### {NOTE_TEMPLATE.uri_template}", "", f"A resource. {NOTE_TEMPLATE.description}", ""]
    lines += [f"### {USE_MEMORY.name}", "", f"A prompt. {USE_MEMORY.description}", ""]
    lines += ["| argument | type | description |", "|---|---|---|"]
    lines += [f"| `{argument.name}` | string | {argument.description} |" for argument in USE_MEMORY.arguments or ()]
    return "\n".join([*lines, ""])


def _mcp_tool(tool: Tool) -> Iterator[str]:
    description = tool.description
    annotations = description.annotations or ToolAnnotations()
    hints = [
        "read-only" if annotations.read_only_hint else "writes",
        *(["destructive"] if annotations.destructive_hint else []),
        *([] if annotations.idempotent_hint else ["not idempotent"]),
    ]
    yield from (f"### {description.name}", "", description.description or "", "")
    yield from (f"*{description.title}; right: {tool.right}; {', '.join(hints)}.*", "")
    arguments = _mcp_rows(description.input_schema, required=", required")
    yield from ("| argument | type | description |", "|---|---|---|", *arguments, "")
    response_fields = _mcp_rows(description.output_schema or {})
    yield from ("| response field | type | description |", "|---|---|---|", *response_fields, "")


def _mcp_rows(schema: Mapping[str, Any], *, required: str = "") -> Iterator[str]:
    """Yield a table row for each property; rows for the fields of listed objects follow, as ``property[].field``."""
    for name, value in schema["properties"].items():
        type_text = _mcp_type(value) + (required if name in schema.get("required", ()) else "")
        yield f"| `{name}` | {type_text} | {value.get('description', '')} |"
        if item := value.get("items", {}).get("$ref"):
            for row in _mcp_rows(schema["$defs"][item.removeprefix("#/$defs/")]):
                yield row.replace("`", f"`{name}[].", 1)


def _mcp_type(schema: Mapping[str, Any]) -> str:
    """Return type, range and default of a value as text."""
    options = [option for option in schema.get("anyOf", [schema]) if option.get("type") != "null"]
    default = schema.get("default")
    default_text = f", {default!r} by default".replace("'", "`") if default is not None else ""
    return " or ".join(_mcp_option(option) for option in options) + default_text


def _mcp_option(schema: Mapping[str, Any]) -> str:
    kind = str(schema.get("type", "value"))
    if kind == "array":
        items = schema["items"]
        kind = "list of objects" if "$ref" in items else f"list of {items['type']}s"
    if "minimum" in schema:
        kind += f" from {schema['minimum']}"
    if "maximum" in schema:
        kind += f" to {schema['maximum']}"
    return kind


def main(docs: Path = DOCS) -> None:
    """Write both pages into the folder ``docs``."""
    (docs / "http.md").write_text(http_reference(), encoding="utf-8")
    mcp = docs / "mcp.md"
    mcp.write_text(with_mcp_reference(mcp.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
