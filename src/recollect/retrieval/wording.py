"""What a trace records, said to a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.retrieval.lines import one_line

if TYPE_CHECKING:
    from recollect.model import Candidate, Step
    from recollect.retrieval.trace import Context, StemOnly, Trace

__all__ = [
    "context_in_words",
    "exclusion_in_words",
    "fusion_in_words",
    "index_warnings",
    "no_answer_in_words",
    "nothing_found_in_words",
    "rerank_in_words",
    "retry_in_words",
    "standing_in_words",
    "stem_only_in_words",
]

ONLY_STOPWORDS = "the query holds only stopwords"
_LEGS = {"lexical": "words", "vector": "meaning", "graph": "connections"}
_ENDS = {1: "st", 2: "nd", 3: "rd"}


def context_in_words(context: Context, candidate: Candidate) -> str:
    """Return what a note was read with, and what the lexical leg had given it at first.

    >>> from recollect.model import Candidate
    >>> from recollect.retrieval.trace import Context
    >>> context_in_words(Context(3.5, ("n1", "n3")), Candidate("n2", session="s", position=2))
    'with 2 notes beside it, at first 3.50'
    """
    if context.beside:
        read = "with the note beside it" if len(context.beside) == 1 else f"with {len(context.beside)} notes beside it"
    elif candidate.session and candidate.position is not None:
        read = "read once more"
    else:
        read = "with its best passage"
    return read + (", not found at first" if context.own is None else f", at first {context.own:.2f}")


def no_answer_in_words(confidence: float, threshold: float) -> str:
    """Return why the hits of a search do not count as an answer.

    >>> no_answer_in_words(0.0912, 0.5)
    'the best confidence is 0.0912, below the answer threshold of 0.5'
    """
    return f"the best confidence is {confidence:.3g}, below the answer threshold of {threshold:g}"


def nothing_found_in_words(trace: Trace) -> str:
    """Return that a search has no hits, and why: no note was found, or ``min_confidence`` dropped all.

    >>> from recollect.retrieval import Trace
    >>> nothing_found_in_words(Trace(mode="bm25", original_query="tea"))
    "nothing was found for 'tea'; try other words, or fewer filters"
    >>> nothing_found_in_words(Trace(mode="bm25", original_query="tea", below_min_confidence=3))
    "no note for 'tea' reaches min_confidence: 3 candidates were found, all below it; lower it to see them"
    """
    dropped = trace.below_min_confidence
    if not dropped:
        return f"nothing was found for {trace.original_query!r}; try other words, or fewer filters"
    found = "1 candidate was found, which is" if dropped == 1 else f"{dropped} candidates were found, all"
    return f"no note for {trace.original_query!r} reaches min_confidence: {found} below it; lower it to see them"


def stem_only_in_words(discount: StemOnly) -> str:
    """Return which words a note holds only in another form, and its lexical score before the discount.

    >>> from recollect.retrieval.trace import StemOnly
    >>> stem_only_in_words(StemOnly(3.5, ("ines",)))
    'only another form of ines, 3.5 before the discount'
    """
    words = ", ".join(map(one_line, discount.words))
    return f"only another form of {words}, {discount.before:.4g} before the discount"


def standing_in_words(candidate: Candidate) -> str:
    """Return in a sentence why a candidate stands where it does: its place in each leg, and what moved it since.

    >>> from recollect.model import Candidate, Step
    >>> moved = Step("replaced", "replaces 'Tea'", 1.0, 0.25, 0.5, 0.75, 2, 1)
    >>> standing_in_words(Candidate("a", evidence=("lexical", 2, 7.0, 0.5), steps=(moved,)))
    "2nd by words; lifted by replaced: replaces 'Tea'."
    """
    found = [f"{_ordinal(part.rank)} by {_LEGS.get(part.leg, one_line(part.leg))}" for part in candidate.contributions]
    parts = [" and ".join(found) or "neither by words nor by meaning"]
    changes = [step for step in candidate.steps if step.score_after != step.score_before]
    if changes:
        told = [f"{verb} by {' and '.join(names)}" for verb, names in _movers(changes) if names]
        strongest = max(changes, key=lambda step: abs(step.score_after - step.score_before))
        parts.append(f"{', '.join(told)}: {one_line(strongest.reason)}")
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
    return f"{rank}{'th' if rank % 100 in (11, 12, 13) else _ENDS.get(rank % 10, 'th')}"


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


def exclusion_in_words(trace: Trace) -> str:
    """Return which terms the query excludes, in one line; empty if it excludes none.

    >>> from recollect.retrieval import Trace
    >>> exclusion_in_words(Trace(mode="bm25", original_query="coffee NOT decaf", excluded=("decaf",)))
    'excluding notes with: decaf'
    """
    return f"excluding notes with: {', '.join(map(one_line, trace.excluded))}" if trace.excluded else ""


def index_warnings(trace: Trace) -> list[str]:
    """Return the warnings that are not about the words of the query.

    >>> from recollect.retrieval import Trace
    >>> index_warnings(Trace(mode="bm25", original_query="the", warnings=[ONLY_STOPWORDS, "the disk is full"]))
    ['the disk is full']
    """
    about_the_query = {ONLY_STOPWORDS, retry_in_words(trace), *(each.in_words() for each in trace.substitutions)}
    return [warning for warning in trace.warnings if warning not in about_the_query]


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
