"""Explanation of a search: how the query was parsed, what each part did, and how each hit got its score.

:func:`explanation_data` returns it as data; :func:`explain_search` draws it for a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect import arguments
from recollect.model import Candidate, as_candidates
from recollect.ranking.stage import clamp
from recollect.retrieval.messages import (
    context_message,
    fusion_summary,
    no_answer_message,
    one_line,
    rank_summary,
    rerank_message,
    retry_message,
    stem_only_message,
    truncated,
)

if TYPE_CHECKING:
    from recollect.retrieval.trace import Trace

WIDTH = 110
"""The default number of columns."""
MIN_WIDTH = 60
_EIGHTHS = " ▏▎▍▌▋▊▉"
_LABEL_WIDTH = len("embedded as")
_MAX_QUERY = 400
_MAX_REASON = 200
_MAX_BEGINNING = 50
"""How much of its content is shown as the name of a note that has none, such as a turn of a conversation."""


def explain(candidates: Iterable[Candidate | Mapping[str, Any]], *, limit: int | None = 10, width: int = WIDTH) -> str:
    """Return a drawing of the points of each leg and the effects of each stage, for each candidate.

    ``candidates`` are the output of a fusion or a stage. ``limit`` is how many are drawn; ``None`` or 0 draws all.
    ``width`` is the number of columns, at least 60. All bars are on one scale: what a stage added is shaded dark, what
    it subtracted light.

    >>> from recollect.fusion import reciprocal_rank_fusion
    >>> from recollect.ranking import STAGES, run_stage
    >>> fused = reciprocal_rank_fusion([[{"id": "tea", "title": "Tea", "score": 7.2, "importance": 0.2}]])
    >>> print(explain(run_stage(STAGES["importance"](), fused), width=90))
     1  Tea  (tea)
        lexical     +0.016393            ██████████████████  rank 1 · raw 7.2
        fused                  0.016393  ██████████████████  1.00 of the highest possible
        importance     × 0.76  0.012459  ██████████████░░░░  importance 0.20
        score                  0.012459  █████████████▋
    """
    return _drawn(as_candidates("candidates", candidates), None, limit=limit, width=width)


def explain_search(trace: Trace, *, limit: int | None = 10, width: int = WIDTH) -> str:
    """Return a drawing of a search: how the query was parsed, what each part did, and then each result."""
    results = _drawn(trace.results, trace, limit=limit, width=width)
    head = _draw_head(trace, max(MIN_WIDTH, width))
    return f"{head}\n\n{results}" if results else head


def explanation_data(trace: Trace, *, limit: int | None = 10) -> dict[str, Any]:
    """Return what :func:`explain_search` draws as JSON-ready data.

    ``query_summary`` says how the query was parsed, ``notice`` which fallback query was used, ``timeline`` what each
    part did and when, in milliseconds; ``waterfalls`` has a sentence on each result and its rows, on a scale of scores
    that ends at ``max_score``.
    """
    shown = _first(trace.results, limit)
    notice = retry_message(trace)
    ranks = _ranks(trace.results)
    return {
        "query_summary": [{"label": label, "text": text} for label, text in _query_summary(trace)],
        "notice": "" if notice in trace.warnings else notice,
        "timeline": [part._asdict() for part in _timeline_parts(trace)],
        "max_score": _max_score(shown),
        "waterfalls": [
            {
                "id": candidate.id,
                "sentence": rank_summary(candidate),
                "pointers": list(_pointers(candidate, ranks)),
                "rows": [row._asdict() for row in _rows(candidate, trace)],
            }
            for candidate in shown
        ],
    }


def _drawn(candidates: Sequence[Candidate], trace: Trace | None, *, limit: int | None, width: int) -> str:
    """Return the drawing of each result; the trace has their contexts and discounts."""
    shown = _first(candidates, limit)
    columns = max(MIN_WIDTH, arguments.count("width", width))
    cells, max_score = columns // 5, _max_score(shown)
    scale = max_score if max_score > 0 else 1.0
    tables = [_rows(candidate, trace) for candidate in shown]
    cell_widths = [[len(row.name), len(row.change), len(row.score)] for table in tables for row in table]
    name, change, score = map(max, zip((0, 0, 0), *cell_widths, strict=True))
    ranks = _ranks(candidates)
    drawings = []
    for rank, (candidate, table) in enumerate(zip(shown, tables, strict=True), 1):
        lines = [_heading(rank, candidate), *(f"    ↳ {pointer}" for pointer in _pointers(candidate, ranks))]
        for row in table:
            bar = (_change_bar if row.kind == "stage" else _bar)(row.start / scale, row.end / scale, cells)
            beginning = f"    {row.name:<{name}}  {row.change:>{change}}  {row.score:>{score}}  {bar:<{cells}}  "
            lines += _wrap(beginning, row.reason, columns)
        drawings.append("\n".join(lines))
    return "\n\n".join(drawings)


def _first(candidates: Sequence[Candidate], limit: int | None) -> Sequence[Candidate]:
    size = arguments.limit("limit", limit)
    return candidates[:size] if size else candidates


def _ranks(candidates: Sequence[Candidate]) -> dict[str, tuple[int, Candidate]]:
    return {candidate.id: (rank, candidate) for rank, candidate in enumerate(candidates, 1)}


def _heading(rank: int, candidate: Candidate) -> str:
    beginning = truncated(one_line(candidate.content), _MAX_BEGINNING)
    name = one_line(candidate.title) or one_line(candidate.path) or beginning or one_line(candidate.id)
    path = one_line(candidate.path if candidate.title.strip() and candidate.path else candidate.id)
    return f"{rank:>2}  {name}" + (f"  ({path})" if path != name else "")


def _draw_head(trace: Trace, width: int) -> str:
    """Return the summary of a query, and a timeline of the parts of the search on one scale."""
    lines = [line for label, text in _query_summary(trace) for line in _wrap(f"{label:<{_LABEL_WIDTH}}  ", text, width)]
    lines.append("")
    parts = list(_timeline_parts(trace))
    cells, whole = width // 4, parts[-1].elapsed
    times = [f"{part.elapsed:.1f} ms" if part.elapsed else "–" for part in parts]
    widest = max(map(len, times))
    for (name, start, elapsed, message), time in zip(parts, times, strict=True):
        bar = _bar(start / whole, (start + elapsed) / whole, cells) if whole > 0 else ""
        lines += _wrap(f"{name:<{_LABEL_WIDTH}}  {bar:<{cells}}  {time:>{widest}}  ", message, width)
    return "\n".join(lines)


def _query_summary(trace: Trace) -> Iterator[tuple[str, str]]:
    """Yield label and text of each line about how the query was parsed and what was tried."""
    yield "query", one_line(trace.original_query, _MAX_QUERY)
    yield "searched", one_line(trace.compiled_query, _MAX_QUERY) or "no terms"
    best = max((result.confidence or 0.0 for result in trace.results), default=0.0)
    if trace.results and best < trace.answer_threshold:
        yield "no answer", no_answer_message(best, trace.answer_threshold)
    if trace.embedder_used and trace.embedded_query:
        yield "embedded as", one_line(trace.embedded_query, _MAX_QUERY)
    if trace.excluded:
        yield "excluded", ", ".join(map(one_line, trace.excluded))
    if trace.date_hints:
        yield "dates", ", ".join(map(one_line, trace.date_hints))
    for index, time in enumerate(trace.times):
        only = ", and nothing else" if trace.time_only else ""
        yield "" if index else "time", f"{one_line(time.text)}: {time.label}{only}"
    if trace.preset:
        yield "preset", " · ".join(part for part in (one_line(trace.preset), fusion_summary(trace.fusion)) if part)
    yield "mode", trace.mode + (", since vector search failed" if trace.fell_back_to_bm25 else "")
    if len(trace.attempts) > 1:
        widest = max(len(attempt.strategy) for attempt in trace.attempts)
        for index, (strategy, query, hits) in enumerate(trace.attempts):
            attempt = f"{one_line(strategy):<{widest}}  {truncated(one_line(query), 50)}"
            yield "" if index else "tried", f"{attempt}: {_count(hits) if hits else 'no results'}"
    for warning in trace.warnings:
        yield "warning", one_line(warning, _MAX_QUERY)
    if trace.error_stage and not any(trace.error_detail in warning for warning in trace.warnings):
        yield "failed", f"{one_line(trace.error_stage)}: {one_line(trace.error_detail, _MAX_QUERY)}"


def _count(results: int) -> str:
    return f"{results} {'result' if results == 1 else 'results'}"


class TimelinePart(NamedTuple):
    """One part of a search: its start and its time, both in milliseconds, and its result."""

    name: str
    start: float
    elapsed: float
    message: str


def _timeline_parts(trace: Trace) -> Iterator[TimelinePart]:
    """Yield the parts that ran or were skipped; lexical search and embedding run at the same time."""
    now = 0.0
    if trace.attempts or trace.bm25_elapsed:
        yield TimelinePart("lexical", now, trace.bm25_elapsed, _count(trace.bm25_count))
    if trace.mode != "bm25" or trace.vector_elapsed:
        model = f" · {one_line(trace.embedder)}" if trace.embedder_used else ""
        yield TimelinePart("vector", now, trace.vector_elapsed, f"{_count(trace.vector_count)}{model}")
    now += max(trace.bm25_elapsed, trace.vector_elapsed)
    if trace.context_elapsed:
        yield TimelinePart("context", now, trace.context_elapsed, f"{len(trace.contexts) or 'none'} rescored")
    now += trace.context_elapsed
    if trace.graph_skipped_reason:
        yield TimelinePart("graph", now, 0.0, f"skipped: {one_line(trace.graph_skipped_reason)}")
    elif trace.graph_elapsed:
        yield TimelinePart("graph", now, trace.graph_elapsed, _count(trace.graph_count))
    now += trace.graph_elapsed
    if trace.fusion_elapsed or trace.stages:
        yield TimelinePart("fusion", now, trace.fusion_elapsed, _stages_summary(trace))
    now += trace.fusion_elapsed
    reranked = rerank_message(trace)
    if reranked and trace.rerank_skipped_reason != "empty_candidates":
        yield TimelinePart("rerank", now, trace.rerank_elapsed, reranked)
    dropped = f", {trace.below_min_confidence} below min_confidence" if trace.below_min_confidence else ""
    yield TimelinePart(
        "total", 0.0, max(trace.total_elapsed, now + trace.rerank_elapsed), f"{len(trace.results)} shown{dropped}"
    )


def _stages_summary(trace: Trace) -> str:
    """Return the number of fused notes, and the stages, with how many notes each added or dropped."""
    stages = []
    count = trace.fused_count
    for stage, candidates, _ in trace.stages:
        change = f" {'+' if candidates > count else '−'}{abs(candidates - count)}" if candidates != count else ""
        stages.append(f"{one_line(stage)}{change}")
        count = candidates
    notes = "1 note" if trace.fused_count == 1 else f"{trace.fused_count} notes"
    return f"{notes} · {', '.join(stages)}" if stages else notes


class WaterfallRow(NamedTuple):
    """One line of a waterfall: what a leg or a stage did to a score, and why."""

    kind: str
    """``leg``: the points of a leg; ``fused``: their sum; ``stage``: a change; ``score``: the final score."""
    name: str
    start: float
    end: float
    change: str = ""
    reason: str = ""

    @property
    def score(self) -> str:
        """The score after this row; empty for a leg, whose points are a part of one."""
        return "" if self.kind == "leg" else f"{self.end:.6f}"


def _max_score(candidates: Sequence[Candidate]) -> float:
    """Return the highest score that any of the candidates had at any step: the end of the scale of all bars."""
    scores = [score for candidate in candidates for score in (candidate.score, _fused(candidate))]
    scores += [score for candidate in candidates for step in candidate.steps for score in step[4:6]]
    return max(scores, default=0.0)


def _rows(candidate: Candidate, trace: Trace | None) -> list[WaterfallRow]:
    """Return the rows of a candidate's waterfall."""
    legs, stages = list(_leg_rows(candidate, trace)), list(_stage_rows(candidate))
    confidence = "" if candidate.confidence is None else f"confidence {candidate.confidence:.2f}"
    if candidate.inherited_confidence is not None:
        confidence += ", inherited"
    if legs and not stages:  # the fused score is the score
        *parts, fused = legs
        return [*parts, fused._replace(reason=" · ".join(part for part in (fused.reason, confidence) if part))]
    return [*legs, *stages, WaterfallRow("score", "score", 0.0, candidate.score, reason=confidence)]


