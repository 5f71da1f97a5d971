"""Rescoring of lexical results: the discount of stem-only matches, and the scores of notes with their context.

The lexical index contains stems without accents, so that *Ines* matches every *in*, and *this* matches *Thị*. The texts
of the results are therefore compared with the query's words (:func:`discount_stem_only`). A note contains a word

- exactly, if it has the word as written, in any case;
- inflected, if it has the word with other accents or another common ending, or a word with the same first five letters,
  and neither is a stopword;
- by its stem only, if nothing else explains the match.

A name with a symbol, such as C++ or .NET, is contained exactly as written, or else by its stem only. The stage
``exact_term`` handles single terms with punctuation inside, such as ``BZH-20931``.

A turn of a conversation often leaves out what the previous one said, and a long note may contain the terms of a query
pages apart. Both are scored anew (:func:`rescore_with_context`) by BM25 (Robertson and Zaragoza, "The Probabilistic
Relevance Framework", 2009). An occurrence of a term in a neighbouring turn counts as a fraction of an occurrence in the
turn, like a field of low weight. The score of a long note is a weighted mean of its own and its best chunk's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from recollect.model import Candidate, Edge
from recollect.model.note import CHUNK_CHARS, MAX_UNSPLIT_CHARS
from recollect.query import Query, Token, normalise
from recollect.query.parser import symbolic_name
from recollect.query.terms import STOPWORDS
from recollect.retrieval.request import TermFrequencies, count_terms, match_terms, positive_terms
from recollect.retrieval.trace import Context
from recollect.stores import tokens
from recollect.stores.base import FIELD_WEIGHTS

if TYPE_CHECKING:
    from recollect.retrieval.graph import IndexGraph
    from recollect.retrieval.preset import ContextRules

ONE_WORD_DEPTH = 2000
"""How many results are checked for the exact form of a one-word query: many notes may share its stem."""
MAX_CHARACTERS = 20_000
"""How many characters of a content are read; longer ones are not discounted, because the rest may contain the word."""
_SHORTEST_STEM = 3
_SHARED_PREFIX = 5
_ENDINGS = frozenset(
    ["", *"s es e y ies d ed ied ing ings er ers ly al ion ions ation ations ment ments".split()],
)
_WORD = re.compile(r"[^\W_]+")


class StemDiscount(NamedTuple):
    """A discount of the lexical score: the note contains words of the query only in another form."""

    before: float
    """The lexical score before the discount."""
    words: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON-ready data."""
        return {"before": self.before, "words": list(self.words)}


class _WordForm(NamedTuple):
    """A word of the query, or one of its aliases."""

    written: str  # in lower case
    plain: str  # also without accents
    stem: str
    pattern: re.Pattern[str]  # finds ``written``
    stem_prefix: re.Pattern[str]  # finds words that may have the stem

    @property
    def has_ambiguous_stem(self) -> bool:
        """Whether the stem is a stopword, as *in* is for *Ines*, lacks a symbol, or is very short."""
        is_ambiguous = self.stem in STOPWORDS or len(self.stem) < _SHORTEST_STEM or not self.plain.isalnum()
        return self.stem != self.plain and is_ambiguous


def discount_stem_only(
    candidates: Sequence[Candidate], tree: Query, weight: float, *, max_score: float | None = None
) -> tuple[list[Candidate], Mapping[str, StemDiscount]]:
    """Return lexical candidates with stem-only matches discounted, best first, and the discounts by note id.

    A note's score is multiplied by the mean of a factor for each word of the query: ``weight`` if the note contains the
    word by its stem only, else 1. If the query has one word, a note that does not contain it exactly gets at most
    ``weight`` times the lowest score of those that do, or at most ``max_score`` if that is passed. If it has several,
    only words whose stem is a stopword or shorter than three letters are checked: checking all of them would take
    longer than the search. Phrases, prefixes and words with punctuation inside are not discounted.
    """
    words = _word_forms(tree.tokens)
    checked = words if len(words) == 1 else [forms for forms in words if any(form.has_ambiguous_stem for form in forms)]
    if weight >= 1 or not checked:
        return list(candidates), {}
    classified = [(candidate, *_classify_words(candidate, checked)) for candidate in candidates]
    if len(words) == 1 and max_score is None:
        lowest = min((candidate.score for candidate, exact, *_ in classified if exact), default=None)
        max_score = None if lowest is None else weight * lowest
    discounted: dict[str, StemDiscount] = {}
    scored = []
    for candidate, _, inflected, by_stem in classified:
        score = candidate.score
        if by_stem:
            score *= 1 - (1 - weight) * len(by_stem) / len(words)
        if max_score is not None and (inflected or by_stem):
            score = min(score, max_score)
        if score != candidate.score:
            discounted[candidate.id] = StemDiscount(candidate.score, (*by_stem, *inflected))
            candidate = candidate.copy()  # noqa: PLW2901 (the caller's candidate stays unchanged)
            candidate.score = candidate.lexical_score = score
        scored.append(candidate)
    if not discounted:
        return list(candidates), {}
    ranked = sorted(scored, key=by_score)
    for rank, candidate in enumerate(ranked, start=1):
        if candidate.lexical_rank != rank:
            ranked[rank - 1] = candidate.copy()
            ranked[rank - 1].lexical_rank = rank
    return ranked, discounted


