"""The run of the benchmark: builds and searches every engine in separate processes, one after another."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.machine import package_versions
from benchmarks.peers.corpus import Corpus, Query
from benchmarks.peers.engines import ENGINES, engine_class
from benchmarks.peers.exact import CUTOFFS, ExactSearch, Idf
from benchmarks.peers.measure import PROGRESS_SIGN, STEPS, Task
from benchmarks.peers.report import Results
from recollect.errors import RecollectError
from recollect.progress import Progress

__all__ = ["Settings", "run"]


@dataclass(frozen=True)
class Settings:
    """The engines, the time limit of each search mode, the working folder, and whether to measure everything again."""

    engines: Sequence[str]
    seconds: float
    scratch: Path
    again: bool = False


class EngineFailedError(RecollectError):
    """The process of an engine failed."""


def run(
    corpora: Iterable[Callable[[], Corpus]],
    settings: Settings,
    results: Results,
    *,
    progress: Progress,
    on_result: Callable[[Results], None],
    on_failure: Callable[[str], None],
) -> None:
    """Measure each engine on each corpus, unless ``results`` has the measurement already, and add it to ``results``.

    ``on_result`` is called after each engine, so that an interrupted run loses nothing. ``on_failure`` gets one line
    about an engine that failed; the run goes on with the other engines.
    """
    for build_corpus in corpora:
        corpus = build_corpus()
        pending = [
            name for name in settings.engines if settings.again or not results.has(name, corpus.name, corpus.notes)
        ]
        scorer = RecallScorer(corpus) if pending else None
        for number, name in enumerate(pending):
            label = f"{corpus.notes:,} {name}"
            report = partial(_report, progress, label, number, len(pending))
            try:
                result = _measure(name, corpus, settings, report)
            except EngineFailedError as error:
                on_failure(f"skipping {name} with {corpus.notes:,} notes: {error}")
                continue
            finally:
                shutil.rmtree(settings.scratch / f"index-{name}", ignore_errors=True)
            ids_by_mode = result.pop("found")
            results.put(result | (scorer.score(ids_by_mode, engine_class(name).idf) if scorer else {}))
            on_result(results)


def _report(progress: Progress, label: str, engine: int, engines: int, done: int, total: int, part: str) -> None:
    """Report the progress of one engine as part of the progress of all engines, in thousandths."""
    progress(int(1000 * (engine + done / max(total, 1)) / engines), 1000, f"{label}: {part}")


class RecallScorer:
    """Compares the results of engines with the results of exact search."""

    def __init__(self, corpus: Corpus) -> None:
        self._queries: list[Query] = corpus.queries()
        self._exact = ExactSearch(corpus, self._queries)

    def score(self, ids_by_mode: dict[str, list[list[int]]], idf: Idf) -> dict[str, Any]:
        """Return the recall of each leg, and the fraction of queries for which hybrid search found the target.

        ``ids_by_mode`` has, for each search mode, the note ids of each query's results.
        """
        scores: dict[str, Any] = {}
        for mode, lists in ids_by_mode.items():
            if mode.startswith("hybrid"):
                hits = [query.target in ids for query, ids in zip(self._queries, lists, strict=False)]
                scores[f"target_found_{mode.removeprefix('hybrid_')}"] = round(float(np.mean(hits)), 4)
                continue
            for cutoff in CUTOFFS:
                if mode == "words":
                    recalls = [self._exact.lexical_recall(query, ids, cutoff, idf) for query, ids in enumerate(lists)]
                else:
                    recalls = [self._exact.vector_recall(query, ids, cutoff) for query, ids in enumerate(lists)]
                scores[f"{mode}_recall_{cutoff}"] = round(float(np.mean(recalls)), 4)
        return scores


def _measure(name: str, corpus: Corpus, settings: Settings, progress: Progress) -> dict[str, Any]:
    """Run the steps of one engine; return their results."""
    index = settings.scratch / f"index-{name}"
    shutil.rmtree(index, ignore_errors=True)
    task = Task(name, str(corpus.folder), str(index), settings.seconds)
    engine_type = engine_class(name)
    result: dict[str, Any] = {
        "engine": name,
        "about": engine_type.about,
        "corpus": corpus.name,
        "notes": corpus.notes,
        "dimension": corpus.dimension,
        "exact": engine_type.exact,
        "seconds_each": settings.seconds,
        "date": datetime.now(tz=UTC).date().isoformat(),
        "packages": package_versions(["recollectdb", "numpy", "apsw", *ENGINES[name].packages.values()]),
    }
    for number, step in enumerate(STEPS):

        def report(done: int, total: int, part: str, number: int = number) -> None:
            progress(number * total + done, len(STEPS) * total, part)

        with TemporaryDirectory(prefix="worker-", dir=settings.scratch) as folder:
            result |= _run_step(step, task, Path(folder), report)
    return result


def _run_step(step: str, task: Task, folder: Path, progress: Progress) -> dict[str, Any]:
    """Run one step in a separate process; return its result."""
    task_file, result_file, log = (folder / name for name in ("task.json", "result.json", "worker.log"))
    task_file.write_text(json.dumps(task._asdict()), encoding="utf-8")
    command = [sys.executable, "-m", "benchmarks.peers.measure", step, str(task_file), str(result_file)]
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        for line in process.stdout or ():
            if line.startswith(PROGRESS_SIGN):
                done, total, part = line[1:].rstrip("\n").split(" ", 2)
                progress(int(done), int(total), part)
    if process.returncode or not result_file.exists():
        lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        raise EngineFailedError(lines[-1] if lines else f"its process ended with {process.returncode}")
    result: dict[str, Any] = json.loads(result_file.read_text(encoding="utf-8"))
    return result
