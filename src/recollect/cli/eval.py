"""``recollect eval``: measure presets on the questions of a dataset."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect.cli import memories, options, terminal
from recollect.errors import ArgumentError
from recollect.retrieval.options import MODES

if TYPE_CHECKING:
    from recollect.evaluation import Dataset, Outcome, Sweep, System
    from recollect.retrieval.options import Mode

PLOTTED_MEASURES = ("any@5", "recall@10", "ndcg@10", "mrr")
"""The measures whose sweeps a report plots; the terminal shows all."""


@click.command("eval")
@click.argument("path", metavar="DATASET", type=click.Path(exists=True))
@click.option(
    "--preset",
    "presets",
    metavar="NAME|FILE",
    multiple=True,
    default=("default",),
    help="A preset: a name or a TOML file. Repeatable.",
)
@click.option(
    "--mode", "modes", type=click.Choice(MODES), multiple=True, default=("auto",), help="A search mode. Repeatable."
)
@options.dataset
@click.option(
    "--store",
    metavar="PATH|URL",
    help="The store for the dataset's notes during the run, one namespace for each collection; by default temporary.",
)
@click.option("--fresh", is_flag=True, help="Start again instead of continuing the last run.")
@click.option(
    "--depth",
    type=click.IntRange(10, 1000),
    default=20,
    metavar="N",
    help="The number of notes that each search returns; mrr uses all of them.",
)
@click.option(
    "--measure",
    "measures",
    metavar="NAME",
    multiple=True,
    help="An additional measure by its name in ir_measures, such as nDCG@20. Repeatable.",
)
@click.option(
    "--answer-threshold",
    type=click.FloatRange(0, 1),
    metavar="CONFIDENCE",
    help="The confidence below which a search has no answer; by default the preset's.",
)
@click.option(
    "--json",
    "target",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Write the results as JSON; - prints them instead of the tables.",
)
@click.option(
    "--report",
    "reports",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    multiple=True,
    help="Write a report: .html with plots, or .md with tables. Repeatable.",
)
@click.option(
    "--sweep",
    "sweeps",
    type=click.Choice(["k", "alpha"]),
    multiple=True,
    help="Vary a constant of the first preset's fusion: k of reciprocal rank fusion, or alpha, the weight of the "
    "vector leg in a convex combination. Repeatable.",
)
@click.option(
    "--run-dir",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Write rankings and judgements as TREC files into this folder.",
)
@options.namespace("The namespace to search, if the questions are for the memory of --db.")
@options.embedder
@options.database
@options.quiet
def eval_(
    *,
    path: str,
    presets: tuple[str, ...],
    modes: tuple[Mode, ...],
    depth: int,
    measures: tuple[str, ...],
    answer_threshold: float | None,
    target: str | None,
    reports: tuple[str, ...],
    sweeps: tuple[str, ...],
    run_dir: str | None,
    **params: Any,
) -> None:
    """Measure presets on the questions of a dataset.

    DATASET is a BEIR folder, or a JSON file of LoCoMo or LongMemEval. A BEIR folder without corpus.jsonl contains
    questions for the memory of --db. Vectors and rankings are cached, so that a second run continues the first.
    """
    from recollect.evaluation import MEASURES  # noqa: PLC0415 (imports numpy)
    from recollect.evaluation.report import report_format  # noqa: PLC0415 (imports numpy)

    for report in reports:  # before the evaluation, which can take long
        report_format(report)
        if not Path(report).parent.is_dir():
            raise ArgumentError("report", f"must be in an existing folder, got {report!r}")
    dataset = read_dataset(path, params)
    systems = systems_of(presets, modes)
    outcomes = evaluate_systems(
        dataset,
        systems,
        params,
        depth=depth,
        measures=tuple(dict.fromkeys((*MEASURES, *measures))),
        answer_threshold=answer_threshold,
    )
    if "alpha" in sweeps and outcomes[0].embedder == "none":
        raise ArgumentError("--sweep", "alpha needs an embedder: without one there is no vector leg")
    lines = [line for name in dict.fromkeys(sweeps) for line in _sweep(dataset, systems[0], name, params, depth)]
    if run_dir is not None:
        _write_runs(Path(run_dir), dataset, outcomes)
    _write_reports(reports, dataset, outcomes, lines)
    data = [outcome.to_dict() for outcome in outcomes]
    if target == "-":
        terminal.print_json(data)
        return
    if target is not None:
        Path(target).write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    show_outcomes(dataset, outcomes, lines)


def read_dataset(path: str, params: dict[str, Any]) -> Dataset:
    """Read the dataset of the options, and print its remarks on standard error."""
    from recollect.evaluation import load_dataset  # noqa: PLC0415 (imports numpy)

    dataset = load_dataset(path, **{name: params[name] for name in ("format", "level", "split", "pool")})
    dataset = dataset.sample(params["limit"]) if params["limit"] else dataset
    for remark in dataset.remarks:
        terminal.print_note(f"{dataset.name}: {remark}")
    return dataset


def systems_of(presets: Sequence[str], modes: Sequence[Mode]) -> list[System]:
    """Return every preset in every mode."""
    from recollect.evaluation import System  # noqa: PLC0415 (imports numpy)

    return [System(preset, mode) for preset in presets for mode in modes]


def evaluate_systems(
    dataset: Dataset, systems: Sequence[System], params: dict[str, Any], **arguments: Any
) -> list[Outcome]:
    """Evaluate systems on a dataset; one without notes of its own is evaluated on the memory of ``--db``."""
    from recollect.evaluation import evaluate  # noqa: PLC0415 (imports numpy)

    memory_context = nullcontext() if dataset.notes else memories.open_for_reading(params["db"], params["embedder"])
    with memory_context as memory, memories.progress_bar("Evaluating") as progress:
        outcomes = evaluate(
            dataset,
            systems,
            embedder=params["embedder"],
            memory=memory,
            namespace=params.get("namespace"),
            store=params["store"],
            cache=params["cache"],
            resume=not params["fresh"],
            progress=progress,
            **arguments,
        )
    for warning in dict.fromkeys(warning for outcome in outcomes for warning in outcome.warnings):
        terminal.warn(warning)
    return outcomes


def show_outcomes(dataset: Dataset, outcomes: Sequence[Outcome], sweeps: Sequence[Sweep] = ()) -> None:
    """Print the tables of an evaluation."""
    from recollect.cli import evaluation_tables  # noqa: PLC0415 (imports rich)

    evaluation_tables.print_outcomes(terminal.console(), dataset, outcomes, sweeps)


def _sweep(dataset: Dataset, system: System, parameter: str, params: dict[str, Any], depth: int) -> list[Sweep]:
    """Evaluate a system with several values of a constant."""
    from recollect.evaluation import MEASURES, build_sweeps, sweep_systems  # noqa: PLC0415 (imports numpy)

    systems = list(sweep_systems(system, parameter).values())
    outcomes = evaluate_systems(dataset, systems, params, depth=depth, measures=MEASURES, cache_queries=True)
    return build_sweeps(dataset.name, parameter, system, outcomes, MEASURES)


def _write_reports(
    paths: Sequence[str], dataset: Dataset, outcomes: Sequence[Outcome], sweeps: Sequence[Sweep]
) -> None:
    if not paths:
        return
    from recollect.evaluation.report import build_report, save_report  # noqa: PLC0415 (imports numpy)

    today = datetime.now(tz=UTC).astimezone().date().isoformat()
    plotted = [sweep for sweep in sweeps if sweep.measure in PLOTTED_MEASURES]
    report = build_report(outcomes, dataset, sweeps=plotted, date=today)
    for path in paths:
        save_report(path, report)
        terminal.print_note(f"report: {path}")


def _write_runs(folder: Path, dataset: Dataset, outcomes: Sequence[Outcome]) -> None:
    """Write the judgements and a run for each system."""
    from recollect.evaluation import write_qrels, write_run  # noqa: PLC0415 (imports numpy)

    folder.mkdir(parents=True, exist_ok=True)
    name = _file_name(dataset.name)
    write_qrels(folder / f"{name}.qrels", dataset.questions)
    for outcome in outcomes:
        system = _file_name(outcome.system)
        write_run(folder / f"{name}.{system}.run", outcome.rankings, tag=system)


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text)
