"""The second stage: a reranker reads the head of the list, where that can help."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from recollect.model import Candidate
from recollect.ranking import merge_reranked, rerank_text, unanimity
from recollect.retrieval.deadlines import Task, Workers
from recollect.retrieval.failures import told
from recollect.retrieval.trace import Trace

if TYPE_CHECKING:
    from recollect.rerankers.base import Reranker
    from recollect.retrieval.rules import RerankRules

__all__ = ["SecondStage"]


class SecondStage:
    """Runs a reranker, if there is one, under the rules of a preset."""

    def __init__(self, reranker: Reranker | None, rules: RerankRules, workers: Workers, timeout: float) -> None:
        """Keep the parts."""
        self._reranker = reranker
        self._rules = rules
        self._workers = workers
        self._timeout = timeout

    def run(
        self,
        query: str,
        fused: list[Candidate],
        trace: Trace,
        *,
        wanted: bool,
        top_n: int,
        legs: tuple[Sequence[Candidate], Sequence[Candidate]],
    ) -> list[Candidate]:
        """Return the list with its head in the reranker's order, or as it was where that is skipped or fails."""
        trace.rerank_skipped_reason = self._reason_to_skip(fused, trace, wanted=wanted and top_n > 0, legs=legs)
        if trace.rerank_skipped_reason or self._reranker is None:
            return fused
        started = perf_counter()
        reranker = self._reranker
        documents = [rerank_text(candidate, characters=self._rules.characters) for candidate in fused[:top_n]]
        try:
            verdict = Task(lambda: list(reranker.rerank(query, documents)), self._workers).result(self._timeout)
            merged = merge_reranked(fused, verdict, top_n=top_n)
        except Exception as error:  # noqa: BLE001 (a reranker may be the caller's own and raise anything)
            if not trace.error_stage:
                trace.error_stage, trace.error_detail = "rerank", told(error)
            trace.warnings.append(f"the results were not reranked: {told(error)}")
            return fused
        finally:
            trace.rerank_elapsed = (perf_counter() - started) * 1000
        trace.reranked, trace.rerank_provider = True, str(reranker.name)
        return merged

    def _reason_to_skip(
        self,
        fused: list[Candidate],
        trace: Trace,
        *,
        wanted: bool,
        legs: tuple[Sequence[Candidate], Sequence[Candidate]],
    ) -> str:
        if not fused:
            return "empty_candidates"
        if not wanted or not self._rules.on:
            return "mode_off"
        if self._reranker is None:
            return "no_reranker"
        if self._rules.agree_min:
            lexical, vector = ([candidate.id for candidate in leg[:3]] for leg in legs)
            agreement = unanimity(lexical, vector, self._rules.agree_min)
            if agreement:
                trace.unanimity = agreement.agreements
                return "unanimity"
        return ""
