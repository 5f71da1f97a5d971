"""The figures of a run, as they are kept in a file of JSON: what is there is not measured again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.machine import described_machine
from recollect.errors import ArgumentError

__all__ = ["Results", "read_results"]

FORMAT = 1


@dataclass
class Results:
    """All figures of one machine, each of an engine and a corpus.

    >>> results = Results(machine={"cores": 2})
    >>> results.put({"engine": "recollect", "corpus": "generated, seed 0", "notes": 500, "first_answer_ms": 7.0})
    >>> results.has("recollect", "generated, seed 0", 500), results.has("recollect", "generated, seed 1", 500)
    (True, False)
    """

    machine: dict[str, Any] = field(default_factory=described_machine)
    figures: list[dict[str, Any]] = field(default_factory=list)

    def has(self, engine: str, corpus: str, notes: int) -> bool:
        """Return whether an engine was measured on a corpus."""
        return any(_key(each) == (engine, corpus, notes) for each in self.figures)

    def put(self, figure: dict[str, Any]) -> None:
        """Keep a figure, in the place of the one that there was of the same engine and corpus, or behind all others."""
        by_key = {_key(each): each for each in self.figures}
        self.figures = list({**by_key, _key(figure): figure}.values())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {"format": FORMAT, "machine": self.machine, "figures": self.figures}

    def save(self, path: Path) -> None:
        """Write everything, whole or not at all."""
        fresh = path.with_name(f"{path.name}.new")
        fresh.write_text(json.dumps(self.to_dict(), indent=2) + "\n", encoding="utf-8")
        fresh.replace(path)


def read_results(path: Path) -> Results:
    """Return the figures in a file, or none if there is no such file; those of another machine are refused."""
    here = described_machine()
    if not path.exists():
        return Results(here)
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        results = Results(told["machine"], told["figures"])
        if told["format"] != FORMAT or not all(map(_is_figure, results.figures)):
            raise ValueError("these are figures of something else")
    except (ValueError, KeyError, TypeError):
        raise ArgumentError("--json", f"{path} holds no figures of bench; name another file") from None
    if results.machine != here:
        raise ArgumentError("--json", f"{path} holds figures of another machine or Python; name another file")
    return results


def _is_figure(told: Any) -> bool:
    """Return whether something says what tables and plots cannot do without."""
    if not isinstance(told, dict):
        return False
    texts, counts = ("engine", "about", "corpus"), ("notes", "dimension")
    return all(isinstance(told.get(name), str) for name in texts) and all(
        isinstance(told.get(name), int) for name in counts
    )


def _key(figure: dict[str, Any]) -> tuple[str, str, int]:
    return figure["engine"], figure["corpus"], figure["notes"]
