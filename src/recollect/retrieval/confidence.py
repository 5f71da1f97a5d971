"""The confidence of hits (the probability, from 0 to 1, that a note answers the query), and their snippets.

Fused scores rank the notes of one search, but do not say whether the best note is an answer. So a logistic regression
estimates the confidence from four features: similarity, coverage, margin and time match
(:class:`ConfidenceEvidence`). The regression was fitted to first hits that were judged relevant or not.
:class:`ConfidenceScorer` computes the features and applies ``min_confidence``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from math import exp
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.model import Candidate, Hit
from recollect.query import Query
from recollect.ranking import time_match
from recollect.retrieval.legs import LexicalResult
from recollect.retrieval.request import (
    MAX_SCANNED,
    SearchRequest,
    TermFrequencies,
    TermMatch,
    count_terms,
    match_terms,
    positive_terms,
)
from recollect.text import collapse_whitespace

if TYPE_CHECKING:
    from recollect.retrieval.trace import Trace

MAX_MARGIN = 0.5  # larger margins count as 0.5, margins below -0.5 as -0.5
NEGATIVE_MARGIN_WEIGHT = 0.25  # a factor below 1, because a note that is not the first hit may also be an answer
_MAX_EXPONENT = 60.0  # beyond ±60 the logistic function is practically 0 or 1, and exp could overflow


class ConfidenceEvidence(NamedTuple):
    """The four features from which the confidence of one note is computed."""

    similarity: float | None  # the cosine similarity of note and query; None if no vectors were compared
    coverage: float  # the share of the query's terms that the note contains, weighted by inverse document frequency
    margin: float  # the note's score minus the best score of the other notes, divided by the highest possible score
    time_match: float = 0.0  # how well the note fits the time that the query names, from 0 to 1

    def to_dict(self) -> dict[str, Any]:
        """Return the evidence as JSON-ready data with camelCase names."""
        return dict(zip(("similarity", "coverage", "margin", "timeMatch"), self, strict=True))


class Calibration(NamedTuple):
    """The weights of the logistic regression for one embedding model, and the quality of the model."""

    base: float  # the intercept
    similarity: float
    coverage: float
    both: float = 0.0  # the weight of similarity times coverage; negative, because a high value of either is enough
    margin: float = 0.0  # the weight of the margin, as bounded_margin returns it
    time_match: float = 0.0  # the weight of time match times coverage
    model_quality: float = 1.0  # fusion multiplies the vector leg's weight by it; 1 for a good sentence encoder


def confidence(evidence: ConfidenceEvidence, calibration: Calibration) -> float:
    """Return the probability that a note answers the query.

    The probability is ``1 / (1 + exp(-x))``, where ``x`` is the intercept plus the sum of each weight times its
    feature. If the evidence has no similarity, :data:`LEXICAL_ONLY` is used instead of ``calibration``.
    """
    weights = LEXICAL_ONLY if evidence.similarity is None else calibration
    similarity = evidence.similarity or 0.0
    exponent = (
        weights.base
        + weights.similarity * similarity
        + weights.coverage * evidence.coverage
        + weights.both * similarity * evidence.coverage
        + weights.margin * bounded_margin(evidence.margin)
        + weights.time_match * evidence.time_match * evidence.coverage
    )
    return 1 / (1 + exp(-max(-_MAX_EXPONENT, min(_MAX_EXPONENT, exponent))))


def bounded_margin(margin: float) -> float:
    """Return a margin as the regression uses it: limited to ±:data:`MAX_MARGIN`, and divided by 4 if it is negative."""
    return min(MAX_MARGIN, margin) if margin > 0 else max(-MAX_MARGIN, margin) * NEGATIVE_MARGIN_WEIGHT


def calibration_of(model: str) -> Calibration:
    """Return the calibration in ``_BY_MODEL`` whose key the model's name begins with, or :data:`LEXICAL_ONLY`."""
    return next((weights for prefix, weights in _BY_MODEL.items() if model.startswith(prefix)), LEXICAL_ONLY)


