"""The second stage: a reranker scores the best candidates, unless a skip rule applies.

It is skipped if both legs agree on the first ranks, if the best note leads by a wide margin, if most notes are longer
than what it reads, or if the time budget is too short. Its speed is estimated from earlier runs.

A cross-encoder judges a text of some sentences well, but not one of several pages. So a long note can be read in
passages: those with the most terms of the query. The note's score is that of its best passage (MaxP of Dai and Callan,
"Deeper Text Understanding for IR with Contextual Neural Language Modeling", 2019).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nlargest
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from recollect.model import Candidate
from recollect.model.note import embedding_chunks
from recollect.query import Query
from recollect.ranking import blend_reranked, merge_reranked, rerank_text, unanimity
from recollect.ranking.reranking import valid_scores
from recollect.retrieval.graph import IndexGraph, previous_texts
from recollect.retrieval.legs import Workers, milliseconds_since
from recollect.retrieval.messages import error_summary
from recollect.retrieval.request import SearchRequest, TermFrequencies, count_terms, positive_terms
from recollect.retrieval.trace import Trace

if TYPE_CHECKING:
    from recollect.rerankers.base import Reranker
    from recollect.retrieval.preset import RerankRules

_COMPARED_RANKS = 3  # how many of the first ranks of both legs are compared
_MIN_RERANKED = 2  # the order of fewer notes cannot change
_SMOOTHING = 0.2  # the weight of the newest run in the exponential moving average of the speed


class RerankInput(NamedTuple):
    """What the reranker may read besides the candidates."""

    request: SearchRequest
    """The query, and its terms, by which passages are chosen."""
    frequencies: TermFrequencies | None
    """The document frequencies of the terms; without them, all terms have the same weight."""
    graph: IndexGraph
    """Finds the notes before a note in its session."""


class _Document(NamedTuple):
    """A text that the reranker reads: a note, or a passage of a long note."""

    candidate_index: int
    text: str


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
        candidates: list[Candidate],
        rerank_input: RerankInput,
        trace: Trace,
        rules: RerankRules,
        *,
        top_n: int,
        legs: tuple[Sequence[Candidate], Sequence[Candidate]],
    ) -> list[Candidate]:
        """Return the candidates in the new order, and record the run in the trace.

        The reranker reads at most ``top_n`` texts. If it is skipped or fails, the candidates are unchanged. ``legs``
        are the lexical and the vector list.
        """
        are_long = _are_most_long(candidates[:top_n], rules)
        trace.rerank_skipped_reason = _skip_reason(candidates, trace, rules, are_long=are_long, legs=legs)
        if trace.rerank_skipped_reason:
            return candidates
        documents = _documents(candidates[:top_n], rerank_input, rules)[:top_n]
        documents = documents[: self._documents_within_budget(documents, rules.budget_ms)]
        note_count = documents[-1].candidate_index + 1 if documents else 0
        if note_count < min(_MIN_RERANKED, len(candidates)):
            trace.rerank_skipped_reason = "budget"
            return candidates
        started = perf_counter()
        try:
            texts = [document.text for document in documents]
            wait_for_scores = self._workers.start(
                lambda: list(self._reranker.rerank(rerank_input.request.query, texts))
            )
            scores = _best_scores(wait_for_scores(self._timeout), documents)
            weight = rules.passage_blend if are_long else rules.blend
            if weight < 1:
                merged = blend_reranked(candidates, scores, weight=weight, top_n=note_count)
            else:
                merged = merge_reranked(candidates, scores, top_n=note_count)
        except Exception as error:  # noqa: BLE001 (a reranker may be the caller's own and raise anything)
            if not trace.error_stage:  # an earlier error of the lexical leg stays in the trace
                trace.error_stage, trace.error_detail = "rerank", error_summary(error)
            trace.warnings.append(f"the results were not reranked: {error_summary(error)}")
            return candidates
        finally:
            trace.rerank_elapsed = milliseconds_since(started)
        self._update_speed(sum(map(len, texts)), trace.rerank_elapsed)
        trace.reranked, trace.rerank_provider = True, str(self._reranker.name)
        return merged

    def _documents_within_budget(self, documents: Sequence[_Document], budget_ms: float) -> int:
        """Return how many of the first documents the reranker can read within the budget."""
        if not budget_ms or self._ms_per_character is None:  # no limit, or no run yet
            return len(documents)
        expected_ms = 0.0
        for count, document in enumerate(documents):
            expected_ms += len(document.text) * self._ms_per_character
            if expected_ms > budget_ms:
                return count
        return len(documents)

    def _update_speed(self, characters: int, elapsed_ms: float) -> None:
        """Update the average time for a character; the first run, which also loads the model, does not count."""
        if self._runs:
            rate = elapsed_ms / max(1, characters)
            old = self._ms_per_character
            self._ms_per_character = rate if old is None else old + _SMOOTHING * (rate - old)
        self._runs += 1


def _are_most_long(head: Sequence[Candidate], rules: RerankRules) -> bool:
    """Return whether most of the notes are longer than what the reranker reads of a note."""
    if not rules.characters:
        return False
    return sum(1 for candidate in head if len(candidate.content) > rules.characters) > len(head) / 2


def _documents(head: Sequence[Candidate], rerank_input: RerankInput, rules: RerankRules) -> list[_Document]:
    """Return what the reranker reads of each candidate."""
    previous = previous_texts(head, rerank_input.graph) if rules.previous else {}
    tree, frequencies = rerank_input.request.terms, rerank_input.frequencies
    weights = [1.0 if frequencies is None else frequencies.weight(term) for term in positive_terms(tree)]
    documents = []
    for index, candidate in enumerate(head):
        for note in _passages(candidate, tree, weights, rules):
            text = rerank_text(note, characters=rules.characters, previous=previous.get(candidate.id, ""))
            documents.append(_Document(index, text))
    return documents


def _passages(candidate: Candidate, tree: Query, weights: Sequence[float], rules: RerankRules) -> list[Candidate]:
    """Return copies of a long note with one passage each as the content; a short note is returned as it is.

    The passages are the chunks with the highest sum of the weights of the terms that they contain, the best first.
    """
    if not rules.passages or len(candidate.content) <= rules.characters:
        return [candidate]
    chunks = embedding_chunks(candidate.content)
    scores = [sum(weights[term] for term in count_terms(chunk, tree)) for chunk in chunks]
    passages = []
    for index in nlargest(rules.passages, range(len(chunks)), key=scores.__getitem__):  # of equal ones, the first
        passage = candidate.copy()
        passage.content = chunks[index]
        passages.append(passage)
    return passages


def _best_scores(results: Iterable[tuple[int, float]], documents: Sequence[_Document]) -> list[tuple[int, float]]:
    """Return pairs of a candidate's index and the best score of its documents."""
    best: dict[int, float] = {}
    for number, score in valid_scores(results, len(documents)).items():
        index = documents[number].candidate_index
        best[index] = max(score, best.get(index, score))
    return list(best.items())


def _skip_reason(
    candidates: Sequence[Candidate],
    trace: Trace,
    rules: RerankRules,
    *,
    are_long: bool,
    legs: tuple[Sequence[Candidate], Sequence[Candidate]],
) -> str:
    """Return the reason to skip the reranker, or "". ``are_long`` says whether most notes are long."""
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
    return "long_notes" if are_long and not rules.passages else ""
