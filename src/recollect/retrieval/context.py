"""The best notes of the lexical leg are read more closely: turns with those beside them, long notes piece by piece.

A turn of a conversation often leaves unsaid what the last one said, and a long note may hold the words of a query
pages apart. Both are scored anew by BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009). In a
turn, a word of a neighbour counts as a part of a word of its own, as a field of low weight would: what both hold counts
hardly more than once, and what only the neighbour holds counts for the turn as well. Of a long note, the best piece
counts beside the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log
from typing import NamedTuple, TypeVar

from recollect.model import Candidate, Edge
from recollect.model.chunks import CHUNK_CHARS, MAX_UNSPLIT_CHARS
from recollect.query import Query
from recollect.retrieval.connections import IndexConnections
from recollect.retrieval.matching import matches, occurrences, sought
from recollect.retrieval.rarity import Rarity
from recollect.retrieval.rules import ContextRules
from recollect.retrieval.trace import Context
from recollect.stores.base import FIELD_WEIGHTS

__all__ = ["Reading", "read_closely"]

_BESIDE = ("previous", "next")
_DECAY = 0.5
"""What a note counts, for each further place, of what the one before it counts."""
_Key = TypeVar("_Key")
_NAMING = ("path", "title", "summary")


class Reading(NamedTuple):
    """What comes of reading notes closely."""

    lexical: list[Candidate]
    """What the lexical leg found, and what came in by its neighbours, the best first."""
    newcomers: list[Candidate]
    """The notes that no leg had found."""
    contexts: dict[str, Context]
    """What was read, by note."""
    highest: float
    """The best score before coverage is applied; fusion scales it to 1."""


class _Words(NamedTuple):
    """The words of the query in one text, how often by their number, and how long the text is."""

    counts: Mapping[int, float]
    length: float


def read_closely(
    lists: Mapping[str, Sequence[Candidate]],
    tree: Query,
    rarity: Rarity,
    connections: IndexConnections,
    rules: ContextRules,
) -> Reading:
    """Return what the lexical leg found with turns and long notes scored anew.

    The turns that are read are the best of each list, and those beside them; long notes, those of the lexical list.
    """
    reader = _Reader(tree, rules)
    found = {candidate.id: candidate for each in lists.values() for candidate in each}
    best = (candidate for each in lists.values() for candidate in each[: rules.seeds])
    seeds = dict.fromkeys(each.id for each in best if each.session and each.position is not None)
    edges = connections.edges(seeds, _BESIDE)
    beside = _beside(seeds, edges, rules) if edges else {}
    newcomers = connections.candidates(note for note in beside if note not in found)
    turns = {note: found[note] for note in beside if note in found} | {each.id: each for each in newcomers}
    scores = reader.turns(turns, beside, [rarity.weight(word) for word in sought(tree)])
    own = {candidate.id: candidate for candidate in lists["lexical"]}
    scores |= reader.passages([candidate for note, candidate in own.items() if note not in turns])
    contexts = {note: Context(own[note].score if note in own else None, tuple(beside.get(note, ()))) for note in scores}
    # A word may stand where it is not looked for here, such as in a tag, or have an ending that only the index knows.
    unread = {note: candidate.score for note, candidate in own.items() if note not in scores}
    read = [_scored(own.get(note) or turns[note], score) for note, score in (unread | scores).items()]
    highest = max((candidate.score for candidate in read), default=0.0)
    if rules.coverage:
        weights = [rarity.information(word) for word in sought(tree)]
        for candidate in read:
            share = reader.coverage(candidate, turns, beside.get(candidate.id, {}), weights)
            candidate.lexical_score = candidate.score = candidate.score * share**rules.coverage
    return Reading(_ranked(read), newcomers, contexts, highest)


class _Reader:
    """Reads the texts of one search."""

    def __init__(self, tree: Query, rules: ContextRules) -> None:
        self._tree = tree
        self._rules = rules
        self._term_counts: dict[tuple[str, str], Mapping[int, int]] = {}

    def turns(
        self, turns: Mapping[str, Candidate], beside: Mapping[str, Mapping[str, float]], weights: Sequence[float]
    ) -> dict[str, float]:
        """Return what each turn that is worth anything is worth with those beside it."""
        contents = {
            note: _Words(self._counts(turn, "content"), turn.content.count(" ") + 1) for note, turn in turns.items()
        }
        mixed = {
            note: _mixed(_mixed(contents[note], *self._naming(turn)), contents, beside[note])
            for note, turn in turns.items()
        }
        return {note: score for note, score in self._scores(mixed, weights).items() if score > 0}

    def passages(self, notes: Sequence[Candidate]) -> dict[str, float]:
        """Return what each long note is worth with its best passage, on the scale of the notes as they are.

        How rare a word is shows in the passages themselves: a long note holds most words somewhere.
        """
        share = self._rules.passage
        long = {note.id: note for note in notes if share and len(note.content) > MAX_UNSPLIT_CHARS}
        read = {note: self._windows(candidate) for note, candidate in long.items()}
        holding = Counter(word for windows in read.values() for words in windows.values() for word in words.counts)
        count = sum(-(-len(candidate.content) // CHUNK_CHARS) for candidate in long.values())
        held = [holding[word] for word in range(len(sought(self._tree)))]
        weights = [log(1 + (count - each + 0.5) / (each + 0.5)) for each in held]
        best: dict[str, float] = {}
        for note, windows in read.items():
            naming = self._naming(long[note])
            mixed = {
                place: _mixed(_mixed(words, *naming), windows, self._near(place)) for place, words in windows.items()
            }
            score = max(self._scores(mixed, weights).values())
            if score > 0:  # else its words stand where they are not looked for here, such as in a tag
                best[note] = score
        if not best:
            return {}
        scale = max(long[note].score for note in best) / max(best.values())
        return {note: (1 - share) * long[note].score + share * scale * score for note, score in best.items()}

    def coverage(
        self,
        candidate: Candidate,
        turns: Mapping[str, Candidate],
        beside: Mapping[str, float],
        weights: Sequence[float],
    ) -> float:
        """Return the share of the query's term weights that a note holds.

        A term that only a neighbouring turn holds is multiplied by that turn's weight. A lexical result must hold a
        term: if none is seen, because it is in a tag or in a form that only the index matches, the term of the lowest
        weight is assumed.
        """
        shares = {word: 1.0 for name in (*_NAMING, "content") for word in self._counts(candidate, name)}
        for note, weight in beside.items():
            if note in turns:
                for word in self._counts(turns[note], "content"):
                    shares[word] = max(shares.get(word, 0.0), weight)
        covered = sum(weights[word] * share for word, share in shares.items()) if shares else min(weights)
        return covered / sum(weights)

    def _counts(self, candidate: Candidate, name: str) -> Mapping[int, int]:
        """Return how often a field of a note holds each word of the query; computed once per search."""
        key = candidate.id, name
        if key not in self._term_counts:
            text = getattr(candidate, name)
            self._term_counts[key] = occurrences(text, self._tree) if text else {}
        return self._term_counts[key]

    def _windows(self, candidate: Candidate) -> dict[int, _Words]:
        """Return the words of the query in each stretch of a long text that holds any, and in the first in any case."""
        counts: dict[int, Counter[int]] = {0: Counter()}
        whole: Counter[int] = Counter()
        for match in matches(candidate.content, self._tree):
            counts.setdefault(match.start // CHUNK_CHARS, Counter())[match.word] += 1
            whole[match.word] += 1
        self._term_counts[candidate.id, "content"] = whole  # so that the content is not read again for coverage
        return {place: _Words(words, 1.0) for place, words in counts.items()}

    def _near(self, place: int) -> dict[int, float]:
        """Return what the stretches before and behind one count."""
        return {place - 1: self._rules.previous, place + 1: self._rules.next}

    def _scores(self, texts: Mapping[_Key, _Words], weights: Sequence[float]) -> dict[_Key, float]:
        """Return BM25 of each text, in which ``weights`` say what each word counts."""
        k1, b = self._rules.k1, self._rules.b
        average = sum(words.length for words in texts.values()) / max(1, len(texts))
        scores = {}
        for key, words in texts.items():
            norm = k1 * (1 - b + b * words.length / average)
            scores[key] = sum(weights[word] * count * (k1 + 1) / (count + norm) for word, count in words.counts.items())
        return scores

    def _naming(self, candidate: Candidate) -> tuple[dict[str, _Words], Mapping[str, float]]:
        """Return the words of the fields that name a note, and what they count; they make it no longer."""
        named = {name: self._counts(candidate, name) for name in _NAMING}
        return {name: _Words(counts, 0.0) for name, counts in named.items() if counts}, FIELD_WEIGHTS


def _beside(seeds: Collection[str], edges: Iterable[Edge], rules: ContextRules) -> dict[str, dict[str, float]]:
    """Return for each seed, and each note beside one, what those beside it count, as far as is known."""
    chains: dict[str, dict[int, str]] = {seed: {0: seed} for seed in seeds}
    for edge in edges:
        if edge.source in chains:  # an index of the caller's own may tell more than it was asked
            place = edge.distance if edge.kind == "next" else -edge.distance
            chains[edge.source].setdefault(place, edge.target)
    beside: dict[str, dict[str, float]] = {}
    for chain in chains.values():
        for place, note in chain.items():
            others = beside.setdefault(note, {})
            for other_place, other in sorted(chain.items()):
                away = other_place - place
                if away and abs(away) <= rules.reach and other != note:
                    weight = rules.next if away > 0 else rules.previous
                    others[other] = weight * _DECAY ** (abs(away) - 1)
    return beside


def _mixed(own: _Words, others: Mapping[_Key, _Words], weights: Mapping[_Key, float]) -> _Words:
    """Return words with those of other texts, each by its weight."""
    if not others:
        return own
    counts, length = dict(own.counts), own.length
    for name, weight in weights.items():
        words = others.get(name)
        if words is not None and weight:
            length += weight * words.length
            for word, count in words.counts.items():
                counts[word] = counts.get(word, 0.0) + weight * count
    return _Words(counts, length)


def _scored(candidate: Candidate, score: float) -> Candidate:
    scored = candidate.copy()
    scored.lexical_score = scored.score = score
    return scored


def _ranked(copies: list[Candidate]) -> list[Candidate]:
    copies.sort(key=lambda candidate: (-candidate.score, candidate.path, candidate.id))
    for rank, candidate in enumerate(copies, start=1):
        candidate.lexical_rank = rank
    return copies
