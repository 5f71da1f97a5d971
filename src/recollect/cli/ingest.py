"""``recollect ingest``: ingest files and folders."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from recollect.cli import memories, options, terminal

if TYPE_CHECKING:
    from recollect.ingest import IngestReport


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="PATH...", type=click.Path(exists=True))
@click.option("--prefix", metavar="TEXT", default="", help="A prefix for the notes' paths, such as work/.")
@click.option(
    "--adopt", is_flag=True, help="Let files replace existing notes at their paths, for example after a folder moved."
)
@options.namespace()
@options.embedder
@options.secrets()
@options.memory
def ingest(*, sources: tuple[str, ...], embedder: str, secrets: str, db: str, as_json: bool, **arguments: Any) -> None:
    """Ingest files and folders.

    Markdown, text, JSON and JSONL are read; other files are skipped and counted by extension. Unchanged files are not
    read again, and notes of deleted files are removed. Files and records that cannot be read are reported on standard
    error and counted as failed; the others are ingested. The exit code is 1 if any failed.
    """
    with memories.open_or_create(db, embedder, secrets) as memory:
        memories.warn_if_lexical_only(memory)
        with memories.progress_bar("Ingesting") as progress:
            reports = [memory.ingest(source, progress=progress, **arguments) for source in sources]
    total = _sum(reports)
    for problem in (problem for report in reports for problem in report.problems):
        terminal.print_error(str(problem)) if problem.skipped else terminal.warn(str(problem))
    if as_json:
        terminal.print_json(total)
    else:
        for part in ("files", "notes"):
            counts = ", ".join(f"{count} {outcome}" for outcome, count in total[part].items())
            terminal.print_message(f"{part}  {counts}")
        if total["skipped"]:
            from recollect.ingest.report import describe_skipped  # noqa: PLC0415 (imports Markdown and YAML)

            terminal.print_message(f"skipped  {describe_skipped(total['skipped'])}")
    if total["files"]["failed"] or total["notes"]["failed"]:
        raise click.exceptions.Exit(1)


def _sum(reports: list[IngestReport]) -> dict[str, Any]:
    """Return the sum of all reports, in the shape of one."""
    data = [report.to_dict() for report in reports]
    counts = {}
    for part in ("files", "notes", "skipped"):
        total: Counter[str] = Counter()
        for report in data:
            total.update(report[part])
        counts[part] = dict(total)
    problems = [problem for report in data for problem in report["problems"]]
    return {"files": counts["files"], "notes": counts["notes"], "problems": problems, "skipped": counts["skipped"]}
