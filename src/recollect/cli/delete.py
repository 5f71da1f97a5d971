"""``recollect delete``: forget notes."""

from __future__ import annotations

import sys

import click

from recollect.cli import opening, options, terminal

__all__ = ["command"]


@click.command("delete")
@click.argument("keys", nargs=-1, required=True, metavar="KEY...")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@options.namespace()
@options.database
@options.as_json
@options.quiet
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    keys: tuple[str, ...],
    yes: bool,
    namespace: str | None,
    db: str,
    as_json: bool,
    quiet: bool,  # noqa: ARG001 (the terminal asks for it)
) -> None:
    """Delete notes by id or path.

    Their words, vectors and links go too. Asks before it deletes more than one, if there is somebody to ask. The exit
    code is 1 if a note was not there.
    """
    with opening.open_existing(db, "none") as memory:
        found = {key: memory.get(key, namespace=namespace) for key in keys}
        known = [key for key, note in found.items() if note]
        for key in (key for key, note in found.items() if note is None):
            terminal.complain(f"there is no note {key!r} in namespace {namespace or 'default'!r}")
        if (
            len(known) > 1
            and not yes
            and sys.stdin.isatty()
            and not click.confirm(f"Delete {len(known)} notes?", err=True)
        ):
            raise click.ClickException("nothing was deleted")
        deleted = memory.delete(*known, namespace=namespace)
    if as_json:
        terminal.print_json({"deleted": deleted})
    else:
        terminal.say(f"deleted {deleted} {'note' if deleted == 1 else 'notes'}")
    if len(known) < len(found):
        context.exit(1)
