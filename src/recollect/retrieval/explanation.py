"""Explanation of a search: how the query was parsed, what each part did, and how each hit got its score.

:func:`explanation_data` returns it as data; :func:`explain_search` draws it for a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect import arguments
from recollect.model import Candidate, Step, as_candidates
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
    from recollect.retrieval.trace import Context, StageRun, Trace
    from recollect.retrieval.word_forms import StemOnly

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
    """Return a drawing of a search: how the query was parsed, what each part did, and then each result.

    >>> from recollect.retrieval import Trace
    >>> explain_search(Trace(mode="bm25", original_query="tea")).splitlines()[0]
    'query        tea'
    """
    results = _drawn(trace.results, trace, limit=limit, width=width)
    head = _draw_head(trace, max(MIN_WIDTH, width))
    return f"{head}\n\n{results}" if results else head


def explanation_data(trace: Trace, *, limit: int | None = 10) -> dict[str, Any]:
    """Return what :func:`explain_search` draws as JSON-ready data.

    ``query_summary`` says how the query was parsed, ``notice`` which fallback query was used, ``timeline`` what each
    part did and when, in milliseconds; ``waterfalls`` has a sentence on each result and its rows, on a scale of scores
    that ends at ``max_score``.

    >>> from recollect.retrieval import Trace
    >>> explanation_data(Trace(mode="bm25", original_query="tea"))["query_summary"][0]
    {'label': 'query', 'text': 'tea'}
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


def _rows(candidate: Candidate, trace: Trace | None) -> list[WaterfallRow]:
    if trace is None:
        return _waterfall(candidate)
    return _waterfall(candidate, trace.contexts.get(candidate.id), trace.stem_only.get(candidate.id))


def _drawn(candidates: Sequence[Candidate], trace: Trace | None, *, limit: int | None, width: int) -> str:
    """Return the drawing of each result; the trace has their contexts and discounts."""
    shown = _first(candidates, limit)
    columns = max(MIN_WIDTH, arguments.count("width", width))
    scale, cells = _max_score(shown), columns // 5
    tables = [_rows(candidate, trace) for candidate in shown]
    aligned = _column_widths([row for table in tables for row in table])
    ranks = _ranks(candidates)
    return "\n\n".join(
        "\n".join(
            (
                _heading(rank, candidate),
                *(f"    ↳ {pointer}" for pointer in _pointers(candidate, ranks)),
                *(line for row in table for line in _draw_row(row, aligned, scale, cells, columns)),
            )
        )
        for rank, (candidate, table) in enumerate(zip(shown, tables, strict=True), 1)
    )


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
    summary = [
        line for label, text in _query_summary(trace) for line in _wrap(f"{label:<{_LABEL_WIDTH}}  ", text, width)
    ]
    return "\n".join((*summary, "", *_draw_timeline(list(_timeline_parts(trace)), width)))


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
        yield TimelinePart("fusion", now, trace.fusion_elapsed, _stages_summary(trace.fused_count, trace.stages))
    now += trace.fusion_elapsed
    reranked = rerank_message(trace)
    if reranked and trace.rerank_skipped_reason != "empty_candidates":
        yield TimelinePart("rerank", now, trace.rerank_elapsed, reranked)
    dropped = f", {trace.below_min_confidence} below min_confidence" if trace.below_min_confidence else ""
    yield TimelinePart(
        "total", 0.0, max(trace.total_elapsed, now + trace.rerank_elapsed), f"{len(trace.results)} shown{dropped}"
    )


def _stages_summary(fused: int, runs: list[StageRun]) -> str:
    """Return the number of fused notes, and the stages, with how many notes each added or dropped."""
    stages = []
    count = fused
    for stage, candidates, _ in runs:
        change = f" {'+' if candidates > count else '−'}{abs(candidates - count)}" if candidates != count else ""
        stages.append(f"{one_line(stage)}{change}")
        count = candidates
    notes = "1 note" if fused == 1 else f"{fused} notes"
    return f"{notes} · {', '.join(stages)}" if stages else notes


def _draw_timeline(shown: list[TimelinePart], width: int) -> Iterator[str]:
    cells = width // 4
    whole = shown[-1].elapsed
    times = [f"{part.elapsed:.1f} ms" if part.elapsed else "–" for part in shown]
    widest = max(map(len, times))
    for (name, start, elapsed, message), time in zip(shown, times, strict=True):
        drawn = _bar(start / whole, (start + elapsed) / whole, cells) if whole > 0 else ""
        yield from _wrap(f"{name:<{_LABEL_WIDTH}}  {drawn:<{cells}}  {time:>{widest}}  ", message, width)


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
    """Return the highest score that any of these ever had: the end of the scale of all bars."""
    scores = [candidate.score for candidate in candidates]
    scores += [_fused(candidate) for candidate in candidates]
    scores += [max(step.score_before, step.score_after) for candidate in candidates for step in candidate.steps]
    return max(scores, default=0.0)


