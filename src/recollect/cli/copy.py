"""``recollect copy``: a memory moves to another file or server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli import options, terminal
from recollect.cli.group import INTERRUPTED
from recollect.cli.pace import Pace, shown_pace
from recollect.errors import ArgumentError, RecollectError
from recollect.stores import is_url, redact_secrets

if TYPE_CHECKING:
    from recollect.stores.copying import Copied, Others
    from recollect.stores.verifying import Comparison

__all__ = ["command"]

PARTS = {
    "others": "looking at what is there",
    "notes": "copying notes",
    "documents": "copying documents",
    "comparing": "comparing notes",
    "searching": "comparing searches",
}
SHOWN = 10
"""How many differences are shown; JSON has more."""


@click.command("copy")
@click.argument("source")
@click.argument("target")
@click.option(
    "--namespace",
    "namespaces",
    multiple=True,
    metavar="NAME",
    help="Only this namespace; can be given several times. All if none is named.",
)
@click.option("--merge", is_flag=True, help="Keep what TARGET holds and SOURCE has not.")
@click.option("--mirror", is_flag=True, help="Delete from TARGET what SOURCE has not.")
@click.option(
    "--batch",
    type=click.IntRange(1),
    default=2000,
    show_default=True,
    metavar="N",
    help="How many notes to write in one transaction; fewer where they are long.",
)
@click.option("--verify/--no-verify", default=True, help="Whether to compare the two at the end.")
@click.option(
    "--sample",
    type=click.IntRange(0),
    default=50,
    show_default=True,
    metavar="N",
    help="How many notes to search for on both sides, by words and by vector.",
)
@options.as_json
@options.quiet
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    source: str,
    target: str,
    namespaces: tuple[str, ...],
    merge: bool,
    mirror: bool,
    batch: int,
    verify: bool,
    sample: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Copy a memory to another file or server.

    SOURCE is only read; TARGET is created where it is missing. Every note goes with its links, vectors and documents,
    in the same order, and nothing is embedded. Ctrl-C, or a server that goes away, loses nothing: the same command
    goes on where it was, and catches up with what changed since. A TARGET that holds what SOURCE has not is refused
    unless --merge or --mirror says what to do. The exit code is 1 if the two differ in the end.
    """
    from recollect.opening import copy  # noqa: PLC0415 (brings SQLite and numpy)

    if merge and mirror:
        raise click.UsageError("--merge keeps what --mirror deletes; give one of them")
    if not is_url(source) and not Path(source).expanduser().exists():
        raise click.UsageError(f"there is no memory at {source}")
    others: Others = "merge" if merge else "mirror" if mirror else "refuse"
    here, there = redact_secrets(source), redact_secrets(target)
    with shown_pace(PARTS, quiet=quiet) as pace:
        try:
            report = copy(
                source,
                target,
                namespaces=namespaces or None,
                others=others,
                batch=batch,
                verify=verify,
                sample=sample,
                progress=pace,
            )
        except KeyboardInterrupt:
            terminal.complain(f"interrupted; {_reached(pace, there)}, and the same command goes on from there")
            context.exit(INTERRUPTED)
        except (RecollectError, OSError) as error:
            if "notes" not in pace.reached:
                raise
            then = ", and the same command goes on from there"
            if isinstance(error, ArgumentError):  # a note that TARGET cannot hold is there the next time, too
                then = f"; change it in {here}, then copy again"
            raise RecollectError(f"{error}; {_reached(pace, there)}{then}") from error
    if as_json:
        terminal.print_json({"source": here, "target": there, **report.to_dict()})
    else:
        terminal.say(_told(report.copied, here, there))
        if report.verified:
            _show(report.verified)
    if report.verified and not report.verified.same:
        terminal.complain(_problem(report.verified, here, there))
        context.exit(1)


def _reached(pace: Pace, target: str) -> str:
    """Return how far the copy came."""
    done, total = pace.reached.get("notes", (0, 0))
    return f"{done:,} of {total:,} notes are in {target}" if total else "nothing was copied yet"


def _told(copied: Copied, source: str, target: str) -> str:
    """Return what was copied, and how fast."""
    if copied.nothing_to_do:
        return f"nothing to copy: {target} holds all {_counted(copied.unchanged, 'note')} of {source}"
    counts = {"added": copied.added, "updated": copied.updated, "removed": copied.removed, "kept": copied.kept}
    notes = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "none"
    rate = (copied.added + copied.updated) / max(copied.seconds, 1e-3)
    parts = f"notes {notes}, {copied.unchanged:,} unchanged; documents {copied.documents:,}"
    return f"copied to {target} in {copied.seconds:.1f} s, {rate:,.0f} notes a second: {parts}"


def _show(verified: Comparison) -> None:
    """Show what the comparison found."""
    for part, namespace, name, problem in verified.differences[:SHOWN]:
        terminal.say(
            f"differs: {part} {name} in {namespace}: {problem}" if namespace else f"differs: {name}: {problem}"
        )
    if verified.differing > SHOWN:
        terminal.say(f"differs: {verified.differing - SHOWN:,} more")
    if not verified.differing:
        notes = sum(source.notes for source, _ in verified.namespaces.values())
        searched = f", and so are {_searched(verified)}" if verified.words.asked or verified.vectors.asked else ""
        terminal.say(f"verified {_counted(notes, 'note')}: all are the same{searched}")


def _problem(verified: Comparison, source: str, target: str) -> str:
    """Return in one line what is wrong with a copy."""
    if not verified.differing:
        return f"{target} does not find what {source} finds: the same are only {_searched(verified)}"
    advice = f"run the same command again if {source} was written to meanwhile"
    if all(each.problem == "order" for each in verified.differences):
        advice = "all notes are there, and an empty target would have them in the same order"
    return f"{target} differs from {source} in {_counted(verified.differing, 'place')}; {advice}"


def _searched(verified: Comparison) -> str:
    words, vectors = verified.words, verified.vectors
    return f"{words.same} of {words.asked} searches by words, {vectors.same} of {vectors.asked} by vectors"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
