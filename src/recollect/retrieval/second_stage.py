"""The second stage: a reranker scores the best candidates, unless a skip rule applies.

It is skipped if both legs agree on the first ranks, if the best note leads by a wide margin, if most notes are longer
than what it reads, or if the time budget is too short. Its speed is estimated from earlier runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from recollect.model import Candidate
from recollect.ranking import blend_reranked, merge_reranked, rerank_text, unanimity
from recollect.retrieval.legs import Workers, milliseconds_since
from recollect.retrieval.messages import error_summary
from recollect.retrieval.trace import Trace

if TYPE_CHECKING:
    from recollect.rerankers.base import Reranker
    from recollect.retrieval.preset import RerankRules

_COMPARED_RANKS = 3  # how many of the first ranks of both legs are compared
_MIN_RERANKED = 2  # the order of fewer notes cannot change
_SMOOTHING = 0.2  # the weight of the newest run in the exponential moving average of the speed


class SecondStage:
    """Runs a reranker. If the reranker needs more than ``timeout`` seconds, the candidates keep their order."""

    def __init__(self, reranker: Reranker, timeout: float) -> None:
        self._reranker = reranker
        self._timeout = timeout
        self._workers = Workers()
        self._runs = 0
        self._ms_per_character: float | None = None  # the average time for one character of a document

    def run(
        self,
        query: str,
        candidates: list[Candidate],
        trace: Trace,
        rules: RerankRules,
        *,
        top_n: int,
        legs: tuple[Sequence[Candidate], Sequence[Candidate]],
        previous_texts: Callable[[], Mapping[str, str]],
    ) -> list[Candidate]:
        """Return the candidates in the new order, and record the run in the trace.

        If the reranker is skipped or fails, the candidates are unchanged. ``legs`` are the lexical and the vector list.
        ``previous_texts`` returns the text before a note in its session, by the note's id; it is called if needed.
        """
        trace.rerank_skipped_reason = _skip_reason(candidates, trace, rules, top_n=top_n, legs=legs)
        if trace.rerank_skipped_reason:
            return candidates
        previous = previous_texts()
        documents = [
            rerank_text(candidate, characters=rules.characters, previous=previous.get(candidate.id, ""))
            for candidate in candidates[:top_n]
        ]
        documents = documents[: self._documents_within_budget(documents, rules.budget_ms)]
        if len(documents) < min(_MIN_RERANKED, len(candidates)):
            trace.rerank_skipped_reason = "budget"
            return candidates
        started = perf_counter()
        try:
            wait_for_scores = self._workers.start(lambda: list(self._reranker.rerank(query, documents)))
            scores = wait_for_scores(self._timeout)
            if rules.blend < 1:
                merged = blend_reranked(candidates, scores, weight=rules.blend, top_n=len(documents))
            else:
                merged = merge_reranked(candidates, scores, top_n=len(documents))
        except Exception as error:  # noqa: BLE001 (a reranker may be the caller's own and raise anything)
            if not trace.error_stage:  # an earlier error of the lexical leg stays in the trace
                trace.error_stage, trace.error_detail = "rerank", error_summary(error)
            trace.warnings.append(f"the results were not reranked: {error_summary(error)}")
            return candidates
        finally:
            trace.rerank_elapsed = milliseconds_since(started)
        self._update_speed(sum(map(len, documents)), trace.rerank_elapsed)
        trace.reranked, trace.rerank_provider = True, str(self._reranker.name)
        return merged

    def _documents_within_budget(self, documents: Sequence[str], budget_ms: float) -> int:
        """Return how many of the first documents the reranker can read within the budget."""
        if not budget_ms or self._ms_per_character is None:  # no limit, or no run yet
            return len(documents)
        expected_ms = 0.0
        for index, document in enumerate(documents):
            expected_ms += len(document) * self._ms_per_character
            if expected_ms > budget_ms:
                return index
        return len(documents)

    def _update_speed(self, characters: int, elapsed_ms: float) -> None:
        """Update the average time for a character; the first run, which also loads the model, does not count."""
        if self._runs:
            rate = elapsed_ms / max(1, characters)
            old = self._ms_per_character
            self._ms_per_character = rate if old is None else old + _SMOOTHING * (rate - old)
        self._runs += 1


def _skip_reason(
    candidates: Sequence[Candidate],
    trace: Trace,
    rules: RerankRules,
    *,
    top_n: int,
    legs: tuple[Sequence[Candidate], Sequence[Candidate]],
) -> str:
    """Return the reason to skip the reranker, or ""."""
    if rules.agree_min:  # with 0, agreement does not matter
        lexical, vector = ([candidate.id for candidate in leg[:_COMPARED_RANKS]] for leg in legs)
        agreement = unanimity(lexical, vector, rules.agree_min)
        if agreement:
            trace.unanimity = agreement.agreements
            return "unanimity"
    if rules.max_margin and len(candidates) > 1:
        first, second = candidates[:2]
        if first.score - second.score > rules.max_margin * (first.ceiling or first.score):
            return "margin"
    long_notes = sum(1 for candidate in candidates[:top_n] if len(candidate.content) > rules.characters)
    if rules.characters and long_notes > len(candidates[:top_n]) / 2:
        return "long_notes"
    return ""
