"""The commands, each loaded when it is asked for, and the one place where errors become a line and an exit code."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, TextIO

import click

from recollect.cli import terminal
from recollect.errors import ArgumentError, RecollectError, RecollectWarning

__all__ = ["COMMANDS", "Commands"]

COMMANDS = {
    "add": "add",
    "ingest": "ingest",
    "search": "search",
    "explain": "explain",
    "compare": "compare",
    "eval": "eval",
    "questions": "questions",
    "tune": "tune",
    "presets": "presets",
    "get": "get",
    "delete": "delete",
    "export": "export",
    "import": "load",
    "copy": "copy",
    "reindex": "reindex",
    "backup": "backup",
    "stats": "stats",
    "doctor": "doctor",
    "serve": "serve",
    "keys": "keys",
    "mcp": "mcp",
    "demo": "demo",
    "completion": "completion",
}
"""The commands in the order in which help lists them, and the module that holds each."""

INTERRUPTED = 130
"""What shells report for a process that Ctrl-C ended."""
PIPE_CLOSED = 141
"""What shells report for a process whose reader went away."""


class Commands(click.Group):
    """A group whose commands are loaded one by one, and whose errors are one line on standard error."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (as above)
        """Load a command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"recollect.cli.{COMMANDS[cmd_name]}").command
        return command

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run and exit; what went wrong is told in one line."""
        _prepare_streams()
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            code = error.exit_code
        except click.UsageError as error:
            asked = error.ctx.command_path if error.ctx else "recollect"
            terminal.complain(f"{error.format_message().rstrip('.')}; see {asked} --help")
            code = error.exit_code
        except click.ClickException as error:
            terminal.complain(error.format_message())
            code = error.exit_code
        except OSError as error:
            terminal.complain(_message(error))
            code = 1
        try:
            sys.stdout.flush()
        except OSError:
            _let_go_of_stdout()
        sys.exit(code)

    def invoke(self, ctx: click.Context) -> int:
        """Run the command; each kind of error has its exit code."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", RecollectWarning)
            usual = warnings.showwarning

            def show(
                message: Warning | str,
                category: type[Warning],
                filename: str,
                lineno: int,
                file: TextIO | None = None,
                line: str | None = None,
            ) -> None:
                if issubclass(category, RecollectWarning):
                    terminal.warn(str(message))
                else:
                    usual(message, category, filename, lineno, file, line)

            warnings.showwarning = show
            return _exit_code(lambda: super(Commands, self).invoke(ctx))


def _exit_code(run: Callable[[], object]) -> int:
    try:
        run()
        sys.stdout.flush()
    except BrokenPipeError:
        _let_go_of_stdout()
        return PIPE_CLOSED
    except (KeyboardInterrupt, click.Abort):
        terminal.complain("interrupted")
        return INTERRUPTED
    except ArgumentError as error:
        terminal.complain(str(error))
        return 2
    except RecollectError as error:
        terminal.complain(str(error))
        return 1
    except OSError as error:
        terminal.complain(_message(error))
        return 1
    except (click.ClickException, click.exceptions.Exit):
        raise
    except Exception as error:
        if os.environ.get("RECOLLECT_DEBUG"):
            raise
        # A person at a terminal is not helped by a traceback; whoever wants it can have it.
        terminal.complain(f"a fault in Recollect: {error!r}; RECOLLECT_DEBUG=1 shows where")
        return 1
    return 0


def _message(error: OSError) -> str:
    said = error.strerror or str(error)
    return f"{error.filename}: {said}" if error.filename else said


def _prepare_streams() -> None:
    """Let no output fail for a character, and none for a stream that the shell closed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 (it stays open until the process ends)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode gets question marks, not an error


def _let_go_of_stdout() -> None:
    """Let Python's own last flush, when the process ends, go nowhere instead of failing again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
