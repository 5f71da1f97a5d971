"""The results of the peers benchmark: a JSON file, tables in Markdown, and plots of the latency."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.machine import machine_info
from benchmarks.peers.plot import Point, line_chart
from recollect.errors import ArgumentError

__all__ = ["PLOTS", "Line", "Results", "engine_lines", "latency_plot", "markdown", "read_results"]

FORMAT = 1
MISSING = "–"
Result = Mapping[str, Any]
"""The measurements of one engine on one corpus."""

PLOTS = {
    "hybrid": "Hybrid search, top 10 of 60 candidates: median latency of a query",
    "words": "Lexical search, top 60: median latency of a query",
    "vectors": "Vector search, top 60: median latency of a query",
}
"""The titles of the plots by search mode."""

SEARCH_COLUMNS = (
    *("engine", "hybrid p50 ms", "p95", "p99", "lexical p50 ms", "p95", "p99", "vectors p50 ms", "p95", "p99"),
    *("lexical recall@10", "@60", "vector recall@10", "@60", "target found", "hybrid/s, 1 thread", "2 threads"),
    "queries",
)
STORAGE_COLUMNS = (
    *("engine", "ingest notes/s", "disk MB", "MB in memory: ingest", "after queries", "without mapped files"),
    *("first answer ms", "written ms", "found by both legs ms"),
)
MIN_QUERIES = {50: 1, 95: 20, 99: 100}
"""For each percentile, the number of queries below which it is not shown."""


@dataclass
class Results:
    """The measurements of one machine, one for each engine and corpus; saved as ``figures``.

    >>> results = Results(machine={"cores": 2})
    >>> results.put({"engine": "recollect", "corpus": "generated, seed 0", "notes": 500, "first_answer_ms": 7.0})
    >>> results.has("recollect", "generated, seed 0", 500), results.has("recollect", "generated, seed 1", 500)
    (True, False)
    """

    machine: dict[str, Any] = field(default_factory=machine_info)
    measurements: list[dict[str, Any]] = field(default_factory=list)

    def has(self, engine: str, corpus: str, notes: int) -> bool:
        """Return whether an engine was measured on a corpus."""
        return any(_key(result) == (engine, corpus, notes) for result in self.measurements)

    def put(self, result: dict[str, Any]) -> None:
        """Add a result; it replaces a result of the same engine and corpus."""
        by_key = {_key(measurement): measurement for measurement in self.measurements}
        self.measurements = list({**by_key, _key(result): result}.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the machine and all measurements as JSON-ready data."""
        return {"format": FORMAT, "machine": self.machine, "figures": self.measurements}

    def save(self, path: Path) -> None:
        """Write the machine and all measurements to a file, atomically."""
        partial = path.with_name(f"{path.name}.new")
        partial.write_text(json.dumps(self.to_dict(), indent=2) + "\n", encoding="utf-8")
        partial.replace(path)


def read_results(path: Path) -> Results:
    """Return the results in a file, or empty ones if it does not exist; raise ``ArgumentError`` for another machine."""
    machine = machine_info()
    if not path.exists():
        return Results(machine)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        results = Results(data["machine"], data["figures"])
        if data["format"] != FORMAT or not all(map(_is_result, results.measurements)):
            raise ValueError("another format")
    except (ValueError, KeyError, TypeError):
        raise ArgumentError("--json", f"{path} has no results of this benchmark; choose another file") from None
    if results.machine != machine:
        raise ArgumentError("--json", f"{path} has results of another machine or Python; choose another file")
    return results


def _is_result(data: Any) -> bool:
    """Return whether data has the fields that tables and plots need."""
    return isinstance(data, dict) and all(
        isinstance(data.get(name), kind)
        for kind, names in ((str, ("engine", "about", "corpus")), (int, ("notes", "dimension")))
        for name in names
    )


def _key(result: Result) -> tuple[str, str, int]:
    return result["engine"], result["corpus"], result["notes"]


def markdown(results: Results) -> str:
    """Return a line about the machine, then two tables for each corpus."""
    parts = [_machine_line(results.machine)]
    for corpus, notes in sorted({(result["corpus"], result["notes"]) for result in results.measurements}):
        corpus_results = [result for result in results.measurements if _key(result)[1:] == (corpus, notes)]
        parts.append(f"### {notes:,} notes ({corpus}, vectors of {corpus_results[0]['dimension']} numbers)")
        rows = [_search_row(result, method) for result in corpus_results for method in _hybrid_methods(result)]
        parts.append(_table(SEARCH_COLUMNS, rows))
        parts.append(_table(STORAGE_COLUMNS, [_storage_row(result) for result in corpus_results]))
    return "\n\n".join(parts) + "\n"


