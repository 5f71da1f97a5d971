"""Every command, argument and option is in docs/commands.md, which is as the code writes it."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import click
import pytest

from recollect.cli import recollect as commands
from recollect.cli.group import COMMANDS
from recollect.cli.reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
SECTIONS = dict(re.findall(r"^##+ (.+)\n((?:(?!^##).*\n)*)", reference(), re.MULTILINE))


def all_commands() -> dict[str, click.Command]:
    found = {name: commands.get_command(click.Context(commands), name) for name in COMMANDS}
    inner = {
        f"{name} {part}": each
        for name, command in found.items()
        if isinstance(command, click.Group)
        for part, each in command.commands.items()
    }
    return {name: command for name, command in {**found, **inner}.items() if command}


def test_the_page_is_as_the_code_writes_it() -> None:
    stale = "docs/commands.md is stale: python -m recollect.cli.reference > docs/commands.md"
    assert PAGE.read_text(encoding="utf-8") == reference(), stale


def test_it_can_be_written_by_a_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "recollect.cli.reference")
    runpy.run_module("recollect.cli.reference", run_name="__main__")
    assert capsys.readouterr().out == reference()


def test_it_has_the_commands_and_no_others() -> None:
    assert set(SECTIONS) == set(all_commands())
    assert {"keys add", "keys list", "keys revoke"} <= set(SECTIONS)


@pytest.mark.parametrize(("name", "command"), all_commands().items())
def test_every_option_is_there_and_says_what_it_is(name: str, command: click.Command) -> None:
    assert f"```text\nrecollect {name} " in SECTIONS[name]
    rows = re.findall(r"^\| (`-.*?`) \| (.+) \|$", SECTIONS[name], re.MULTILINE)
    options = [each for each in command.params if isinstance(each, click.Option)]
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
        ("search", "| `-k`, `--top-k N` | How many to show. From 1 to 100,000. By default `10`. |"),
        ("search", "| `--path PREFIX` | Only notes whose path begins so. |"),
        ("search", "| `--rerank`, `--no-rerank` | Whether a reranker reads the best again, if there is one. |"),
        ("keys add", "| `--right RIGHT` | What it may do there. One of `read`, `write`, `admin`. By default `read`. |"),
        ("keys list", "recollect keys add makes it. Required. Environment: `RECOLLECT_KEYS`. |"),
        ("eval", "can be given several times. By default `default`. |"),
        ("tune", "| `--folds N` | In how many parts the questions are held out. At least 2. By default `5`. |"),
        ("mcp", "| `--read-only` | Without `--http`: offer only the tools that change nothing. |"),
        ("presets", "| `--toml` | Print NAME as TOML, to begin one's own from. |"),
    ],
)
def test_how_options_are_written(name: str, row: str) -> None:
    assert f"{row}\n" in SECTIONS[name]


def test_what_markdown_would_take_for_its_own_is_escaped() -> None:
    assert r"tea\* for a prefix" in SECTIONS["search"]
    assert r"`--preset NAME\|FILE`" in SECTIONS["search"]


def test_links_lead_to_the_parts_of_this_page_and_of_the_guide() -> None:
    guide = (PAGE.parent / "command-line.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(#([^)]+)\)", reference())) == set(COMMANDS)
    for name in COMMANDS:
        assert f"](command-line.md#{name})" in reference()
        assert f"\n## {name}\n" in guide
