"""Write docs/commands.md, the reference of all commands: ``python -m scripts.command_reference``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from recollect.cli import recollect
from recollect.cli.group import COMMANDS

__all__ = ["reference"]

_HEAD = """\
# Commands

Every command of `recollect` with its options, as `recollect COMMAND --help` prints them.
`python -m scripts.command_reference` writes this page from the code. Examples: [The command line](command-line.md).

`recollect --version` prints the version. An environment variable sets an option for all commands.

| command | description |
|---|---|
"""


def reference() -> str:
    """Return the text of docs/commands.md."""
    return "".join(_page())


def _page() -> Iterator[str]:
    context = click.Context(recollect, info_name="recollect")
    commands = {name: command for name in COMMANDS if (command := recollect.get_command(context, name))}
    yield _HEAD
    for name, command in commands.items():
        yield f"| [{name}](#{name}) | {command.get_short_help_str(limit=200).rstrip('.')} |\n"
    for name, command in commands.items():
        command_context = click.Context(command, parent=context, info_name=name)
        yield f"\n## {name}\n"
        yield from _command(command, command_context)
        if isinstance(command, click.Group):
            for sub_name, subcommand in command.commands.items():
                yield f"\n### {name} {sub_name}\n"
                yield from _command(subcommand, click.Context(subcommand, parent=command_context, info_name=sub_name))
        yield f"\n[Examples and more](command-line.md#{name})\n"


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the usage, the description and the options of a command."""
    usage = command.get_usage(context).removeprefix("Usage: ")
    yield f"\n```text\n{' '.join(usage.split())}\n```\n"
    for paragraph in (command.help or "").split("\n\n"):
        yield f"\n{_markdown(paragraph)}\n"
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    if options:
        yield "\n| option | description |\n|---|---|\n"
        for option in options:
            yield f"| {_names(option)} | {' '.join(_description(option))} |\n"


def _names(option: click.Option) -> str:
    value = "" if option.is_flag else f" {_placeholder(option)}"
    *others, last = option.opts
    return ", ".join(f"`{name}`" for name in (*others, f"{last}{value}", *option.secondary_opts)).replace("|", r"\|")


def _placeholder(option: click.Option) -> str:
    """Return the placeholder of an option's value: the metavar, N for a number, or else the option's name."""
    if option.metavar:
        return option.metavar
    is_number = isinstance(option.type, click.types.IntParamType | click.types.FloatParamType)
    return "N" if is_number else option.opts[-1].lstrip("-").upper()


def _description(option: click.Option) -> Iterator[str]:
    yield _markdown(option.help or "").replace("|", r"\|")
    if option.required:
        yield "Required."
    value_type = option.type
    if isinstance(value_type, click.Choice):
        yield f"One of {', '.join(f'`{choice}`' for choice in value_type.choices)}."
    if isinstance(value_type, click.IntRange | click.FloatRange):
        low, high = value_type.min, value_type.max
        yield f"At least {low:g}." if high is None else f"From {low:g} to {high:,g}."
    default = option.to_info_dict()["default"]
    if not option.is_flag and default not in (None, "", ()):
        defaults = default if isinstance(default, tuple) else (default,)
        yield f"Default: {', '.join(f'`{value}`' for value in defaults)}."
    if option.envvar:
        yield f"Environment: `{option.envvar}`."


def _markdown(text: str) -> str:
    """Return a help text as Markdown: option names as code, special characters escaped."""
    escaped = re.sub(r"([*<])", r"\\\1", " ".join(text.split()))
    # An option such as -k or --top-k that is not part of a word or of code.
    return re.sub(r"(?<![\w`-])(--?[a-z][a-z-]*)", r"`\1`", escaped)


if __name__ == "__main__":
    Path("docs/commands.md").write_text(reference(), encoding="utf-8")
