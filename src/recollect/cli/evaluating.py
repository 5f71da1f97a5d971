"""What eval and compare share: the options that choose a dataset, and how it is put to systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

import click

from recollect.cli import opening, terminal
from recollect.progress import shown_progress

if TYPE_CHECKING:
    from recollect.evaluation import Dataset, Outcome, Sweep, System
    from recollect.retrieval.options import Mode

__all__ = ["MODES", "choosing_options", "chosen_dataset", "dataset_options", "judged", "show", "systems_of"]

F = TypeVar("F", bound=Callable[..., Any])

MODES = ("auto", "hybrid", "bm25", "semantic")

_DATASET = (
    click.option(
        "--format",
        type=click.Choice(("beir", "locomo", "longmemeval")),
        default=None,
        help="The dataset's format, where it cannot be seen.",
    ),
    click.option(
        "--level",
        type=click.Choice(("turn", "session")),
        default=None,
        help="What a note of a conversation is, by default a turn in LoCoMo and a session in LongMemEval.",
    ),
    click.option(
        "--pool",
        is_flag=True,
        help="Put the sessions of all of LongMemEval's questions into one memory, each session once.",
    ),
    click.option(
        "--split",
        metavar="NAME",
        default=None,
        help="Which judgements of a BEIR folder, by default test or the only ones.",
    ),
    click.option(
        "--limit",
        type=click.IntRange(1),
        default=None,
        metavar="N",
        help="Only so many questions, spread evenly over the dataset.",
    ),
    click.option(
        "--cache",
        type=click.Path(file_okay=False),
        metavar="DIR",
        default=None,
        help="Where vectors and rankings are kept, by default in the user's cache.",
    ),
)
_STORE = click.option(
    "--store",
    metavar="PATH|URL",
    default=None,
    help="Where the dataset's notes are put while they are asked: a store, each collection in a namespace of its own "
    "that is emptied at the end; by default temporary files.",
)
_FRESH = click.option("--fresh", is_flag=True, help="Begin anew instead of going on where the last run ended.")


def choosing_options(command: F) -> F:
    """Give a command the options that choose and limit a dataset."""
    for option in reversed(_DATASET):
        command = option(command)
    return command


def dataset_options(command: F) -> F:
    """Give a command that goes on where it ended the options that choose and limit a dataset."""
    return choosing_options(_STORE(_FRESH(command)))


def chosen_dataset(path: str, asked: dict[str, Any]) -> Dataset:
    """Read the dataset that the options ask for, and say aside what a reader of the figures should know."""
    from recollect.evaluation import load_dataset  # noqa: PLC0415 (brings numpy)

    dataset = load_dataset(path, format=asked["format"], level=asked["level"], split=asked["split"], pool=asked["pool"])
    dataset = dataset.sample(asked["limit"]) if asked["limit"] else dataset
    for remark in dataset.remarks:
        terminal.say_aside(f"{dataset.name}: {remark}")
    return dataset


def systems_of(presets: Sequence[str], modes: Sequence[Mode]) -> list[System]:
    """Return every preset in every mode."""
    from recollect.evaluation import System  # noqa: PLC0415 (brings numpy)

    return [System(preset, mode) for preset in presets for mode in modes]


def judged(dataset: Dataset, systems: Sequence[System], asked: dict[str, Any], **options: Any) -> list[Outcome]:
    """Put the questions to every system; those without notes of their own to the memory of ``--db``."""
    from recollect.evaluation import evaluate  # noqa: PLC0415 (brings numpy)

    own = dataset.notes > 0
    given = nullcontext() if own else opening.open_for_reading(asked["db"], asked["embedder"])
    label = "Evaluating"
    with given as memory, nullcontext(opening.no_progress) if terminal.is_quiet() else shown_progress(label) as told:
        outcomes = evaluate(
            dataset,
            systems,
            embedder=asked["embedder"],
            memory=memory,
            namespace=asked.get("namespace"),
            store=asked["store"],
            cache=asked["cache"],
            resume=not asked["fresh"],
            progress=told,
            **options,
        )
    for warning in dict.fromkeys(warning for outcome in outcomes for warning in outcome.warnings):
        terminal.warn(warning)
    return outcomes


def show(dataset: Dataset, outcomes: Sequence[Outcome], sweeps: Sequence[Sweep] = ()) -> None:
    """Draw the figures, the differences to the first system, the strata, the measures of trust, and sweeps."""
    from recollect.cli import outcome_tables  # noqa: PLC0415 (brings rich, which is heavy)

    console = terminal.console()
    outcome_tables.draw_heading(console, dataset, outcomes[0])
    outcome_tables.draw_figures(console, outcomes)
    if len(outcomes) > 1:
        console.print()
        outcome_tables.draw_differences(console, outcomes)
    if outcomes[0].strata:
        console.print()
        outcome_tables.draw_strata(console, outcomes)
    if any(outcome.trust for outcome in outcomes):
        console.print()
        outcome_tables.draw_trust(console, outcomes)
    for parameter in dict.fromkeys(sweep.parameter for sweep in sweeps):
        console.print()
        outcome_tables.draw_sweep(console, [sweep for sweep in sweeps if sweep.parameter == parameter])
