"""Measure the default preset without each of its parts, and with changed constants.

    python -m benchmarks.studies.parts --datasets FOLDER [--embedder arctic-embed-s] [--questions 500]

The folder has LoCoMo and LongMemEval as JSON, and SciFact and MuSiQue as BEIR folders. The datasets of this repository,
``everyday`` and ``temporal``, are added. Two tables are printed as Markdown:

- the default preset without each of its parts, with the 95 % paired bootstrap interval of the difference;
- leave-one-collection-out: for each collection, the constants with the best mean over the *other* collections and their
  value on this collection, the value of the default, and the constants that are best on this collection.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.studies.datasets import judged_datasets
from benchmarks.studies.tables import Values, difference_table, table
from recollect.evaluation import Dataset, System, evaluate
from recollect.evaluation.cache import default_cache_folder
from recollect.evaluation.report.text import format_fraction
from recollect.progress import shown_progress
from recollect.retrieval import presets
from recollect.retrieval.preset import changed_preset

__all__ = ["constants", "leave_one_out", "parts"]


def default_with(name: str, *, without: Sequence[str] = (), **sections: Any) -> System:
    """Return the default preset with changed settings, and without some stages, as a system."""
    default = presets()["default"]
    if without:
        sections["stages"] = tuple(stage for stage in default.stages if stage.name not in without)
    return System(changed_preset(default, sections), name=name)


def parts() -> list[System]:
    """Return the default preset, and the default without each of its parts."""
    default = presets()["default"]
    edges = dict.fromkeys(default.graph.edges, 0.0)
    stages = [stage.name for stage in default.stages]
    return [
        System(default),
        default_with("query.max_document_frequency 1", query={"max_document_frequency": 1.0}),
        default_with("query.stem_only_weight 1", query={"stem_only_weight": 1.0}),
        default_with("fusion.score_union off", fusion={"score_union": False}),
        default_with("fusion.chunk_penalty 0", fusion={"chunk_penalty": 0.0}),
        default_with("fusion.deviations 0", fusion={"deviations": 0.0}),
        default_with("context off", context={"on": False}),
        default_with("context.coverage 0", context={"coverage": 0.0}),
        default_with("context.passage 0", context={"passage": 0.0}),
        default_with("graph off", graph={"edges": edges}),
        *(default_with(f"stage {stage} off", without=[stage]) for stage in stages),
        default_with("candidate_k 60", candidate_k=60),
    ]


def constants() -> list[System]:
    """Return the default preset, and the default with one of its main constants changed."""
    default = presets()["default"]
    lexical, vector = (default.fusion.weights[leg] for leg in ("lexical", "vector"))
    shifts = (-0.1, -0.05, 0.05, 0.1)
    weights = [{"lexical": lexical - shift, "vector": vector + shift} for shift in shifts]
    return [
        System(default),
        *(default_with(f"vector {weight['vector']:g}", fusion={"weights": weight}) for weight in weights),
        *(default_with(f"deviations {value:g}", fusion={"deviations": value}) for value in (4.0, 5.0, 8.0)),
        *(default_with(f"chunk_penalty {value:g}", fusion={"chunk_penalty": value}) for value in (0.1, 0.3)),
        *(default_with(f"coverage {value:g}", context={"coverage": value}) for value in (0.5, 1.5)),
    ]


def leave_one_out(columns: Mapping[str, Mapping[str, Values]]) -> str:
    """Return a table: for each collection, the system that is best on the other collections, with its mean.

    ``columns`` has the values of each question by collection and system.
    """
    rows = []
    gaps = []
    for name, values in columns.items():
        others = [column for other, column in columns.items() if other != name]
        chosen = max(values, key=lambda system: float(np.mean([column[system].mean() for column in others])))
        best = max(values, key=lambda system: float(values[system].mean()))
        means = [float(values[system].mean()) for system in (chosen, "default", best)]
        gaps.append(means[2] - means[0])
        rows.append(
            [name, chosen, format_fraction(means[0]), format_fraction(means[1]), best, format_fraction(means[2])]
        )
    heads = ["left out", "chosen by the others", "reaches", "default", "best on itself", "reaches"]
    gap = format_fraction(float(np.mean(gaps)))
    return f"{table(heads, rows)}\n\nThe mean gap between tuned and left-out collections is {gap}."


def _columns(
    systems: Sequence[System], datasets: Sequence[tuple[str, str, Dataset]], embedder: str
) -> dict[str, dict[str, Values]]:
    """Return the values of each question by collection and system."""
    columns = {}
    for name, measure, dataset in datasets:
        with shown_progress(name) as progress:
            outcomes = evaluate(dataset, systems, embedder=embedder, cache=default_cache_folder(), progress=progress)
        columns[f"{name}, {measure} ({len(outcomes[0].values[measure]):,})"] = {
            outcome.system: outcome.values[measure] for outcome in outcomes
        }
    return columns


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print both tables."""
    parser = argparse.ArgumentParser(prog="scripts/bench studies.parts", description=__doc__)
    parser.add_argument("--datasets", type=Path, required=True)
    parser.add_argument("--embedder", default="arctic-embed-s")
    parser.add_argument("--questions", type=int, default=500, help="maximum for each collection, evenly spaced")
    options = parser.parse_args(arguments)
    datasets = list(judged_datasets(options.datasets, options.questions))
    print(difference_table("default with", _columns(parts(), datasets, options.embedder), "default"))
    print()
    print(leave_one_out(_columns(constants(), datasets, options.embedder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
