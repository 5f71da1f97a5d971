"""``recollect reindex``: embed what has no vector of the model in use."""

from __future__ import annotations

import click

from recollect.cli import opening, options, terminal
from recollect.cli.group import INTERRUPTED

__all__ = ["command"]


@click.command("reindex")
@options.embedder
@options.database
@options.as_json
@options.quiet
@click.pass_context
def command(context: click.Context, /, *, embedder: str, db: str, as_json: bool, quiet: bool) -> None:
    """Embed the notes that have no vector of the embedder's model.

    Until every note has one, searches use the vectors of the model before. Ctrl-C loses nothing: what is embedded
    stays, and the next reindex goes on from there.
    """
    with opening.open_existing(db, embedder) as memory:
        try:
            count = memory.reindex(progress=opening.silence_if(quiet))
        except KeyboardInterrupt:
            terminal.complain("interrupted; what is embedded stays, and reindex goes on from there")
            context.exit(INTERRUPTED)
    if as_json:
        terminal.print_json({"embedded": count})
    elif count:
        terminal.say(f"embedded {count} {'note' if count == 1 else 'notes'}")
    else:
        terminal.say("every note has its vector already")
