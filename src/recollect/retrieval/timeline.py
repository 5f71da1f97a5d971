"""The head of an explanation: how a query was read, what was tried, and how long each part took."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from recollect.retrieval.lines import bar, hanging, one_line, shortened
from recollect.retrieval.trace import StageRun, Trace
from recollect.retrieval.wording import fusion_in_words, no_answer_in_words, rerank_in_words

__all__ = ["Part", "draw_head", "parts", "story"]

_NAMES = len("connections")
_LONGEST_QUERY = 400


def draw_head(trace: Trace, width: int) -> str:
    """Return the story of a search, and a timeline of its parts on one scale.

    >>> from recollect.retrieval import Trace
    >>> print(draw_head(Trace(mode="bm25", original_query="tea", compiled_query="tea", bm25_elapsed=1.0, bm25_count=2,
    ...                       total_elapsed=2.0), 80))
    query        tea
    looked for   tea
    mode         bm25
    <BLANKLINE>
    words        ██████████                 1.0 ms  2 found
    total        ████████████████████       2.0 ms  0 shown
    """
    head = [line for label, text in story(trace) for line in hanging(f"{label:<{_NAMES}}  ", text, width)]
    return "\n".join((*head, "", *_timeline(list(parts(trace)), width)))


def story(trace: Trace) -> Iterator[tuple[str, str]]:
    """Yield how a query was read and what was tried: what each line is about, and what it says."""
    yield "query", one_line(trace.original_query, _LONGEST_QUERY)
    yield "looked for", one_line(trace.compiled_query, _LONGEST_QUERY) or "nothing by words"
    best = max((found.confidence or 0.0 for found in trace.results), default=0.0)
    if trace.results and best < trace.answer_threshold:
        yield "no answer", f"nothing in the memory fits: {no_answer_in_words(best, trace.answer_threshold)}"
    if trace.embedder_used and trace.embedded_query:
        yield "by meaning", one_line(trace.embedded_query, _LONGEST_QUERY)
    if trace.excluded:
        yield "excluded", ", ".join(map(one_line, trace.excluded))
    if trace.date_hints:
        yield "dates", ", ".join(map(one_line, trace.date_hints))
    for place, time in enumerate(trace.times):
        only = ", and nothing else was asked for" if trace.time_only else ""
        yield "" if place else "time", f"{one_line(time.text)}: {time.label}{only}"
    if trace.preset:
        yield "preset", " · ".join(part for part in (one_line(trace.preset), fusion_in_words(trace.fusion)) if part)
    yield "mode", trace.mode + (", since there was no answer by meaning" if trace.fell_back_to_bm25 else "")
    if len(trace.attempts) > 1:
        widest = max(len(attempt.strategy) for attempt in trace.attempts)
        for place, (strategy, query, hits) in enumerate(trace.attempts):
            tried = f"{one_line(strategy):<{widest}}  {shortened(one_line(query), 50)}"
            yield "" if place else "tried", f"{tried}: {hits or 'none'} found"
    for warning in trace.warnings:
        yield "warning", one_line(warning, _LONGEST_QUERY)
    if trace.error_stage and not any(trace.error_detail in warning for warning in trace.warnings):
        yield "failed", f"{one_line(trace.error_stage)}: {one_line(trace.error_detail, _LONGEST_QUERY)}"


class Part(NamedTuple):
    """One part of a search: when it began, how long it took, both in milliseconds, and what came of it."""

    name: str
    start: float
    elapsed: float
    told: str

    def to_dict(self) -> dict[str, Any]:
        """Return the part as JSON-ready data."""
        return self._asdict()


def parts(trace: Trace) -> Iterator[Part]:
    """Yield the parts that ran or were skipped; words and meaning are looked for side by side."""
    now = 0.0
    if trace.attempts or trace.bm25_elapsed:
        yield Part("words", now, trace.bm25_elapsed, f"{trace.bm25_count} found")
    if trace.mode != "bm25" or trace.vector_elapsed:
        model = f" · {one_line(trace.embedder)}" if trace.embedder_used else ""
        yield Part("meaning", now, trace.vector_elapsed, f"{trace.vector_count} found{model}")
    now += max(trace.bm25_elapsed, trace.vector_elapsed)
    if trace.context_elapsed:
        yield Part("context", now, trace.context_elapsed, f"{len(trace.contexts) or 'none'} read more closely")
    now += trace.context_elapsed
    if trace.graph_skipped_reason:
        yield Part("connections", now, 0.0, f"skipped: {one_line(trace.graph_skipped_reason)}")
    elif trace.graph_elapsed:
        yield Part("connections", now, trace.graph_elapsed, f"{trace.graph_count} found")
    now += trace.graph_elapsed
    if trace.fusion_elapsed or trace.stages:
        yield Part("fusion", now, trace.fusion_elapsed, _stages(trace.fused_count, trace.stages))
    now += trace.fusion_elapsed
    reranked = rerank_in_words(trace)
    if reranked and trace.rerank_skipped_reason != "empty_candidates":
        yield Part("rerank", now, trace.rerank_elapsed, reranked)
    left_out = f", {trace.below_min_confidence} below min_confidence" if trace.below_min_confidence else ""
    yield Part(
        "total", 0.0, max(trace.total_elapsed, now + trace.rerank_elapsed), f"{len(trace.results)} shown{left_out}"
    )


def _stages(fused: int, runs: list[StageRun]) -> str:
    """Return how many notes were fused, and the stages behind it, with how many notes each added or took away."""
    told = []
    count = fused
    for stage, candidates, _ in runs:
        change = f" {'+' if candidates > count else '−'}{abs(candidates - count)}" if candidates != count else ""
        told.append(f"{one_line(stage)}{change}")
        count = candidates
    notes = "1 note" if fused == 1 else f"{fused} notes"
    return f"{notes} · {', '.join(told)}" if told else notes


def _timeline(shown: list[Part], width: int) -> Iterator[str]:
    cells = width // 4
    whole = shown[-1].elapsed
    times = [f"{part.elapsed:.1f} ms" if part.elapsed else "–" for part in shown]
    widest = max(map(len, times))
    for (name, start, elapsed, told), time in zip(shown, times, strict=True):
        drawn = bar(start / whole, (start + elapsed) / whole, cells) if whole > 0 else ""
        yield from hanging(f"{name:<{_NAMES}}  {drawn:<{cells}}  {time:>{widest}}  ", told, width)
