"""``recollect backup``: a consistent copy of a memory."""

from __future__ import annotations

import click

from recollect.cli import opening, options, terminal

__all__ = ["command"]


@click.command("backup")
@click.argument("target", type=click.Path(dir_okay=False))
@click.option("--force", is_flag=True, help="Replace TARGET if it exists.")
@options.database
@options.as_json
@options.quiet
def command(
    *,
    target: str,
    force: bool,
    db: str,
    as_json: bool,
    quiet: bool,  # noqa: ARG001 (the terminal asks for it)
) -> None:
    """Write a compact, consistent copy.

    Others may go on reading and writing meanwhile. TARGET appears when it is complete.
    """
    with opening.open_for_reading(db) as memory:
        path = opening.free_target(target, force=force)
        memory.backup(path, overwrite=force)
    size = path.stat().st_size
    if as_json:
        terminal.print_json({"target": str(path), "bytes": size})
    else:
        terminal.say(f"backed up to {path} ({terminal.size(size)})")
