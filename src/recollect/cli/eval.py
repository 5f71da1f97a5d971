"""``recollect eval``: measure presets on the questions of a dataset."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect.cli import memories, options, terminal
from recollect.errors import ArgumentError
from recollect.retrieval.options import MODES

if TYPE_CHECKING:
    from recollect.evaluation import Dataset, Outcome
    from recollect.memory import Memory
    from recollect.retrieval.options import Mode

_EVALUATE_OPTIONS = (
    "embedder",
    "reranker",
    "namespace",
    "store",
    "cache",
    "answer_threshold",
)  # passed to evaluate() unchanged


@click.command("eval")
@click.argument("path", metavar="DATASET", type=click.Path(exists=True))
@options.presets("A preset: a name or a TOML file. Repeatable.", default=("default",))
@click.option(
    "--mode", "modes", type=click.Choice(MODES), multiple=True, default=("auto",), help="A search mode. Repeatable."
)
@options.dataset
@click.option(
    "--store",
    metavar="PATH|URL",
    help="The store for the dataset's notes during the run, with a namespace for each collection; by default a "
    "temporary store.",
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
    "json_path",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="[FILE]",
    is_flag=False,
    flag_value="-",
    help="Write the results as JSON to FILE. Without FILE, print them instead of the tables; then --json must be the "
    "last option.",
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
    "--run-dir",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Write rankings and judgements as TREC files into this folder.",
)
@options.namespace("The namespace to search, if the questions are for the memory of --db.")
@options.embedder
@options.reranker
@options.database
@options.quiet
def eval_(
    *,
    path: str,
    presets: tuple[str, ...],
    modes: tuple[Mode, ...],
    measures: tuple[str, ...],
    json_path: str | None,
    reports: tuple[str, ...],
    run_dir: str | None,
    **params: Any,
) -> None:
    """Measure presets on the questions of a dataset.

    DATASET is a BEIR folder, or a JSON file of LoCoMo or LongMemEval. A BEIR folder without corpus.jsonl contains
    questions for the memory of --db. Vectors of notes are cached, so that a second run is faster.
    """
    from recollect import evaluation  # noqa: PLC0415 (imports numpy)
    from recollect.evaluation.report import build_report, report_format, write_report  # noqa: PLC0415 (imports numpy)

    for report_path in reports:  # check the paths before the evaluation, which can take long
        report_format(report_path)
        if not Path(report_path).parent.is_dir():
            raise ArgumentError("report", f"must be in an existing folder, got {report_path!r}")
    dataset = read_dataset(path, params)
    with open_memory(dataset, params) as memory, memories.progress_bar("Evaluating") as progress:
        outcomes = evaluation.evaluate(
            dataset,
            [evaluation.System(preset, mode) for preset in presets for mode in modes],
            measures=tuple(dict.fromkeys((*evaluation.MEASURES, *measures))),
            memory=memory,
            progress=progress,
            **{name: params[name] for name in _EVALUATE_OPTIONS},
        )
    for warning in dict.fromkeys(warning for outcome in outcomes for warning in outcome.warnings):
        terminal.warn(warning)
    if run_dir is not None:
        _write_runs(Path(run_dir), dataset, outcomes)
    if reports:
        report = build_report(outcomes, dataset, date=datetime.now(tz=UTC).astimezone().date().isoformat())
        for report_path in reports:
            write_report(report_path, report)
            terminal.print_info(f"report: {report_path}")
    data = [outcome.to_dict() for outcome in outcomes]
    if json_path == "-":
        terminal.print_json(data)
        return
    if json_path is not None:
        Path(json_path).write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    from recollect.cli import evaluation_tables  # noqa: PLC0415 (imports rich)

    evaluation_tables.print_outcomes(terminal.console(), dataset, outcomes)


def read_dataset(path: str, params: dict[str, Any]) -> Dataset:
    """Read the dataset at ``path`` with the options of a command; print its remarks on standard error."""
    from recollect.evaluation import load_dataset  # noqa: PLC0415 (imports numpy)

    names = ("format", "level", "split", "pool", "corrections")
    dataset = load_dataset(path, **{name: params[name] for name in names})
    dataset = dataset.sample(params["limit"]) if params["limit"] else dataset
    for remark in dataset.remarks:
        terminal.print_info(f"{dataset.name}: {remark}")
    return dataset


def open_memory(dataset: Dataset, params: dict[str, Any]) -> AbstractContextManager[Memory | None]:
    """Return a context with the memory of ``--db``, or with ``None`` if the dataset has notes of its own."""
    return (
        nullcontext()
        if dataset.notes
        else memories.open_for_reading(params["db"], params["embedder"], reranker=params.get("reranker"))
    )


def _write_runs(folder: Path, dataset: Dataset, outcomes: Sequence[Outcome]) -> None:
    """Write the judgements (qrels) and the ranking of each system (run) as TREC files."""
    from recollect.evaluation import write_qrels, write_run  # noqa: PLC0415 (imports numpy)

    def file_name(text: str) -> str:
        return re.sub(r"[^\w.-]+", "-", text)  # a run of other characters becomes one hyphen

    folder.mkdir(parents=True, exist_ok=True)
    name = file_name(dataset.name)
    write_qrels(folder / f"{name}.qrels", dataset.questions)
    for outcome in outcomes:
        system = file_name(outcome.system)
        write_run(folder / f"{name}.{system}.run", outcome.rankings, tag=system)
