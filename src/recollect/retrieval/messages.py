"""Texts for people about a trace: warnings, notices and one-line summaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.text import collapse_whitespace

if TYPE_CHECKING:
    from recollect.model import Candidate
    from recollect.retrieval.rescoring import StemDiscount
    from recollect.retrieval.trace import Context, Trace

ONLY_STOPWORDS = "the query has only stopwords"
_LEGS = {"lexical": "lexical search", "vector": "vector search", "graph": "the graph"}
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}
_MAX_LINE = 100


def one_line(text: str, max_length: int = _MAX_LINE) -> str:
    r"""Return ``text`` on one line without control characters, at most ``max_length`` characters long."""
    shown = _printable(text[:max_length])
    return shown if len(text) <= max_length else f"{shown}…"


def error_summary(error: BaseException) -> str:
    """Return the message of an error on one line, or its type if there is none."""
    return _printable(str(error)) or type(error).__name__


def _printable(text: str) -> str:
    return collapse_whitespace("".join(character if character.isprintable() else " " for character in text))


def truncated(text: str, width: int) -> str:
    """Return ``text`` in at most ``width`` characters."""
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def context_message(context: Context, candidate: Candidate) -> str:
    """Return the context with which a note was rescored, and its lexical score before."""
    count = len(context.neighbours)
    if count:
        scope = "with its neighbour" if count == 1 else f"with {count} neighbours"
    elif candidate.session and candidate.position is not None:
        scope = "without neighbours"
    else:
        scope = "with its best chunk"
    return scope + (", not retrieved before" if context.own is None else f", {context.own:.2f} before")


def no_answer_message(confidence: float, threshold: float) -> str:
    """Return why the hits of a search do not count as an answer."""
    return f"the best confidence is {confidence:.3g}, below the answer threshold of {threshold:g}"


def no_results_message(trace: Trace) -> str:
    """Return why a search has no hits: no note was found, or ``min_confidence`` dropped all."""
    dropped = trace.below_min_confidence
    if not dropped:
        return f"nothing was found for {trace.original_query!r}; try other words, or fewer filters"
    candidates = "1 candidate was found, which is" if dropped == 1 else f"{dropped} candidates were found, all"
    return f"no note for {trace.original_query!r} reaches min_confidence: {candidates} below it; lower it to see them"


def stem_only_message(discount: StemDiscount) -> str:
    """Return which words a note contains only in another form, and its lexical score before the discount."""
    words = ", ".join(map(one_line, discount.words))
    return f"only another form of {words}, {discount.before:.4g} before the discount"


def rank_summary(candidate: Candidate) -> str:
    """Return in one sentence the ranks of a candidate in each leg, and the stages that changed its score."""
    ranks = [f"{_ordinal(part.rank)} by {_LEGS.get(part.leg, one_line(part.leg))}" for part in candidate.contributions]
    parts = [" and ".join(ranks) or "retrieved by neither leg"]
    gains: dict[str, float] = {}  # a stage may take several steps, up and down
    for step in candidate.steps:
        gains[step.stage] = gains.get(step.stage, 0.0) + step.score_after - step.score_before
    lifted = [_stage_name(stage) for stage, gain in gains.items() if gain > 0]
    lowered = [_stage_name(stage) for stage, gain in gains.items() if gain < 0]
    causes = [f"{verb} by {' and '.join(names)}" for verb, names in (("lifted", lifted), ("lowered", lowered)) if names]
    if causes:
        changes = [step for step in candidate.steps if gains[step.stage]]
        strongest = max(changes, key=lambda step: abs(step.score_after - step.score_before))
        parts.append(f"{', '.join(causes)}: {one_line(strongest.reason)}")
    return f"{'; '.join(parts)}."


def _stage_name(stage: str) -> str:
    return _LEGS.get(stage, one_line(stage).replace("_", " "))


def _ordinal(rank: int) -> str:
    return f"{rank}{'th' if rank % 100 in (11, 12, 13) else _ORDINALS.get(rank % 10, 'th')}"


def fusion_summary(rules: Mapping[str, Any]) -> str:
    """Return the settings of a fusion, from a trace or a preset, in a few words."""
    parts = [one_line(str(rules.get("method", "")))]
    if rules.get("method") == "rrf":
        parts.append(f"k {rules.get('k', 0):g}")
        if not rules.get("rank_base", 1):
            parts.append("ranks from 0")
    parts += [f"{one_line(leg)} × {weight:g}" for leg, weight in rules.get("weights", {}).items() if weight != 1]
    return ", ".join(part for part in parts if part)


def rerank_message(trace: Trace) -> str:
    """Return which reranker ran, or why none did."""
    if trace.reranked:
        return f"by {one_line(trace.rerank_provider)}"
    if trace.error_stage == "rerank":
        return "failed"
    reasons = {
        "empty_candidates": "there are no candidates",
        "mode_off": "it is off",
        "no_reranker": "no reranker is configured",
        "unanimity": f"both legs agree on {trace.unanimity or 0} of the first 3",
    }
    reason = trace.rerank_skipped_reason
    return f"skipped: {reasons.get(reason, one_line(reason))}" if reason else ""


def exclusion_message(trace: Trace) -> str:
    """Return which terms the query excludes, in one line; empty if it excludes none."""
    return f"excluding notes with: {', '.join(map(one_line, trace.excluded))}" if trace.excluded else ""


def index_warnings(trace: Trace) -> list[str]:
    """Return the warnings that are not about the terms of the query."""
    about_the_query = {ONLY_STOPWORDS, retry_message(trace), *(part.message() for part in trace.substitutions)}
    return [warning for warning in trace.warnings if warning not in about_the_query]


def retry_message(trace: Trace) -> str:
    """Return which fallback query found the results; empty if the query itself did, or nothing was found."""
    if len(trace.attempts) < 2 or not trace.attempts[-1].hits:
        return ""
    strategy, query, _ = trace.attempts[-1]
    original, fallback = one_line(trace.original_query), one_line(query)
    if strategy == "any_word":
        return "nothing matched all words; showing notes that match any of them"
    if strategy == "did_you_mean":
        return f"nothing matched “{original}”; did you mean “{fallback}”?"
    if strategy == "trigram_fuzzy":
        return f"nothing matched “{original}”; showing notes with a similar name"
    return f"nothing matched “{original}”; showing what matches “{fallback}”"
