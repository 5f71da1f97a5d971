"""``recollect delete``: delete notes."""

from __future__ import annotations

import sys

import click

from recollect.cli import memories, options, terminal


@click.command()
@click.argument("keys", nargs=-1, required=True, metavar="KEY...")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@options.namespace()
@options.memory
@click.pass_context
def delete(
    context: click.Context, /, *, keys: tuple[str, ...], yes: bool, namespace: str | None, db: str, as_json: bool
) -> None:
    """Delete notes by id or path.

    Their vectors and links are deleted, too. In a terminal, asks for confirmation before it deletes more than one. The
    exit code is 1 if a note does not exist.
    """
    with memories.open_existing(db, "none") as memory:
        existing = [key for key in dict.fromkeys(keys) if memory.get(key, namespace=namespace)]
        for key in dict.fromkeys(keys):
            if key not in existing:
                terminal.print_error(f"there is no note {key!r} in namespace {namespace or 'default'!r}")
        ask = len(existing) > 1 and not yes and sys.stdin.isatty()
        if ask and not click.confirm(f"Delete {len(existing)} notes?", err=True):
            raise click.ClickException("nothing was deleted")
        deleted = memory.delete(*existing, namespace=namespace)
    if as_json:
        terminal.print_json({"deleted": deleted})
    else:
        terminal.print_message(f"deleted {terminal.count(deleted, 'note')}")
    if len(existing) < len(dict.fromkeys(keys)):
        context.exit(1)
