"""The command ``recollect``. Each subcommand parses its arguments, calls the library and prints the result.

The subcommands are in the other modules. They import numpy, SQLite, rich and most of the library only when they run,
so that help, the version and completion are immediate.
"""

from __future__ import annotations

import click

from recollect import __version__
from recollect.cli.group import CommandGroup

__all__ = ["main", "recollect"]

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110, "show_default": True}


@click.group(cls=CommandGroup, context_settings=CONTEXT_SETTINGS)
@click.version_option(__version__, message="recollect %(version)s")
def recollect() -> None:
    """Hybrid memory retrieval for agents, with the reasons for every result.

    A memory is a file or a database on a server, chosen by --db or RECOLLECT_DB. Exit codes: 0 success, 1 nothing found
    or a failure, 2 wrong use.
    """


def main() -> None:
    """Run the command line; the entry point of the package."""
    recollect(prog_name="recollect")
