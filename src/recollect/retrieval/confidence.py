"""Confidence: the probability that a note answers a query, from 0 to 1, and which candidates ``min_confidence`` drops.

Fused scores only say which note is the best of those there are. Whether it is an answer shows in its similarity to the
query, the share of the query's terms that it contains, its distance to the next candidate, and whether it is of the
time that the query names: a logistic regression of judged first hits on these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import exp
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.model import Candidate, Hit
from recollect.query import Query, TimeInterval
from recollect.ranking import ScoreTransfer, time_match
from recollect.retrieval.context import snippet
from recollect.retrieval.lexical import LexicalResult
from recollect.retrieval.terms import TermFrequencies, count_terms, positive_terms

if TYPE_CHECKING:
    from recollect.retrieval.trace import Trace

MAX_MARGIN = 0.5
"""The limit of the margin."""
NEGATIVE_MARGIN_WEIGHT = 0.25
"""The factor of a negative margin: several notes may answer a query."""


class ConfidenceEvidence(NamedTuple):
    """The evidence from which a confidence is computed.

    >>> ConfidenceEvidence(0.62, 0.5, 0.2, 0.0).to_dict()
    {'similarity': 0.62, 'coverage': 0.5, 'margin': 0.2, 'timeMatch': 0.0}
    """

    similarity: float | None
    """The cosine of note and query; ``None`` if no vector was compared."""
    coverage: float
    """The share of the query's term weights (inverse document frequencies) that the note contains."""
    margin: float
    """The distance to the best other candidate, as a share of the highest possible score; below 0 behind the first."""
    time_match: float = 0.0
    """From 0 to 1, how well the note fits the time that the query names."""

    def to_dict(self) -> dict[str, Any]:
        """Return the evidence as JSON-ready data with camelCase names."""
        return {
            "similarity": self.similarity,
            "coverage": self.coverage,
            "margin": self.margin,
            "timeMatch": self.time_match,
        }


class Calibration(NamedTuple):
    """The weights of the logistic regression for one model.

    >>> Calibration(-6.0, 9.0, 2.0).similarity
    9.0
    """

    base: float
    similarity: float
    """The weight of the cosine."""
    coverage: float
    """The weight of the coverage."""
    both: float = 0.0
    """The weight of similarity times coverage; negative if one makes up for the other."""
    margin: float = 0.0
    """The weight of the margin, which is limited to half."""
    time_match: float = 0.0
    """The weight of time match times coverage."""
    model_quality: float = 1.0
    """The factor of the vector leg's weight in the fusion; 1 for a good sentence encoder."""


