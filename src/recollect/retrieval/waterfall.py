"""How one result came by its score: what each leg gave, and how each stage made it grow or shrink."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.model import Candidate, Step
from recollect.retrieval.lines import bar, change_bar, hanging, one_line
from recollect.retrieval.wording import context_in_words, stem_only_in_words

if TYPE_CHECKING:
    from recollect.retrieval.trace import Context, StemOnly

__all__ = ["Row", "draw_row", "highest", "pointers", "rows", "widths"]


_LONGEST_REASON = 200


class Row(NamedTuple):
    """One line of a waterfall: what a leg or a stage did to a score, from where to where, and why."""

    kind: str
    """``leg``: points of a leg, behind those before it; ``fused``: their sum; ``stage``: a score that grew or shrank;
    ``score``: what it came to."""
    name: str
    start: float
    end: float
    change: str = ""
    reason: str = ""

    @property
    def score(self) -> str:
        """The score then; a leg gives a part of one."""
        return "" if self.kind == "leg" else f"{self.end:.6f}"

    def to_dict(self) -> dict[str, Any]:
        """Return the line as JSON-ready data."""
        return self._asdict()


def highest(candidates: Sequence[Candidate]) -> float:
    """Return the highest score that any of these ever had: the end of the scale of all bars."""
    scores = [candidate.score for candidate in candidates]
    scores += [_fused(candidate) for candidate in candidates]
    scores += [max(step.score_before, step.score_after) for candidate in candidates for step in candidate.steps]
    return max(scores, default=0.0)


def rows(candidate: Candidate, context: Context | None = None, stem_only: StemOnly | None = None) -> list[Row]:
    """Return the waterfall of a candidate; ``context`` is what it was read with, ``stem_only`` its discount."""
    legs, stages = list(_legs(candidate, context, stem_only)), list(_stages(candidate))
    confidence = "" if candidate.confidence is None else f"confidence {candidate.confidence:.2f}"
    if candidate.inherited_confidence is not None:
        confidence += ", inherited"
    if legs and not stages:  # the fused score is the score
        *parts, fused = legs
        return [*parts, fused._replace(reason=" · ".join(part for part in (fused.reason, confidence) if part))]
    return [*legs, *stages, Row("score", "score", 0.0, candidate.score, reason=confidence)]


def pointers(candidate: Candidate, places: Mapping[str, tuple[int, Candidate]]) -> Iterator[str]:
    """Yield a line for each note that replaced this one, with its place where it was found, too."""
    for heir in candidate.superseded_by:
        place, note = places.get(heir, (0, None))
        where = one_line((note.path or note.title if note else "") or heir)
        yield f"replaced by {where}" + (f", number {place} here" if place else "")


def widths(table: Sequence[Row]) -> tuple[int, int, int]:
    """Return how wide the columns of names, changes and scores are."""
    columns = ([len(row.name), len(row.change), len(row.score)] for row in table)
    name, change, score = map(max, zip((0, 0, 0), *columns, strict=True))
    return name, change, score


def draw_row(row: Row, columns: tuple[int, int, int], scale: float, cells: int, width: int) -> list[str]:
    """Return the lines of a row, with its bar on a scale that ends at ``scale``.

    A reason that is too long for the width goes on below itself.
    """
    name, change, score = columns
    drawn = (change_bar if row.kind == "stage" else bar)(_share(row.start, scale), _share(row.end, scale), cells)
    beginning = f"    {row.name:<{name}}  {row.change:>{change}}  {row.score:>{score}}  {drawn:<{cells}}  "
    return hanging(beginning, row.reason, width)


def _legs(candidate: Candidate, context: Context | None, stem_only: StemOnly | None) -> Iterator[Row]:
    """Yield what each leg gave, each from where the one before it ends, and their sum."""
    contributions = candidate.contributions
    so_far = 0.0
    for part in contributions:
        found = f"rank {part.rank} · raw {part.score:.4g}"
        if stem_only is not None and part.leg == "lexical":
            found += f" · {stem_only_in_words(stem_only)}"
        if context is not None and part.leg == "lexical":
            found += f" · {context_in_words(context, candidate)}"
        yield Row("leg", one_line(part.leg), so_far, so_far + part.points, f"+{part.points:.6f}", found)
        so_far += part.points
    if contributions:
        reason = "" if candidate.own_relevance is None else f"{candidate.own_relevance:.2f} of the most possible"
        yield Row("fused", "fused", 0.0, _fused(candidate), reason=reason)


def _stages(candidate: Candidate) -> Iterator[Row]:
    """Yield what each stage did; one that did nothing is left out."""
    steps = candidate.steps
    for place, step in enumerate(steps):
        after = steps[place + 1] if place + 1 < len(steps) else None
        # A stage may take several steps; the move is told with the last of them.
        goes_on = after is not None and (after.stage, *after[-2:]) == (step.stage, *step[-2:])
        moved = step.rank_before != step.rank_after and not goes_on
        if step.factor == 1 and not step.addend and not moved and step.stage != "rerank":
            continue
        told = [f"rank {step.rank_before} → {step.rank_after}"] if moved else []
        reason = " · ".join((*told, _reason(step)))
        yield Row("stage", one_line(step.stage), step.score_before, step.score_after, _change(step), reason)


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
