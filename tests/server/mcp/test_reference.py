"""docs/mcp.md is fresh, and its examples for clients are valid."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from scripts.api_reference import BEGIN, END, with_mcp_reference

from recollect.cli import recollect as commands
from recollect.server.mcp.server import NOTE_TEMPLATE, TOOLS, USE_MEMORY

PAGE = Path(__file__).parents[3] / "docs" / "mcp.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^\*\*(.+?)\*\*.*?^```json\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def test_mcp_page_is_fresh() -> None:
    assert with_mcp_reference(TEXT) == TEXT, "docs/mcp.md is stale: run python -m scripts.api_reference"


def test_every_tool_resource_and_prompt_is_documented() -> None:
    written = TEXT.partition(BEGIN)[2].partition(END)[0]
    sections = dict(re.findall(r"^### (.+)\n((?:(?!^### ).*\n)*)", written, re.MULTILINE))
    assert list(sections) == [*TOOLS, NOTE_TEMPLATE.uri_template, USE_MEMORY.name]
    for name, tool in TOOLS.items():
        description = tool.description
        for field in (*description.input_schema["properties"], *(description.output_schema or {})["properties"]):
            assert f"| `{field}` |" in sections[name]


def servers(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the entry of each server in a configuration, at any depth."""
    if isinstance(value, dict):
        if "command" in value or "url" in value:
            yield value
        else:
            for inner in value.values():
                yield from servers(inner)


class TestExamples:
    def test_examples_of_clients(self) -> None:
        named = ["Claude Desktop", "Claude Code", "Cursor", "VS Code", "Windsurf", "Zed", "Over HTTP"]
        assert [name for name, _ in EXAMPLES] == named

    @pytest.mark.parametrize(("client", "text"), EXAMPLES)
    def test_examples_are_valid(self, client: str, text: str) -> None:
        (server,) = servers(json.loads(text))
        if client == "Over HTTP":
            assert server["url"] == "http://127.0.0.1:7700/mcp"
            assert re.fullmatch(r"Bearer rk_[0-9a-f]{12}_\S+", server["headers"]["Authorization"])
            return
        assert server["command"] == "recollect"
        accepted(server["args"])

    @pytest.mark.parametrize("line", re.findall(r"(?:^|-- )recollect ((?:mcp|keys) [^`#\n]*)", TEXT, re.MULTILINE))
    def test_command_lines_are_valid(self, line: str) -> None:
        accepted(line.split())


def accepted(arguments: list[str]) -> None:
    """Parse a command line as the command would, without running it; a wrong one raises."""
    command: click.Command = commands
    while isinstance(command, click.Group):
        context = click.Context(command)
        name, results, arguments = command.resolve_command(context, arguments)
        assert results, f"there is no command {name}"
        command = results
    command.make_context("recollect", list(arguments))
