"""Context rescoring of the best lexical results, and the snippets of hits.

A turn of a conversation often leaves out what the previous one said, and a long note may contain the terms of a query
pages apart. Both are scored anew by BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009). In a
turn, a term of a neighbour counts as a part of a term of its own, as a field of low weight would. Of a long note, the
best chunk counts beside the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from recollect.model import Candidate, Edge
from recollect.model.note import CHUNK_CHARS, MAX_UNSPLIT_CHARS
from recollect.query import Query
from recollect.retrieval.terms import (
    MAX_SCANNED,
    TermFrequencies,
    TermMatch,
    count_terms,
    match_terms,
    positive_terms,
)
from recollect.retrieval.trace import Context
from recollect.stores.base import FIELD_WEIGHTS
from recollect.text import collapse_whitespace

if TYPE_CHECKING:
    from recollect.retrieval.graph import IndexGraph
    from recollect.retrieval.preset import ContextRules

_POSITION_KINDS = ("previous", "next")
_DECAY = 0.5
"""The factor of a neighbour's weight for each further position."""
_Key = TypeVar("_Key")
_NAMING = ("path", "title", "summary")


class RescoredLists(NamedTuple):
    """The result of context rescoring."""

    lexical: list[Candidate]
    """The lexical results, and the turns that come in by their neighbours, the best first."""
    added: list[Candidate]
    """The notes that no leg had retrieved."""
    contexts: dict[str, Context]
    """The context of each rescored note, by its id."""
    max_score: float
    """The best score before coverage is applied; fusion scales it to 1."""


class _TermCounts(NamedTuple):
    """The counts of the query's terms in one text, by their index, and the length of the text."""

    counts: Mapping[int, float]
    length: float


def rescore_with_context(
    lists: Mapping[str, Sequence[Candidate]],
    tree: Query,
    frequencies: TermFrequencies,
    graph: IndexGraph,
    rules: ContextRules,
) -> RescoredLists:
    """Return the lexical results with turns and long notes scored anew.

    The turns are the best of each list and their neighbours; the long notes, those of the lexical list.
    """
    scorer = _ContextScorer(tree, rules)
    candidates = {candidate.id: candidate for results in lists.values() for candidate in results}
    best = (candidate for results in lists.values() for candidate in results[: rules.seeds])
    seeds = dict.fromkeys(note.id for note in best if note.session and note.position is not None)
    edges = graph.edges(seeds, _POSITION_KINDS)
    neighbours = _neighbour_weights(seeds, edges, rules) if edges else {}
    added = graph.candidates(note for note in neighbours if note not in candidates)
    turns = {note: candidates[note] for note in neighbours if note in candidates} | {note.id: note for note in added}
    scores = scorer.score_turns(turns, neighbours, [frequencies.bm25_weight(term) for term in positive_terms(tree)])
    lexical = {candidate.id: candidate for candidate in lists["lexical"]}
    scores |= scorer.score_long_notes([candidate for note, candidate in lexical.items() if note not in turns])
    contexts = {
        note: Context(lexical[note].score if note in lexical else None, tuple(neighbours.get(note, ())))
        for note in scores
    }
    # Some matches are not seen here, such as in a tag or by an ending that only the index knows: they keep their score.
    unseen = {note: candidate.score for note, candidate in lexical.items() if note not in scores}
    rescored = [_with_score(lexical.get(note) or turns[note], score) for note, score in (unseen | scores).items()]
    max_score = max((candidate.score for candidate in rescored), default=0.0)
    if rules.coverage:
        weights = [frequencies.weight(term) for term in positive_terms(tree)]
        for candidate in rescored:
            share = scorer.coverage(candidate, turns, neighbours.get(candidate.id, {}), weights)
            candidate.lexical_score = candidate.score = candidate.score * share**rules.coverage
    return RescoredLists(_ranked(rescored), added, contexts, max_score)


