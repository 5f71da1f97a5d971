"""The figures as tables in Markdown: one for searching and one for keeping, for each size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.peers.results import Results

__all__ = ["NONE", "markdown"]

NONE = "–"
Figure = Mapping[str, Any]

SEARCHING = (
    "engine",
    "hybrid p50 ms",
    "p95",
    "p99",
    "words p50 ms",
    "p95",
    "p99",
    "vectors p50 ms",
    "p95",
    "p99",
    "words recall@10",
    "@60",
    "vectors recall@10",
    "@60",
    "target found",
    "hybrids a second, 1 thread",
    "2 threads",
    "queries",
)
KEEPING = (
    "engine",
    "notes a second in",
    "disk MB",
    "MB in memory: taking in",
    "after queries",
    "of it no files",
    "first answer ms",
    "written ms",
    "seen by both legs ms",
)


def markdown(results: Results) -> str:
    """Return all tables, and a line on the machine.

    >>> figure = {"engine": "chroma", "about": "Chroma", "corpus": "generated, seed 0", "notes": 500, "dimension": 384}
    >>> figure |= {"vectors": {"p50_ms": 0.95, "p95_ms": 1.0, "p99_ms": 1.234, "queries": 9}, "first_answer_ms": 1164.4}
    >>> print(markdown(Results({"cpu": "Z80", "cores": 1, "memory_bytes": 65536}, [figure])).splitlines()[0])
    Z80, 1 core, 0.0 GB of memory.
    """
    parts = [_machine(results.machine)]
    for corpus, notes in sorted({(each["corpus"], each["notes"]) for each in results.figures}):
        figures = [each for each in results.figures if (each["corpus"], each["notes"]) == (corpus, notes)]
        parts.append(f"### {notes:,} notes ({corpus}, vectors of {figures[0]['dimension']} numbers)")
        rows = [_searching(each, way) for each in figures for way in _ways(each)]
        parts.append(_table(SEARCHING, rows))
        parts.append(_table(KEEPING, [_keeping(each) for each in figures]))
    return "\n\n".join(parts) + "\n"


def _machine(machine: Mapping[str, Any]) -> str:
    cores = machine.get("cores")
    memory = machine.get("memory_bytes")
    told = [str(machine.get("cpu")), f"{cores} core{'' if cores == 1 else 's'}"]
    told += [f"{memory / 1e9:.1f} GB of memory"] if memory else []
    told += [str(machine["system"])] if "system" in machine else []
    told += [f"Python {machine['python']}"] if "python" in machine else []
    return ", ".join(told) + "."


def _ways(figure: Figure) -> list[str]:
    """Return the ways of searching by both that an engine was asked for; nothing is a way too."""
    return [name.removeprefix("hybrid_") for name in figure if name.startswith("hybrid_")] or [""]


def _searching(figure: Figure, way: str) -> list[str]:
    both: Figure = figure.get(f"hybrid_{way}", {})
    words, vectors = figure.get("words", {}), figure.get("vectors", {})
    first = way != "default"  # the legs are the same whatever they are fused by: once is enough
    legs = [shown if first else "" for leg in (words, vectors) for shown in _times(leg)]
    shares = (f"{leg}_recall_{cut}" for leg in ("words", "vectors") for cut in (10, 60))
    recalls = [_shown(figure.get(name), _share) if first else "" for name in shares]
    asked = dict.fromkeys(part["queries"] for part in (both, words, vectors) if part)
    return [
        figure["about"] + (", default preset" if way == "default" else ""),
        *_times(both),
        *legs,
        *recalls,
        _shown(figure.get(f"target_found_{way}"), _share),
        *(_shown(both.get(f"per_second_{threads}"), _count) for threads in (1, 2)),
        " / ".join(str(each) for each in asked),
    ]


def _times(part: Figure) -> list[str]:
    """Return what half, 95 and 99 of 100 queries took at most, as far as there were enough to tell."""
    asked = part.get("queries", 0)
    return [_shown(part.get(f"p{share}_ms") if asked >= least else None, _time) for share, least in _LEAST.items()]


_LEAST = {50: 1, 95: 20, 99: 100}
"""Of how many queries at least one is slower than so many of a hundred."""


def _keeping(figure: Figure) -> list[str]:
    write = figure.get("write", {})
    sizes = ("disk_bytes", "build_rss_peak", "rss_after_queries", "rss_anonymous")
    return [
        figure["about"],
        _shown(figure.get("notes_per_second"), _count),
        *(_shown(figure.get(name), _megabytes) for name in sizes),
        _shown(figure.get("first_answer_ms"), _count),
        _shown(write.get("written_ms"), _time),
        _shown(write.get("visible_ms"), _time),
    ]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _shown(value: float | None, written: Callable[[float], str]) -> str:
    return NONE if value is None else written(value)


def _time(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _share(value: float) -> str:
    return f"{value:.3f}"


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:,.0f}"