def _pointers(candidate: Candidate, ranks: Mapping[str, tuple[int, Candidate]]) -> Iterator[str]:
    """Yield a line for each note that supersedes this one, with its rank if it is a hit, too."""
    for successor in candidate.superseded_by:
        rank, note = ranks.get(successor, (0, None))
        name = one_line((note.path or note.title if note else "") or successor)
        yield f"superseded by {name}" + (f", rank {rank}" if rank else "")


def _leg_rows(candidate: Candidate, trace: Trace | None) -> Iterator[WaterfallRow]:
    """Yield the points of each leg, each bar from the end of the previous, and their sum."""
    contributions = candidate.contributions
    total = 0.0
    for part in contributions:
        reasons = [f"rank {part.rank} · raw {part.score:.4g}"]
        if trace is not None and part.leg == "lexical":
            if candidate.id in trace.stem_only:
                reasons.append(stem_only_message(trace.stem_only[candidate.id]))
            if candidate.id in trace.contexts:
                reasons.append(context_message(trace.contexts[candidate.id], candidate))
        change, end = f"+{part.points:.6f}", total + part.points
        yield WaterfallRow("leg", one_line(part.leg), total, end, change, " · ".join(reasons))
        total = end
    if contributions:
        reason = "" if candidate.own_relevance is None else f"{candidate.own_relevance:.2f} of the highest possible"
        yield WaterfallRow("fused", "fused", 0.0, _fused(candidate), reason=reason)


