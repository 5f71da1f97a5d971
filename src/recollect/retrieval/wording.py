"""What a trace records, said to a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.retrieval.lines import one_line

if TYPE_CHECKING:
    from recollect.retrieval.trace import Trace

__all__ = ["fusion_in_words", "rerank_in_words", "retry_in_words"]


def fusion_in_words(rules: Mapping[str, Any]) -> str:
    """Return the rules of a fusion, as a trace or a preset has them, in a few words.

    >>> fusion_in_words({"method": "rrf", "k": 60.0, "rank_base": 1, "weights": {"lexical": 1.0, "graph": 0.35}})
    'rrf, k 60, graph × 0.35'
    """
    parts = [one_line(str(rules.get("method", "")))]
    if rules.get("method") == "rrf":
        parts.append(f"k {rules.get('k', 0):g}")
        if not rules.get("rank_base", 1):
            parts.append("ranks from 0")
    parts += [f"{one_line(leg)} × {weight:g}" for leg, weight in rules.get("weights", {}).items() if weight != 1]
    return ", ".join(part for part in parts if part)


def rerank_in_words(trace: Trace) -> str:
    """Return who reranked, or why nobody did.

    >>> from recollect.retrieval import Trace
    >>> rerank_in_words(Trace(mode="bm25", original_query="tea", rerank_skipped_reason="no_reranker"))
    'skipped: there is no reranker'
    """
    if trace.reranked:
        return f"by {one_line(trace.rerank_provider)}"
    if trace.error_stage == "rerank":
        return "failed"
    reasons = {
        "empty_candidates": "there was nothing to rerank",
        "mode_off": "it is switched off",
        "no_reranker": "there is no reranker",
        "unanimity": f"both legs agree on {trace.unanimity or 0} of the first 3",
    }
    reason = trace.rerank_skipped_reason
    return f"skipped: {reasons.get(reason, one_line(reason))}" if reason else ""


def retry_in_words(trace: Trace) -> str:
    """Return what was done where a query's words found nothing; empty where they did, or nothing helped.

    >>> from recollect.retrieval import Attempt, Trace
    >>> tries = [Attempt("initial", "kubernets", 0), Attempt("did_you_mean", "kubernetes", 2)]
    >>> retry_in_words(Trace(mode="bm25", original_query="kubernets?", attempts=tries))
    'nothing matched “kubernets?”; did you mean “kubernetes”?'
    """
    if len(trace.attempts) < 2 or not trace.attempts[-1].hits:
        return ""
    strategy, query, _ = trace.attempts[-1]
    asked, found = one_line(trace.original_query), one_line(query)
    if strategy == "any_word":
        return "nothing matched all words; shown are notes that match any of them"
    if strategy == "did_you_mean":
        return f"nothing matched “{asked}”; did you mean “{found}”?"
    if strategy == "trigram_fuzzy":
        return f"nothing matched “{asked}”; shown are notes with a similar name"
    return f"nothing matched “{asked}”; shown is what matches “{found}”"
