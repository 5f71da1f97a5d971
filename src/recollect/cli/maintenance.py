"""``recollect reindex``, ``backup``, ``stats`` and ``doctor``: embed, copy, count and check the notes of a memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from recollect.cli import memories, options, terminal
from recollect.cli.group import INTERRUPTED
from recollect.errors import StoreDamagedError
from recollect.stores import is_url, redact_secrets

if TYPE_CHECKING:
    from recollect.health import MemoryStats
    from recollect.stores.base import Finding


@click.command()
@options.embedder
@options.memory
@click.pass_context
def reindex(context: click.Context, /, *, embedder: str, db: str, as_json: bool) -> None:
    """Embed the notes that have no vector of the embedder's model.

    Until reindex is done, searches use the vectors of the previous model. After Ctrl-C, the next reindex continues.
    """
    with memories.open_existing(db, embedder) as memory, memories.progress_bar("Embedding") as progress:
        try:
            count = memory.reindex(progress=progress)
        except KeyboardInterrupt:
            terminal.print_error("interrupted; embedded notes stay embedded, and reindex continues from there")
            context.exit(INTERRUPTED)
    if as_json:
        terminal.print_json({"embedded": count})
    else:
        message = f"embedded {terminal.count(count, 'note')}" if count else "every note already has a vector"
        terminal.print_message(message)


@click.command()
@click.argument("target", type=click.Path(dir_okay=False))
@click.option("--force", is_flag=True, help="Replace TARGET if it exists.")
@options.memory
def backup(*, target: str, force: bool, db: str, as_json: bool) -> None:
    """Write a compact, consistent copy of the memory.

    Other processes can read and write during the backup. TARGET appears only when it is complete.
    """
    with memories.open_for_reading(db) as memory:
        path = memories.output_path(target, force=force)
        memory.backup(path, overwrite=force)
    size = path.stat().st_size
    if as_json:
        terminal.print_json({"target": str(path), "bytes": size})
    else:
        from rich.filesize import decimal  # noqa: PLC0415 (heavy)

        terminal.print_message(f"backed up to {path} ({decimal(size)})")


@click.command()
@options.embedder
@options.memory
def stats(*, embedder: str, db: str, as_json: bool) -> None:
    """Show counts, sizes and the embedder of the memory."""
    with memories.open_for_reading(db, embedder) as memory:
        result = memory.stats()
    if as_json:
        terminal.print_json(result.to_dict())
        return
    for name, value in _stats_fields(result):
        terminal.print_field(name, value)


def _stats_fields(stats: MemoryStats) -> Iterator[tuple[str, str]]:
    """Yield the label and the value of each printed line; the label is empty if the line continues the one before."""
    from rich.filesize import decimal  # noqa: PLC0415 (heavy)

    from recollect.model import DEFAULT_NAMESPACE  # noqa: PLC0415 (part of the library)

    store = stats.store
    yield "memory", f"{store.location} ({decimal(store.bytes)}, {store.engine})"
    note_count = str(sum(store.notes.values()))
    if set(store.notes) - {DEFAULT_NAMESPACE}:
        note_count += f" ({', '.join(f'{count} in {name}' for name, count in store.notes.items())})"
    yield "notes", note_count
    if store.expiring:
        yield "", f"{store.expiring} with an expiry"
    yield "links", str(store.links)
    yield "documents", str(store.documents)
    for model, count in store.vectors.items():
        is_active = store.model is not None and store.model.name == model
        yield "vectors", f"{count} of {model}" if is_active else f"{count} of {model}, not in use yet"
    yield "embedder", stats.embedder
    if stats.unembedded:
        yield "", f"{terminal.count(stats.unembedded, 'note')} without a vector of this model; run recollect reindex"


@click.command()
@click.option(
    "--repair",
    is_flag=True,
    help="Before the check, rebuild what is derived from the notes (terms, mentions, entities), and delete links whose "
    "note is missing and vectors that do not fit their note.",
)
@options.embedder
@options.memory
@click.pass_context
def doctor(context: click.Context, /, *, repair: bool, embedder: str, db: str, as_json: bool) -> None:
    """Check every part of the memory and load the embedder.

    Prints what to do about problems. The exit code is 1 if a problem remains; warnings, such as notes that supersede
    each other in a cycle, do not change it.
    """
    open_memory = memories.open_existing if repair else memories.open_for_reading
    try:
        with open_memory(db, embedder) as memory:
            findings = memory.doctor(repair=repair)
            embedder_name = memory.stats().embedder
    except StoreDamagedError as error:  # if it advises doctor --repair, which has just failed, give other advice
        if not repair or "doctor --repair" not in str(error):
            raise
        recovery = "" if is_url(db) else f", or save what can be read with sqlite3 {db} .recover"
        message = f"{redact_secrets(db)} is damaged and cannot be repaired; restore a backup{recovery}"
        raise StoreDamagedError(message) from None
    problems = [finding for finding in findings if finding.problem]
    if as_json:
        data = [{**finding._asdict(), "advice": _advice(finding)} for finding in findings]
        terminal.print_json({"healthy": not problems, "embedder": embedder_name, "findings": data})
    else:
        shown_findings = problems if terminal.is_quiet() else findings
        for finding in shown_findings:
            healthy_message = embedder_name if finding.part == "embedder" else finding.warning or "ok"
            _print_finding(finding, finding.problem or healthy_message)
    if problems:
        context.exit(1)


def _advice(finding: Finding) -> str:
    """Return what to do about the problem of a finding; without a problem, its warning, which may be empty."""
    if not finding.problem:
        return finding.warning
    if finding.repairable:
        return "recollect doctor --repair rebuilds it"
    if finding.part == "embedder":
        vectors_are_missing = "reindex" in finding.problem
        return "recollect reindex embeds them" if vectors_are_missing else "reinstall it, or choose another --embedder"
    return "restore a backup, or save what can be read with recollect export"


def _print_finding(finding: Finding, message: str) -> None:
    sign = terminal.style("✓", fg="green")
    if finding.problem:
        sign = terminal.style("✗", fg="red", bold=True)
    elif finding.warning:
        sign = terminal.style("!", fg="yellow", bold=True)
    part = terminal.sanitise_line(finding.part)
    click.echo(f"{sign} {part:<22} {terminal.sanitise_line(message)}")
    advice = _advice(finding)
    if advice and advice not in message:
        click.echo(f"  {'':<22} {advice}")
