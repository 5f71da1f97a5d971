"""``docs/mcp.md`` tells what the code does, and its examples for clients work."""

from __future__ import annotations

import json
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from recollect.cli import recollect as commands
from recollect.server.mcp.catalogue import TOOLS
from recollect.server.mcp.prompts import PROMPTS
from recollect.server.mcp.reference import BEGIN, END, with_reference
from recollect.server.mcp.resources import TEMPLATE

PAGE = Path(__file__).parents[3] / "docs" / "mcp.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^\*\*(.+?)\*\*.*?^```json\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def test_the_page_is_as_the_code_would_write_it() -> None:
    assert with_reference(TEXT) == TEXT, "run python -m recollect.server.mcp.reference docs/mcp.md"


def test_every_tool_argument_resource_and_prompt_is_there() -> None:
    written = TEXT.partition(BEGIN)[2].partition(END)[0]
    sections = dict(re.findall(r"^### (.+)\n((?:(?!^### ).*\n)*)", written, re.MULTILINE))
    assert list(sections) == [*TOOLS, TEMPLATE.uri_template, *PROMPTS]
    for name, tool in TOOLS.items():
        told = tool.describe()
        for field in (*told.input_schema["properties"], *(told.output_schema or {})["properties"]):
            assert f"| `{field}` |" in sections[name]


def test_a_page_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "mcp.md"
    page.write_text(f"# MCP\n{BEGIN}\nold\n{END}\nthe end\n")
    monkeypatch.setattr(sys, "argv", ["reference", str(page)])
    monkeypatch.delitem(sys.modules, "recollect.server.mcp.reference")
    runpy.run_module("recollect.server.mcp.reference", run_name="__main__")
    assert page.read_text() == with_reference(page.read_text())
    assert "\nold\n" not in page.read_text()
    assert page.read_text().endswith(f"{END}\nthe end\n")


def servers(value: Any) -> Iterator[dict[str, Any]]:
    """Yield what a configuration says of each server, wherever its client wants it to stand."""
    if isinstance(value, dict):
        if "command" in value or "url" in value:
            yield value
        else:
            for inner in value.values():
                yield from servers(inner)


class TestExamples:
    def test_the_usual_clients_are_there(self) -> None:
        named = ["Claude Desktop", "Claude Code", "Cursor", "VS Code", "Windsurf", "Zed", "Over HTTP"]
        assert [name for name, _ in EXAMPLES] == named

    @pytest.mark.parametrize(("client", "text"), EXAMPLES)
    def test_each_is_json_and_names_what_there_is(self, client: str, text: str) -> None:
        (server,) = servers(json.loads(text))
        if client == "Over HTTP":
            assert server["url"] == "http://127.0.0.1:7700/mcp"
            assert re.fullmatch(r"Bearer rk_[0-9a-f]{12}_\S+", server["headers"]["Authorization"])
            return
        assert server["command"] == "recollect"
        accepted(server["args"])

    @pytest.mark.parametrize("line", re.findall(r"(?:^|-- )recollect ((?:mcp|keys) [^`#\n]*)", TEXT, re.MULTILINE))
    def test_so_does_each_command_line(self, line: str) -> None:
        accepted(line.split())


def accepted(arguments: list[str]) -> None:
    """Parse a command line as the command would, without running it; a wrong one raises."""
    command: click.Command = commands
    while isinstance(command, click.Group):
        context = click.Context(command)
        name, found, arguments = command.resolve_command(context, arguments)
        assert found, f"there is no command {name}"
        command = found
    command.make_context("recollect", list(arguments))