def is_one_word(tree: Query) -> bool:
    """Return whether a query is a single word, with its aliases, that the index may match in other forms."""
    return len(_word_forms(tree.tokens)) == 1


def _classify_words(
    candidate: Candidate, words: Sequence[Sequence[_WordForm]]
) -> tuple[list[str], list[str], list[str]]:
    """Return the words that a note contains exactly, inflected, and by their stem only."""
    text = "\n".join((candidate.title, candidate.summary, candidate.path, candidate.content[:MAX_CHARACTERS]))
    text = text if text.isascii() else normalise(text)
    folded = text.casefold()
    exact: list[str] = []
    others: list[Sequence[_WordForm]] = []
    for group in words:
        if any(form.written in folded and form.pattern.search(folded) for form in group):
            exact.append(group[0].written)
        elif len(candidate.content) <= MAX_CHARACTERS and any(_may_contain(folded, form) for form in group):
            others.append(group)
    spelt: dict[str, set[str]] = {}
    if others:
        for stem, word in tokens.spellings_of(text, {form.stem for group in others for form in group}):
            spelt.setdefault(stem, set()).add(word)
    inflected, by_stem = [], []
    for group in others:
        related = [(word, form) for form in group for word in spelt.get(form.stem, ())]
        if any(_is_inflected(word, form) for word, form in related):
            inflected.append(group[0].written)
        elif related:  # else the match is in a field that is not read here, such as a tag
            by_stem.append(group[0].written)
    return exact, inflected, by_stem


def _may_contain(folded: str, form: _WordForm) -> bool:
    """Return whether a text may contain a word of the same stem: a quick check before it is split into words.

    The stemmer changes what follows the stem, and at most the stem's last letter, as from *fly* to *fli*.
    """
    return not folded.isascii() or (form.stem[:-1] in folded and form.stem_prefix.search(folded) is not None)


def _is_inflected(spelt: str, form: _WordForm) -> bool:
    """Return whether a word of a note has other accents or another common ending than a word of the query."""
    plain = tokens.fold(spelt)
    if plain == form.plain:
        return True
    pairs = enumerate(zip(plain, form.plain, strict=False))
    shared = next((index for index, (a, b) in pairs if a != b), min(len(plain), len(form.plain)))
    endings = {_ending(plain, shared), _ending(form.plain, shared)}
    related = shared >= _SHARED_PREFIX or endings <= _ENDINGS
    return related and STOPWORDS.isdisjoint((plain, form.plain))


def _ending(word: str, shared: int) -> str:
    """Return what follows the first ``shared`` letters of a word, without a doubled letter: "ing" of "running"."""
    ending = word[shared:]
    return ending[1:] if shared and ending[:1] == word[shared - 1] else ending


@lru_cache(maxsize=64)
def _word_forms(query: tuple[Token, ...]) -> tuple[tuple[_WordForm, ...], ...]:
    """Return the single words of a query, each in a group with its aliases."""
    groups: list[list[_WordForm]] = []
    excluded = False
    for token in query:
        first = token.alternative <= 1
        excluded = token.operator == "NOT" if first else excluded
        written = _WORD.findall(token.text if token.alternative else token.source or token.text)
        if first:
            groups.append([])
        if token.kind == "term" and not excluded and len(written) == 1 and groups:
            word = written[0].casefold()
            symbolic = "" if token.alternative else symbolic_name(token.source)
            spelt = symbolic or word
            no_symbol = "(?![+#])" if symbolic or len(word) == 1 else ""  # C is neither C++ nor C#
            pattern = re.compile(rf"(?<![^\W_]){re.escape(spelt)}(?![^\W_]){no_symbol}")
            stem = tokens.stem(word)
            stem_prefix = re.compile(rf"(?<![^\W_]){re.escape(stem[:-1])}")
            groups[-1].append(_WordForm(spelt, symbolic or tokens.fold(word), stem, pattern, stem_prefix))
    unique = {tuple(form.written for form in group): tuple(group) for group in groups if group}
    return tuple(unique.values())