# Fitted by benchmarks/studies/calibration.py on the first hits of questions to six collections: everyday notes, two-hop
# questions, two kinds of conversations, scientific claims, and questions about times. The negative examples are the
# first hits that are not relevant. Some come from questions that were asked of another collection. Some come from
# questions whose relevant notes were removed; these have a tenth of the weight.
_BY_MODEL = {
    "arctic-embed-s": Calibration(-14.87, 19.98, 13.61, -20.11, 8.54, 1.71),
    "all-MiniLM-L6-v2": Calibration(-5.93, 8.9, 5.49, -10.48, 8.97, 1.21),
    "wordllama": Calibration(-5.29, 7.86, 4.35, -7.81, 7.24, 1.62, model_quality=0.45),
}
LEXICAL_ONLY = Calibration(-3.06, 0.0, 2.63, 0.0, 6.19, 1.04)  # for searches without vectors, and for unlisted models

_HEADER_FIELDS = ("title", "summary", "path")
_WORD = re.compile(r"\w+")  # a run of letters, digits and underscores
_FALLBACK_WEIGHT = 0.5  # multiplies the coverage of a fallback query's terms, because the user did not write them
AVERAGE_MARGIN = 0.13  # the mean margin of the first hits that the calibrations were fitted to


class ConfidenceScorer:
    """Computes the confidence of the candidates of one search."""

    def __init__(
        self,
        request: SearchRequest,
        lexical: LexicalResult,
        ranked: Sequence[Candidate],
        calibration: Calibration,
        *,
        frequencies: TermFrequencies | None,
        background: float | None,
        has_margins: bool,
    ) -> None:
        """Set up the scorer for one search.

        ``ranked`` are the candidates of the search before a reranker reorders them. ``frequencies`` are the document
        frequencies of the terms of ``lexical.tree``, if they are known. ``background`` is used as the similarity of a
        candidate without a similarity. ``has_margins`` is false for a fusion by ranks, because the differences of
        its scores are meaningless; then every margin is :data:`AVERAGE_MARGIN`.
        """
        self._request = request
        self._lexical = lexical
        self._calibration = calibration
        self._background = background
        self._weights = _term_weights(lexical.tree, frequencies)
        self._time_words = {word for time in request.times for word in _WORD.findall(time.text.casefold())}
        self._has_margins = has_margins
        scores = sorted((candidate.score for candidate in ranked), reverse=True)
        self._best_score, self._second_score, *_ = (*scores, 0.0, 0.0)  # 0 if there are fewer than two candidates

    def drop_below(self, minimum: float, candidates: Sequence[Candidate], trace: Trace) -> list[Candidate]:
        """Return the candidates whose confidence is at least ``minimum``, and the candidates that depend on them.

        A candidate depends on a confident candidate if it received a score transfer from it along an edge, or was
        rescored with it as context. The candidates that supersede a returned candidate are also returned.
        """
        confident_ids = {
            candidate.id
            for candidate in candidates
            if confidence(self.evidence(candidate), self._calibration) >= minimum
        }
        returned_ids = confident_ids | {
            note_id
            for note_id, transfers in trace.transfers.items()
            if any(transfer.kind != "session" and transfer.source in confident_ids for transfer in transfers)
        }
        for note_id, context in trace.contexts.items():
            if not confident_ids.isdisjoint(context.neighbours):
                returned_ids.add(note_id)
        for returned in [candidate for candidate in candidates if candidate.id in returned_ids]:
            returned_ids.update(returned.superseded_by)
        return [candidate for candidate in candidates if candidate.id in returned_ids]

    def hit(self, rank: int, candidate: Candidate) -> Hit:
        """Return a candidate as a hit, with its confidence and a snippet of its content or summary."""
        passage = snippet(candidate.content, self._lexical.tree)
        hit_candidate = candidate.copy()
        evidence = self.evidence(candidate, content_terms=passage.terms)
        hit_candidate.confidence = confidence(evidence, self._calibration)
        if hit_candidate.snippet:  # the snippet that a leg returned is kept
            return Hit(rank, hit_candidate)
        if not passage.highlights:
            summary = snippet(candidate.summary, self._lexical.tree)
            passage = summary if summary.highlights else passage
        hit_candidate.snippet = passage.text
        return Hit(rank, hit_candidate, passage.highlights)

    def confidence_at(self, candidate: Candidate, score: float) -> float:
        """Return the confidence that a candidate would have with another score."""
        rescored = candidate.copy()
        rescored.score, rescored.steps = score, ()  # without steps, _margin uses this score
        return confidence(self.evidence(rescored), self._calibration)

    def evidence(self, candidate: Candidate, *, content_terms: Iterable[int] | None = None) -> ConfidenceEvidence:
        """Return a candidate's evidence; ``content_terms`` are the indexes of query terms in its content, if known."""
        similarity = self._background if candidate.vector_similarity is None else candidate.vector_similarity
        time_fit = time_match(candidate, self._request.times) if self._request.times else 0.0
        coverage = self._coverage(candidate, content_terms, time_fit)
        return ConfidenceEvidence(similarity, coverage, self._margin(candidate), time_fit)

    def _coverage(self, candidate: Candidate, content_terms: Iterable[int] | None, time_fit: float) -> float:
        """Return the weighted share of the query's terms that a note contains, from 0 to 1.

        If the note lacks a word that names a time (*August*), the word counts as the note's time match, ``time_fit``.
        """
        if self._request.only_stopwords or self._request.time_only:
            return time_fit
        coverage = self._tree_coverage(candidate, self._lexical.tree, self._weights, content_terms, time_fit)
        tree = self._request.tree
        if tree.tokens == self._lexical.tree.tokens:
            return coverage
        # A fallback query found the note: the original terms count in full, but the fallback query's terms count half.
        original_coverage = self._tree_coverage(candidate, tree, _term_weights(tree, None), None, time_fit)
        return max(original_coverage, _FALLBACK_WEIGHT * coverage)

    def _tree_coverage(
        self,
        candidate: Candidate,
        tree: Query,
        weights: Sequence[float],
        content_terms: Iterable[int] | None,
        time_fit: float,
    ) -> float:
        """Return the weighted share of the terms of one query that a note contains; ``weights`` are by term index."""
        fields = _HEADER_FIELDS if content_terms is not None else (*_HEADER_FIELDS, "content")
        term_indexes = set(content_terms or ())
        for name in fields:
            if text := getattr(candidate, name):
                term_indexes.update(count_terms(text, tree))
        shares = dict.fromkeys(term_indexes, 1.0)  # how much of a term's weight counts, by term index
        if time_fit:
            for index, term in enumerate(positive_terms(tree)):
                if self._time_words.issuperset(_WORD.findall(term.casefold())):
                    shares.setdefault(index, time_fit)
        coverage = sum(weights[index] * share for index, share in shares.items()) / sum(weights) if weights else 0.0
        if self._lexical.matched_names and candidate.lexical_score is not None:
            coverage = max(coverage, candidate.lexical_score)  # the similarity of the names, from 0 to 1
        return coverage

    def _margin(self, candidate: Candidate) -> float:
        """Return a candidate's score minus the best score of the others, divided by the highest possible score."""
        if not self._has_margins:
            return AVERAGE_MARGIN
        # The score before reranking, because the calibration was fitted to such scores.
        score = next((step.score_before for step in candidate.steps if step.stage == "rerank"), candidate.score)
        best_other = self._second_score if score >= self._best_score else self._best_score
        max_score = candidate.ceiling or max(self._best_score, score) or 1.0
        return (score - best_other) / max_score