def _waterfall(
    candidate: Candidate, context: Context | None = None, stem_only: StemOnly | None = None
) -> list[WaterfallRow]:
    """Return the rows of a candidate, with its context and its discount."""
    legs, stages = list(_leg_rows(candidate, context, stem_only)), list(_stage_rows(candidate))
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


def _column_widths(table: Sequence[WaterfallRow]) -> tuple[int, int, int]:
    """Return the widths of the columns of names, changes and scores."""
    columns = ([len(row.name), len(row.change), len(row.score)] for row in table)
    name, change, score = map(max, zip((0, 0, 0), *columns, strict=True))
    return name, change, score


def _draw_row(row: WaterfallRow, columns: tuple[int, int, int], scale: float, cells: int, width: int) -> list[str]:
    """Return the lines of a row, with its bar on a scale that ends at ``scale``."""
    name, change, score = columns
    drawn = (_change_bar if row.kind == "stage" else _bar)(_share(row.start, scale), _share(row.end, scale), cells)
    beginning = f"    {row.name:<{name}}  {row.change:>{change}}  {row.score:>{score}}  {drawn:<{cells}}  "
    return _wrap(beginning, row.reason, width)


def _leg_rows(candidate: Candidate, context: Context | None, stem_only: StemOnly | None) -> Iterator[WaterfallRow]:
    """Yield the points of each leg, each bar from the end of the previous, and their sum."""
    contributions = candidate.contributions
    total = 0.0
    for part in contributions:
        reason = f"rank {part.rank} · raw {part.score:.4g}"
        if stem_only is not None and part.leg == "lexical":
            reason += f" · {stem_only_message(stem_only)}"
        if context is not None and part.leg == "lexical":
            reason += f" · {context_message(context, candidate)}"
        yield WaterfallRow("leg", one_line(part.leg), total, total + part.points, f"+{part.points:.6f}", reason)
        total += part.points
    if contributions:
        reason = "" if candidate.own_relevance is None else f"{candidate.own_relevance:.2f} of the highest possible"
        yield WaterfallRow("fused", "fused", 0.0, _fused(candidate), reason=reason)


def _stage_rows(candidate: Candidate) -> Iterator[WaterfallRow]:
    """Yield what each stage did; one that did nothing is left out."""
    steps = candidate.steps
    for index, step in enumerate(steps):
        after = steps[index + 1] if index + 1 < len(steps) else None
        # A stage may take several steps; the change of rank is shown with the last of them.
        continues = after is not None and (after.stage, *after[-2:]) == (step.stage, *step[-2:])
        moved = step.rank_before != step.rank_after and not continues
        if step.factor == 1 and not step.addend and not moved and step.stage != "rerank":
            continue
        ranks = [f"rank {step.rank_before} → {step.rank_after}"] if moved else []
        reason = " · ".join((*ranks, _reason(step)))
        yield WaterfallRow(
            "stage", one_line(step.stage).replace("_", " "), step.score_before, step.score_after, _change(step), reason
        )


def _reason(step: Step) -> str:
    if step.factor != 1 or step.addend or step.stage == "rerank":
        return one_line(step.reason, _MAX_REASON)
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


def _wrap(beginning: str, text: str, width: int) -> list[str]:
    """Return ``beginning`` followed by ``text``, wrapped with a hanging indent.

    >>> _wrap("tea  ", "green, brewed cool", 16)
    ['tea  green,', '     brewed cool']
    """
    first, *rest = wrap(text, max(1, width - len(beginning)), break_on_hyphens=False) or [""]
    return [f"{beginning}{first}".rstrip(), *(" " * len(beginning) + line for line in rest)]


def _bar(start: float, end: float, cells: int) -> str:
    """Return a bar from ``start`` to ``end`` on a scale from 0 to 1 that is ``cells`` long.

    It begins at a whole cell and ends at an eighth of one; less than an eighth is drawn as one.

    >>> _bar(0.5, 0.8, 10), _bar(0.0, 0.5, 3), _bar(0.9, 0.9, 10)
    ('     ███', '█▌', '')
    """
    if end <= start:
        return ""
    first = min(round(_clamped(start) * cells), cells - 1)
    eighths = max(1, round(_clamped(end) * cells * 8) - first * 8)
    return " " * first + "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _change_bar(before: float, after: float, cells: int) -> str:
    """Return the bar of a score that changed: what was added is shaded dark, what was subtracted light.

    >>> _change_bar(0.4, 0.6, 10), _change_bar(0.6, 0.4, 10), _change_bar(0.6, 0.61, 10)
    ('████▓▓', '████░░', '██████▏')
    """
    left, right = round(_clamped(before) * cells), round(_clamped(after) * cells)
    if left == right:
        return _bar(0.0, after, cells)
    return "█" * min(left, right) + ("▓" if right > left else "░") * abs(right - left)


def _clamped(share: float) -> float:
    return min(1.0, max(0.0, share))
