"""Confidence: the probability that a note answers a query, from 0 to 1, and which candidates ``min_confidence`` drops.

Fused scores only rank the notes. Whether the best one is an answer is estimated by a logistic regression, fitted to
judged first hits, of four features: its similarity to the query, the share of the query's terms that it contains, its
distance to the next candidate, and its match with the time that the query names.
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

MAX_MARGIN = 0.5
NEGATIVE_MARGIN_WEIGHT = 0.25
"""The factor of a negative margin: it is below 1 because several notes may answer a query."""


class ConfidenceEvidence(NamedTuple):
    """The evidence from which a confidence is computed."""

    similarity: float | None
    """The cosine of note and query; ``None`` if no vector was compared."""
    coverage: float
    """The share of the query's term weights (inverse document frequencies) that the note contains."""
    margin: float
    """The distance to the best other candidate, as a share of the highest possible score; negative below the first."""
    time_match: float = 0.0
    """From 0 to 1, how well the note fits the time that the query names."""

    def to_dict(self) -> dict[str, Any]:
        """Return the evidence as JSON-ready data with camelCase names."""
        return dict(zip(("similarity", "coverage", "margin", "timeMatch"), self, strict=True))


class Calibration(NamedTuple):
    """The weights of the logistic regression for one model."""

    base: float
    similarity: float
    coverage: float
    both: float = 0.0
    """The weight of similarity times coverage; negative if either of them suffices."""
    margin: float = 0.0
    """The weight of the margin, as :func:`bounded_margin` returns it."""
    time_match: float = 0.0
    """The weight of time match times coverage."""
    model_quality: float = 1.0
    """The factor of the vector leg's weight in the fusion; 1 for a good sentence encoder."""


def confidence(evidence: ConfidenceEvidence, calibration: Calibration) -> float:
    """Return the probability that a note answers the query.

    It is ``1 / (1 + exp(-x))`` with ``x`` the sum of the calibration's weights times the evidence.
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
    """Return a margin as the regression uses it: at most :data:`MAX_MARGIN`, and a quarter of a negative one."""
    return min(MAX_MARGIN, margin) if margin > 0 else max(-MAX_MARGIN, margin) * NEGATIVE_MARGIN_WEIGHT


def calibration_of(model: str) -> Calibration:
    """Return the calibration of a model by its name; that without similarity if the model is not calibrated."""
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


_HEADER_FIELDS = ("title", "summary", "path")


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

        ``ranked`` are its candidates, best first, before a reranker. ``background`` is the similarity of a candidate
        for which none is known. ``has_margins`` is false for a fusion by ranks, whose score distances are
        meaningless; the margin is then that of an average first hit.
        """
        self._request = request
        self._lexical = lexical
        self._calibration = calibration
        self._background = background
        self._weights = _term_weights(lexical.tree, frequencies)
        self._time_words = {word for time in request.times for word in _WORD.findall(time.text.casefold())}
        self._has_margins = has_margins
        scores = sorted((candidate.score for candidate in ranked), reverse=True)[:2]
        self._best, self._second = (*scores, 0.0, 0.0)[:2]

    def above(self, minimum: float, candidates: Sequence[Candidate], trace: Trace) -> list[Candidate]:
        """Return the candidates with at least ``minimum`` confidence, and the candidates that depend on these.

        The latter received a score transfer from a confident candidate, were rescored with it as context, or supersede
        any of these notes.
        """
        confident = {
            candidate.id
            for candidate in candidates
            if confidence(self.evidence(candidate), self._calibration) >= minimum
        }
        kept_ids = confident | {
            note
            for note, transfers in trace.transfers.items()
            if any(transfer.kind != "session" and transfer.source in confident for transfer in transfers)
        }
        kept_ids |= {note for note, context in trace.contexts.items() if not confident.isdisjoint(context.neighbours)}
        kept_ids |= {note for candidate in candidates if candidate.id in kept_ids for note in candidate.superseded_by}
        return [candidate for candidate in candidates if candidate.id in kept_ids]

    def hit(self, rank: int, candidate: Candidate) -> Hit:
        """Return a candidate as a hit, with its confidence and snippet."""
        shown = snippet(candidate.content, self._lexical.tree)
        scored = candidate.copy()
        scored.confidence = confidence(self.evidence(candidate, known_terms=shown.terms), self._calibration)
        if scored.snippet:  # that of the leg
            return Hit(rank, scored)
        if not shown.highlights:
            summary = snippet(candidate.summary, self._lexical.tree)
            shown = summary if summary.highlights else shown
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
        matched = time_match(candidate, self._request.times) if self._request.times else 0.0
        coverage = self._coverage(candidate, known_terms, matched)
        return ConfidenceEvidence(similarity, coverage, self._margin(candidate), matched)

    def _coverage(self, candidate: Candidate, known_terms: Iterable[int] | None, matched: float) -> float:
        """Return the share of the query's term weights that a note contains.

        If the text lacks a word of the time that the query names, this word counts ``matched``, the note's time match.
        """
        if self._request.only_stopwords or self._request.time_only:
            return matched
        share = self._share(candidate, self._lexical.tree, self._weights, known_terms, matched)
        tree = self._request.tree
        if tree.tokens == self._lexical.tree.tokens:
            return share
        # A fallback query found the note: the original terms count in full, those of the fallback query half.
        return max(self._share(candidate, tree, _term_weights(tree, None), None, matched), _FALLBACK_WEIGHT * share)

    def _share(
        self,
        candidate: Candidate,
        tree: Query,
        weights: Sequence[float],
        known_terms: Iterable[int] | None,
        matched: float,
    ) -> float:
        """Return the share of a tree's term weights that a note contains."""
        fields = _HEADER_FIELDS if known_terms is not None else (*_HEADER_FIELDS, "content")
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
        if self._lexical.matched_names and candidate.lexical_score is not None:
            share = max(share, candidate.lexical_score)  # the similarity of the names
        return share

    def _margin(self, candidate: Candidate) -> float:
        """Return how far a candidate's score is from the best other one, as a share of the highest possible score."""
        if not self._has_margins:
            return AVERAGE_MARGIN
        other = self._second if candidate.score >= self._best else self._best
        return (candidate.score - other) / (candidate.ceiling or max(self._best, candidate.score) or 1.0)