def _term_weights(tree: Query, frequencies: TermFrequencies | None) -> list[float]:
    """Return the inverse document frequency of each term of a query, or 1 for each if ``frequencies`` is ``None``."""
    return [1.0 if frequencies is None else frequencies.weight(term) for term in positive_terms(tree)]


def inherit_confidence(
    hits: Sequence[Hit], superseded: Iterable[Candidate], confidence_of: Callable[[Candidate], float]
) -> None:
    """Raise the confidence of each current hit, in place, to the highest confidence of the notes that it supersedes.

    A current note is a note that no other note supersedes. It answers what the notes that it supersedes would have
    answered, even if it uses other words. ``superseded`` are all superseded candidates of the search, not only hits.
    """
    inheritable: dict[str, float] = {}  # the highest confidence that a current note inherits, by its id
    for candidate in superseded:
        value = confidence_of(candidate)
        for current_id in candidate.superseded_by:
            inheritable[current_id] = max(inheritable.get(current_id, 0.0), value)
    for hit in hits:
        inherited = inheritable.get(hit.id, 0.0)
        if not hit.superseded_by and inherited > (hit.confidence or 0.0):
            hit.candidate.confidence = hit.candidate.inherited_confidence = inherited


SNIPPET_WIDTH = 180  # the default length of a snippet, in characters
_MAX_CUT = 30  # each end of a snippet may move this many characters inwards, to the next space
_MAX_WINDOW_MATCHES = 40  # a window with more matches counts as 40 different terms, to bound the time


