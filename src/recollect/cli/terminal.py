"""Output of commands: sanitised text, messages and errors, JSON, and rich's console."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

_UNSAFE = "\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Control characters, lone surrogates, and the marks that change the direction of text."""
_UNSAFE_IN_TEXT = re.compile(f"[{_UNSAFE}\x0b\x0c\r]")
_UNSAFE_IN_LINE = re.compile(f"[{_UNSAFE}]")  # applied after line breaks have become spaces
_LINE_BREAKS = re.compile("[\t\n\x0b\x0c\r\u2028\u2029]")

PIPE_WIDTH = 100_000  # the console's width for a pipe or a file: lines are shorter, so that none is wrapped


def sanitise_line(text: str) -> str:
    """Return ``text`` as one line that is safe for a terminal. Its length stays, so that highlights are still right."""
    return _UNSAFE_IN_LINE.sub("�", _LINE_BREAKS.sub(" ", text))


def sanitise(text: str) -> str:
    """Return ``text`` without characters that could control a terminal; line breaks and tabs stay."""
    return _UNSAFE_IN_TEXT.sub("�", text.replace("\r\n", "\n"))


def is_quiet() -> bool:
    """Return whether the running command has --quiet."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get("recollect.quiet"))


def print_message(message: str) -> None:
    """Print a line on standard output, unless the command is quiet."""
    if not is_quiet():
        click.echo(sanitise_line(message))


def print_info(message: str) -> None:
    """Print a line on standard error, where it does not mix with data, unless the command is quiet."""
    if not is_quiet():
        click.echo(sanitise_line(message), err=True)


def warn(message: str) -> None:
    """Print a warning in one line on standard error, unless the command is quiet."""
    if not is_quiet():
        _print_labelled("warning", "yellow", message)


def print_error(message: str) -> None:
    """Print an error in one line on standard error."""
    _print_labelled("error", "red", message)


def _print_labelled(label: str, colour: str, message: str) -> None:
    text = " ".join(sanitise_line(message).split())
    click.echo(f"{style(f'{label}:', fg=colour, bold=True)} {text}", err=True)


def print_field(name: str, value: Any) -> None:
    """Print a value after its name, which is padded to the longest one; print nothing if the value is empty."""
    if value not in (None, ""):
        click.echo(f"{style(f'{name:<17}', dim=True)}{sanitise_line(str(value))}")


def print_json(data: Any) -> None:
    """Print data as JSON; if standard output is not UTF-8, characters that are not ASCII are escaped."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    click.echo(json.dumps(data, indent=2, ensure_ascii=encoding != "utf8"))


def style(text: str, **attributes: Any) -> str:
    """Return ``text`` with a style, unless NO_COLOR is set; click removes styles where there is no terminal."""
    return text if os.environ.get("NO_COLOR") else click.style(text, **attributes)


def count(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 note`` or ``1,200 notes``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def console() -> Console:
    """Return a console for standard output; it does not parse text as markup, and uses colour only in a terminal."""
    from rich.console import Console  # noqa: PLC0415 (heavy)

    class PipeConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # for CommandGroup, which chooses the exit code; rich would exit at once

    console = PipeConsole(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console
