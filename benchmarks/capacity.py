"""How far each store goes: a model fitted to 10,000 and 100,000 notes, held against what a million were found to take.

``scripts/bench capacity`` prints tables in Markdown: what was measured at each size, the check, and the model from
10⁴ to 10⁹ notes. The points are what ``scripts/bench stores --notes N --save benchmarks/measured/stores.json`` wrote.

What is modelled, and why so:

- A line through the last two sizes that were measured: every note brings its own words and vector, engines that rank by
  lists read the whole list of each word, and where every vector is compared, that is a line, too.
- What did not grow between the two, as HNSW does not where it is used, is taken to grow as the logarithm.
- Loading goes on at the last rate.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["check_table", "measured_table", "model_table", "predicted"]

MEASURED = Path(__file__).parent / "measured" / "stores.json"
FITTED = (10_000, 100_000)
CHECKED = 1_000_000
SIZES = tuple(10**power for power in range(4, 10))

Points = Mapping[int, Mapping[str, Mapping[str, float]]]

NAMES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
FIGURES = {
    "disk_mb": "disk",
    "client_mb": "memory of the client",
    "server_mb": "memory of the server",
    "search_text_p50_ms": "words, p50",
    "search_vectors_p50_ms": "vectors, p50",
    "notes_per_second": "loading",
}


def predicted(points: Points, engine: str, figure: str, notes: int, fitted: Sequence[int] = FITTED) -> float | None:
    """Return what the model says of an engine at a size, by two sizes; ``None`` for what was not measured.

    >>> at = {10_000: {"sqlite": {"disk_mb": 20.0}}, 100_000: {"sqlite": {"disk_mb": 110.0}}}
    >>> predicted(at, "sqlite", "disk_mb", 1_000_000)
    1010.0
    """
    small, large = fitted
    few, many = (points[size].get(engine, {}).get(figure) for size in fitted)
    if few is None or many is None:
        return None
    if figure == "notes_per_second":
        return many
    if many <= few:
        return many * math.log(notes) / math.log(large)
    return few + (many - few) / (large - small) * (notes - small)


def measured_table(points: Points, notes: int) -> str:
    """Return what was measured at one size, an engine a column."""
    engines = points[notes]
    rows = [f"| {notes:,} notes | {' | '.join(NAMES[name] for name in engines)} |", "|---" * (len(engines) + 1) + "|"]
    for name, told in _MEASURED.items():
        cells = [told(figures) for figures in engines.values()]
        if any(cells):
            rows.append(f"| {name} | {' | '.join(cell or '–' for cell in cells)} |")
    return "\n".join(rows)


def _latency(search: str) -> Callable[[Mapping[str, float]], str]:
    return lambda figures: f"{figures[f'{search}_p50_ms']:,.1f} / {figures[f'{search}_p95_ms']:,.1f}"


def _figure(name: str) -> Callable[[Mapping[str, float]], str]:
    return lambda figures: _shown(name, figures[name]) if name in figures else ""


_MEASURED: Mapping[str, Callable[[Mapping[str, float]], str]] = {
    "by words, best 60, p50 / p95 ms": _latency("search_text"),
    "by vectors, best 60": _latency("search_vectors"),
    "`Memory.search`, default preset": _latency("Memory.search"),
    "of the nearest 60, those that SQLite finds": lambda figures: f"{figures['search_vectors_same_as_sqlite']:.1%}",
    "loading, in batches of 1,000 with vectors": _figure("notes_per_second"),
    "on the disk": _figure("disk_mb"),
    "memory of the client": _figure("client_mb"),
    "memory of the server": _figure("server_mb"),
}


def check_table(points: Points) -> str:
    """Return what the model says of a million notes beside what was measured."""
    rows = ["| at 10⁶ notes | model | measured | measured / model |", "|---|---|---|---|"]
    for engine, measured in points.get(CHECKED, {}).items():
        for figure, name in FIGURES.items():
            model = predicted(points, engine, figure, CHECKED)
            if model is None or figure not in measured:
                continue
            found = measured[figure]
            rows.append(
                f"| {NAMES[engine]}, {name} | {_shown(figure, model)} | {_shown(figure, found)} | {found / model:.2f} |"
            )
    return "\n".join(rows)


def model_table(points: Points, engine: str) -> str:
    """Return what the model says of one engine at every size, or, in bold, what was measured."""
    small, large = sorted(size for size in points if engine in points[size])[-2:]
    figures = [figure for figure in FIGURES if predicted(points, engine, figure, SIZES[0]) is not None]
    rows = [
        f"| {NAMES[engine]}: notes | {' | '.join(FIGURES[figure] for figure in figures)} | time to load |",
        "|---" * (len(figures) + 2) + "|",
    ]
    for place, notes in enumerate(SIZES, start=4):
        measured = points.get(notes, {}).get(engine, {})
        model = {figure: predicted(points, engine, figure, notes, (small, large)) for figure in figures}
        told = {figure: told or 0.0 for figure, told in model.items()} | dict(measured)
        cells = [
            f"**{_shown(figure, told[figure])}**" if figure in measured else _shown(figure, told[figure])
            for figure in figures
        ]
        loading = _time(notes / told["notes_per_second"])
        rows.append(f"| 10{'⁴⁵⁶⁷⁸⁹'[place - 4]} | {' | '.join(cells)} | {loading} |")
    return "\n".join(rows)


def _shown(figure: str, value: float) -> str:
    if figure.endswith("_mb"):
        for unit, size in (("TB", 1e6), ("GB", 1e3)):
            if value >= size:
                return f"{value / size:.3g} {unit}"
        return f"{value:.3g} MB"
    if figure.endswith("_ms"):
        return (
            f"{value:.3g} ms" if value < 1000 else f"{value / 1000:.3g} s" if value < 120_000 else _time(value / 1000)
        )
    return f"{value:,.0f} notes/s"


def _time(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def load_points(path: Path = MEASURED) -> Points:
    """Read what was measured, by the number of notes."""
    told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return {int(notes): figures for notes, figures in told["points"].items()}


def main(arguments: Sequence[str]) -> int:
    """Print the tables; return the exit code."""
    path = Path(arguments[0]) if arguments else MEASURED
    if not path.exists():
        print(f"there is no {path}; scripts/bench stores --notes N --save {path} writes it", file=sys.stderr)
        return 2
    points = load_points(path)
    for notes in sorted(points):
        print(measured_table(points, notes), end="\n\n")
    print(check_table(points))
    for engine in points[FITTED[1]]:
        print(f"\n{model_table(points, engine)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