def by_score(candidate: Candidate) -> tuple[float, str, str]:
    """Return the sort key of lexical results: the best first, ties by path, then id."""
    return -candidate.score, candidate.path, candidate.id


_POSITION_KINDS = ("previous", "next")
_DECAY = 0.5
"""The factor of a neighbour's weight for each further position."""
_Key = TypeVar("_Key")
_HEADER_FIELDS = ("path", "title", "summary")


class RescoredLists(NamedTuple):
    """The result of context rescoring."""

    lexical: list[Candidate]
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
    # Notes keep their score if the match is not found in the text: it is in a tag, or an ending only the index knows.
    not_rescored = {note: candidate.score for note, candidate in lexical.items() if note not in scores}
    rescored = []
    for note, score in (not_rescored | scores).items():
        candidate = (lexical.get(note) or turns[note]).copy()
        candidate.lexical_score = candidate.score = score
        rescored.append(candidate)
    max_score = max((candidate.score for candidate in rescored), default=0.0)
    if rules.coverage:
        weights = [frequencies.weight(term) for term in positive_terms(tree)]
        for candidate in rescored:
            share = scorer.coverage(candidate, turns, neighbours.get(candidate.id, {}), weights)
            candidate.lexical_score = candidate.score = candidate.score * share**rules.coverage
    rescored.sort(key=by_score)
    for rank, candidate in enumerate(rescored, start=1):
        candidate.lexical_rank = rank
    return RescoredLists(rescored, added, contexts, max_score)


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
        in_context = {
            note: _add_weighted(_add_weighted(contents[note], *self._header_counts(turn)), contents, neighbours[note])
            for note, turn in turns.items()
        }
        return {note: score for note, score in self._scores(in_context, weights).items() if score > 0}

    def score_long_notes(self, notes: Sequence[Candidate]) -> dict[str, float]:
        """Return the score of each long note with its best chunk, on the scale of the lexical scores.

        The document frequencies are those of the chunks: a long note contains most terms somewhere.
        """
        share = self._rules.passage
        long = {note.id: note for note in notes if share and len(note.content) > MAX_UNSPLIT_CHARS}
        chunks_of = {note: self._chunk_counts(candidate) for note, candidate in long.items()}
        chunk_frequencies = Counter(
            term for chunks in chunks_of.values() for chunk in chunks.values() for term in chunk.counts
        )
        chunk_count = sum(-(-len(candidate.content) // CHUNK_CHARS) for candidate in long.values())
        frequencies = [chunk_frequencies[term] for term in range(len(positive_terms(self._tree)))]
        weights = [log(1 + (chunk_count - frequency + 0.5) / (frequency + 0.5)) for frequency in frequencies]
        previous, following = self._rules.previous, self._rules.next
        best: dict[str, float] = {}
        for note, chunks in chunks_of.items():
            headers = self._header_counts(long[note])
            in_context = {}
            for index, chunk in chunks.items():
                neighbours = {index - 1: previous, index + 1: following}
                in_context[index] = _add_weighted(_add_weighted(chunk, *headers), chunks, neighbours)
            score = max(self._scores(in_context, weights).values())
            if score > 0:  # else its matches are not found in the text, such as in a tag
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
        shares = {term: 1.0 for name in (*_HEADER_FIELDS, "content") for term in self._counts(candidate, name)}
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

    def _scores(self, texts: Mapping[_Key, _TermCounts], weights: Sequence[float]) -> dict[_Key, float]:
        """Return the BM25 score of each text; ``weights`` has the inverse document frequencies."""
        k1, b = self._rules.k1, self._rules.b
        average = sum(text.length for text in texts.values()) / max(1, len(texts))
        scores = {}
        for key, text in texts.items():
            norm = k1 * (1 - b + b * text.length / average)
            scores[key] = sum(weights[term] * count * (k1 + 1) / (count + norm) for term, count in text.counts.items())
        return scores

    def _header_counts(self, candidate: Candidate) -> tuple[dict[str, _TermCounts], Mapping[str, float]]:
        """Return the term counts of path, title and summary, with length 0, and their weights."""
        counts = {name: self._counts(candidate, name) for name in _HEADER_FIELDS}
        return {name: _TermCounts(terms, 0.0) for name, terms in counts.items() if terms}, FIELD_WEIGHTS


def _neighbour_weights(
    seeds: Collection[str], edges: Iterable[Edge], rules: ContextRules
) -> dict[str, dict[str, float]]:
    """Return, for each seed and each neighbour of a seed, the weights of its neighbours that ``edges`` contains."""
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


def _add_weighted(own: _TermCounts, others: Mapping[_Key, _TermCounts], weights: Mapping[_Key, float]) -> _TermCounts:
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