class Snippet(NamedTuple):
    """A part of a text, on one line, with the matches of a query."""

    text: str
    highlights: tuple[tuple[int, int], ...]  # the start and end of each match, as offsets in text
    terms: frozenset[int]  # the indexes of the query's terms that the whole text contains


def snippet(content: str, query: Query, width: int = SNIPPET_WIDTH) -> Snippet:
    """Return the part of ``content`` with the most terms of the query: about ``width`` characters, cut at spaces."""
    text = collapse_whitespace(content[:MAX_SCANNED])
    matches = match_terms(text, query)
    start, end = _cut_at_spaces(text, _window_start(matches, width), width)
    window = text[start:end]
    prefix, suffix = "…" if start > 0 else "", "…" if end < len(text) else ""
    leading_spaces = len(window) - len(window.lstrip())
    shift = len(prefix) - start - leading_spaces  # from an offset in text to an offset in the snippet
    highlights = tuple(
        (match.start + shift, match.end + shift) for match in matches if start <= match.start and match.end <= end
    )
    return Snippet(prefix + window.strip() + suffix, highlights, frozenset(match.term_index for match in matches))


def _window_start(matches: list[TermMatch], width: int) -> int:
    """Return the start of a snippet: a fifth of ``width`` before the first window with the most different terms."""
    best_left, max_terms, left = 0, 0, 0  # a window has the matches from index left to index right
    for right, match in enumerate(matches):
        while match.end - matches[left].start > width and left < right:
            left += 1
        is_full = right - left >= _MAX_WINDOW_MATCHES
        term_count = _MAX_WINDOW_MATCHES if is_full else len({other.term_index for other in matches[left : right + 1]})
        if term_count > max_terms:
            max_terms, best_left = term_count, left
    return max(0, matches[best_left].start - width // 5) if matches else 0


def _cut_at_spaces(text: str, start: int, width: int) -> tuple[int, int]:
    """Return start and end of a window of at most ``width`` characters; both move inwards to a space if one is near."""
    start = max(0, min(start, len(text) - width))
    end = min(len(text), start + width)
    if start > 0:
        space = text.find(" ", start, start + _MAX_CUT)
        start = space + 1 if space >= 0 else start
    if end < len(text):
        space = text.rfind(" ", max(start, end - _MAX_CUT), end)
        end = space if space > start else end
    return start, end
