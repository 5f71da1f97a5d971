"""``recollect add``: store one note."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Any

import click

from recollect.cli import opening, options, terminal

__all__ = ["command"]


@click.command("add")
@click.argument("text", nargs=-1)
@click.option("--path", metavar="PATH", help="The note's path; a note that has it already is updated.")
@click.option(
    "--id", "identifier", metavar="ID", help="The note's id, made if not given; a note that has it already is updated."
)
@click.option("--title", metavar="TEXT", help="The note's title.")
@click.option("--summary", metavar="TEXT", help="What it says, in a sentence.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag; can be given several times.")
@click.option(
    "--importance",
    type=float,
    metavar="NUMBER",
    help="From 0 to 1; 0.5 in a new note. "
    "Used by the presets memini and weighted-graph; the default preset does not use it.",
)
@click.option("--session", metavar="NAME", help="The conversation or document that it belongs to.")
@click.option("--position", type=int, metavar="NUMBER", help="Its place in the session, from 0.")
@click.option(
    "--created-at",
    callback=options.parsed_date,
    metavar="DATE",
    help="When it was made, in ISO 8601; now if not given.",
)
@click.option(
    "--expires",
    "expires_at",
    callback=options.parsed_expiry,
    metavar="WHEN",
    help="When it is forgotten: a date in ISO 8601, from its beginning in UTC on, "
    "or 12h, 30d or 8w from now; never keeps a note that would have expired.",
)
@click.option(
    "--link",
    "links",
    metavar="KIND=TARGET",
    multiple=True,
    callback=options.parsed_pairs,
    help="A link to a note by path, id or name; a TARGET alone is related. Can be given several times.",
)
@click.option(
    "--supersedes",
    metavar="KEY",
    multiple=True,
    help="A note that this one replaces, by id or path; it takes that note's "
    "place in searches. Can be given several times.",
)
@click.option(
    "--meta",
    "metadata",
    callback=options.parsed_values,
    metavar="KEY=VALUE",
    multiple=True,
    help="A key of the metadata; the value is JSON, or else text. Can be given several times.",
)
@options.namespace()
@options.embedder
@options.secrets
@options.database
@options.as_json
@options.quiet
def command(
    *,
    text: tuple[str, ...],
    identifier: str | None,
    tags: tuple[str, ...],
    created_at: datetime | None,
    metadata: dict[str, Any],
    supersedes: tuple[str, ...],
    embedder: str,
    secrets: str,
    db: str,
    as_json: bool,
    quiet: bool,
    **fields: Any,
) -> None:
    """Store a note.

    Its text is TEXT, or what standard input holds if TEXT is - or missing.
    A note with the same --path or --id is updated: what is not given stays as it is.
    """
    content = _content(text, is_update=bool(identifier or fields["path"]))
    with opening.open_or_create(db, embedder, secrets) as memory:
        opening.warn_if_lexical_only(memory)
        note = memory.add(
            content,
            id=identifier,
            tags=tags or None,
            created_at=created_at,
            metadata=metadata or None,
            supersedes=supersedes or None,
            **fields,
        )
    if as_json:
        terminal.print_json(note.to_dict())
    elif quiet:
        click.echo(note.id)
    else:
        terminal.say(f"stored {note.path} ({note.id})" if note.path else f"stored {note.id}")


def _content(words: tuple[str, ...], *, is_update: bool) -> str | None:
    """Return the text of the note; ``None`` where only other fields of a note are to change."""
    if words and words != ("-",):
        return " ".join(words)
    if words or not sys.stdin.isatty():
        content = _piped()
        if words or content:
            return content
    if is_update:
        return None
    raise click.UsageError("there is no text: give it as TEXT, or pipe it in")


def _piped() -> str:
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"standard input is not text in UTF-8: {error.reason} at byte {error.start}") from None
    return text.rstrip("\r\n")
