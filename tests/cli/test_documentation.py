"""``docs/command-line.md`` describes every command and no unknown option, and its examples are up to date."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import click
import pytest

from recollect.cli import recollect as commands
from recollect.cli.group import COMMANDS
from tests.cli.conftest import Run
from tests.docs.session import same
from tests.evaluation.samples import KITCHEN
from tests.requirements import require_embedder

PAGE = (Path(__file__).parent.parent.parent / "docs" / "command-line.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)*)", PAGE, re.MULTILINE))


def command(name: str) -> click.Command:
    loaded = commands.get_command(click.Context(commands), name)
    assert loaded
    return loaded


WITHOUT_MEMORY = ("presets", "models", "keys", "copy")
"""Commands without --db; the last one has two memories as arguments."""


def parameters(name: str) -> list[click.Parameter]:
    """Return the parameters of a command, or of all commands of a group."""
    outer = command(name)
    inner = outer.commands.values() if isinstance(outer, click.Group) else ()
    return [parameter for item in (outer, *inner) for parameter in item.params]


@pytest.mark.parametrize("name", COMMANDS)
def test_page_describes_every_command(name: str) -> None:
    assert f"(#{name})" in PAGE
    assert re.search(rf"\[`recollect {name}[^`]*`\]\(commands\.md#{name}\)", SECTIONS[name])


def test_page_names_no_unknown_option() -> None:
    options = [option for name in COMMANDS for option in parameters(name)]
    flags = {flag for option in options for flag in (*option.opts, *option.secondary_opts)}
    described = set(re.findall(r"`(--[a-z][-a-z]*)", PAGE))
    assert described <= flags | {"--help", "--version"}
    assert len(described) > 10


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in WITHOUT_MEMORY])
def test_every_command_has_db_and_quiet(name: str) -> None:
    flags = {flag for parameter in parameters(name) for flag in parameter.opts}
    assert {"--db", "--quiet"} <= flags
    assert "--json" in flags or name in ("export", "mcp")


def test_page_examples_are_up_to_date(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    require_embedder()
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "auto")
    shutil.copytree(KITCHEN, "kitchen")
    Path("vault").mkdir()
    Path("vault/milk.md").write_text("Oat milk.")
    Path("vault/kettle.md").write_text("The kettle squeaks.")
    for example in re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        for line, expected in re.findall(r"^\$ recollect (.*)\n((?:(?!^\$ ).*\n)*)", example, re.MULTILINE):
            output = run(*shlex.split(line)).output
            assert same(expected, output), f"$ recollect {line}\n{output}"
