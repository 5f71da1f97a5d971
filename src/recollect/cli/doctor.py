"""``recollect doctor``: is every part of a memory whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recollect.cli import opening, options, terminal

if TYPE_CHECKING:
    from recollect.stores.base import Finding

__all__ = ["command"]


@click.command("doctor")
@click.option(
    "--repair",
    is_flag=True,
    help="First rebuild what derives from the notes (words, references, "
    "mentions, entities), and drop vectors that belong to none.",
)
@options.embedder
@options.database
@options.as_json
@options.quiet
@click.pass_context
def command(context: click.Context, /, *, repair: bool, embedder: str, db: str, as_json: bool, quiet: bool) -> None:
    """Look at every part of the memory, and load the embedder.

    It says what to do about what is wrong. The exit code is 1 if a problem remains; a warning, such as notes that
    supersede each other in a circle, does not change it.
    """
    with opening.open_existing(db, embedder) if repair else opening.open_for_reading(db, embedder) as memory:
        findings = memory.doctor(repair=repair)
        described = memory.stats().embedder
    problems = [finding for finding in findings if finding.problem]
    if as_json:
        told = [{**finding._asdict(), "advice": _advice(finding)} for finding in findings]
        terminal.print_json({"healthy": not problems, "embedder": described, "findings": told})
    elif problems or not quiet:
        _draw(problems if quiet else findings, described)
    if problems:
        context.exit(1)


def _advice(finding: Finding) -> str:
    if not finding.problem:
        return finding.warning
    if finding.repairable:
        return "recollect doctor --repair rebuilds it"
    if finding.part == "embedder":
        vectors_missing = "reindex" in finding.problem
        return (
            "recollect reindex embeds them" if vectors_missing else "repair its installation, or use another embedder"
        )
    return "restore a backup, or save what can be read with recollect export"


def _draw(findings: list[Finding], described: str) -> None:
    for finding in findings:
        told = finding.problem or (described if finding.part == "embedder" else "ok")
        click.echo(f"{_sign(finding)} {terminal.line(finding.part):<22} {terminal.line(told)}")
        if _advice(finding) and _advice(finding) not in told:
            click.echo(f"  {'':<22} {_advice(finding)}")


def _sign(finding: Finding) -> str:
    if finding.problem:
        return terminal.styled("✗", fg="red", bold=True)
    return terminal.styled("!", fg="yellow", bold=True) if finding.warning else terminal.styled("✓", fg="green")
