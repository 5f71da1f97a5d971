"""Explanation of a search: how the query was parsed, what each step did, and how each hit got its score.

:func:`explain_search` draws the explanation for a terminal; :func:`explanation_data` returns it as JSON-ready data. A
hit is explained by a waterfall. It has a row for the points of each leg, for their sum, for the change by each stage,
and for the final score.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from math import fsum
from operator import attrgetter
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

WIDTH = 110  # the default width of a drawing, in columns
MIN_WIDTH = 60
_EIGHTHS = " ▏▎▍▌▋▊▉"  # the last character of a bar, by the number of eighths of a cell that it fills
_LABEL_WIDTH = len("embedded as")  # the longest label
_stage_and_ranks = attrgetter("stage", "rank_before", "rank_after")
# The maximum number of characters of a query, of a stage's reason, and of the content that stands for a missing title.
_MAX_QUERY, _MAX_REASON, _MAX_CONTENT = 400, 200, 50


def explain(candidates: Iterable[Candidate | Mapping[str, Any]], *, limit: int | None = 10, width: int = WIDTH) -> str:
    """Return a drawing of each candidate's waterfall: the points of each leg and the change by each stage.

    ``candidates`` are the output of a fusion or a stage. ``limit`` is how many are drawn; ``None`` or 0 draws all.
    ``width`` is the number of columns, at least 60. All bars have the same scale. A dark shade is what a stage added, a
    light shade what it subtracted.

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
    return _draw_waterfalls(as_candidates("candidates", candidates), None, limit=limit, width=width)


def explain_search(trace: Trace, *, limit: int | None = 10, width: int = WIDTH) -> str:
    """Return a drawing of a search: how the query was parsed, what each step did, and the waterfall of each result."""
    results = _draw_waterfalls(trace.results, trace, limit=limit, width=width)
    head = _draw_head(trace, max(MIN_WIDTH, width))
    return f"{head}\n\n{results}" if results else head


