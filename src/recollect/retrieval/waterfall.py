"""How one result came by its score: what each leg gave, and how each stage made it grow or shrink."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

from recollect.model import Candidate, Step
from recollect.retrieval.lines import bar, change_bar, hanging, one_line
from recollect.retrieval.wording import context_in_words

if TYPE_CHECKING:
    from recollect.retrieval.trace import Context

__all__ = ["Row", "draw_row", "highest", "pointers", "rows", "widths"]


_LONGEST_REASON = 200


class Row(NamedTuple):
    """One line of a waterfall: a leg's or a stage's name, what it did, the score then, a bar, and why."""

    name: str
    change: str = ""
    score: str = ""
    bar: str = ""
    reason: str = ""


def highest(candidates: Sequence[Candidate]) -> float:
    """Return the highest score that any of these ever had: the end of the scale of all bars."""
    scores = [candidate.score for candidate in candidates]
    scores += [_fused(candidate) for candidate in candidates]
    scores += [max(step.score_before, step.score_after) for candidate in candidates for step in candidate.steps]
    return max(scores, default=0.0)


def rows(candidate: Candidate, scale: float, cells: int, context: Context | None = None) -> list[Row]:
    """Return the waterfall of a candidate, with bars on a scale that ends at ``scale``."""
    legs, stages = list(_legs(candidate, scale, cells, context)), list(_stages(candidate, scale, cells))
    sure = "" if candidate.confidence is None else f"confidence {candidate.confidence:.2f}"
    if legs and not stages:  # the fused score is the score
        *parts, fused = legs
        return [*parts, fused._replace(reason=" · ".join(part for part in (fused.reason, sure) if part))]
    end = Row("score", "", f"{candidate.score:.6f}", bar(0.0, _share(candidate.score, scale), cells), sure)
    return [*legs, *stages, end]


def pointers(candidate: Candidate, places: Mapping[str, tuple[int, Candidate]]) -> Iterator[str]:
    """Yield a line for each note that replaced this one, with its place where it was found, too."""
    for heir in candidate.superseded_by:
        place, note = places.get(heir, (0, None))
        where = one_line((note.path or note.title if note else "") or heir)
        yield f"    ↳ replaced by {where}" + (f", number {place} here" if place else "")


def widths(table: Sequence[Row]) -> tuple[int, int, int]:
    """Return how wide the columns of names, changes and scores are."""
    name, change, score = (max((len(row[column]) for row in table), default=0) for column in range(3))
    return name, change, score


def draw_row(row: Row, columns: tuple[int, int, int], cells: int, width: int) -> list[str]:
    """Return the lines of a row; a reason that is too long for the width goes on below itself."""
    name, change, score = columns
    beginning = f"    {row.name:<{name}}  {row.change:>{change}}  {row.score:>{score}}  {row.bar:<{cells}}  "
    return hanging(beginning, row.reason, width)


def _legs(candidate: Candidate, scale: float, cells: int, context: Context | None) -> Iterator[Row]:
    """Yield what each leg gave, each bar from where the one before it ends, and their sum."""
    contributions = candidate.contributions
    so_far = 0.0
    for part in contributions:
        drawn = bar(_share(so_far, scale), _share(so_far + part.points, scale), cells)
        so_far += part.points
        found = f"rank {part.rank} · raw {part.score:.4g}"
        if context is not None and part.leg == "lexical":
            found += f" · {context_in_words(context, candidate)}"
        yield Row(one_line(part.leg), f"+{part.points:.6f}", "", drawn, found)
    if contributions:
        fused = _fused(candidate)
        reason = "" if candidate.relevance is None else f"{candidate.relevance:.2f} of the most possible"
        yield Row("fused", "", f"{fused:.6f}", bar(0.0, _share(fused, scale), cells), reason)


def _stages(candidate: Candidate, scale: float, cells: int) -> Iterator[Row]:
    """Yield what each stage did; one that did nothing is left out."""
    steps = candidate.steps
    for place, step in enumerate(steps):
        after = steps[place + 1] if place + 1 < len(steps) else None
        # A stage may take several steps; the move is told with the last of them.
        goes_on = after is not None and (after.stage, *after[-2:]) == (step.stage, *step[-2:])
        moved = step.rank_before != step.rank_after and not goes_on
        if step.factor == 1 and not step.addend and not moved and step.stage != "rerank":
            continue
        drawn = change_bar(_share(step.score_before, scale), _share(step.score_after, scale), cells)
        told = [f"rank {step.rank_before} → {step.rank_after}"] if moved else []
        yield Row(
            one_line(step.stage),
            _change(step),
            f"{step.score_after:.6f}",
            drawn,
            " · ".join((*told, _reason(step))),
        )


def _reason(step: Step) -> str:
    if step.factor != 1 or step.addend or step.stage == "rerank":
        return one_line(step.reason, _LONGEST_REASON)
    return "others passed it" if step.rank_after > step.rank_before else "others fell behind it"


def _change(step: Step) -> str:
    changes = []
    if step.factor != 1:
        changes.append(f"× {step.factor:.4g}")
    if step.addend:
        changes.append(f"{'+' if step.addend > 0 else '−'} {abs(step.addend):.4g}")
    return " ".join(changes) or "="


def _fused(candidate: Candidate) -> float:
    return fsum(part.points for part in candidate.contributions)


def _share(score: float, scale: float) -> float:
    return score / scale if scale > 0 else 0.0
