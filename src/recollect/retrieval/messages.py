"""Texts for people about a trace: warnings, notices and one-line summaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.text import collapse_whitespace

if TYPE_CHECKING:
    from recollect.model import Candidate, Step
    from recollect.retrieval.trace import Context, Trace
    from recollect.retrieval.word_forms import StemOnly

ONLY_STOPWORDS = "the query has only stopwords"
_LEGS = {"lexical": "lexical search", "vector": "vector search", "graph": "the graph"}
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}
_MAX_LINE = 100


def one_line(text: str, max_length: int = _MAX_LINE) -> str:
    r"""Return ``text`` on one line without control characters, at most ``max_length`` characters long.

    >>> one_line("green\n\x1b[31mtea", 9)
    'green [3…'
    """
    shown = collapse_whitespace(
        "".join(character if character.isprintable() else " " for character in text[:max_length])
    )
    return shown if len(text) <= max_length else f"{shown}…"


def truncated(text: str, width: int) -> str:
    """Return ``text`` in at most ``width`` characters.

    >>> truncated("green tea", 6)
    'green…'
    """
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def context_message(context: Context, candidate: Candidate) -> str:
    """Return the context with which a note was rescored, and its lexical score before.

    >>> from recollect.model import Candidate
    >>> from recollect.retrieval.trace import Context
    >>> context_message(Context(3.5, ("n1", "n3")), Candidate("n2", session="s", position=2))
    'with 2 neighbours, 3.50 before'
    """
    if context.neighbours:
        count = len(context.neighbours)
        scope = "with its neighbour" if count == 1 else f"with {count} neighbours"
    elif candidate.session and candidate.position is not None:
        scope = "without neighbours"
    else:
        scope = "with its best chunk"
    return scope + (", not retrieved before" if context.own is None else f", {context.own:.2f} before")


def no_answer_message(confidence: float, threshold: float) -> str:
    """Return why the hits of a search do not count as an answer.

    >>> no_answer_message(0.0912, 0.5)
    'the best confidence is 0.0912, below the answer threshold of 0.5'
    """
    return f"the best confidence is {confidence:.3g}, below the answer threshold of {threshold:g}"


def no_results_message(trace: Trace) -> str:
    """Return why a search has no hits: no note was found, or ``min_confidence`` dropped all.

    >>> from recollect.retrieval import Trace
    >>> no_results_message(Trace(mode="bm25", original_query="tea"))
    "nothing was found for 'tea'; try other words, or fewer filters"
    >>> no_results_message(Trace(mode="bm25", original_query="tea", below_min_confidence=3))
    "no note for 'tea' reaches min_confidence: 3 candidates were found, all below it; lower it to see them"
    """
    dropped = trace.below_min_confidence
    if not dropped:
        return f"nothing was found for {trace.original_query!r}; try other words, or fewer filters"
    candidates = "1 candidate was found, which is" if dropped == 1 else f"{dropped} candidates were found, all"
    return f"no note for {trace.original_query!r} reaches min_confidence: {candidates} below it; lower it to see them"


def stem_only_message(discount: StemOnly) -> str:
    """Return which words a note contains only in another form, and its lexical score before the discount.

    >>> from recollect.retrieval.word_forms import StemOnly
    >>> stem_only_message(StemOnly(3.5, ("ines",)))
    'only another form of ines, 3.5 before the discount'
    """
    words = ", ".join(map(one_line, discount.words))
    return f"only another form of {words}, {discount.before:.4g} before the discount"


def rank_summary(candidate: Candidate) -> str:
    """Return in one sentence the ranks of a candidate in each leg, and the stages that changed its score.

    >>> from recollect.model import Candidate, Step
    >>> moved = Step("superseded", "supersedes 'Tea'", 1.0, 0.25, 0.5, 0.75, 2, 1)
    >>> rank_summary(Candidate("a", evidence=("lexical", 2, 7.0, 0.5), steps=(moved,)))
    "2nd by lexical search; lifted by superseded: supersedes 'Tea'."
    """
    ranks = [f"{_ordinal(part.rank)} by {_LEGS.get(part.leg, one_line(part.leg))}" for part in candidate.contributions]
    parts = [" and ".join(ranks) or "retrieved by neither leg"]
    changes = [step for step in candidate.steps if step.score_after != step.score_before]
    if changes:
        causes = [f"{verb} by {' and '.join(names)}" for verb, names in _movers(changes) if names]
        strongest = max(changes, key=lambda step: abs(step.score_after - step.score_before))
        parts.append(f"{', '.join(causes)}: {one_line(strongest.reason)}")
    return f"{'; '.join(parts)}."


def _movers(changes: list[Step]) -> list[tuple[str, list[str]]]:
    """Return the names of the stages that lifted a candidate, and of those that lowered it."""
    lifted = [step.stage for step in changes if step.score_after > step.score_before]
    lowered = [step.stage for step in changes if step.score_after < step.score_before]
    return [
        (verb, [_LEGS.get(name, one_line(name).replace("_", " ")) for name in dict.fromkeys(names)])
        for verb, names in (("lifted", lifted), ("lowered", lowered))
    ]


def _ordinal(rank: int) -> str:
    return f"{rank}{'th' if rank % 100 in (11, 12, 13) else _ORDINALS.get(rank % 10, 'th')}"


def fusion_summary(rules: Mapping[str, Any]) -> str:
    """Return the settings of a fusion, from a trace or a preset, in a few words.

    >>> fusion_summary({"method": "rrf", "k": 60.0, "rank_base": 1, "weights": {"lexical": 1.0, "graph": 0.35}})
    'rrf, k 60, graph × 0.35'
    """
    parts = [one_line(str(rules.get("method", "")))]
    if rules.get("method") == "rrf":
        parts.append(f"k {rules.get('k', 0):g}")
        if not rules.get("rank_base", 1):
            parts.append("ranks from 0")
    parts += [f"{one_line(leg)} × {weight:g}" for leg, weight in rules.get("weights", {}).items() if weight != 1]
    return ", ".join(part for part in parts if part)


def rerank_message(trace: Trace) -> str:
    """Return which reranker ran, or why none did.

    >>> from recollect.retrieval import Trace
    >>> rerank_message(Trace(mode="bm25", original_query="tea", rerank_skipped_reason="no_reranker"))
    'skipped: no reranker is configured'
    """
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
    """Return which terms the query excludes, in one line; empty if it excludes none.

    >>> from recollect.retrieval import Trace
    >>> exclusion_message(Trace(mode="bm25", original_query="coffee NOT decaf", excluded=("decaf",)))
    'excluding notes with: decaf'
    """
    return f"excluding notes with: {', '.join(map(one_line, trace.excluded))}" if trace.excluded else ""


def index_warnings(trace: Trace) -> list[str]:
    """Return the warnings that are not about the terms of the query.

    >>> from recollect.retrieval import Trace
    >>> index_warnings(Trace(mode="bm25", original_query="the", warnings=[ONLY_STOPWORDS, "the disk is full"]))
    ['the disk is full']
    """
    about_the_query = {ONLY_STOPWORDS, retry_message(trace), *(part.message() for part in trace.substitutions)}
    return [warning for warning in trace.warnings if warning not in about_the_query]


def retry_message(trace: Trace) -> str:
    """Return which fallback query found the results; empty if the query itself did, or nothing was found.

    >>> from recollect.retrieval import Attempt, Trace
    >>> tries = [Attempt("initial", "kubernets", 0), Attempt("did_you_mean", "kubernetes", 2)]
    >>> retry_message(Trace(mode="bm25", original_query="kubernets?", attempts=tries))
    'nothing matched “kubernets?”; did you mean “kubernetes”?'
    """
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