def _machine_line(machine: Mapping[str, Any]) -> str:
    cores, memory = machine.get("cores"), machine.get("memory_bytes")
    parts = [str(machine.get("cpu")), f"{cores} core{'' if cores == 1 else 's'}"]
    parts += [f"{memory / 1e9:.1f} GB of memory"] if memory else []
    parts += [str(machine["system"])] if "system" in machine else []
    parts += [f"Python {machine['python']}"] if "python" in machine else []
    return ", ".join(parts) + "."


def _hybrid_methods(result: Result) -> list[str]:
    return [name.removeprefix("hybrid_") for name in result if name.startswith("hybrid_")] or [""]


def _search_row(result: Result, method: str) -> list[str]:
    hybrid: Result = result.get(f"hybrid_{method}", {})
    words, vectors = result.get("words", {}), result.get("vectors", {})
    show_legs = method != "default"  # the row of the other hybrid method shows the same legs
    legs = [cell if show_legs else "" for leg in (words, vectors) for cell in _percentiles(leg)]
    names = (f"{leg}_recall_{cutoff}" for leg in ("words", "vectors") for cutoff in (10, 60))
    recalls = [_cell(result.get(name), "{:.3f}".format) if show_legs else "" for name in names]
    counts = dict.fromkeys(part["queries"] for part in (hybrid, words, vectors) if part)
    return [
        result["about"] + (", default preset" if method == "default" else ""),
        *_percentiles(hybrid),
        *legs,
        *recalls,
        _cell(result.get(f"target_found_{method}"), "{:.3f}".format),
        *(_cell(hybrid.get(f"per_second_{threads}"), "{:,.0f}".format) for threads in (1, 2)),
        " / ".join(map(str, counts)),
    ]


def _percentiles(part: Result) -> list[str]:
    queries = part.get("queries", 0)
    return [
        _cell(part.get(f"p{percentile}_ms") if queries >= min_queries else None, _format_ms)
        for percentile, min_queries in MIN_QUERIES.items()
    ]


def _storage_row(result: Result) -> list[str]:
    write = result.get("write", {})
    sizes = ("disk_bytes", "build_rss_peak", "rss_after_queries", "rss_anonymous")
    return [
        result["about"],
        _cell(result.get("notes_per_second"), "{:,.0f}".format),
        *(_cell(result.get(name), lambda value: f"{value / 1e6:,.0f}") for name in sizes),
        _cell(result.get("first_answer_ms"), "{:,.0f}".format),
        _cell(write.get("written_ms"), _format_ms),
        _cell(write.get("visible_ms"), _format_ms),
    ]


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] + ["---:"] * (len(columns) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: float | None, format_value: Callable[[float], str]) -> str:
    return MISSING if value is None else format_value(value)


def _format_ms(value: float) -> str:
    if value < 10:
        return f"{value:.2f}"
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


class Line(NamedTuple):
    """A line of a plot: an engine, and its median latency in milliseconds by the number of notes."""

    name: str
    points: Mapping[int, float]


def engine_lines(results: Results, plot: str) -> list[Line]:
    """Return the lines of a plot: one for each engine, two for an engine with two hybrid methods."""
    parts = ("hybrid_rrf", "hybrid_default") if plot == "hybrid" else (plot,)
    lines = []
    for about in dict.fromkeys(result["about"] for result in results.measurements):
        engine_results = [result for result in results.measurements if result["about"] == about]
        for part in parts:
            points = {result["notes"]: result[part]["p50_ms"] for result in engine_results if part in result}
            if points:
                name = about + (", default preset" if part == "hybrid_default" else "")
                lines.append(Line(name, dict(sorted(points.items()))))
    return lines


def latency_plot(title: str, lines: Sequence[Line]) -> str:
    """Draw a line for each engine as SVG; both axes are logarithmic, so that a straight line is a power law.

    >>> svg = latency_plot("Lexical search", [Line("Recollect", {10_000: 0.2, 100_000: 0.4})])
    >>> "Recollect, 100,000 notes: 0.4 ms" in svg, svg.count("<polyline")
    (True, 1)
    """
    series = {
        line.name: [
            Point(size, time, f"{line.name}, {size:,} notes: {time:.3g} ms") for size, time in line.points.items()
        ]
        for line in lines
    }
    return line_chart(
        title,
        series,
        x_label="notes",
        x_format="{:,.0f}".format,
        y_format=lambda ms: f"{ms / 1000:g} s" if ms >= 1000 else f"{ms:g} ms",
    )
