"""``scripts/bench capacity``: tables of the stores' metrics, and a model of their growth to 10⁹ notes.

``scripts/bench stores --notes N --save benchmarks/measured/stores.json`` measures the data. The model:

- A metric grows linearly with the number of notes, on the line through the last two measured sizes.
- A metric that did not grow between these sizes, such as the latency of HNSW, grows with the logarithm of the size.
- Ingest throughput stays that of the larger size.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["check_table", "measured_table", "model_table", "predicted"]

MEASURED_FILE = Path(__file__).parent / "measured" / "stores.json"
FITTED_SIZES = (10_000, 100_000)
"""The numbers of notes from which the model predicts."""
CHECKED_SIZE = 1_000_000
"""The number of notes at which the prediction is compared with a measurement."""
SIZES = tuple(10**power for power in range(4, 10))

Points = Mapping[int, Mapping[str, Mapping[str, float]]]
"""The measured values by number of notes, engine and metric."""

ENGINE_NAMES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
METRICS = {
    "disk_mb": "disk",
    "client_mb": "memory of the client",
    "server_mb": "memory of the server",
    "search_text_p50_ms": "lexical, p50",
    "search_vectors_p50_ms": "vectors, p50",
    "notes_per_second": "ingest",
}


def predicted(
    points: Points, engine: str, metric: str, notes: int, fitted: Sequence[int] = FITTED_SIZES
) -> float | None:
    """Return the value of an engine's metric that the model predicts for a number of notes.

    ``fitted`` are the two measured sizes. The result is ``None`` if the metric was not measured at both.

    >>> points = {10_000: {"sqlite": {"disk_mb": 20.0}}, 100_000: {"sqlite": {"disk_mb": 110.0}}}
    >>> predicted(points, "sqlite", "disk_mb", 1_000_000)
    1010.0
    """
    small, large = fitted
    value_at_small, value_at_large = (points[size].get(engine, {}).get(metric) for size in fitted)
    if value_at_small is None or value_at_large is None:
        return None
    if metric == "notes_per_second":
        return value_at_large
    if value_at_large <= value_at_small:
        return value_at_large * math.log(notes) / math.log(large)
    slope = (value_at_large - value_at_small) / (large - small)
    return value_at_small + slope * (notes - small)


def measured_table(points: Points, notes: int) -> str:
    """Return the measured metrics at one size, with a column for each engine."""
    engines = points[notes]
    rows = [
        f"| {notes:,} notes | {' | '.join(ENGINE_NAMES[name] for name in engines)} |",
        "|---" * (len(engines) + 1) + "|",
    ]
    for name, format_cell in _MEASURED_ROWS.items():
        cells = [format_cell(metrics) for metrics in engines.values()]
        if any(cells):
            rows.append(f"| {name} | {' | '.join(cell or '–' for cell in cells)} |")
    return "\n".join(rows)


def _latency(search: str) -> Callable[[Mapping[str, float]], str]:
    return lambda metrics: f"{metrics[f'{search}_p50_ms']:,.1f} / {metrics[f'{search}_p95_ms']:,.1f}"


def _metric(name: str) -> Callable[[Mapping[str, float]], str]:
    return lambda metrics: _format(name, metrics[name]) if name in metrics else ""


_MEASURED_ROWS: Mapping[str, Callable[[Mapping[str, float]], str]] = {
    "lexical search, best 60, p50 / p95 ms": _latency("search_text"),
    "vector search, best 60": _latency("search_vectors"),
    "`Memory.search`, default preset": _latency("Memory.search"),
    "recall@60 against SQLite, which is exact": lambda metrics: f"{metrics['search_vectors_same_as_sqlite']:.1%}",
    "ingest, in batches of 1,000 with vectors": _metric("notes_per_second"),
    "disk": _metric("disk_mb"),
    "memory of the client": _metric("client_mb"),
    "memory of the server": _metric("server_mb"),
}


def check_table(points: Points) -> str:
    """Return a table of predicted and measured values at ``CHECKED_SIZE`` notes."""
    rows = ["| at 10⁶ notes | model | measured | measured / model |", "|---|---|---|---|"]
    for engine, measured in points.get(CHECKED_SIZE, {}).items():
        for metric, name in METRICS.items():
            model = predicted(points, engine, metric, CHECKED_SIZE)
            if model is None or metric not in measured:
                continue
            value = measured[metric]
            cells = (
                f"{ENGINE_NAMES[engine]}, {name}",
                _format(metric, model),
                _format(metric, value),
                f"{value / model:.2f}",
            )
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def model_table(points: Points, engine: str) -> str:
    """Return the metrics of one engine at every size: measured values in bold, the others as predicted."""
    small, large = sorted(size for size in points if engine in points[size])[-2:]
    metrics = [metric for metric in METRICS if predicted(points, engine, metric, SIZES[0]) is not None]
    rows = [
        f"| {ENGINE_NAMES[engine]}: notes | {' | '.join(METRICS[metric] for metric in metrics)} | time to ingest |",
        "|---" * (len(metrics) + 2) + "|",
    ]
    for power, notes in enumerate(SIZES):
        measured = points.get(notes, {}).get(engine, {})
        model = {metric: predicted(points, engine, metric, notes, (small, large)) for metric in metrics}
        values = {metric: value or 0.0 for metric, value in model.items()} | dict(measured)
        cells = [
            f"**{_format(metric, values[metric])}**" if metric in measured else _format(metric, values[metric])
            for metric in metrics
        ]
        duration = _format_seconds(notes / values["notes_per_second"])
        rows.append(f"| 10{'⁴⁵⁶⁷⁸⁹'[power]} | {' | '.join(cells)} | {duration} |")
    return "\n".join(rows)


def _format(metric: str, value: float) -> str:
    if metric.endswith("_mb"):
        for unit, size in (("TB", 1e6), ("GB", 1e3)):
            if value >= size:
                return f"{value / size:.3g} {unit}"
        return f"{value:.3g} MB"
    if metric.endswith("_ms"):
        if value < 1000:
            return f"{value:.3g} ms"
        return f"{value / 1000:.3g} s" if value < 120_000 else _format_seconds(value / 1000)
    return f"{value:,.0f} notes/s"


def _format_seconds(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def load_points(path: Path = MEASURED_FILE) -> Points:
    """Read the measured values from a file."""
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return {int(notes): metrics for notes, metrics in data["points"].items()}


def main(arguments: Sequence[str]) -> int:
    """Print the tables; return the exit code."""
    path = Path(arguments[0]) if arguments else MEASURED_FILE
    if not path.exists():
        print(f"{path} does not exist; scripts/bench stores --notes N --save {path} writes it", file=sys.stderr)
        return 2
    points = load_points(path)
    for notes in sorted(points):
        print(measured_table(points, notes), end="\n\n")
    print(check_table(points))
    for engine in points[FITTED_SIZES[1]]:
        print(f"\n{model_table(points, engine)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
