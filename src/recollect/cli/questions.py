"""``recollect questions``: generate evaluation questions from the notes of a memory."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from recollect.cli import memories, options, terminal
from recollect.stores import redact_secrets

if TYPE_CHECKING:
    from recollect.model import Note


@click.command()
@click.argument("folder", type=click.Path())
@click.option(
    "--each",
    "per_stratum",
    type=click.IntRange(1),
    default=100,
    metavar="N",
    help="The number of questions of each kind, if that many can be generated.",
)
@options.seed("The random seed; the same notes and seed give the same questions.")
@click.option(
    "--foreign",
    metavar="PATH|URL",
    help="The memory whose notes give unanswerable questions; by default the built-in sample.",
)
@options.namespace()
@options.embedder
@options.memory
@click.pass_context
def questions(
    context: click.Context,
    /,
    *,
    folder: str,
    per_stratum: int,
    seed: int,
    foreign: str | None,
    namespace: str | None,
    embedder: str,
    db: str,
    as_json: bool,
) -> None:
    """Generate questions with known answers from your notes.

    The questions are synthetic: rules generate them, to compare presets on these notes. FOLDER must be new or empty;
    recollect eval and recollect tune read it. The exit code is 1 if no question with an answer could be generated.
    """
    from recollect.evaluation.synthetic import STRATA, generate_questions, require_new_folder, write_questions  # noqa: PLC0415 (imports numpy)

    target = require_new_folder(folder)
    with memories.open_for_reading(db, embedder) as memory:
        dataset = generate_questions(
            memory, namespace=namespace, per_stratum=per_stratum, seed=seed, foreign=_foreign_notes(foreign)
        )
    counts = {name: sum(name in question.strata for question in dataset.questions) for name in STRATA}
    if dataset.answerable:
        write_questions(dataset, target)
    if as_json:
        path = str(target) if dataset.answerable else None
        terminal.print_json({"folder": path, "synthetic": True, "strata": counts, "remarks": list(dataset.remarks)})
    elif dataset.answerable:
        for name, count in counts.items():
            texts = [question.text for question in dataset.questions if name in question.strata]
            examples = " · ".join(texts[:: max(1, count // 3)][:3])  # three, spread evenly over the questions
            terminal.print_message(f"{name:<12} {count:>4}  {examples}".rstrip())
        for remark in dataset.remarks:
            terminal.print_message(remark)
        is_default = db == "recollect.db"
        memory_options = "" if is_default else f" --db {shlex.quote(redact_secrets(db))}"
        memory_options += f" --namespace {shlex.quote(namespace)}" if namespace else ""
        terminal.print_message(f"written to {target}; use them with:")
        for command in ("eval", "tune"):
            terminal.print_message(f"  recollect {command} {shlex.quote(str(target))}{memory_options}")
    else:
        terminal.print_info("no question could be generated: too few notes have terms that no other note has")
    if not dataset.answerable:
        context.exit(1)


def _foreign_notes(db: str | None) -> list[Note]:
    """Return the notes of the memory ``db``, or the sample notes if ``db`` is ``None``."""
    from recollect.model import Note  # noqa: PLC0415 (imports numpy)
    from recollect.sample import sample_notes  # noqa: PLC0415 (part of the library)

    if db is None:
        return [Note(**fields) for fields in sample_notes()]
    with memories.open_for_reading(db) as memory:
        return list(memory.notes())
