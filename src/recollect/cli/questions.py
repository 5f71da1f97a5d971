"""``recollect questions``: questions with known answers from one's own notes, made by rule."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from recollect.cli import opening, options, terminal
from recollect.sample import sample_notes
from recollect.stores import redact_secrets

if TYPE_CHECKING:
    from recollect.evaluation import Dataset
    from recollect.model import Note

__all__ = ["command"]

_EXAMPLES = 3


@click.command("questions")
@click.argument("folder", type=click.Path())
@click.option(
    "--each",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    metavar="N",
    help="How many questions of each kind, where so many can be made.",
)
@options.seed("What is drawn with; the same notes and seed give the same questions.")
@click.option(
    "--foreign",
    metavar="PATH|URL",
    default=None,
    help="A memory from whose notes unanswerable questions are made; by default the built-in sample.",
)
@options.namespace()
@options.embedder
@options.database
@options.as_json
@options.quiet
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    folder: str,
    each: int,
    seed: int,
    foreign: str | None,
    namespace: str | None,
    embedder: str,
    db: str,
    as_json: bool,
    quiet: bool,  # noqa: ARG001 (the terminal asks for it)
) -> None:
    """Make questions with known answers from one's own notes.

    They are synthetic: made by rule, to compare ways to search over these notes. FOLDER must be new or empty; recollect
    eval and recollect tune take it. The exit code is 1 if no question could be made.
    """
    from recollect.evaluation.synthetic import STRATA, generate_questions, require_new_folder, write_questions  # noqa: PLC0415 (brings numpy)

    target = require_new_folder(folder)
    with opening.open_for_reading(db, embedder) as memory:
        made = generate_questions(memory, namespace=namespace, each=each, seed=seed, foreign=_foreign_notes(foreign))
    counts = {name: sum(name in question.strata for question in made.questions) for name in STRATA}
    if made.answerable:
        write_questions(made, target)
    if as_json:
        written = str(target) if made.answerable else None
        terminal.print_json({"folder": written, "synthetic": True, "strata": counts, "remarks": list(made.remarks)})
    elif made.answerable:
        _tell(made, counts)
        place = "" if db == "recollect.db" else f" --db {shlex.quote(redact_secrets(db))}"
        place += f" --namespace {shlex.quote(namespace)}" if namespace else ""
        terminal.say(f"written to {target}; what to do with them:")
        for verb in ("eval", "tune"):
            terminal.say(f"  recollect {verb} {shlex.quote(str(target))}{place}")
    else:
        terminal.say_aside("no question could be made: there are too few notes that say something of their own")
    if not made.answerable:
        context.exit(1)


def _foreign_notes(db: str | None) -> list[Note]:
    """Return the notes of another memory, or the sample's."""
    from recollect.model import Note  # noqa: PLC0415 (brings numpy)

    if db is None:
        return [Note(**fields) for fields in sample_notes()]
    with opening.open_for_reading(db) as memory:
        return list(memory.notes())


def _tell(made: Dataset, counts: dict[str, int]) -> None:
    """Print how many questions there are of each kind, some of them, and what a reader of figures should know."""
    for name, count in counts.items():
        texts = [question.text for question in made.questions if name in question.strata]
        examples = " · ".join(texts[:: max(1, len(texts) // _EXAMPLES)][:_EXAMPLES])
        terminal.say(f"{name:<12} {count:>4}  {examples}".rstrip())
    for remark in made.remarks:
        terminal.say(remark)