_WORD = re.compile(r"\w+")
_FALLBACK_WEIGHT = 0.5
AVERAGE_MARGIN = 0.13
"""The mean margin of the first hits that the calibrations were fitted on."""


def _term_weights(tree: Query, frequencies: TermFrequencies | None) -> list[float]:
    """Return the weight of each term of a query: its inverse document frequency, or 1 if that is not known."""
    return [1.0 if frequencies is None else frequencies.weight(term) for term in positive_terms(tree)]


def inherit_confidence(
    hits: Sequence[Hit], superseded: Iterable[Candidate], confidence_of: Callable[[Candidate], float]
) -> None:
    """Raise the confidence of each hit to at least that of every note that it supersedes.

    The current note, which nothing supersedes, answers what the superseded notes would have answered, even in other
    words. Its confidence is therefore the maximum of its own and of those of ``superseded``, the superseded candidates
    of the search, shown or not. The hits' candidates are changed.
    """
    best: dict[str, float] = {}
    for candidate in superseded:
        value = confidence_of(candidate)
        for successor in candidate.superseded_by:
            best[successor] = max(best.get(successor, 0.0), value)
    for hit in hits:
        inherited = best.get(hit.id, 0.0)
        if not hit.superseded_by and inherited > (hit.confidence or 0.0):
            hit.candidate.confidence = hit.candidate.inherited_confidence = inherited


SNIPPET_WIDTH = 180


class Snippet(NamedTuple):
    """A part of a text on one line, and the spans in it that match."""

    text: str
    highlights: tuple[tuple[int, int], ...]
    terms: frozenset[int]
    """The indexes of the query's terms that the whole text contains."""


def snippet(content: str, query: Query, width: int = SNIPPET_WIDTH) -> Snippet:
    """Return the part of ``content`` with the most terms of the query, cut at words, about ``width`` characters."""
    text = collapse_whitespace(content[:MAX_SCANNED])
    matches = match_terms(text, query)
    start, end = _at_words(text, _best_start(matches, width), width)
    shown = "…" * (start > 0) + text[start:end].strip() + "…" * (end < len(text))
    shift = (start > 0) - start - (len(text[start:end]) - len(text[start:end].lstrip()))
    spans = tuple((first + shift, last + shift) for first, last, _ in matches if start <= first and last <= end)
    return Snippet(shown, spans, frozenset(match.term for match in matches))


def _best_start(matches: list[TermMatch], width: int) -> int:
    """Return the start of the first window with the most different terms, with some text before the first match."""
    best, most, left = 0, 0, 0
    for right, match in enumerate(matches):
        while match.end - matches[left].start > width and left < right:
            left += 1
        different = len({other.term for other in matches[left : right + 1]}) if right - left < 40 else 40
        if different > most:
            most, best = different, left
    return max(0, matches[best].start - width // 5) if matches else 0


def _at_words(text: str, start: int, width: int) -> tuple[int, int]:
    """Move both ends of a window to the nearest space inside it, if there is one."""
    start = max(0, min(start, len(text) - width))
    end = min(len(text), start + width)
    if start > 0:
        space = text.find(" ", start, start + 30)
        start = space + 1 if space >= 0 else start
    if end < len(text):
        space = text.rfind(" ", max(start, end - 30), end)
        end = space if space > start else end
    return start, end
