"""``recollect copy``: copy a memory to another file or server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli import memories, options, terminal
from recollect.cli.group import INTERRUPTED
from recollect.errors import RecollectError
from recollect.stores import is_url, redact_secrets

if TYPE_CHECKING:
    from recollect.stores.comparison import StoreComparison
    from recollect.stores.copying import CopyCounts

PHASES = {  # the phases of a copy, and what the progress bar shows for each
    "others": "reading the target",  # looking for notes that the source lacks
    "notes": "copying notes",
    "comparing": "comparing notes",
    "searching": "comparing searches",
}
MAX_PRINTED_DIFFERENCES = 10
NOTHING_COPIED = "nothing was copied yet"


@click.command()
@click.argument("source")
@click.argument("target")
@click.option(
    "--namespace", "namespaces", multiple=True, metavar="NAME", help="Only this namespace. Repeatable; by default all."
)
@click.option("--merge", is_flag=True, help="Keep the notes of TARGET that SOURCE lacks.")
@click.option("--verify/--no-verify", default=True, help="Compare the two memories at the end.")
@options.as_json
@options.quiet
@click.pass_context
def copy(
    context: click.Context, /, *, source: str, target: str, namespaces: tuple[str, ...], as_json: bool, **flags: bool
) -> None:
    """Copy a memory to another file or server.

    SOURCE is only read; TARGET is created if it is missing. Notes are copied with links, vectors and documents, in
    their order, and are not embedded again. After Ctrl-C or a lost connection, the same command continues where it
    stopped, and also copies what has changed in SOURCE since. Without --merge, a TARGET with notes that SOURCE lacks is
    refused. The exit code is 1 if the two memories differ at the end.
    """
    from recollect.opening import copy as copy_memory  # noqa: PLC0415 (imports SQLite and numpy)

    if not is_url(source) and not Path(source).expanduser().exists():
        raise click.UsageError(f"there is no memory at {source}")
    source_name, target_name = redact_secrets(source), redact_secrets(target)
    copy_state = NOTHING_COPIED

    with memories.progress_bar("Copying") as show_progress:

        def progress(done: int, total: int, phase: str) -> None:
            nonlocal copy_state
            if phase == "notes":
                copy_state = f"{done:,} of {total:,} notes are in {target_name}"
            show_progress(done, total, PHASES[phase])

        try:
            # The flags are merge and verify.
            report = copy_memory(source, target, namespaces=namespaces or None, progress=progress, **flags)
        except KeyboardInterrupt:
            terminal.print_error(f"interrupted; {copy_state}, and the same command continues from there")
            context.exit(INTERRUPTED)
        except (RecollectError, OSError) as error:
            if copy_state == NOTHING_COPIED:
                raise
            raise RecollectError(f"{error}; {copy_state}, and the same command continues from there") from error
    if as_json:
        terminal.print_json({"source": source_name, "target": target_name, **report.to_dict()})
    else:
        terminal.print_message(_summary(report.copied, source_name, target_name))
        if report.verified:
            _print_comparison(report.verified)
    if report.verified and not report.verified.same:
        terminal.print_error(_differences_error(report.verified, source_name, target_name))
        context.exit(1)


def _summary(copied: CopyCounts, source: str, target: str) -> str:
    if copied.nothing_to_do:
        return f"nothing to copy: {target} has all {terminal.count(copied.unchanged, 'note')} of {source}"
    counts = {"added": copied.added, "updated": copied.updated}
    notes = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items() if count) or "none"
    rate = (copied.added + copied.updated) / max(copied.seconds, 1e-3)  # not 0: the clock may not have advanced
    totals = f"notes {notes}, {copied.unchanged:,} unchanged; documents {copied.documents:,}"
    return f"copied to {target} in {copied.seconds:.1f} s, {rate:,.0f} notes/s: {totals}"


def _print_comparison(comparison: StoreComparison) -> None:
    for difference in comparison.differences[:MAX_PRINTED_DIFFERENCES]:
        in_namespace = f" in {difference.namespace}" if difference.namespace else ""
        name = f"{difference.part} {difference.name}{in_namespace}"
        terminal.print_message(f"differs: {name}: {difference.problem}")
    if len(comparison.differences) > MAX_PRINTED_DIFFERENCES:
        terminal.print_message(f"differs: {len(comparison.differences) - MAX_PRINTED_DIFFERENCES:,} more")
    if not comparison.differences:
        searches = f", and so are {_identical_searches(comparison)}" if comparison.searches["lexical"].searches else ""
        terminal.print_message(f"verified {terminal.count(comparison.notes, 'note')}: all are the same{searches}")


def _differences_error(comparison: StoreComparison, source: str, target: str) -> str:
    if not comparison.differences:
        return f"searches in {target} and {source} differ: only {_identical_searches(comparison)} are the same"
    advice = f"run the same command again if {source} was written to meanwhile"
    if all(difference.problem == "order" for difference in comparison.differences):
        advice = "all notes are there, but in another order; copy to an empty target to keep the order"
    return f"{target} differs from {source} in {terminal.count(len(comparison.differences), 'point')}; {advice}"


def _identical_searches(comparison: StoreComparison) -> str:
    """Return for each leg how many searches have the same results in both memories."""
    counts = (f"{leg.same} of {leg.searches} {name} searches" for name, leg in comparison.searches.items())
    return " and ".join(counts)