def confidence(evidence: ConfidenceEvidence, calibration: Calibration) -> float:
    """Return the probability that a note answers the query.

    It is ``1 / (1 + exp(-x))`` with ``x`` the sum of the calibration's weights times the evidence.

    >>> round(confidence(ConfidenceEvidence(0.62, 0.5, 0.1), Calibration(-6.0, 9.0, 2.0, margin=5.0)), 3)
    0.746
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
    return 1 / (1 + exp(-max(-60.0, min(60.0, exponent))))


def bounded_margin(margin: float) -> float:
    """Return a margin as the regression uses it: at most :data:`MAX_MARGIN`, and a quarter of a negative one.

    >>> bounded_margin(0.8), bounded_margin(-0.2)
    (0.5, -0.05)
    """
    return min(MAX_MARGIN, margin) if margin > 0 else max(-MAX_MARGIN, margin) * NEGATIVE_MARGIN_WEIGHT


def calibration_of(model: str) -> Calibration:
    """Return the calibration of a model by its name; without similarity for a model that was never measured.

    >>> calibration_of("your own model") == LEXICAL_ONLY
    True
    """
    return next((weights for name, weights in _BY_MODEL.items() if model.startswith(name)), LEXICAL_ONLY)


# Fitted by benchmarks/studies/calibration.py on the first hits of questions to six collections: everyday notes, two-hop
# questions, conversations of two kinds, scientific claims and times. The negatives are wrong first hits, questions
# without an answer, questions of another collection, and, at a tenth of the weight, questions whose relevant notes were
# removed.
_BY_MODEL = {
    "all-MiniLM-L6-v2": Calibration(-5.93, 8.9, 5.49, -10.48, 8.97, 1.21),
    "wordllama": Calibration(-5.29, 7.86, 4.35, -7.81, 7.24, 1.62, model_quality=0.45),
}
LEXICAL_ONLY = Calibration(-3.06, 0.0, 2.63, 0.0, 6.19, 1.04)


_NAMING = ("title", "summary", "path")


class ConfidenceScorer:
    """Computes the confidence of the candidates of one search."""

    def __init__(
        self,
        lexical: LexicalResult,
        ranked: Sequence[Candidate],
        calibration: Calibration,
        *,
        frequencies: TermFrequencies | None,
        background: float | None,
        intervals: Sequence[TimeInterval] = (),
        compares_scores: bool = True,
        terms: Query | None = None,
        time_only: bool = False,
        only_stopwords: bool = False,
    ) -> None:
        """Set up the scorer for one search.

        ``ranked`` are its candidates, best first, before a reranker. ``background`` is the similarity of a candidate
        for which none is known. ``terms`` is the query as written, if the lexical leg used a fallback query, whose
        coverage counts half. ``compares_scores`` is false for a fusion by ranks, whose score
        distances mean nothing; the margin is then that of an average first hit. If the query names only a time
        (``time_only``), the coverage is the time match; if it holds only stopwords, it is 0.
        """
        self._lexical = lexical
        self._calibration = calibration
        self._background = background
        self._intervals = intervals
        self._weights = _term_weights(lexical.tree, frequencies)
        self._time_words = {word for interval in intervals for word in _WORD.findall(interval.text.casefold())}
        self._terms = lexical.tree if terms is None else terms
        self._compares_scores = compares_scores
        self._time_only = time_only
        self._only_stopwords = only_stopwords
        scores = sorted((candidate.score for candidate in ranked), reverse=True)[:2]
        self._best, self._second = (*scores, 0.0, 0.0)[:2]

    def above(self, minimum: float, candidates: Sequence[Candidate], trace: Trace) -> list[Candidate]:
        """Return the candidates with at least ``minimum`` confidence, and those that they led to.

        A confident candidate leads to the notes that it passed score on to, to those that were rescored with it as
        context, and to the notes that supersede any of these.
        """
        confident = {
            candidate.id
            for candidate in candidates
            if confidence(self.evidence(candidate), self._calibration) >= minimum
        }
        led_to = confident | {
            note
            for note, transfers in trace.transfers.items()
            if any(_leads_from(transfer, confident) for transfer in transfers)
        }
        led_to |= {note for note, context in trace.contexts.items() if not confident.isdisjoint(context.neighbours)}
        led_to |= {note for candidate in candidates if candidate.id in led_to for note in candidate.superseded_by}
        return [candidate for candidate in candidates if candidate.id in led_to]

    def hit(self, rank: int, candidate: Candidate) -> Hit:
        """Return a candidate as a hit, with its confidence and snippet."""
        shown = snippet(candidate.content, self._lexical.tree)
        scored = candidate.copy()
        scored.confidence = confidence(self.evidence(candidate, known_terms=shown.terms), self._calibration)
        if not shown.highlights:
            summary = snippet(candidate.summary, self._lexical.tree)
            shown = summary if summary.highlights else shown
        if scored.snippet:  # the leg's own
            return Hit(rank, scored)
        scored.snippet = shown.text
        return Hit(rank, scored, shown.highlights)

    def confidence_at(self, candidate: Candidate, score: float) -> float:
        """Return the confidence that a candidate would have with another score."""
        original = candidate.copy()
        original.score = score
        return confidence(self.evidence(original), self._calibration)

    def evidence(self, candidate: Candidate, *, known_terms: Iterable[int] | None = None) -> ConfidenceEvidence:
        """Return the evidence for a candidate; ``known_terms`` are the query terms in its content, if known."""
        similarity = self._background if candidate.vector_similarity is None else candidate.vector_similarity
        matched = time_match(candidate, self._intervals) if self._intervals else 0.0
        coverage = self._coverage(candidate, known_terms, matched)
        return ConfidenceEvidence(similarity, coverage, self._margin(candidate), matched)

    def _coverage(self, candidate: Candidate, known_terms: Iterable[int] | None, matched: float) -> float:
        """Return the share of the query's term weights that a note contains.

        A term of the time that the query names counts ``matched``, the note's time match, where the text lacks it.
        """
        if self._only_stopwords or self._time_only:
            return matched
        if self._terms.tokens != self._lexical.tree.tokens:
            # A fallback query found it: the query's own terms count in full, those of the fallback query half.
            own = self._share(candidate, self._terms, _term_weights(self._terms, None), None, matched)
            fallback = self._share(candidate, self._lexical.tree, self._weights, known_terms, matched)
            return max(own, _FALLBACK_WEIGHT * fallback)
        return self._share(candidate, self._lexical.tree, self._weights, known_terms, matched)

    def _share(
        self,
        candidate: Candidate,
        tree: Query,
        weights: Sequence[float],
        known_terms: Iterable[int] | None,
        matched: float,
    ) -> float:
        """Return the share of a tree's term weights that a note contains."""
        fields = _NAMING if known_terms is not None else (*_NAMING, "content")
        terms = set(known_terms or ())
        for name in fields:
            if text := getattr(candidate, name):
                terms.update(count_terms(text, tree))
        shares = dict.fromkeys(terms, 1.0)
        if matched:
            for term, text in enumerate(positive_terms(tree)):
                if self._time_words.issuperset(_WORD.findall(text.casefold())):
                    shares.setdefault(term, matched)
        share = sum(weights[term] * part for term, part in shares.items()) / sum(weights) if weights else 0.0
        if self._lexical.by_name and candidate.lexical_score is not None:
            share = max(share, candidate.lexical_score)  # the similarity of the names
        return share

    def _margin(self, candidate: Candidate) -> float:
        """Return how far a candidate's score is from the best other one, as a share of the highest possible score."""
        if not self._compares_scores:
            return AVERAGE_MARGIN
        other = self._second if candidate.score >= self._best else self._best
        return (candidate.score - other) / (candidate.ceiling or max(self._best, candidate.score) or 1.0)


