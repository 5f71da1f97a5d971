"""The study behind the default preset: eight questions about hybrid retrieval, answered on public data.

    python -m benchmarks.studies.default --datasets FOLDER --out docs

The folder holds LoCoMo's JSON (``locomo*.json``) and SciFact and MuSiQue in BEIR's form (``scifact*``, ``musique*``).
What is found is kept, as every evaluation's is: a run that was interrupted goes on where it was. The words of the study
are in ``default.md`` beside this file; the tables go where it names them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.studies.ablation import ablation
from benchmarks.studies.ceiling import deeper, misses, pools
from benchmarks.studies.connecting import along_mentions, along_turns, reachable
from benchmarks.studies.dates import temporal_boosts
from benchmarks.studies.exactness import exact_bonus
from benchmarks.studies.fusing import damping_and_depth, methods, shape
from benchmarks.studies.importance import arithmetic, random_importances
from benchmarks.studies.laboratory import Chapter, Laboratory
from benchmarks.studies.material import materials
from benchmarks.studies.second_stage import reranking, reranking_time
from benchmarks.studies.standing import conversations, own_legs, standings, weak_legs
from benchmarks.studies.tables import table
from recollect import __version__
from recollect.errors import RecollectError
from recollect.progress import shown_progress

__all__ = ["CHAPTERS", "filled", "main"]

CHAPTERS: dict[str, Chapter] = {
    each.__name__: each
    for each in (
        *(standings, conversations, methods, damping_and_depth, shape, weak_legs, own_legs, ablation, along_turns),
        *(along_mentions, reachable, exact_bonus, arithmetic, random_importances, temporal_boosts),
        *(reranking, reranking_time, pools, deeper, misses),
    )
}
_WORDS = Path(__file__).with_suffix(".md")
_PLACE = re.compile(r"\{\{([^{}]+)\}\}")


def filled(text: str, found: Mapping[str, str]) -> str:
    """Return a text with each ``{{name}}`` replaced by what was found under that name.

    >>> filled("Of all, {{share}}.", {"share": "3 of 8"})
    'Of all, 3 of 8.'
    """
    return _PLACE.sub(lambda place: found.get(place[1], f"(not measured: {place[1]})"), text)


def _setting(lab: Laboratory) -> dict[str, str]:
    rows = []
    for name, material in lab.materials.items():
        dataset, sample = material.dataset, material.sample.dataset
        counts = (len(dataset.collections), dataset.notes, len(dataset.questions), len(sample.questions))
        rows.append([name, *(f"{count:,}" for count in counts), ", ".join(material.measures)])
    heads = ["collection", "memories", "notes", "questions", "in sweeps", "measures, the first decides"]
    models = ", ".join(f"{lab.model_name(each)} (`{each}`)" for each in lab.embedders)
    return {"material": table(heads, rows), "models": models, "version": __version__}


def main(given: Sequence[str] | None = None) -> int:
    """Run the study and write it."""
    reader = argparse.ArgumentParser(
        prog="scripts/bench studies.default", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    reader.add_argument("--datasets", type=Path, required=True, help="the folder with the three collections")
    reader.add_argument("--out", type=Path, required=True, help="where study.md and its plots are written")
    reader.add_argument("--embedder", action="append", help="by default minilm and static; the first is the main one")
    reader.add_argument("--cache", type=Path, help="where vectors and rankings are kept, by default the user's cache")
    reader.add_argument(
        "--chapter", action="append", choices=list(CHAPTERS), help="only these: tables are printed, plots written"
    )
    reader.add_argument("--quick", action="store_true", help="a few questions of each collection, to see that it runs")
    reader.add_argument("--whole", action="store_true", help="all questions in sweeps, too: hours rather than one")
    options = reader.parse_args(given)
    try:
        found = materials(options.datasets, quick=options.quick, whole=options.whole)
        lab = Laboratory(found, options.embedder or ["minilm", "static"], options.cache)
        told = _setting(lab)
        wanted = options.chapter or list(CHAPTERS)
        with shown_progress("Chapters") as progress:
            for done, name in enumerate(wanted):
                progress(done, len(wanted), name)
                told |= CHAPTERS[name](lab)
    except RecollectError as error:
        print(error, file=sys.stderr)
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    for file, picture in lab.pictures.items():
        (options.out / file).write_text(picture, encoding="utf-8")
    if options.chapter:
        print("\n\n".join(f"{name}\n\n{text}" for name, text in told.items()))
    else:
        written = filled(_WORDS.read_text(encoding="utf-8"), told)
        (options.out / "study.md").write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
