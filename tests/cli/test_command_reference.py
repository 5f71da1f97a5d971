"""Every command, argument and option is in docs/commands.md, which is generated from the code."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from scripts.command_reference import reference

from recollect.cli import recollect as commands
from recollect.cli.group import COMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
SECTIONS = dict(re.findall(r"^##+ (.+)\n((?:(?!^##).*\n)*)", reference(), re.MULTILINE))


def all_commands() -> dict[str, click.Command]:
    top = {name: commands.get_command(click.Context(commands), name) for name in COMMANDS}
    nested = {
        f"{name} {part}": inner
        for name, command in top.items()
        if isinstance(command, click.Group)
        for part, inner in command.commands.items()
    }
    return {name: command for name, command in {**top, **nested}.items() if command}


def test_commands_page_is_up_to_date() -> None:
    stale = "docs/commands.md is stale; run python -m scripts.command_reference"
    assert PAGE.read_text(encoding="utf-8") == reference(), stale


def test_commands_page_has_every_command() -> None:
    assert set(SECTIONS) == set(all_commands())
    assert {"keys add", "keys list", "keys revoke"} <= set(SECTIONS)


@pytest.mark.parametrize(("name", "command"), all_commands().items())
def test_commands_page_has_every_option_with_its_help(name: str, command: click.Command) -> None:
    assert f"```text\nrecollect {name} " in SECTIONS[name]
    rows = re.findall(r"^\| (`-.*?`) \| (.+) \|$", SECTIONS[name], re.MULTILINE)
    options = [option for option in command.params if isinstance(option, click.Option)]
    assert len(rows) == len(options)
    for option, (names, meaning) in zip(options, rows, strict=True):
        assert re.findall(r"`(-[-a-z]+)", names) == [*option.opts, *option.secondary_opts]
        assert option.help
        assert len(meaning) >= len(option.help)
        if option.envvar:
            assert f"`{option.envvar}`" in meaning


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("search", "| `-k`, `--top-k N` | Maximum number of hits. From 0 to 100,000. Default: `10`. |"),
        ("search", "| `--path PREFIX` | Only notes whose path starts with this. |"),
        ("search", "| `--rerank`, `--no-rerank` | Rerank the best hits, if a reranker is configured. |"),
        ("keys add", "| `--right RIGHT` | The right of the key. One of `read`, `write`, `admin`. Default: `read`. |"),
        ("keys list", "recollect keys add creates it. Required. Environment: `RECOLLECT_KEYS`. |"),
        ("eval", "| `--preset NAME\\|FILE` | A preset: a name or a TOML file. Repeatable. Default: `default`. |"),
        ("mcp", "| `--read-only` | Offer only the tools that change nothing. |"),
    ],
)
def test_commands_page_option_rows(name: str, row: str) -> None:
    assert f"{row}\n" in SECTIONS[name]


def test_commands_page_escapes_markdown() -> None:
    assert r"tea\* for a prefix" in SECTIONS["search"]
    assert r"`--preset NAME\|FILE`" in SECTIONS["search"]


def test_commands_page_links() -> None:
    guide = (PAGE.parent / "command-line.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(#([^)]+)\)", reference())) == set(COMMANDS)
    for name in COMMANDS:
        assert f"](command-line.md#{name})" in reference()
        assert f"\n## {name}\n" in guide
