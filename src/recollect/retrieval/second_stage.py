"""The second stage: a reranker reorders the best candidates, unless both legs agree on the first ranks."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from recollect.model import Candidate
from recollect.ranking import merge_reranked, rerank_text, unanimity
from recollect.retrieval.legs import Workers, milliseconds_since
from recollect.retrieval.messages import error_summary
from recollect.retrieval.trace import Trace

if TYPE_CHECKING:
    from recollect.rerankers.base import Reranker
    from recollect.retrieval.preset import RerankRules

_COMPARED_RANKS = 3  # how many of the first ranks of both legs are compared


class SecondStage:
    """Runs a reranker. If the reranker needs more than ``timeout`` seconds, the candidates keep their order."""

    def __init__(self, reranker: Reranker, timeout: float) -> None:
        self._reranker = reranker
        self._timeout = timeout
        self._workers = Workers()

    def run(
        self,
        query: str,
        candidates: list[Candidate],
        trace: Trace,
        rules: RerankRules,
        *,
        top_n: int,
        legs: tuple[Sequence[Candidate], Sequence[Candidate]],
    ) -> list[Candidate]:
        """Return the candidates with the first ``top_n`` in the reranker's order, and record the run in the trace.

        If the reranker is skipped or fails, the candidates are unchanged. ``legs`` are the lexical and the vector list.
        """
        if rules.agree_min:  # with 0, the reranker is never skipped
            lexical, vector = ([candidate.id for candidate in leg[:_COMPARED_RANKS]] for leg in legs)
            agreement = unanimity(lexical, vector, rules.agree_min)
            if agreement:
                trace.unanimity, trace.rerank_skipped_reason = agreement.agreements, "unanimity"
                return candidates
        started = perf_counter()
        documents = [rerank_text(candidate, characters=rules.characters) for candidate in candidates[:top_n]]
        try:
            wait_for_scores = self._workers.start(lambda: list(self._reranker.rerank(query, documents)))
            merged = merge_reranked(candidates, wait_for_scores(self._timeout), top_n=top_n)
        except Exception as error:  # noqa: BLE001 (a reranker may be the caller's own and raise anything)
            if not trace.error_stage:  # an earlier error of the lexical leg stays in the trace
                trace.error_stage, trace.error_detail = "rerank", error_summary(error)
            trace.warnings.append(f"the results were not reranked: {error_summary(error)}")
            return candidates
        finally:
            trace.rerank_elapsed = milliseconds_since(started)
        trace.reranked, trace.rerank_provider = True, str(self._reranker.name)
        return merged