_WORD = re.compile(r"\w+")
_FALLBACK_WEIGHT = 0.5
"""The weight of the coverage of a fallback query; that of the query itself has weight 1."""
AVERAGE_MARGIN = 0.13
"""The mean margin of the first hits that the calibrations were fitted on."""


def _term_weights(tree: Query, frequencies: TermFrequencies | None) -> list[float]:
    """Return the weight of each term of a query: its inverse document frequency, or 1 if that is not known."""
    return [1.0 if frequencies is None else frequencies.weight(term) for term in positive_terms(tree)]


def _leads_from(transfer: ScoreTransfer, notes: set[str]) -> bool:
    """Return whether one of the notes passed the score on; a random walk starts from all notes, a session from none."""
    return bool(notes) if transfer.kind == "walk" else transfer.kind != "session" and transfer.source in notes


def inherit_confidence(
    hits: Sequence[Hit], superseded: Iterable[Candidate], confidence_of: Callable[[Candidate], float | None]
) -> tuple[Hit, ...]:
    """Return the hits, each with at least the confidence of every note that it supersedes.

    The current note, which nothing supersedes, answers what the superseded notes would have answered, even in other
    words. Its confidence is therefore the maximum of its own and of those of ``superseded``, the superseded candidates
    of the search, shown or not.

    >>> old, new = Candidate("old", superseded_by=("new",)), Candidate("new", confidence=0.25)
    >>> (hit,) = inherit_confidence([Hit(1, new)], [old], lambda _: 0.75)
    >>> hit.confidence, hit.candidate.inherited_confidence
    (0.75, 0.75)
    """
    best: dict[str, float] = {}
    for candidate in superseded:
        confidence = confidence_of(candidate) or 0.0
        for successor in candidate.superseded_by:
            best[successor] = max(best.get(successor, 0.0), confidence)
    return tuple(_with_confidence(hit, best.get(hit.id, 0.0)) for hit in hits) if best else tuple(hits)


def _with_confidence(hit: Hit, confidence: float) -> Hit:
    if hit.superseded_by or confidence <= (hit.confidence or 0.0):
        return hit
    candidate = hit.candidate.copy()
    candidate.confidence = candidate.inherited_confidence = confidence
    return replace(hit, candidate=candidate)
