"""Messages for users about a search and its trace: warnings, notices and one-line summaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.text import collapse_whitespace

if TYPE_CHECKING:
    from recollect.model import Candidate
    from recollect.retrieval.rescoring import StemDiscount
    from recollect.retrieval.trace import Context, Trace

ONLY_STOPWORDS = "the query has only stopwords"
_LEGS = {"lexical": "lexical search", "vector": "vector search", "graph": "the graph"}  # the names in messages
_ORDINAL_SUFFIXES = {1: "st", 2: "nd", 3: "rd"}
_MAX_LINE = 100  # characters


def one_line(text: str, max_length: int = _MAX_LINE) -> str:
    """Return ``text`` on one line without control characters, cut after ``max_length`` characters with an ellipsis."""
    line = _printable(text[:max_length])
    return line if len(text) <= max_length else f"{line}…"


def error_summary(error: BaseException) -> str:
    """Return the message of an error on one line, or the name of its type if the message is empty."""
    return _printable(str(error)) or type(error).__name__


def _printable(text: str) -> str:
    return collapse_whitespace("".join(character if character.isprintable() else " " for character in text))


def truncated(text: str, width: int) -> str:
    """Return ``text`` cut to at most ``width`` characters, including the ellipsis."""
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def context_message(context: Context, candidate: Candidate) -> str:
    """Return a text with the context in which a note was rescored, and its lexical score before rescoring."""
    count = len(context.neighbours)
    if count:
        context_name = "with its neighbour" if count == 1 else f"with {count} neighbours"
    elif candidate.session and candidate.position is not None:
        context_name = "without neighbours"
    else:
        context_name = "with its best chunk"
    return context_name + (", not retrieved before" if context.own is None else f", {context.own:.2f} before")


def no_answer_message(confidence: float, threshold: float) -> str:
    """Return why the hits of a search do not count as an answer."""
    return f"the best confidence is {confidence:.3g}, below the answer threshold of {threshold:g}"


def no_results_message(trace: Trace) -> str:
    """Return why a search has no hits: no note was found, or ``min_confidence`` dropped all candidates."""
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
    """Return one sentence with the rank of a candidate in each leg, and the stages that changed its score."""
    ranks = [f"{_ordinal(part.rank)} by {_LEGS.get(part.leg, one_line(part.leg))}" for part in candidate.contributions]
    clauses = [" and ".join(ranks) or "retrieved by neither leg"]
    gains: dict[str, float] = {}  # the change of the score by each stage, summed over the steps of the stage
    for step in candidate.steps:
        gains[step.stage] = gains.get(step.stage, 0.0) + step.score_after - step.score_before
    lifted = [_stage_name(stage) for stage, gain in gains.items() if gain > 0]
    lowered = [_stage_name(stage) for stage, gain in gains.items() if gain < 0]
    causes = [f"{verb} by {' and '.join(names)}" for verb, names in (("lifted", lifted), ("lowered", lowered)) if names]
    if causes:
        changes = [step for step in candidate.steps if gains[step.stage]]
        largest_change = max(changes, key=lambda step: abs(step.score_after - step.score_before))
        clauses.append(f"{', '.join(causes)}: {one_line(largest_change.reason)}")
    return f"{'; '.join(clauses)}."


def _stage_name(stage: str) -> str:
    return _LEGS.get(stage, one_line(stage).replace("_", " "))  # the stage graph is named like the leg


def _ordinal(rank: int) -> str:
    suffix = "th" if rank % 100 in (11, 12, 13) else _ORDINAL_SUFFIXES.get(rank % 10, "th")
    return f"{rank}{suffix}"


def fusion_summary(rules: Mapping[str, Any]) -> str:
    """Return the method of a fusion and its main settings; ``rules`` has the settings by name, as in a trace."""
    parts = [one_line(str(rules.get("method", "")))]
    if rules.get("method") == "rrf":
        parts.append(f"k {rules.get('k', 0):g}")
        if not rules.get("rank_base", 1):
            parts.append("ranks from 0")
    parts += [f"{one_line(leg)} × {weight:g}" for leg, weight in rules.get("weights", {}).items() if weight != 1]
    return ", ".join(filter(None, parts))


def rerank_message(trace: Trace) -> str:
    """Return which reranker ran, or why none ran; empty if the trace has neither."""
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
    """Return which terms the query excludes; empty if it excludes none."""
    return f"excluding notes with: {', '.join(map(one_line, trace.excluded))}" if trace.excluded else ""


def index_warnings(trace: Trace) -> list[str]:
    """Return the warnings of a search, except those about stopwords, other forms of words, and fallback queries."""
    substitution_messages = [substitution.message() for substitution in trace.substitutions]
    query_warnings = {ONLY_STOPWORDS, retry_message(trace), *substitution_messages}
    return [warning for warning in trace.warnings if warning not in query_warnings]


def retry_message(trace: Trace) -> str:
    """Return which fallback query found the results; empty if the user's query found them, or nothing was found."""
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
