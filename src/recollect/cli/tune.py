"""``recollect tune``: constants for one's own questions, recommended only where the gain is no luck."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect.cli import evaluating, opening, options, terminal
from recollect.cli.pace import shown_pace

if TYPE_CHECKING:
    from recollect.evaluation import Dataset
    from recollect.evaluation.tuning import TuningResult
    from recollect.retrieval import Preset

__all__ = ["command"]

_PARTS = {
    "notes": "Storing the notes",
    "baseline": "Measuring the preset to begin with",
    "settings": "Trying settings",
}
"""What is being done, for the bar on a terminal."""


@click.command("tune")
@click.argument("path", metavar="QUESTIONS", type=click.Path(exists=True))
@click.option(
    "--preset", metavar="NAME|FILE", default="default", show_default=True, help="The preset that tuning begins with."
)
@click.option(
    "--measure",
    metavar="NAME",
    default="ndcg@10",
    show_default=True,
    help="What is to become better: any@5, all@5, recall@10, ndcg@10, mrr, or a name of ir_measures.",
)
@click.option(
    "--folds",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    metavar="N",
    help="In how many parts the questions are held out.",
)
@options.seed("What parts are drawn with.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    default="tuned.toml",
    show_default=True,
    help="Where the tuned preset is written, if it is worth it.",
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@evaluating.choosing_options
@options.namespace("The namespace that is asked where the questions are for the memory of --db.")
@options.embedder
@options.database
@options.as_json
@options.quiet
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    path: str,
    preset: str,
    measure: str,
    folds: int,
    seed: int,
    out: str,
    force: bool,
    as_json: bool,
    quiet: bool,  # noqa: ARG001 (the terminal asks for it)
    **asked: Any,
) -> None:
    """Choose the constants of a preset for one's own questions.

    QUESTIONS are a BEIR folder, or a JSON file of LoCoMo or LongMemEval; a folder without corpus.jsonl, such as
    recollect questions makes, is put to the memory of --db. The gain is measured on questions that had no say in the
    choice. Only if it is significant (its 95 % interval above zero, p below 0.05) is the preset written; otherwise the
    exit code is 1.
    """
    from recollect.evaluation.tuning import require_min_questions  # noqa: PLC0415 (brings numpy)
    from recollect.retrieval import preset_from  # noqa: PLC0415 (as above)

    if Path(out).suffix != ".toml":
        raise click.UsageError(f"--out must end in .toml, as presets do, got {out}")
    target = opening.free_target(out, force=force)
    start = preset_from(preset)
    dataset = evaluating.chosen_dataset(path, asked)
    require_min_questions(len(dataset.answerable))
    found = _tuned(dataset, start, asked, measure=measure, folds=folds, seed=seed)
    if found.recommended:
        made = found.preset(target.stem, _about(found, dataset, measure))
        target.write_text(made.to_toml(), encoding="utf-8")
    written = str(target) if found.recommended else None
    if as_json:
        about = {"dataset": dataset.name, "measure": measure, "synthetic": dataset.synthetic, "out": written}
        terminal.print_json(about | found.to_dict())
    else:
        from recollect.cli import tuning_tables  # noqa: PLC0415 (brings rich, which is heavy)

        tuning_tables.draw_tuning(terminal.console(), found, dataset, measure)
        if written:
            terminal.say(f"written to {written}; recollect search QUERY --preset {written} searches with it")
    if not found.recommended:
        context.exit(1)


def _tuned(
    dataset: Dataset, start: Preset, asked: dict[str, Any], *, measure: str, folds: int, seed: int
) -> TuningResult:
    """Tune on the dataset, or where it has no notes of its own, on the memory of ``--db``."""
    from recollect.evaluation.tuning import open_scorer, tune  # noqa: PLC0415 (brings numpy)

    given = nullcontext() if dataset.notes else opening.open_for_reading(asked["db"], asked["embedder"])
    silent = terminal.is_quiet() or not sys.stderr.isatty()
    with given as memory, shown_pace(_PARTS, quiet=silent) as pace:
        opened = open_scorer(
            dataset,
            measure=measure,
            embedder=asked["embedder"],
            memory=memory,
            namespace=asked["namespace"],
            cache=asked["cache"],
            progress=lambda done, total, _: pace(done, total, "notes"),
        )
        with opened as judge:
            pace(0, 1, "baseline")
            groups = [question.collection for question in dataset.answerable]
            found = tune(
                judge,
                start,
                groups=groups,
                folds=folds,
                seed=seed,
                progress=lambda done, total, _: pace(done, total, "settings"),
            )
    for warning in judge.warnings:
        terminal.warn(warning)
    if not found.before:
        terminal.warn("under the preset it begins with, no question found any of its notes: are they in this memory?")
    return found


def _about(found: TuningResult, dataset: Dataset, measure: str) -> str:
    kind = "synthetic questions" if dataset.synthetic else "questions"
    name = terminal.line(dataset.name)
    gain = f"{measure} {found.gain.mean:+.3f} ({found.gain.low:+.3f} to {found.gain.high:+.3f}) held out"
    return f"{found.start.name} tuned on {found.questions} {kind} of {name}: {gain}"
