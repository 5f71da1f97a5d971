"""``recollect copy``: copy a memory to another file or server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect.cli import memories, options, terminal
from recollect.cli.group import INTERRUPTED
from recollect.errors import ArgumentError, RecollectError
from recollect.stores import is_url, redact_secrets

if TYPE_CHECKING:
    from recollect.stores.comparison import StoreComparison
    from recollect.stores.copying import Copied

PARTS = {
    "others": "reading the target",
    "notes": "copying notes",
    "documents": "copying documents",
    "comparing": "comparing notes",
    "searching": "comparing searches",
}
MAX_DIFFERENCES = 10
"""How many differences are printed; JSON has more."""


@click.command()
@click.argument("source")
@click.argument("target")
@click.option(
    "--namespace", "namespaces", multiple=True, metavar="NAME", help="Only this namespace. Repeatable; by default all."
)
@click.option("--merge", is_flag=True, help="Keep what TARGET has and SOURCE has not.")
@click.option("--mirror", is_flag=True, help="Delete from TARGET what SOURCE has not.")
@click.option(
    "--batch",
    type=click.IntRange(1),
    default=2000,
    metavar="N",
    help="The number of notes in one transaction; fewer if they are long.",
)
@click.option("--verify/--no-verify", default=True, help="Compare the two memories at the end.")
@click.option(
    "--sample",
    type=click.IntRange(0),
    default=50,
    metavar="N",
    help="The number of notes to search for in both memories, by terms and by vector.",
)
@options.as_json
@options.quiet
@click.pass_context
def copy(
    context: click.Context,
    /,
    *,
    source: str,
    target: str,
    namespaces: tuple[str, ...],
    merge: bool,
    mirror: bool,
    as_json: bool,
    **arguments: Any,
) -> None:
    """Copy a memory to another file or server.

    SOURCE is only read; TARGET is created if it is missing. Notes are copied with links, vectors and documents, in
    order, and are not embedded again. After Ctrl-C or a lost connection, the same command continues, and copies what
    changed since. A TARGET with other notes is refused without --merge or --mirror. The exit code is 1 if the two
    memories differ at the end.
    """
    from recollect.opening import copy as copy_memory  # noqa: PLC0415 (imports SQLite and numpy)

    if merge and mirror:
        raise click.UsageError("--merge keeps what --mirror deletes; choose one of them")
    if not is_url(source) and not Path(source).expanduser().exists():
        raise click.UsageError(f"there is no memory at {source}")
    source_name, target_name = redact_secrets(source), redact_secrets(target)
    reached = {"notes": (0, 0)}

    with memories.progress_bar("Copying") as show:

        def progress(done: int, total: int, part: str) -> None:
            reached[part] = done, total
            show(done, total, PARTS.get(part, part))

        def state() -> str:
            done, total = reached["notes"]
            return f"{done:,} of {total:,} notes are in {target_name}" if total else "nothing was copied yet"

        try:
            report = copy_memory(
                source,
                target,
                namespaces=namespaces or None,
                others="merge" if merge else "mirror" if mirror else "refuse",
                progress=progress,
                **arguments,
            )
        except KeyboardInterrupt:
            terminal.print_error(f"interrupted; {state()}, and the same command continues from there")
            context.exit(INTERRUPTED)
        except (RecollectError, OSError) as error:
            if not reached["notes"][1]:
                raise
            advice = ", and the same command continues from there"
            if isinstance(error, ArgumentError):  # TARGET cannot store this note: trying again does not help
                advice = f"; change the note in {source_name}, then copy again"
            raise RecollectError(f"{error}; {state()}{advice}") from error
    if as_json:
        terminal.print_json({"source": source_name, "target": target_name, **report.to_dict()})
    else:
        terminal.print_message(_summary(report.copied, source_name, target_name))
        if report.verified:
            _print_differences(report.verified)
    if report.verified and not report.verified.same:
        terminal.print_error(_problem(report.verified, source_name, target_name))
        context.exit(1)


def _summary(copied: Copied, source: str, target: str) -> str:
    if copied.nothing_to_do:
        return f"nothing to copy: {target} has all {terminal.count(copied.unchanged, 'note')} of {source}"
    counts = {"added": copied.added, "updated": copied.updated, "removed": copied.removed, "kept": copied.kept}
    notes = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items() if count) or "none"
    rate = (copied.added + copied.updated) / max(copied.seconds, 1e-3)
    parts = f"notes {notes}, {copied.unchanged:,} unchanged; documents {copied.documents:,}"
    return f"copied to {target} in {copied.seconds:.1f} s, {rate:,.0f} notes/s: {parts}"


def _print_differences(verified: StoreComparison) -> None:
    for part, namespace, name, problem in verified.differences[:MAX_DIFFERENCES]:
        note = f"{part} {name} in {namespace}" if namespace else name
        terminal.print_message(f"differs: {note}: {problem}")
    if verified.difference_count > MAX_DIFFERENCES:
        terminal.print_message(f"differs: {verified.difference_count - MAX_DIFFERENCES:,} more")
    if not verified.difference_count:
        notes = sum(source.notes for source, _ in verified.namespaces.values())
        searches = (
            f", and so are {_searches(verified)}" if verified.lexical.searches or verified.vector.searches else ""
        )
        terminal.print_message(f"verified {terminal.count(notes, 'note')}: all are the same{searches}")


def _problem(verified: StoreComparison, source: str, target: str) -> str:
    if not verified.difference_count:
        return f"searches in {target} and {source} give different results: only {_searches(verified)} are the same"
    advice = f"run the same command again if {source} was written to meanwhile"
    if all(difference.problem == "order" for difference in verified.differences):
        advice = "all notes are there; only their order differs, which an empty target would preserve"
    return f"{target} differs from {source} in {terminal.count(verified.difference_count, 'point')}; {advice}"


def _searches(verified: StoreComparison) -> str:
    lexical, vector = verified.lexical, verified.vector
    return (
        f"{lexical.same} of {lexical.searches} lexical searches and {vector.same} of {vector.searches} vector searches"
    )
