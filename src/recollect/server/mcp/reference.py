"""The reference of every tool, resource and prompt, written from the code.

``python -m recollect.server.mcp.reference docs/mcp.md`` writes it anew between the marks of a page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recollect.server.mcp.catalogue import TOOLS
from recollect.server.mcp.prompts import PROMPTS
from recollect.server.mcp.resources import TEMPLATE
from recollect.server.mcp.tool import Tool

__all__ = ["BEGIN", "END", "reference", "with_reference"]

BEGIN = "<!-- written by python -m recollect.server.mcp.reference: begin -->"
END = "<!-- end -->"


def reference() -> str:
    """Return the reference as Markdown.

    >>> print(reference().splitlines()[0])
    ### recall
    """
    parts = [line for tool in TOOLS.values() for line in _tool(tool)]
    parts += [f"### {TEMPLATE.uri_template}", "", f"A resource. {TEMPLATE.description}", ""]
    for advice in PROMPTS.values():
        parts += [f"### {advice.prompt.name}", "", f"A prompt. {advice.prompt.description}", ""]
        parts += ["| argument | | |", "|---|---|---|"]
        parts += [f"| `{each.name}` | string | {each.description} |" for each in advice.prompt.arguments or ()]
        parts += [""]
    return "\n".join(parts)


def with_reference(page: str) -> str:
    """Return ``page`` with the reference between its marks.

    >>> print(with_reference(f"# MCP {BEGIN} old {END}").splitlines()[2])
    ### recall
    """
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{reference()}\n{END}{after}"


def _tool(tool: Tool) -> Iterator[str]:
    told = tool.describe()
    hints = [
        "changes nothing" if told.annotations and told.annotations.read_only_hint else "changes notes",
        *(["can lose something"] if tool.destructive else []),
        *([] if tool.idempotent else ["twice is not the same as once"]),
    ]
    yield from (f"### {tool.name}", "", tool.description, "")
    yield from (f"*{tool.title}; needs the right to {tool.right}; {', '.join(hints)}.*", "")
    yield from ("| argument | | |", "|---|---|---|", *_rows(told.input_schema, required=", required"), "")
    yield from ("| answer | | |", "|---|---|---|", *_rows(told.output_schema or {}), "")


def _rows(schema: Mapping[str, Any], *, required: str = "") -> Iterator[str]:
    """Yield a row of a table for each property, and behind it those of the objects that it lists."""
    for name, told in schema["properties"].items():
        kind = _kind(told) + (required if name in schema.get("required", ()) else "")
        yield f"| `{name}` | {kind} | {told.get('description', '')} |"
        if entry := told.get("items", {}).get("$ref"):
            for row in _rows(schema["$defs"][entry.removeprefix("#/$defs/")]):
                yield row.replace("`", f"`{name}[].", 1)


def _kind(told: Mapping[str, Any]) -> str:
    """Return the type of a value with its bounds and its default, in few words."""
    kinds = [each for each in told.get("anyOf", [told]) if each.get("type") != "null"]
    words = [_word(each) for each in kinds]
    default = told.get("default")
    return " or ".join(words) + (f", {default!r} by default".replace("'", "`") if default is not None else "")


def _word(told: Mapping[str, Any]) -> str:
    kind = str(told.get("type", "value"))
    if kind == "array":
        items = told["items"]
        kind = "list of objects" if "$ref" in items else f"list of {items['type']}s"
    least, most = told.get("minimum"), told.get("maximum")
    bounds = f" from {least}" * (least is not None) + f" to {most}" * (most is not None)
    return kind + bounds


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(with_reference(Path(name).read_text(encoding="utf-8")), encoding="utf-8")
