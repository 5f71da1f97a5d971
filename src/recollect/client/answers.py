"""What a server answers, as the objects that a memory of this process would return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import fsum
from typing import Any

from recollect.ingest.report import IngestReport, Problem
from recollect.model import Candidate, Hit, Note, RankedHits, Step
from recollect.stores.base import Neighbour

__all__ = ["RemoteResult", "hit_of", "neighbour_of", "note_of", "report_of", "result_of"]

_NOTE_FIELDS = frozenset(each.name for each in fields(Note))


@dataclass(frozen=True, slots=True, repr=False)
class RemoteResult(RankedHits):
    """The hits of a search on a server, best first, and what else it told.

    >>> result = RemoteResult("tea", (), ("searched by words alone",))
    >>> len(result), result.warnings
    (0, ('searched by words alone',))
    """

    query: str
    hits: tuple[Hit, ...]
    warnings: tuple[str, ...] = ()
    """What the search had to do without, and what to do about it."""
    trace: Mapping[str, Any] = field(default_factory=dict)
    """The trace as JSON, where it was asked for."""
    explanation: str = ""
    """The drawing of the search, where it was asked for."""
    answer_threshold: float = 0.0
    """The lowest confidence at which the best hit counts as an answer, from 0 to 1."""
    excluded: tuple[str, ...] = ()
    """The terms that the query excludes by NOT, as they were written: no hit holds one."""


def note_of(data: Mapping[str, Any]) -> Note:
    """Return a note; what a newer server may tell beside its fields is passed over.

    >>> note_of({"content": "Prefers sencha.", "id": "n1", "mood": "good"}).id
    'n1'
    """
    return Note(**{name: held for name, held in data.items() if name in _NOTE_FIELDS})


def hit_of(data: Mapping[str, Any]) -> Hit:
    """Return a hit with its whole record: ``hit_of(hit.to_dict())`` tells what ``hit`` tells.

    >>> told = Hit(1, Candidate("n1", score=0.5, evidence=("lexical", 1, 7.0, 0.5), ceiling=1.0)).to_dict()
    >>> hit_of(told).to_dict() == told
    True
    """
    found = Candidate.from_mapping(data, argument="hit")
    parts = data.get("contributions") or ()
    found.evidence = tuple(part[name] for part in parts for name in ("leg", "rank", "score", "points"))
    found.steps = tuple(_step(step) for step in data.get("steps") or ())
    relevance = data.get("relevance")
    if relevance is not None:  # a share of the ceiling, which is not told
        fused = fsum(found.evidence[3::4])
        found.ceiling = fused / relevance if relevance else 0.0
        found.inherited_relevance = relevance if relevance and not fused else None
    spans = tuple((first, last) for first, last in data.get("highlights") or ())
    return Hit(data["rank"], found, spans)


def result_of(data: Mapping[str, Any]) -> RemoteResult:
    """Return the result of a search.

    >>> result_of({"query": "tea", "hits": [{"rank": 1, "id": "n1"}]})[0].id
    'n1'
    """
    return RemoteResult(
        data["query"],
        tuple(hit_of(hit) for hit in data["hits"]),
        tuple(data.get("warnings") or ()),
        data.get("trace") or {},
        data.get("explanation") or "",
        data.get("answer_threshold") or 0.0,
        tuple(data.get("excluded") or ()),
    )


def neighbour_of(data: Mapping[str, Any]) -> Neighbour:
    """Return a note one step away."""
    return Neighbour(note_of(data["note"]), data["kind"], data["direction"])


def report_of(data: Mapping[str, Any]) -> IngestReport:
    """Return what an ingest did.

    >>> report_of({"files": {"read": 1}, "notes": {"added": 2}, "problems": []}).notes_added
    2
    """
    counts = {f"{kind}_{name}": count for kind in ("files", "notes") for name, count in data[kind].items()}
    problems = tuple(Problem(**problem) for problem in data["problems"])
    return IngestReport(**counts, problems=problems, skipped=data.get("skipped", {}))


def _step(data: Mapping[str, Any]) -> Step:
    return Step(
        data["stage"],
        data["reason"],
        data["factor"],
        data["addend"],
        data["score_before"],
        data["score_after"],
        data["rank_before"],
        data["rank_after"],
    )
