"""``recollect eval``: how well presets find what answers the questions of a dataset."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect.cli import evaluating, options, terminal
from recollect.errors import ArgumentError

if TYPE_CHECKING:
    from recollect.evaluation import Dataset, Outcome, Sweep, System
    from recollect.retrieval.options import Mode

__all__ = ["command"]

_DRAWN = ("any@5", "recall@10", "ndcg@10", "mrr")
"""The measures that a report draws sweeps of; the terminal shows all."""


@click.command("eval")
@click.argument("path", metavar="DATASET", type=click.Path(exists=True))
@click.option(
    "--preset",
    "presets",
    metavar="NAME|FILE",
    multiple=True,
    default=("default",),
    show_default=True,
    help="A preset to evaluate, by name or as a TOML file; can be given several times.",
)
@click.option(
    "--mode",
    "modes",
    type=click.Choice(evaluating.MODES),
    multiple=True,
    default=("auto",),
    show_default=True,
    help="hybrid, bm25 or semantic, or the best there is; can be given several times.",
)
@evaluating.dataset_options
@click.option(
    "--depth",
    type=click.IntRange(10, 1000),
    default=20,
    show_default=True,
    metavar="N",
    help="How many notes each search returns; mrr looks at all of them.",
)
@click.option(
    "--measure",
    "measures",
    metavar="NAME",
    multiple=True,
    help="A measure beside the usual ones, by its name in ir_measures, such as nDCG@20; can be given several times.",
)
@click.option(
    "--answer-threshold",
    type=click.FloatRange(0, 1),
    metavar="CONFIDENCE",
    default=None,
    help="The confidence below which a search counts as having no answer; by default that of the preset.",
)
@click.option(
    "--json",
    "target",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="FILE",
    default=None,
    help="Write the figures as JSON; - prints them instead of the tables.",
)
@click.option(
    "--report",
    "reports",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    multiple=True,
    help="Write a report: a page with plots as .html, tables as .md; can be given several times.",
)
@click.option(
    "--sweep",
    "sweeps",
    type=click.Choice(("k", "alpha")),
    multiple=True,
    help="Turn a constant of the first preset's fusion: k of reciprocal ranks, or alpha, the vector leg's share in a "
    "convex combination; drawn in the report, too. Can be given twice.",
)
@click.option(
    "--run-dir",
    type=click.Path(file_okay=False),
    metavar="DIR",
    default=None,
    help="Write rankings and judgements as TREC files into this folder.",
)
@options.namespace("The namespace that is asked where the questions are for the memory of --db.")
@options.embedder
@options.database
@options.quiet
def command(
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
    quiet: bool,  # noqa: ARG001 (whoever prints asks for it)
    **asked: Any,
) -> None:
    """Measure presets over the questions of a dataset.

    DATASET is a BEIR folder, or a JSON file of LoCoMo or LongMemEval. A BEIR folder without corpus.jsonl holds
    questions to the memory of --db. Vectors and rankings are kept, so that a second run goes on where the first was.
    """
    from recollect.evaluation import MEASURES  # noqa: PLC0415 (brings numpy)

    if reports:
        _check_reports(reports)
    dataset = evaluating.chosen_dataset(path, asked)
    wanted = tuple(dict.fromkeys((*MEASURES, *measures)))
    systems = evaluating.systems_of(presets, modes)
    outcomes = evaluating.judged(
        dataset, systems, asked, depth=depth, measures=wanted, answer_threshold=answer_threshold
    )
    if "alpha" in sweeps and outcomes[0].embedder == "none":
        raise ArgumentError("--sweep", "alpha needs an embedder: without one there are no vectors to weigh")
    turned = [sweep for each in dict.fromkeys(sweeps) for sweep in _swept(dataset, systems[0], each, asked, depth)]
    if run_dir is not None:
        _write_runs(Path(run_dir), dataset, outcomes)
    if reports:
        _write_reports(reports, dataset, outcomes, turned)
    told = [outcome.to_dict() for outcome in outcomes]
    if target == "-":
        terminal.print_json(told)
        return
    if target is not None:
        Path(target).write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    evaluating.show(dataset, outcomes, turned)


def _swept(dataset: Dataset, system: System, parameter: str, asked: dict[str, Any], depth: int) -> list[Sweep]:
    """Put the questions to the systems of a sweep."""
    from recollect.evaluation import MEASURES, build_sweeps, sweep_systems  # noqa: PLC0415 (brings numpy)

    systems = list(sweep_systems(system, parameter).values())
    outcomes = evaluating.judged(dataset, systems, asked, depth=depth, measures=MEASURES, cache_queries=True)
    return build_sweeps(dataset.name, parameter, system, outcomes, MEASURES)


def _check_reports(paths: Sequence[str]) -> None:
    """Make sure, before the work begins, that each report can be written as what its name ends in, and where."""
    from recollect.evaluation.report import report_format  # noqa: PLC0415 (brings numpy)

    for path in paths:
        report_format(path)
        if not Path(path).parent.is_dir():
            raise ArgumentError("report", f"must be in a folder that is there, got {path!r}")


def _write_reports(
    paths: Sequence[str], dataset: Dataset, outcomes: Sequence[Outcome], sweeps: Sequence[Sweep]
) -> None:
    """Write the same figures as each of the reports, dated today."""
    from recollect.evaluation.report import build_report, save_report  # noqa: PLC0415 (as above)

    today = datetime.now(tz=UTC).astimezone().date().isoformat()
    drawn = [sweep for sweep in sweeps if sweep.measure in _DRAWN]
    report = build_report(outcomes, dataset, sweeps=drawn, date=today)
    for path in paths:
        save_report(path, report)
        terminal.say_aside(f"report: {path}")


def _write_runs(folder: Path, dataset: Dataset, outcomes: Sequence[Outcome]) -> None:
    """Write the judgements, and a run for each system, named after them."""
    from recollect.evaluation import write_qrels, write_run  # noqa: PLC0415 (as above)

    folder.mkdir(parents=True, exist_ok=True)
    name = _file_name(dataset.name)
    write_qrels(folder / f"{name}.qrels", dataset.questions)
    for outcome in outcomes:
        path = folder / f"{name}.{_file_name(outcome.system)}.run"
        write_run(path, outcome.rankings, tag=_file_name(outcome.system))


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text)
