"""The command group: loads commands on demand and turns errors into one line and an exit code."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

from recollect.cli import terminal
from recollect.errors import ArgumentError, RecollectError, RecollectWarning

COMMANDS = {
    "add": "notes",
    "ingest": "ingest",
    "search": "search",
    "explain": "search",
    "compare": "compare",
    "eval": "eval",
    "questions": "questions",
    "tune": "tune",
    "presets": "presets",
    "models": "models",
    "get": "notes",
    "delete": "notes",
    "export": "transfer",
    "import": "transfer",
    "copy": "copy",
    "reindex": "maintenance",
    "backup": "maintenance",
    "stats": "maintenance",
    "doctor": "maintenance",
    "serve": "serve",
    "keys": "keys",
    "mcp": "serve",
    "demo": "demo",
}
"""The commands in the order of the help, and the module of each."""

INTERRUPTED, PIPE_CLOSED = 130, 141
"""Exit codes as in shells: 128 + SIGINT (2) after Ctrl-C; 128 + SIGPIPE (13) if the reader of a pipe ends first."""


class CommandGroup(click.Group):
    """A group that imports the module of a command only when the command is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        """Return the names of the commands in the order of ``COMMANDS``."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (click's signature)
        """Import a command; return ``None`` if there is no command with this name."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"recollect.cli.{COMMANDS[cmd_name]}")
        attribute = f"{cmd_name}_" if cmd_name in ("import", "eval") else cmd_name  # a keyword and a built-in function
        command: click.Command = getattr(module, attribute)
        return command

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run the command line and end the process with its exit code."""
        _prepare_streams()
        options = {**extra, "standalone_mode": False}  # click raises errors instead of printing them
        code = _run_for_exit_code(lambda: super(CommandGroup, self).main(*args, **options))
        try:
            sys.stdout.flush()
        except OSError:
            _discard_stdout()
        sys.exit(code)

    def invoke(self, ctx: click.Context) -> int:
        """Run the command; return the exit code."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", RecollectWarning)
            show_other_warning = warnings.showwarning

            def show_warning(message: Warning | str, category: type[Warning], *args: Any, **kwargs: Any) -> None:
                if issubclass(category, RecollectWarning):
                    terminal.warn(str(message))
                else:
                    show_other_warning(message, category, *args, **kwargs)

            warnings.showwarning = show_warning

            def run() -> object:
                result = super(CommandGroup, self).invoke(ctx)
                sys.stdout.flush()
                return result

            # Errors are handled here, before click handles interrupts and closed pipes in its own way.
            return _run_for_exit_code(run)


def _run_for_exit_code(run: Callable[[], object]) -> int:
    """Call ``run`` and return the exit code; if ``run`` raises an error, print it in one line."""
    try:
        code = run()
    except BrokenPipeError:
        _discard_stdout()
        return PIPE_CLOSED
    except (KeyboardInterrupt, click.Abort):
        terminal.print_error("interrupted")
        return INTERRUPTED
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "recollect"
        terminal.print_error(f"{error.format_message().rstrip('.')}; see {command} --help")
        return error.exit_code
    except click.ClickException as error:
        terminal.print_error(error.format_message())
        return error.exit_code
    except RecollectError as error:
        terminal.print_error(str(error))
        return 2 if isinstance(error, ArgumentError) else 1
    except OSError as error:
        message = error.strerror or str(error)
        terminal.print_error(f"{error.filename}: {message}" if error.filename else message)
        return 1
    except Exception as error:
        if os.environ.get("RECOLLECT_DEBUG"):
            raise
        terminal.print_error(f"a bug in Recollect: {error!r}; RECOLLECT_DEBUG=1 shows the traceback")
        return 1
    return code if isinstance(code, int) else 0


def _prepare_streams() -> None:
    """Replace streams that the shell closed, and let output replace characters that the terminal cannot show."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 (it stays open until the process ends)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode gets question marks, not an error


def _discard_stdout() -> None:
    """Redirect standard output to the null device, so that Python's flush at exit does not fail."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)
