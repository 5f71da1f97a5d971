"""``recollect tune``: tune the constants of a preset, and write the preset if the gain is significant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from recollect.cli import memories, options, terminal
from recollect.cli.eval import open_memory, read_dataset


@click.command()
@click.argument("path", metavar="QUESTIONS", type=click.Path(exists=True))
@click.option("--preset", metavar="NAME|FILE", default="default", help="The preset to start from.")
@click.option(
    "--measure",
    metavar="NAME",
    default="ndcg@10",
    help="The measure to improve: any@5, all@5, recall@10, ndcg@10, mrr, or a name of ir_measures.",
)
@click.option(
    "--folds", type=click.IntRange(2), default=5, metavar="N", help="The number of folds of the cross-validation."
)
@options.seed("The random seed of the folds.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    default="tuned.toml",
    help="The file for the tuned preset, if the gain is significant.",
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@options.dataset
@options.namespace("The namespace to search, if the questions are for the memory of --db.")
@options.embedder
@options.memory
@click.pass_context
def tune(
    context: click.Context, /, *, path: str, preset: str, out: str, force: bool, as_json: bool, **params: Any
) -> None:
    """Tune the constants of a preset for your questions.

    QUESTIONS is a BEIR folder, or a JSON file of LoCoMo or LongMemEval. A folder without corpus.jsonl, as recollect
    questions writes it, has questions for the memory of --db. The gain is measured on held-out questions. The preset is
    written only if the gain is significant (95 % interval above zero, p below 0.05); otherwise the exit code is 1.
    """
    from recollect import evaluation  # noqa: PLC0415 (imports numpy)
    from recollect.evaluation.tuning import require_min_questions  # noqa: PLC0415 (imports numpy)
    from recollect.retrieval import preset_from  # noqa: PLC0415 (imports numpy)

    if Path(out).suffix != ".toml":
        raise click.UsageError(f"--out must end in .toml, got {out}")
    target = memories.output_path(out, force=force)
    start_preset = preset_from(preset)
    dataset = read_dataset(path, params)
    require_min_questions(len(dataset.answerable))
    measure = params["measure"]
    arguments = {name: params[name] for name in ("measure", "embedder", "namespace", "cache")}
    with (
        open_memory(dataset, params) as memory,
        memories.progress_bar("Tuning") as progress,
        evaluation.open_scorer(dataset, memory=memory, progress=progress, **arguments) as scorer,
    ):
        groups = [question.collection for question in dataset.answerable]  # a collection is held out as a whole
        folds, seed = params["folds"], params["seed"]
        result = evaluation.tune(scorer, start_preset, groups=groups, folds=folds, seed=seed, progress=progress)
    for warning in scorer.warnings:
        terminal.warn(warning)
    if not result.before:
        terminal.warn(
            "the preset to start from finds no relevant note of any question; are the questions for this memory?"
        )
    if result.recommended:
        kind = "synthetic questions" if dataset.synthetic else "questions"
        gain = f"{measure} {result.gain.mean:+.3f} ({result.gain.low:+.3f} to {result.gain.high:+.3f}) held out"
        source = f"{result.questions} {kind} of {terminal.sanitise_line(dataset.name)}"
        tuned = replace(result.chosen, name=target.stem, about=f"{start_preset.name} tuned on {source}: {gain}")
        target.write_text(tuned.to_toml(), encoding="utf-8")
    written_path = str(target) if result.recommended else None
    if as_json:
        data = {"dataset": dataset.name, "measure": measure, "synthetic": dataset.synthetic, "out": written_path}
        terminal.print_json(data | result.to_dict())
    else:
        from recollect.cli import evaluation_tables  # noqa: PLC0415 (imports rich)

        evaluation_tables.print_tuning(terminal.console(), result, dataset, measure)
        if written_path:
            usage = f"recollect search QUERY --preset {written_path}"
            terminal.print_message(f"written to {written_path}; use it with {usage}")
    if not result.recommended:
        context.exit(1)
