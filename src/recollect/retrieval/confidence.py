"""The confidence of each hit, and which candidates ``min_confidence`` drops."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from recollect.model import Candidate, Hit
from recollect.query import Query, TimeInterval
from recollect.ranking import Calibration, ConfidenceEvidence, Loan, confidence, time_match
from recollect.retrieval.lexical import Worded
from recollect.retrieval.matching import occurrences, sought
from recollect.retrieval.rarity import Rarity
from recollect.retrieval.snippets import snippet
from recollect.retrieval.trace import Trace

__all__ = ["ConfidenceScorer"]

_NAMING = ("title", "summary", "path")


class ConfidenceScorer:
    """Computes the confidence of the candidates of one search."""

    def __init__(
        self,
        lexical: Worded,
        ranked: Sequence[Candidate],
        calibration: Calibration,
        *,
        rarity: Rarity | None,
        background: float | None,
        intervals: Sequence[TimeInterval] = (),
        compares_scores: bool = True,
        words: Query | None = None,
        time_only: bool = False,
        only_stopwords: bool = False,
    ) -> None:
        """Set up the scorer for one search.

        ``ranked`` are its candidates, best first, before a reranker. ``background`` is the similarity of a candidate
        for which none is known. ``words`` is the query as it was written, where the lexical leg used a fallback query:
        the coverage of the fallback query counts half. ``compares_scores`` is false for a fusion by ranks, whose score
        distances mean nothing; the margin is then that of an average first hit. If the query names only a time
        (``time_only``), the coverage is the time match; if it holds only stopwords, it is 0.
        """
        self._lexical = lexical
        self._calibration = calibration
        self._background = background
        self._intervals = intervals
        self._weights = _term_weights(lexical.tree, rarity)
        self._time_words = {word for interval in intervals for word in _WORD.findall(interval.text.casefold())}
        self._words = lexical.tree if words is None else words
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
        kept = {
            candidate.id
            for candidate in candidates
            if confidence(self.evidence(candidate), self._calibration) >= minimum
        }
        led_to = kept | {note for note, loans in trace.loans.items() if any(_leads(loan, kept) for loan in loans)}
        led_to |= {note for note, context in trace.contexts.items() if not kept.isdisjoint(context.beside)}
        led_to |= {note for candidate in candidates if candidate.id in led_to for note in candidate.superseded_by}
        return [candidate for candidate in candidates if candidate.id in led_to]

    def hit(self, rank: int, candidate: Candidate) -> Hit:
        """Return a candidate as a hit: with its confidence and the piece of its text that fits the query."""
        shown = snippet(candidate.content, self._lexical.tree)
        scored = candidate.copy()
        scored.confidence = confidence(self.evidence(candidate, known_terms=shown.words), self._calibration)
        if not shown.highlights:  # then its summary may say it
            summed = snippet(candidate.summary, self._lexical.tree)
            shown = summed if summed.highlights else shown
        if scored.snippet:  # a leg's own
            return Hit(rank, scored)
        scored.snippet = shown.text
        return Hit(rank, scored, shown.highlights)

    def confidence_before_demotion(self, candidate: Candidate) -> float:
        """Return the confidence that a superseded candidate would have if nothing superseded it."""
        scores = (step.score_before for step in candidate.steps if step.stage == "replaced")
        original = candidate.copy()
        original.score = next(scores, candidate.score)
        return confidence(self.evidence(original), self._calibration)

    def evidence(self, candidate: Candidate, *, known_terms: Iterable[int] | None = None) -> ConfidenceEvidence:
        """Return the evidence for a candidate; ``known_terms`` are the query terms in its content, if known."""
        similarity = self._background if candidate.vector_similarity is None else candidate.vector_similarity
        matched = time_match(candidate, self._intervals) if self._intervals else 0.0
        coverage = self._coverage(candidate, known_terms, matched)
        return ConfidenceEvidence(similarity, coverage, self._margin(candidate), matched)

    def _coverage(self, candidate: Candidate, known_terms: Iterable[int] | None, matched: float) -> float:
        """Return the share of the query's term weights that a note holds.

        A term of the time that the query names counts ``matched``, the note's time match, where the text lacks it.
        """
        if self._only_stopwords or self._time_only:
            return matched
        if self._words.tokens != self._lexical.tree.tokens:
            # A fallback query found it: the query's own terms count in full, those of the fallback query half.
            own = self._share(candidate, self._words, _term_weights(self._words, None), None, matched)
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
        """Return the share of a tree's term weights that a note holds."""
        fields = _NAMING if known_terms is not None else (*_NAMING, "content")
        terms = set(known_terms or ())
        for name in fields:
            if text := getattr(candidate, name):
                terms.update(occurrences(text, tree))
        shares = dict.fromkeys(terms, 1.0)
        if matched:
            for term, text in enumerate(sought(tree)):
                if self._time_words.issuperset(_WORD.findall(text.casefold())):
                    shares.setdefault(term, matched)
        share = sum(weights[term] * part for term, part in shares.items()) / sum(weights) if weights else 0.0
        if self._lexical.by_name and candidate.lexical_score is not None:
            share = max(share, candidate.lexical_score)  # how alike the names are spelt
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


def _term_weights(tree: Query, rarity: Rarity | None) -> list[float]:
    """Return the weight of each term of a query: its inverse document frequency, or 1 where that is not known."""
    return [1.0 if rarity is None else rarity.information(term) for term in sought(tree)]


def _leads(loan: Loan, kept: set[str]) -> bool:
    """Return whether a kept note passed the score on; a random walk starts from all notes, a session from none."""
    return bool(kept) if loan.kind == "walk" else loan.kind != "session" and loan.source in kept
