"""The whole run: corpora are made, each engine is built and asked in processes of its own, one after the other."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.peers.corpus import Corpus, Query
from benchmarks.peers.engines import ENGINES, engine_named
from benchmarks.peers.exact import CUTS, Exact, Idf
from benchmarks.peers.machine import package_versions
from benchmarks.peers.measuring import Task
from benchmarks.peers.results import Results
from benchmarks.peers.worker import SIGN
from recollect.errors import RecollectError
from recollect.progress import Progress

__all__ = ["Settings", "run"]

STEPS = ("build", "ask")


@dataclass(frozen=True)
class Settings:
    """What a run was told: which engines, seconds for each leg, where to work, and whether to measure all anew."""

    engines: Sequence[str]
    seconds: float
    scratch: Path
    again: bool = False


def run(
    corpora: Iterable[Callable[[], Corpus]],
    settings: Settings,
    results: Results,
    *,
    progress: Progress,
    measured: Callable[[Results], None],
    failed: Callable[[str], None],
) -> None:
    """Measure each engine on each corpus that it was not measured on yet.

    ``measured`` is called after each, so that nothing is lost when a run is interrupted; ``failed`` is told in one line
    of an engine that came to grief, and the others go on.
    """
    for make in corpora:
        corpus = make()
        wanted = [
            name for name in settings.engines if settings.again or not results.has(name, corpus.name, corpus.notes)
        ]
        judge = Judge(corpus) if wanted else None
        for place, name in enumerate(wanted):
            try:
                figures = _measured(name, corpus, settings, progress, (place, len(wanted)))
            except EngineFailedError as error:
                failed(f"{name} with {corpus.notes:,} notes is left out: {error}")
                continue
            finally:
                shutil.rmtree(settings.scratch / f"index-{name}", ignore_errors=True)
            found = figures.pop("found")
            results.put(figures | (judge.judged(found, engine_named(name).idf) if judge else {}))
            measured(results)


class EngineFailedError(RecollectError):
    """An engine's process ended before its work."""


class Judge:
    """Holds what engines found against what they should have found."""

    def __init__(self, corpus: Corpus) -> None:
        """Ask exactly, once for all engines."""
        self._queries: list[Query] = corpus.queries()
        self._exact = Exact(corpus, self._queries)

    def judged(self, found: dict[str, list[list[int]]], idf: Idf) -> dict[str, Any]:
        """Return the recall of each leg, and how often both legs together found the note that a query was made from."""
        told: dict[str, Any] = {}
        for part, lists in found.items():
            if part.startswith("hybrid"):
                hits = [query.target in ids for query, ids in zip(self._queries, lists, strict=False)]
                told[f"target_found_{part.removeprefix('hybrid_')}"] = round(float(np.mean(hits)), 4)
                continue
            for cut in CUTS:
                shares = [self._recall(part, place, ids, cut, idf) for place, ids in enumerate(lists)]
                told[f"{part}_recall_{cut}"] = round(float(np.mean(shares)), 4)
        return told

    def _recall(self, part: str, place: int, ids: list[int], cut: int, idf: Idf) -> float:
        if part == "words":
            return self._exact.word_recall(place, ids, cut, idf)
        return self._exact.vector_recall(place, ids, cut)


def _measured(
    name: str, corpus: Corpus, settings: Settings, progress: Progress, place: tuple[int, int]
) -> dict[str, Any]:
    """Build an engine in one process, ask it in another, and return what both tell."""
    index = settings.scratch / f"index-{name}"
    shutil.rmtree(index, ignore_errors=True)
    task = Task(name, str(corpus.folder), str(index), settings.seconds)
    kind = engine_named(name)
    told: dict[str, Any] = {
        "engine": name,
        "about": kind.about,
        "corpus": corpus.name,
        "notes": corpus.notes,
        "dimension": corpus.dimension,
        "exact": kind.exact,
        "seconds_each": settings.seconds,
        "date": datetime.now(tz=UTC).date().isoformat(),
        "packages": package_versions(["recollectdb", "numpy", "apsw", *ENGINES[name].needs.values()]),
    }
    for number, step in enumerate(STEPS):

        def tell(done: int, total: int, what: str, number: int = number) -> None:
            share = (place[0] + (number + done / max(total, 1)) / len(STEPS)) / place[1]
            progress(int(1000 * share), 1000, f"{corpus.notes:,} {name}: {what}")

        told |= _worked(step, task, settings.scratch, tell)
    return told


def _worked(step: str, task: Task, scratch: Path, progress: Progress) -> dict[str, Any]:
    """Run one step in a process of its own, and return what it wrote."""
    with TemporaryDirectory(prefix="worker-", dir=scratch) as folder:
        return _answered(step, task, Path(folder), progress)


def _answered(step: str, task: Task, folder: Path, progress: Progress) -> dict[str, Any]:
    asked, answered, log = (folder / name for name in ("task.json", "result.json", "worker.log"))
    asked.write_text(json.dumps(task._asdict()), encoding="utf-8")
    command = [sys.executable, "-m", "benchmarks.peers.worker", step, str(asked), str(answered)]
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        for line in process.stdout or ():
            if line.startswith(SIGN):
                done, total, what = line[1:].rstrip("\n").split(" ", 2)
                progress(int(done), int(total), what)
    if process.returncode or not answered.exists():
        lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        raise EngineFailedError(lines[-1] if lines else f"its process ended with {process.returncode}")
    told: dict[str, Any] = json.loads(answered.read_text(encoding="utf-8"))
    return told
