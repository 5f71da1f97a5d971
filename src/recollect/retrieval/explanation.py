"""Why each result stands where it stands, drawn for a person in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum
from typing import Any

from recollect import arguments
from recollect.characters import collapse_whitespace
from recollect.model import Candidate, Step, as_candidates

__all__ = ["explain"]

_BAR = 24
_LONGEST = 100
_EIGHTHS = " ▏▎▍▌▋▊▉"


def explain(candidates: Iterable[Candidate | Mapping[str, Any]], *, limit: int | None = 10) -> str:
    """Return a drawing of what each leg gave to each candidate and what each stage then did to it.

    ``candidates`` are as a fusion or a stage returns them. ``limit`` is how many are drawn; ``None`` or 0 draws all.

    >>> from recollect.fusion import reciprocal_rank_fusion
    >>> from recollect.ranking import importance_prior
    >>> fused = reciprocal_rank_fusion([[{"id": "tea", "title": "Tea", "score": 7.2, "importance": 0.9}]])
    >>> print(explain(importance_prior(fused)))
     1  Tea  (tea)
        lexical     rank 1 · raw 7.2        ████████████████████████  +0.016393
        fused                                                          0.016393  1.00 of the most possible
        importance  importance 0.90                                      × 0.97
        score                                                          0.015902
    """
    found = as_candidates("candidates", candidates)
    most = arguments.limit("limit", limit)
    shown = found[:most] if most else found
    longest = max((part.points for candidate in shown for part in candidate.contributions), default=0.0)
    tables = [list(_rows(candidate, longest)) for candidate in shown]
    widths = [max((len(row[column]) for rows in tables for row in rows), default=0) for column in range(3)]
    return "\n\n".join(
        "\n".join((_heading(rank, candidate), *(_line(row, widths) for row in rows)))
        for rank, (candidate, rows) in enumerate(zip(shown, tables, strict=True), 1)
    )


_Row = tuple[str, str, str, str]
"""A leg's or a stage's name, what it saw, what it gave, and a remark."""


def _heading(rank: int, candidate: Candidate) -> str:
    name = _one_line(candidate.title) or _one_line(candidate.path) or _one_line(candidate.id)
    where = _one_line(candidate.path if candidate.title.strip() and candidate.path else candidate.id)
    return f"{rank:>2}  {name}" + (f"  ({where})" if where != name else "")


def _rows(candidate: Candidate, longest: float) -> Iterator[_Row]:
    contributions = candidate.contributions
    for part in contributions:
        place = f"rank {part.rank} · raw {part.score:.4g}"
        bar = _bar(part.points / longest if longest > 0 else 0.0)
        yield _one_line(part.leg), f"{place:<24}{bar}", f"+{part.points:.6f}", ""
    if contributions:
        scale = "" if candidate.relevance is None else f"{candidate.relevance:.2f} of the most possible"
        yield "fused", "", f"{fsum(part.points for part in contributions):.6f}", scale
    for step in candidate.steps:
        moved = f"rank {step.rank_before} → {step.rank_after}" if step.rank_before != step.rank_after else ""
        yield step.stage, _one_line(step.reason), _change(step), moved
    if candidate.steps or not contributions:
        yield "score", "", f"{candidate.score:.6f}", ""


def _line(row: _Row, widths: Sequence[int]) -> str:
    label, detail, value, note = row
    return f"    {label:<{widths[0]}}  {detail:<{widths[1]}}  {value:>{widths[2]}}  {note}".rstrip()


def _one_line(text: str) -> str:
    """Return ``text`` fit for a terminal: no line breaks and no control codes, and not too long."""
    shown = collapse_whitespace("".join(character if character.isprintable() else " " for character in text[:_LONGEST]))
    return shown if len(text) <= _LONGEST else f"{shown}…"


def _change(step: Step) -> str:
    changes = []
    if step.factor != 1:
        changes.append(f"× {step.factor:.4g}")
    if step.addend:
        changes.append(f"{'+' if step.addend > 0 else '−'} {abs(step.addend):.4g}")
    return " ".join(changes) or "="


def _bar(share: float) -> str:
    eighths = round(share * _BAR * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
