"""What reaches a terminal: text without control characters, lines on standard error, JSON, and rich's console."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "complain",
    "console",
    "is_quiet",
    "line",
    "page",
    "print_json",
    "say",
    "say_aside",
    "size",
    "styled",
    "warn",
]

_HARMFUL = "\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Control characters, lone surrogates, and the marks that turn the direction of text."""
_NOT_ON_A_PAGE = re.compile(f"[{_HARMFUL}\x0b\x0c\r]")
_NOT_IN_A_LINE = re.compile(f"[{_HARMFUL}]")
_BREAKS = re.compile("[\t\n\x0b\x0c\r\u2028\u2029]")

UNBROKEN = 100_000
"""The width where nothing has one: in a pipe or a file, lines are as long as they are."""


def line(text: str) -> str:
    r"""Return ``text`` as one line that is fit for a terminal, character for character, so that spans still fit.

    >>> line("green\ntea\x1b[31m")
    'green tea�[31m'
    """
    return _NOT_IN_A_LINE.sub("�", _BREAKS.sub(" ", text))


def page(text: str) -> str:
    r"""Return ``text`` fit for a terminal, with its line breaks and tabs.

    >>> page("green\r\ntea\x07")
    'green\ntea�'
    """
    return _NOT_ON_A_PAGE.sub("�", text.replace("\r\n", "\n"))


def is_quiet() -> bool:
    """Return whether the command that is running was told to be quiet."""
    context = click.get_current_context(silent=True)
    return bool(context and context.params.get("quiet"))


def say(message: str) -> None:
    """Print a line for a person; a quiet command does not."""
    if not is_quiet():
        click.echo(line(message))


def say_aside(message: str) -> None:
    """Print a line for a person on standard error, where it is not taken for data; a quiet command does not."""
    if not is_quiet():
        click.echo(line(message), err=True)


def warn(message: str) -> None:
    """Print a warning in one line on standard error; a quiet command does not."""
    if not is_quiet():
        _tell("warning", "yellow", message)


def complain(message: str) -> None:
    """Print an error in one line on standard error."""
    _tell("error", "red", message)


def print_json(data: Any) -> None:
    """Print data as JSON; where the output cannot hold every character, they are escaped, not lost."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    click.echo(json.dumps(data, indent=2, ensure_ascii=encoding != "utf8"))


def styled(text: str, **style: Any) -> str:
    """Return ``text`` in a style, unless NO_COLOR asks for none; click takes styles away where there is no terminal."""
    return text if os.environ.get("NO_COLOR") else click.style(text, **style)


def size(count: int) -> str:
    """Return a number of bytes for a person.

    >>> size(999), size(1_056_768)
    ('999 B', '1.1 MB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} B"


def console() -> Console:
    """Return a console for standard output that draws text as it is: no markup, no colour but in a terminal."""
    from rich.console import Console  # noqa: PLC0415 (heavy: only who draws pays for it)

    class PipedConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # it is for the command to say how it ends

    made = PipedConsole(highlight=False, markup=False, emoji=False)
    if not made.is_terminal:
        made.width = UNBROKEN
    return made


def _tell(kind: str, colour: str, message: str) -> None:
    shown = " ".join(line(message).split())
    click.echo(f"{styled(f'{kind}:', fg=colour, bold=True)} {shown}", err=True)
