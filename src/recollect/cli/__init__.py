"""The command line: one command a file, thin. Each parses, calls the library and prints.

Only click is loaded before a command runs: help, the version and completion come at once.
"""

from __future__ import annotations

import click

from recollect import __version__
from recollect.cli.group import Commands

__all__ = ["main", "recollect"]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, message="recollect %(version)s")
def recollect() -> None:
    """Hybrid memory retrieval for agents, with the reasons for every result.

    A memory is one file, or a database on a server, named by --db or RECOLLECT_DB. Exit codes: 0 done, 1 nothing found
    or something failed, 2 wrong use.
    """


def main() -> None:
    """Run the command line; the entry point of the package."""
    recollect(prog_name="recollect")