def _stage_rows(candidate: Candidate) -> Iterator[WaterfallRow]:
    """Yield the effect of each stage; stages without effect are left out."""
    steps = candidate.steps
    for index, step in enumerate(steps):
        after = steps[index + 1] if index + 1 < len(steps) else None
        # A stage may take several steps; the change of rank is shown with the last of them.
        continues = after is not None and (after.stage, *after[-2:]) == (step.stage, *step[-2:])
        moved = step.rank_before != step.rank_after and not continues
        if step.factor == 1 and not step.addend and not moved and step.stage != "rerank":
            continue
        reason = f"rank {step.rank_before} → {step.rank_after} · " if moved else ""
        if step.factor != 1 or step.addend or step.stage == "rerank":
            reason += one_line(step.reason, _MAX_REASON)
        else:
            reason += "others passed it" if step.rank_after > step.rank_before else "others fell behind it"
        factor = f"× {step.factor:.4g}" if step.factor != 1 else ""
        addend = f"{'+' if step.addend > 0 else '−'} {abs(step.addend):.4g}" if step.addend else ""
        change = f"{factor} {addend}".strip() or "="
        name = one_line(step.stage).replace("_", " ")
        yield WaterfallRow("stage", name, step.score_before, step.score_after, change, reason)


def _fused(candidate: Candidate) -> float:
    return fsum(candidate.evidence[3::4])


def _wrap(beginning: str, text: str, width: int) -> list[str]:
    """Return ``beginning`` followed by ``text``, wrapped with a hanging indent."""
    first, *rest = wrap(text, max(1, width - len(beginning)), break_on_hyphens=False) or [""]
    return [f"{beginning}{first}".rstrip(), *(" " * len(beginning) + line for line in rest)]


def _bar(start: float, end: float, cells: int) -> str:
    """Return a bar from ``start`` to ``end`` on a scale from 0 to 1 that is ``cells`` long.

    It begins at a whole cell and ends at an eighth of one; less than an eighth is drawn as one.
    """
    if end <= start:
        return ""
    first = min(round(clamp(start) * cells), cells - 1)
    eighths = max(1, round(clamp(end) * cells * 8) - first * 8)
    return " " * first + "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _change_bar(before: float, after: float, cells: int) -> str:
    """Return the bar of a score that changed: what was added is shaded dark, what was subtracted light."""
    left, right = round(clamp(before) * cells), round(clamp(after) * cells)
    if left == right:
        return _bar(0.0, after, cells)
    return "█" * min(left, right) + ("▓" if right > left else "░") * abs(right - left)
