"""``recollect ingest``: take in files and folders."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from recollect.cli import opening, options, terminal

if TYPE_CHECKING:
    from recollect.ingest import IngestReport

__all__ = ["command"]


@click.command("ingest")
@click.argument("sources", nargs=-1, required=True, metavar="PATH...", type=click.Path(exists=True))
@click.option("--prefix", metavar="TEXT", default="", help="What the notes' paths begin with, such as work/.")
@click.option(
    "--adopt",
    is_flag=True,
    help="Let files take over notes that are at their paths already, for example after the folder was moved.",
)
@options.namespace()
@options.embedder
@options.secrets
@options.database
@options.as_json
@options.quiet
def command(
    *,
    sources: tuple[str, ...],
    prefix: str,
    adopt: bool,
    namespace: str | None,
    embedder: str,
    secrets: str,
    db: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Take in files and folders.

    Markdown, text, JSON and JSONL are read; files of other types are skipped and counted by extension. What did not
    change since the last time is not read again, and notes of files that are gone are removed. What could not be read
    is named on standard error and counted as failed; the rest goes on. The exit code is 1 if a file, or a record of
    one, could not be read.
    """
    with opening.open_or_create(db, embedder, secrets) as memory:
        opening.warn_if_lexical_only(memory)
        reports = [
            memory.ingest(source, prefix=prefix, adopt=adopt, namespace=namespace, progress=opening.silence_if(quiet))
            for source in sources
        ]
    total = _summed(reports)
    for problem in (problem for report in reports for problem in report.problems):
        terminal.complain(str(problem)) if problem.skipped else terminal.warn(str(problem))
    if as_json:
        terminal.print_json(total)
    else:
        for part in ("files", "notes"):
            terminal.say(f"{part}  {', '.join(f'{count} {what}' for what, count in total[part].items())}")
        if total["skipped"]:
            from recollect.ingest.report import describe_skipped  # noqa: PLC0415 (brings Markdown and YAML)

            terminal.say(f"skipped  {describe_skipped(total['skipped'])}")
    if total["files"]["failed"] or total["notes"]["failed"]:
        raise click.exceptions.Exit(1)


def _summed(reports: list[IngestReport]) -> dict[str, Any]:
    """Return one report of all, in the shape of each."""
    told = [report.to_dict() for report in reports]
    counts: dict[str, Any] = {}
    for part in ("files", "notes", "skipped"):
        total: Counter[str] = Counter()
        for report in told:
            total.update(report[part])
        counts[part] = dict(total)
    problems = [problem for report in told for problem in report["problems"]]
    return {"files": counts["files"], "notes": counts["notes"], "problems": problems, "skipped": counts["skipped"]}