def explanation_data(trace: Trace, *, limit: int | None = 10) -> dict[str, Any]:
    """Return what :func:`explain_search` draws as JSON-ready data.

    ``query_summary`` says how the query was parsed. ``notice`` names the fallback query that was used, unless a warning
    already does. ``timeline`` has the start, duration (both in milliseconds) and message of each step. ``waterfalls``
    has for each result a sentence, the rows, and ``pointers`` to the notes that supersede the result. ``max_score`` is
    the end of the scale of all rows.
    """
    shown = _limit(trace.results, limit)
    notice = retry_message(trace)
    ranks = _ranks(trace.results)
    return {
        "query_summary": [{"label": label, "text": text} for label, text in _query_summary(trace)],
        "notice": "" if notice in trace.warnings else notice,
        "timeline": [step._asdict() for step in _timeline(trace)],
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


def _draw_waterfalls(candidates: Sequence[Candidate], trace: Trace | None, *, limit: int | None, width: int) -> str:
    """Return the waterfalls of candidates; only with a trace they show context rescoring and stem-only discounts."""
    shown = _limit(candidates, limit)
    columns = max(MIN_WIDTH, arguments.count("width", width))
    cells, max_score = columns // 5, _max_score(shown)  # a bar is at most ``cells`` characters wide
    scale = max_score if max_score > 0 else 1.0
    tables = [_rows(candidate, trace) for candidate in shown]
    rows = [row for table in tables for row in table]
    name_width = max((len(row.name) for row in rows), default=0)
    change_width = max((len(row.change) for row in rows), default=0)
    score_width = max((len(row.score) for row in rows), default=0)
    ranks = _ranks(candidates)
    drawings = []
    for rank, (candidate, table) in enumerate(zip(shown, tables, strict=True), 1):
        lines = [_heading(rank, candidate), *(f"    ↳ {pointer}" for pointer in _pointers(candidate, ranks))]
        for row in table:
            draw_bar = _change_bar if row.kind == "stage" else _bar
            bar = draw_bar(row.start / scale, row.end / scale, cells)
            numbers = f"{row.change:>{change_width}}  {row.score:>{score_width}}"
            lines += _wrap(f"    {row.name:<{name_width}}  {numbers}  {bar:<{cells}}  ", row.reason, columns)
        drawings.append("\n".join(lines))
    return "\n\n".join(drawings)


def _limit(candidates: Sequence[Candidate], limit: int | None) -> Sequence[Candidate]:
    """Return the first ``limit`` candidates; all if it is ``None`` or 0."""
    size = arguments.optional_count("limit", limit)
    return candidates[:size] if size else candidates


def _ranks(candidates: Sequence[Candidate]) -> dict[str, tuple[int, Candidate]]:
    """Return the rank of each candidate and the candidate itself, by note id."""
    return {candidate.id: (rank, candidate) for rank, candidate in enumerate(candidates, 1)}


def _heading(rank: int, candidate: Candidate) -> str:
    content = truncated(one_line(candidate.content), _MAX_CONTENT)
    name = one_line(candidate.title) or one_line(candidate.path) or content or one_line(candidate.id)
    path_or_id = one_line(candidate.path if candidate.title.strip() and candidate.path else candidate.id)
    return f"{rank:>2}  {name}" + (f"  ({path_or_id})" if path_or_id != name else "")


def _draw_head(trace: Trace, width: int) -> str:
    """Return the summary of a query, followed by a timeline of the search: one bar for each step."""
    lines = [line for label, text in _query_summary(trace) for line in _wrap(f"{label:<{_LABEL_WIDTH}}  ", text, width)]
    lines.append("")
    steps = list(_timeline(trace))
    cells, total = width // 4, steps[-1].elapsed  # the last step is the total
    times = [f"{step.elapsed:.1f} ms" if step.elapsed else "–" for step in steps]
    time_width = max(map(len, times))
    for (name, start, elapsed, message), time in zip(steps, times, strict=True):
        bar = _bar(start / total, (start + elapsed) / total, cells) if total > 0 else ""
        lines += _wrap(f"{name:<{_LABEL_WIDTH}}  {bar:<{cells}}  {time:>{time_width}}  ", message, width)
    return "\n".join(lines)


def _query_summary(trace: Trace) -> Iterator[tuple[str, str]]:
    """Yield the label and the text of each line about the query, its attempts, warnings and errors."""
    yield "query", one_line(trace.original_query, _MAX_QUERY)
    yield "searched", one_line(trace.compiled_query, _MAX_QUERY) or "no terms"
    best_confidence = max((result.confidence or 0.0 for result in trace.results), default=0.0)
    if trace.results and best_confidence < trace.answer_threshold:
        yield "no answer", no_answer_message(best_confidence, trace.answer_threshold)
    if trace.embedder_used and trace.embedded_query:
        yield "embedded as", one_line(trace.embedded_query, _MAX_QUERY)
    if trace.excluded:
        yield "excluded", ", ".join(map(one_line, trace.excluded))
    if trace.date_hints:
        yield "dates", ", ".join(map(one_line, trace.date_hints))
    for index, time in enumerate(trace.times):
        label = "" if index else "time"  # only the first of several lines has the label
        suffix = ", and nothing else" if trace.time_only else ""
        yield label, f"{one_line(time.text)}: {time.label}{suffix}"
    if trace.preset:
        yield "preset", " · ".join(filter(None, (one_line(trace.preset), fusion_summary(trace.fusion))))
    yield "mode", trace.mode + (", since vector search failed" if trace.fell_back_to_bm25 else "")
    if len(trace.attempts) > 1:
        strategy_width = max(len(attempt.strategy) for attempt in trace.attempts)
        for index, (strategy, query, hits) in enumerate(trace.attempts):
            label = "" if index else "tried"
            attempt = f"{one_line(strategy):<{strategy_width}}  {truncated(one_line(query), 50)}"
            yield label, f"{attempt}: {_count(hits) if hits else 'no results'}"
    for warning in trace.warnings:
        yield "warning", one_line(warning, _MAX_QUERY)
    if trace.error_stage and not any(trace.error_detail in warning for warning in trace.warnings):
        yield "failed", f"{one_line(trace.error_stage)}: {one_line(trace.error_detail, _MAX_QUERY)}"


def _count(results: int) -> str:
    return f"{results} {'result' if results == 1 else 'results'}"


class TimelineStep(NamedTuple):
    """One step of a search: its start and its duration, both in milliseconds, and its result as a text."""

    name: str
    start: float
    elapsed: float
    message: str


def _timeline(trace: Trace) -> Iterator[TimelineStep]:
    """Yield the steps that ran or were skipped, and the total."""
    start = 0.0  # of both legs, because the query is embedded during the lexical search
    if trace.attempts or trace.bm25_elapsed:
        yield TimelineStep("lexical", start, trace.bm25_elapsed, _count(trace.bm25_count))
    if trace.mode != "bm25" or trace.vector_elapsed:
        model = f" · {one_line(trace.embedder)}" if trace.embedder_used else ""
        yield TimelineStep("vector", start, trace.vector_elapsed, f"{_count(trace.vector_count)}{model}")
    start += max(trace.bm25_elapsed, trace.vector_elapsed)
    if trace.context_elapsed:
        yield TimelineStep("context", start, trace.context_elapsed, f"{len(trace.contexts) or 'none'} rescored")
    start += trace.context_elapsed
    if trace.graph_skipped_reason:
        yield TimelineStep("graph", start, 0.0, f"skipped: {one_line(trace.graph_skipped_reason)}")
    elif trace.graph_elapsed:
        yield TimelineStep("graph", start, trace.graph_elapsed, _count(trace.graph_count))
    start += trace.graph_elapsed
    if trace.fusion_elapsed or trace.stages:
        yield TimelineStep("fusion", start, trace.fusion_elapsed, _stages_summary(trace))
    start += trace.fusion_elapsed
    reranked = rerank_message(trace)
    if reranked and trace.rerank_skipped_reason != "empty_candidates":
        yield TimelineStep("rerank", start, trace.rerank_elapsed, reranked)
    dropped = f", {trace.below_min_confidence} below min_confidence" if trace.below_min_confidence else ""
    total = max(trace.total_elapsed, start + trace.rerank_elapsed)
    yield TimelineStep("total", 0.0, total, f"{len(trace.results)} shown{dropped}")


def _stages_summary(trace: Trace) -> str:
    """Return the number of fused notes and the names of the stages, each with the number of notes added or dropped."""
    stages = []
    count_before = trace.fused_count
    for stage, count, _ in trace.stages:
        sign = "+" if count > count_before else "−"
        change = f" {sign}{abs(count - count_before)}" if count != count_before else ""
        stages.append(f"{one_line(stage)}{change}")
        count_before = count
    notes = "1 note" if trace.fused_count == 1 else f"{trace.fused_count} notes"
    return f"{notes} · {', '.join(stages)}" if stages else notes


class WaterfallRow(NamedTuple):
    """One line of a waterfall: what a leg or a stage did to a score, and why."""

    kind: str
    """``leg``: the points of a leg; ``fused``: the sum of all legs; ``stage``: a change; ``score``: the final score."""
    name: str
    start: float  # the score at which the bar begins
    end: float
    change: str = ""
    reason: str = ""

    @property
    def score(self) -> str:
        """The score after this row; empty for a leg, whose points are only a part of a score."""
        return "" if self.kind == "leg" else f"{self.end:.6f}"


def _max_score(candidates: Sequence[Candidate]) -> float:
    """Return the highest score that any of the candidates had at any step: the end of the scale of all bars."""
    scores = []
    for candidate in candidates:
        scores += [candidate.score, _fused_score(candidate)]
        scores += [score for step in candidate.steps for score in (step.score_before, step.score_after)]
    return max(scores, default=0.0)


def _rows(candidate: Candidate, trace: Trace | None) -> list[WaterfallRow]:
    """Return the rows of a candidate's waterfall."""
    legs, stages = list(_leg_rows(candidate, trace)), list(_stage_rows(candidate))
    confidence = "" if candidate.confidence is None else f"confidence {candidate.confidence:.2f}"
    if candidate.inherited_confidence is not None:
        confidence += ", inherited from a superseded note"
    if legs and not stages:  # the fused score is the final score: another row would repeat it
        *legs, fused = legs
        return [*legs, fused._replace(reason=" · ".join(filter(None, (fused.reason, confidence))))]
    return [*legs, *stages, WaterfallRow("score", "score", 0.0, candidate.score, reason=confidence)]


def _pointers(candidate: Candidate, ranks: Mapping[str, tuple[int, Candidate]]) -> Iterator[str]:
    """Yield a line for each note that supersedes the candidate: its path and rank if it is a result, else its id."""
    for successor_id in candidate.superseded_by:
        rank, successor = ranks.get(successor_id, (0, None))
        name = (successor.path or successor.title) if successor else ""
        yield f"superseded by {one_line(name or successor_id)}" + (f", rank {rank}" if rank else "")


def _leg_rows(candidate: Candidate, trace: Trace | None) -> Iterator[WaterfallRow]:
    """Yield a row for the points of each leg, whose bar begins where the previous bar ends, and a row for their sum."""
    contributions = candidate.contributions
    start = 0.0
    for contribution in contributions:
        reasons = [f"rank {contribution.rank} · raw {contribution.score:.4g}"]
        if trace is not None and contribution.leg == "lexical":
            if candidate.id in trace.stem_only:
                reasons.append(stem_only_message(trace.stem_only[candidate.id]))
            if candidate.id in trace.contexts:
                reasons.append(context_message(trace.contexts[candidate.id], candidate))
        change, end = f"+{contribution.points:.6f}", start + contribution.points
        yield WaterfallRow("leg", one_line(contribution.leg), start, end, change, " · ".join(reasons))
        start = end
    if contributions:
        reason = "" if candidate.own_relevance is None else f"{candidate.own_relevance:.2f} of the highest possible"
        yield WaterfallRow("fused", "fused", 0.0, _fused_score(candidate), reason=reason)


def _stage_rows(candidate: Candidate) -> Iterator[WaterfallRow]:
    """Yield a row for each reranking, and for each other step of a stage that changed the score or the rank."""
    steps = candidate.steps
    for step, next_step in zip_longest(steps, steps[1:]):
        # Each step of a stage has the ranks before and after the whole stage. Only the stage's last step shows them.
        stage_continues = next_step is not None and _stage_and_ranks(next_step) == _stage_and_ranks(step)
        shows_ranks = step.rank_before != step.rank_after and not stage_continues
        shows_reason = step.factor != 1 or step.addend or step.stage == "rerank"
        if not shows_ranks and not shows_reason:
            continue
        reason = f"rank {step.rank_before} → {step.rank_after} · " if shows_ranks else ""
        if shows_reason:
            reason += one_line(step.reason, _MAX_REASON)
        else:
            reason += "others passed it" if step.rank_after > step.rank_before else "others fell behind it"
        factor = f"× {step.factor:.4g}" if step.factor != 1 else ""
        addend = f"{'+' if step.addend > 0 else '−'} {abs(step.addend):.4g}" if step.addend else ""
        change = f"{factor} {addend}".strip() or "="
        name = one_line(step.stage).replace("_", " ")
        yield WaterfallRow("stage", name, step.score_before, step.score_after, change, reason)


def _fused_score(candidate: Candidate) -> float:
    return fsum(contribution.points for contribution in candidate.contributions)


def _wrap(prefix: str, text: str, width: int) -> list[str]:
    """Return the lines of ``prefix`` followed by ``text``, wrapped with a hanging indent."""
    first, *others = wrap(text, max(1, width - len(prefix)), break_on_hyphens=False) or [""]
    return [f"{prefix}{first}".rstrip(), *(" " * len(prefix) + line for line in others)]


def _bar(start: float, end: float, cells: int) -> str:
    """Return a bar from ``start`` to ``end`` on a scale from 0 to 1 that is ``cells`` characters wide.

    The bar begins at a whole cell. Its end is rounded to eighths of a cell. It is at least an eighth of a cell long.
    """
    if end <= start:
        return ""
    first_cell = min(round(clamp(start) * cells), cells - 1)
    eighths = max(1, round(clamp(end) * cells * 8) - first_cell * 8)
    return " " * first_cell + "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _change_bar(before: float, after: float, cells: int) -> str:
    """Return the bar of a score that changed: a dark shade is what was added, a light shade what was subtracted."""
    cells_before, cells_after = round(clamp(before) * cells), round(clamp(after) * cells)
    if cells_before == cells_after:
        return _bar(0.0, after, cells)
    shade = "▓" if cells_after > cells_before else "░"
    return "█" * min(cells_before, cells_after) + shade * abs(cells_after - cells_before)
