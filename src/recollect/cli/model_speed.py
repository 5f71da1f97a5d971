"""Measure the speed of a model of the catalogue, in a process of its own, so that the memory of models is not added."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from recollect.errors import ModelError, RecollectError
from recollect.inference.catalogue import catalogue_entry

QUERIES = 50
DOCUMENTS = 50
DOCUMENT_CHARACTERS = 200
PAIRS = 20
"""How many documents a reranker scores for one query."""
RERANKED_QUERIES = 10


def measure_in_subprocess(name: str) -> dict[str, Any]:
    """Return the result of :func:`measure`, computed by a new process; raise ``ModelError`` if that fails."""
    code = "from recollect.cli.model_speed import main; main()"
    process = subprocess.run([sys.executable, "-c", code, name], check=False, capture_output=True, text=True)  # noqa: S603 (this Python)
    if process.returncode:
        last_line = next(reversed(process.stderr.strip().splitlines()), f"exit code {process.returncode}")
        raise ModelError(f"{name} cannot be measured: {last_line}")
    result: dict[str, Any] = json.loads(process.stdout)
    return result


def main() -> None:
    """Print the measurements of the model that the first argument names as JSON."""
    try:
        print(json.dumps(measure(sys.argv[1])))  # noqa: T201 (the output for measure_in_subprocess)
    except RecollectError as error:
        sys.exit(str(error))


def measure(name: str) -> dict[str, Any]:
    """Return load time, latency, throughput and memory of an installed model.

    Times are in milliseconds. ``load_ms`` is the time until the first result. ``memory_mb`` is the largest resident
    memory of this process so far, or ``None`` where the system does not report it.
    """
    measured = _measure_embedder(name) if catalogue_entry(name).kind == "embedder" else _measure_reranker(name)
    return {"name": name, **measured, "memory_mb": _peak_memory_mb()}


def _measure_embedder(name: str) -> dict[str, Any]:
    from recollect.embedders.registry import EMBEDDERS  # noqa: PLC0415 (heavy)

    embedder = EMBEDDERS[name].create("")
    load_ms = _milliseconds(embedder.embed_query, "the first query")
    # Queries differ, so that none is answered from the cache.
    query_ms = [_milliseconds(embedder.embed_query, query) for query in _queries(QUERIES)]
    documents = _documents(DOCUMENTS)
    documents_ms = _milliseconds(embedder.embed_documents, documents)
    return {
        "load_ms": load_ms,
        "query_ms_p50": _percentile(query_ms, 50),
        "query_ms_p95": _percentile(query_ms, 95),
        "documents_per_second": round(1000 * len(documents) / documents_ms, 1),
    }


def _measure_reranker(name: str) -> dict[str, Any]:
    from recollect.rerankers.registry import RERANKERS  # noqa: PLC0415 (heavy)

    reranker = RERANKERS[name].create("")
    documents = _documents(PAIRS)
    load_ms = _milliseconds(reranker.rerank, "the first query", documents[:1])
    rerank_ms = [_milliseconds(reranker.rerank, query, documents) for query in _queries(RERANKED_QUERIES)]
    return {
        "load_ms": load_ms,
        "pairs": PAIRS,
        "query_ms_p50": _percentile(rerank_ms, 50),
        "query_ms_p95": _percentile(rerank_ms, 95),
    }


def _queries(count: int) -> list[str]:
    """Return different short texts: the sample queries, then titles of the sample notes."""
    from recollect.sample import sample_notes, sample_queries  # noqa: PLC0415 (reads files)

    texts = [*(query["query"] for query in sample_queries()), *(note["title"] for note in sample_notes())]
    return list(dict.fromkeys(texts))[:count]


def _documents(count: int) -> list[str]:
    """Return texts of ``DOCUMENT_CHARACTERS`` characters, cut from the sample notes."""
    from recollect.sample import sample_notes  # noqa: PLC0415 (reads files)

    text = " ".join(" ".join(note["content"].split()) for note in sample_notes())
    return [text[start * DOCUMENT_CHARACTERS :][:DOCUMENT_CHARACTERS] for start in range(count)]


def _milliseconds(function: Callable[..., object], *arguments: Any) -> float:
    """Return how long a call takes."""
    start = perf_counter()
    function(*arguments)
    return round(1000 * (perf_counter() - start), 3)


def _percentile(values: Sequence[float], percent: int) -> float:
    """Return the smallest value that is not below ``percent`` of the values."""
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]


def _peak_memory_mb(status: Path = Path("/proc/self/status")) -> int | None:
    """Return the largest resident memory of this process in MB; ``None`` if the system has no such file (not Linux)."""
    try:
        lines = status.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    # resource.getrusage would include the memory of the process that started this one.
    return next((int(line.split()[1]) // 1000 for line in lines if line.startswith("VmHWM:")), None)