class _ContextScorer:
    """Scores the texts of one search."""

    def __init__(self, tree: Query, rules: ContextRules) -> None:
        self._tree = tree
        self._rules = rules
        self._term_counts: dict[tuple[str, str], Mapping[int, int]] = {}

    def score_turns(
        self, turns: Mapping[str, Candidate], neighbours: Mapping[str, Mapping[str, float]], weights: Sequence[float]
    ) -> dict[str, float]:
        """Return the score of each turn with its neighbours, if it is above 0."""
        contents = {
            note: _TermCounts(self._counts(turn, "content"), turn.content.count(" ") + 1)
            for note, turn in turns.items()
        }
        mixed = {
            note: _mixed(_mixed(contents[note], *self._naming(turn)), contents, neighbours[note])
            for note, turn in turns.items()
        }
        return {note: score for note, score in self._scores(mixed, weights).items() if score > 0}

    def score_long_notes(self, notes: Sequence[Candidate]) -> dict[str, float]:
        """Return the score of each long note with its best chunk, on the scale of the lexical scores.

        The document frequencies are those of the chunks: a long note contains most terms somewhere.
        """
        share = self._rules.passage
        long = {note.id: note for note in notes if share and len(note.content) > MAX_UNSPLIT_CHARS}
        chunks_of = {note: self._chunk_counts(candidate) for note, candidate in long.items()}
        containing = Counter(
            term for chunks in chunks_of.values() for chunk in chunks.values() for term in chunk.counts
        )
        total = sum(-(-len(candidate.content) // CHUNK_CHARS) for candidate in long.values())
        frequencies = [containing[term] for term in range(len(positive_terms(self._tree)))]
        weights = [log(1 + (total - frequency + 0.5) / (frequency + 0.5)) for frequency in frequencies]
        best: dict[str, float] = {}
        for note, chunks in chunks_of.items():
            naming = self._naming(long[note])
            mixed = {
                index: _mixed(_mixed(chunk, *naming), chunks, self._adjacent(index)) for index, chunk in chunks.items()
            }
            score = max(self._scores(mixed, weights).values())
            if score > 0:  # else its matches are not seen here, such as in a tag
                best[note] = score
        if not best:
            return {}
        scale = max(long[note].score for note in best) / max(best.values())
        return {note: (1 - share) * long[note].score + share * scale * score for note, score in best.items()}

    def coverage(
        self,
        candidate: Candidate,
        turns: Mapping[str, Candidate],
        neighbours: Mapping[str, float],
        weights: Sequence[float],
    ) -> float:
        """Return the share of the query's term weights that a note contains.

        A term that only a neighbour contains is multiplied by that neighbour's weight. A lexical result contains at
        least one term: if none is seen, because it is in a tag or in a form that only the index matches, the term of
        the lowest weight is assumed.
        """
        shares = {term: 1.0 for name in (*_NAMING, "content") for term in self._counts(candidate, name)}
        for note, weight in neighbours.items():
            if note in turns:
                for term in self._counts(turns[note], "content"):
                    shares[term] = max(shares.get(term, 0.0), weight)
        covered = sum(weights[term] * share for term, share in shares.items()) if shares else min(weights)
        return covered / sum(weights)

    def _counts(self, candidate: Candidate, name: str) -> Mapping[int, int]:
        """Return how often a field of a note contains each term of the query; computed once per search."""
        key = candidate.id, name
        if key not in self._term_counts:
            text = getattr(candidate, name)
            self._term_counts[key] = count_terms(text, self._tree) if text else {}
        return self._term_counts[key]

    def _chunk_counts(self, candidate: Candidate) -> dict[int, _TermCounts]:
        """Return the term counts of each chunk of a long content that has any, and of the first in any case."""
        counts: dict[int, Counter[int]] = {0: Counter()}
        whole: Counter[int] = Counter()
        for match in match_terms(candidate.content, self._tree):
            counts.setdefault(match.start // CHUNK_CHARS, Counter())[match.term] += 1
            whole[match.term] += 1
        self._term_counts[candidate.id, "content"] = whole  # so that the content is not read again for coverage
        return {index: _TermCounts(chunk, 1.0) for index, chunk in counts.items()}

    def _adjacent(self, index: int) -> dict[int, float]:
        """Return the weights of the chunks before and after one."""
        return {index - 1: self._rules.previous, index + 1: self._rules.next}

    def _scores(self, texts: Mapping[_Key, _TermCounts], weights: Sequence[float]) -> dict[_Key, float]:
        """Return the BM25 score of each text; ``weights`` has the inverse document frequencies."""
        k1, b = self._rules.k1, self._rules.b
        average = sum(text.length for text in texts.values()) / max(1, len(texts))
        scores = {}
        for key, text in texts.items():
            norm = k1 * (1 - b + b * text.length / average)
            scores[key] = sum(weights[term] * count * (k1 + 1) / (count + norm) for term, count in text.counts.items())
        return scores

    def _naming(self, candidate: Candidate) -> tuple[dict[str, _TermCounts], Mapping[str, float]]:
        """Return the term counts of path, title and summary, with length 0, and their weights."""
        counts = {name: self._counts(candidate, name) for name in _NAMING}
        return {name: _TermCounts(terms, 0.0) for name, terms in counts.items() if terms}, FIELD_WEIGHTS


def _neighbour_weights(
    seeds: Collection[str], edges: Iterable[Edge], rules: ContextRules
) -> dict[str, dict[str, float]]:
    """Return the weights of the neighbours of each seed, and of each note beside one, as far as they are known."""
    chains: dict[str, dict[int, str]] = {seed: {0: seed} for seed in seeds}
    for edge in edges:
        if edge.source in chains:  # the caller's own index may return other edges, too
            offset = edge.distance if edge.kind == "next" else -edge.distance
            chains[edge.source].setdefault(offset, edge.target)
    weights: dict[str, dict[str, float]] = {}
    for chain in chains.values():
        for offset, note in chain.items():
            neighbours = weights.setdefault(note, {})
            for other_offset, other in sorted(chain.items()):
                distance = other_offset - offset
                if distance and abs(distance) <= rules.reach and other != note:
                    weight = rules.next if distance > 0 else rules.previous
                    neighbours[other] = weight * _DECAY ** (abs(distance) - 1)
    return weights


def _mixed(own: _TermCounts, others: Mapping[_Key, _TermCounts], weights: Mapping[_Key, float]) -> _TermCounts:
    """Return term counts with those of other texts added, each times its weight."""
    if not others:
        return own
    counts, length = dict(own.counts), own.length
    for key, weight in weights.items():
        other = others.get(key)
        if other is not None and weight:
            length += weight * other.length
            for term, count in other.counts.items():
                counts[term] = counts.get(term, 0.0) + weight * count
    return _TermCounts(counts, length)


def _with_score(candidate: Candidate, score: float) -> Candidate:
    scored = candidate.copy()
    scored.lexical_score = scored.score = score
    return scored


def _ranked(candidates: list[Candidate]) -> list[Candidate]:
    candidates.sort(key=lambda candidate: (-candidate.score, candidate.path, candidate.id))
    for rank, candidate in enumerate(candidates, start=1):
        candidate.lexical_rank = rank
    return candidates


SNIPPET_WIDTH = 180


class Snippet(NamedTuple):
    """A part of a text on one line, and the spans in it that match."""

    text: str
    highlights: tuple[tuple[int, int], ...]
    terms: frozenset[int]
    """The indexes of the query's terms that the whole text contains."""


def snippet(content: str, query: Query, width: int = SNIPPET_WIDTH) -> Snippet:
    """Return the part of ``content`` with the most terms of the query, cut at words, about ``width`` characters long.

    >>> from recollect.query import parse
    >>> part = snippet("Bought two kettles. Prefers green teas over coffee.", parse("green tea"), width=30)
    >>> part.text, [part.text[start:end] for start, end in part.highlights]
    ('…green teas over coffee.', ['green', 'teas'])
    """
    text = collapse_whitespace(content[:MAX_SCANNED])
    matches = match_terms(text, query)
    start, end = _at_words(text, _best_start(matches, width), width)
    shown = "…" * (start > 0) + text[start:end].strip() + "…" * (end < len(text))
    shift = (start > 0) - start - (len(text[start:end]) - len(text[start:end].lstrip()))
    spans = tuple((first + shift, last + shift) for first, last, _ in matches if start <= first and last <= end)
    return Snippet(shown, spans, frozenset(match.term for match in matches))


def _best_start(matches: list[TermMatch], width: int) -> int:
    """Return the start of the window with the most different terms, the first of equals, with some text before it."""
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
