"""``recollect ingest``: ingest files and folders."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from recollect.cli import memories, options, terminal


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="PATH...", type=click.Path(exists=True))
@click.option("--prefix", metavar="TEXT", default="", help="A prefix for the notes' paths, such as work/.")
@click.option(
    "--adopt", is_flag=True, help="Replace notes of other sources at the paths of files, e.g. after a folder moved."
)
@options.namespace()
@options.embedder
@options.secrets()
@options.memory
def ingest(*, sources: tuple[str, ...], embedder: str, secrets: str, db: str, as_json: bool, **arguments: Any) -> None:
    """Ingest files and folders.

    Markdown, text, JSON and JSONL are read; other files are skipped and counted by extension. Unchanged files are not
    read again, and notes of deleted files are removed. Files and records that cannot be read are reported on standard
    error and counted as failed; the others are ingested. The exit code is 1 if a file or record failed.
    """
    with memories.open_or_create(db, embedder, secrets) as memory:
        memories.warn_if_lexical_only(memory)
        with memories.progress_bar("Ingesting") as progress:
            reports = [memory.ingest(source, progress=progress, **arguments) for source in sources]
    totals: dict[str, Any] = {"files": Counter(), "notes": Counter(), "problems": [], "skipped": Counter()}
    for report in reports:
        data = report.to_dict()
        totals["problems"] += data["problems"]
        for name in ("files", "notes", "skipped"):
            totals[name].update(data[name])
        for problem in report.problems:
            # If the file or record was ingested all the same, the problem is only a warning.
            print_problem = terminal.print_error if problem.skipped else terminal.warn
            print_problem(str(problem))
    if as_json:
        terminal.print_json(totals)
    else:
        for name in ("files", "notes"):
            counts = ", ".join(f"{count} {outcome}" for outcome, count in totals[name].items())
            terminal.print_message(f"{name}  {counts}")
        if counts := ", ".join(f"{count} {extension}" for extension, count in totals["skipped"].most_common()):
            advice = "only Markdown, plain text, JSON and JSONL are read: convert the others to Markdown or text"
            terminal.print_message(f"skipped  {counts}; {advice}")
    if totals["files"]["failed"] or totals["notes"]["failed"]:
        raise click.exceptions.Exit(1)
