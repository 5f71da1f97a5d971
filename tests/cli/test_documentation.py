"""``docs/command-line.md`` tells of every command and of no option that is not there, and its examples are true."""

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
from tests.requirements import require_minilm

PAGE = (Path(__file__).parent.parent.parent / "docs" / "command-line.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)*)", PAGE, re.MULTILINE))


def command(name: str) -> click.Command:
    found = commands.get_command(click.Context(commands), name)
    assert found
    return found


# The last of these names two memories, neither of them by --db.
WITHOUT_MEMORY = ("presets", "completion", "keys", "copy")


def parameters(name: str) -> list[click.Parameter]:
    """Return what a command takes; of a group, what the commands in it take."""
    found = command(name)
    inner = found.commands.values() if isinstance(found, click.Group) else ()
    return [parameter for each in (found, *inner) for parameter in each.params]


@pytest.mark.parametrize("name", COMMANDS)
def test_page_describes_every_command(name: str) -> None:
    assert f"(#{name})" in PAGE
    assert re.search(rf"\[`recollect {name}[^`]*`\]\(commands\.md#{name}\)", SECTIONS[name])


def test_page_names_no_unknown_option() -> None:
    flags = {flag for name in COMMANDS for each in parameters(name) for flag in (*each.opts, *each.secondary_opts)}
    told = set(re.findall(r"`(--[a-z][-a-z]*)", PAGE))
    assert told <= flags | {"--help", "--version"}
    assert len(told) > 10


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in WITHOUT_MEMORY])
def test_every_command_has_db_and_quiet(name: str) -> None:
    flags = {flag for parameter in parameters(name) for flag in parameter.opts}
    assert {"--db", "--quiet"} <= flags
    assert "--json" in flags or name in ("export", "mcp")


def test_page_examples_are_up_to_date(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    require_minilm()
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "auto")
    shutil.copytree(KITCHEN, "kitchen")
    Path("vault").mkdir()
    Path("vault/milk.md").write_text("Oat milk.")
    Path("vault/kettle.md").write_text("The kettle squeaks.")
    for example in re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        for line, expected in re.findall(r"^\$ recollect (.*)\n((?:(?!^\$ ).*\n)*)", example, re.MULTILINE):
            shown = run(*shlex.split(line)).output
            assert same(expected, shown), f"$ recollect {line}\n{shown}"
