"""Every command and every option is in ``docs/command-line.md``, and its examples are true."""

from __future__ import annotations

import re
import shlex
import shutil
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path

import click
import pytest

from recollect.cli import recollect as commands
from recollect.cli.group import COMMANDS
from recollect.embedders.minilm import why_no_minilm
from tests.cli.conftest import Run
from tests.evaluation.samples import KITCHEN

PAGE = (Path(__file__).parent.parent.parent / "docs" / "command-line.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)*)", PAGE, re.MULTILINE))


def command(name: str) -> click.Command:
    found = commands.get_command(click.Context(commands), name)
    assert found
    return found


ASKING = ("explain", "compare")
"""The commands that have the options of search, which are told there."""
WITHOUT_MEMORY = ("presets", "completion", "keys")


def parameters(name: str) -> list[click.Parameter]:
    """Return what a command takes; of a group, what the commands in it take."""
    found = command(name)
    inner = found.commands.values() if isinstance(found, click.Group) else ()
    return [parameter for each in (found, *inner) for parameter in each.params]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_documented(name: str) -> None:
    assert f"(#{name})" in PAGE
    told = SECTIONS[name] + SECTIONS["Every command"] + (SECTIONS["search"] if name in ASKING else "")
    told += SECTIONS["eval"] if name == "compare" else ""
    for parameter in parameters(name):
        if isinstance(parameter, click.Option):
            for flag in (*parameter.opts, *parameter.secondary_opts):
                assert re.search(rf"`{flag}[ `]", told), f"{name} {flag} is not documented"
    assert f"`recollect {name}" in SECTIONS[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_is_documented_that_is_not_there(name: str) -> None:
    flags = {flag for option in parameters(name) for flag in (*option.opts, *option.secondary_opts)}
    listed = re.findall(r"^\| (`-.*?`) \|", SECTIONS[name], re.MULTILINE)
    for flag in re.findall(r"`(-[-a-z]+)", " ".join(listed)):
        assert flag in flags, f"{name} has no {flag}"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in WITHOUT_MEMORY])
def test_every_command_has_a_memory(name: str) -> None:
    flags = {flag for parameter in parameters(name) for flag in parameter.opts}
    assert {"--db", "--quiet"} <= flags
    assert "--json" in flags or name in ("export", "mcp")


def test_the_examples_are_true(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    if why_no_minilm():
        pytest.skip("the examples are of MiniLM, which is not installed")
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "auto")
    shutil.copytree(KITCHEN, "kitchen")
    Path("vault").mkdir()
    Path("vault/milk.md").write_text("Oat milk.")
    Path("vault/kettle.md").write_text("The kettle squeaks.")
    for example in re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        for line, expected in re.findall(r"^\$ recollect (.*)\n((?:(?!^\$ ).*\n)*)", example, re.MULTILINE):
            shown = run(*shlex.split(line)).output.rstrip() + "\n"
            same = OutputChecker().check_output(without_measures(expected), without_measures(shown), ELLIPSIS)
            assert same, f"$ recollect {line}\n{shown}"


def without_measures(text: str) -> str:
    """Return ``text`` without the numbers of a model, whose last digits are another processor's affair, and times."""
    text = re.sub(r"raw [\d.e-]+ *", "raw ", text)
    text = re.sub(r"(?m)^    \d\.\d\d .{8} ", "    sure ", text)
    text = re.sub(r"confidence [\d.]+", "confidence", text)
    return re.sub(r"(?m)^(words|meaning|fusion|rerank|total) [█▏▎▍▌▋▊▉ ]+(–|[\d.]+ ms)", r"\1", text)
