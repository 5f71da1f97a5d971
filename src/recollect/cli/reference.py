"""The reference of all commands, from the code: ``python -m recollect.cli.reference > docs/commands.md``."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import click

from recollect.cli import recollect
from recollect.cli.group import COMMANDS

__all__ = ["reference"]

_HEAD = """\
# Commands

Every command of `recollect` with its options, written from the code by `python -m recollect.cli.reference`; it is what
`recollect COMMAND --help` says. How the commands work together, with examples: [The command line](command-line.md).

`-h` or `--help` shows the options of a command, `recollect --version` the version. Where an environment variable is
named, it says for all commands what the option says for one.

| command | |
|---|---|
"""


def reference() -> str:
    """Return the page.

    >>> reference().splitlines()[0]
    '# Commands'
    """
    return "".join(_page())


def _page() -> Iterator[str]:
    context = click.Context(recollect, info_name="recollect")
    commands = {name: command for name in COMMANDS if (command := recollect.get_command(context, name))}
    yield _HEAD
    for name, command in commands.items():
        yield f"| [{name}](#{name}) | {command.get_short_help_str(limit=200).rstrip('.')} |\n"
    for name, command in commands.items():
        inside = click.Context(command, parent=context, info_name=name)
        yield f"\n## {name}\n"
        yield from _told(command, inside)
        if isinstance(command, click.Group):
            for part, inner in command.commands.items():
                yield f"\n### {name} {part}\n"
                yield from _told(inner, click.Context(inner, parent=inside, info_name=part))
        yield f"\n[Examples and more](command-line.md#{name})\n"


def _told(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield how a command is called, what it does and what may be said to it."""
    usage = command.get_usage(context).removeprefix("Usage: ")
    yield f"\n```text\n{' '.join(usage.split())}\n```\n"
    for paragraph in (command.help or "").split("\n\n"):
        yield f"\n{_markdown(paragraph)}\n"
    options = [each for each in command.params if isinstance(each, click.Option)]
    if options:
        yield "\n| option | |\n|---|---|\n"
        for option in options:
            yield f"| {_names(option)} | {' '.join(_meaning(option))} |\n"


def _names(option: click.Option) -> str:
    value = "" if option.is_flag else f" {_value(option)}"
    *others, last = option.opts
    return ", ".join(f"`{name}`" for name in (*others, f"{last}{value}", *option.secondary_opts)).replace("|", r"\|")


def _value(option: click.Option) -> str:
    """Return the word that stands for the value: its own, N for a number, or else the option's name."""
    if option.metavar:
        return option.metavar
    number = isinstance(option.type, click.types.IntParamType | click.types.FloatParamType)
    return "N" if number else option.opts[-1].lstrip("-").upper()


def _meaning(option: click.Option) -> Iterator[str]:
    yield _markdown(option.help or "").replace("|", r"\|")
    if option.required:
        yield "Required."
    kind = option.type
    if isinstance(kind, click.Choice):
        yield f"One of {', '.join(f'`{choice}`' for choice in kind.choices)}."
    if isinstance(kind, click.IntRange | click.FloatRange):
        yield f"At least {kind.min:g}." if kind.max is None else f"From {kind.min:g} to {kind.max:,g}."
    if option.show_default:
        told = option.default if isinstance(option.default, tuple) else (option.default,)
        yield f"By default {', '.join(f'`{each}`' for each in told)}."
    if option.envvar:
        yield f"Environment: `{option.envvar}`."


def _markdown(text: str) -> str:
    """Return the words of help as Markdown: flags as code, and no sign that Markdown would take for its own."""
    escaped = re.sub(r"([*<])", r"\\\1", " ".join(text.split()))
    return re.sub(r"(?<![\w`-])(--?[a-z][a-z-]*)", r"`\1`", escaped)


if __name__ == "__main__":
    sys.stdout.write(reference())
