"""Rescoring of lexical results: the discount of stem-only matches, and the scores of notes with their context.

The lexical index contains stems without accents: *Ines* (stem *in*) matches every *in*, and *this* (stem *thi*) matches
*Thị*. So :func:`discount_stem_only` compares the texts of the results with the query's words. A note contains a word

- exactly, if it has the word as written, in upper or lower case;
- inflected, if it has a word of the same stem that differs only in accents, in a common ending, or after the first five
  letters; but if one of the two words is a stopword, they may differ only in accents;
- by its stem only, if it has words of the same stem, but contains the word neither exactly nor inflected.

A note contains a name with a symbol, such as C++ or .NET, either exactly as written or by its stem only. Terms with
punctuation inside, such as ``BZH-20931``, are not discounted, because the stage ``exact_term`` handles them.

A turn of a conversation often leaves out what the previous turn said, and a long note may contain the terms of a query
pages apart. So :func:`rescore_with_context` scores turns and long notes again by BM25 (Robertson and Zaragoza, "The
Probabilistic Relevance Framework", 2009). An occurrence of a term in a neighbouring turn counts as a fraction of an
occurrence in the turn itself. A long note gets the weighted mean of its own score and the score of its best chunk.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from math import ceil, log
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

ONE_WORD_DEPTH = 2000  # how many results of a one-word query are checked, because many may match by the stem only
MAX_CHARACTERS = 20_000  # notes with a longer content are not discounted: the unread rest may contain the word
_MIN_STEM_LENGTH = 3  # shorter stems are ambiguous
_MIN_SHARED_LETTERS = 5  # two words of the same stem with so many equal first letters are inflected forms
_ENDINGS = frozenset(["", *"s es e y ies d ed ied ing ings er ers ly al ion ions ation ations ment ments".split()])
_WORD = re.compile(r"[^\W_]+")  # a run of letters and digits


class StemDiscount(NamedTuple):
    """A discount of a note's lexical score: the note contains words of the query only in another form."""

    before: float  # the lexical score before the discount
    words: tuple[str, ...]  # the words of the query that the note contains only in another form

    def to_dict(self) -> dict[str, Any]:
        """Return the discount as JSON-ready data."""
        return {"before": self.before, "words": list(self.words)}


class _WordForm(NamedTuple):
    """A word of the query, or an alias of it."""

    written: str  # in lower case
    folded: str  # in lower case, without accents
    stem: str
    pattern: re.Pattern[str]  # finds ``written`` as a whole word
    stem_prefix: re.Pattern[str]  # finds words that may have the stem

    @property
    def has_ambiguous_stem(self) -> bool:
        """Whether the stem differs from the word and is ambiguous: a stopword, too short, or without a symbol (C++)."""
        is_ambiguous = self.stem in STOPWORDS or len(self.stem) < _MIN_STEM_LENGTH or not self.folded.isalnum()
        return self.stem != self.folded and is_ambiguous


def discount_stem_only(
    candidates: Sequence[Candidate], tree: Query, weight: float, *, max_score: float | None = None
) -> tuple[list[Candidate], Mapping[str, StemDiscount]]:
    """Return lexical candidates with stem-only matches discounted, best first, and the discounts by note id.

    Each word of the query has a factor: ``weight`` if the note contains the word by its stem only, else 1. The note's
    score is multiplied by the mean of these factors.

    If the query has one word, a note that contains it inflected or by its stem only gets at most ``max_score``, by
    default ``weight`` times the lowest score of the notes that contain the word exactly. If the query has several
    words, only words with an ambiguous stem are checked, because checking all would take longer than the search.
    Phrases, prefixes and words with punctuation inside are not discounted.
    """
    words = _word_forms(tree.tokens)
    checked_words = [group for group in words if len(words) == 1 or any(form.has_ambiguous_stem for form in group)]
    if weight >= 1 or not checked_words:
        return list(candidates), {}
    classified = [(candidate, *_classify_words(candidate, checked_words)) for candidate in candidates]
    if len(words) == 1 and max_score is None:
        exact_scores = [candidate.score for candidate, exact, *_ in classified if exact]
        max_score = weight * min(exact_scores) if exact_scores else None
    discounts: dict[str, StemDiscount] = {}
    scored = []
    for candidate, _, inflected, by_stem in classified:
        score = candidate.score
        if by_stem:
            score *= 1 - (1 - weight) * len(by_stem) / len(words)  # the mean of the factors
        if max_score is not None and (inflected or by_stem):
            score = min(score, max_score)
        if score != candidate.score:
            discounts[candidate.id] = StemDiscount(candidate.score, (*by_stem, *inflected))
            candidate = candidate.copy()  # noqa: PLW2901 (the caller's candidate stays unchanged)
            candidate.score = candidate.lexical_score = score
        scored.append(candidate)
    if not discounts:
        return list(candidates), {}
    ranked = sorted(scored, key=by_score)
    for rank, candidate in enumerate(ranked, start=1):
        if candidate.lexical_rank != rank:
            ranked[rank - 1] = candidate.copy()
            ranked[rank - 1].lexical_rank = rank
    return ranked, discounts


def is_one_word(tree: Query) -> bool:
    """Return whether a query is a single word, with its aliases, that the index may match in other forms."""
    return len(_word_forms(tree.tokens)) == 1


def _classify_words(
    candidate: Candidate, words: Sequence[Sequence[_WordForm]]
) -> tuple[list[str], list[str], list[str]]:
    """Return three lists: the words that a note contains exactly, inflected, and by their stem only."""
    text = "\n".join((candidate.title, candidate.summary, candidate.path, candidate.content[:MAX_CHARACTERS]))
    text = text if text.isascii() else normalise(text)
    lowered = text.casefold()
    exact: list[str] = []
    not_exact: list[Sequence[_WordForm]] = []
    for group in words:
        if any(form.written in lowered and form.pattern.search(lowered) for form in group):
            exact.append(group[0].written)
        elif len(candidate.content) <= MAX_CHARACTERS and any(_may_contain(lowered, form) for form in group):
            not_exact.append(group)
    words_by_stem: dict[str, set[str]] = {}
    if not_exact:
        for stem, word in tokens.spellings_of(text, {form.stem for group in not_exact for form in group}):
            words_by_stem.setdefault(stem, set()).add(word)
    inflected, by_stem = [], []
    for group in not_exact:
        same_stem = [(word, form) for form in group for word in words_by_stem.get(form.stem, ())]
        if any(_is_inflected(word, form) for word, form in same_stem):
            inflected.append(group[0].written)
        elif same_stem:  # else the match is in a field that is not read here, such as a tag
            by_stem.append(group[0].written)
    return exact, inflected, by_stem


def _may_contain(lowered: str, form: _WordForm) -> bool:
    """Return whether a text may contain a word of the same stem: a quick check before the text is split into words.

    A word begins with its stem, but the stemmer may change the last letter, as from *fly* to *fli*. So the stem's last
    letter is not compared. A text that is not ASCII always passes, because its words may have accents.
    """
    return not lowered.isascii() or (form.stem[:-1] in lowered and form.stem_prefix.search(lowered) is not None)


def _is_inflected(word: str, form: _WordForm) -> bool:
    """Return whether a word of a note is an inflected form of a word of the query, as the module's docstring says."""
    folded = tokens.fold(word)
    if folded == form.folded:
        return True
    letter_pairs = zip(folded, form.folded, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], letter_pairs))
    endings = {_ending(folded, shared), _ending(form.folded, shared)}
    is_related = shared >= _MIN_SHARED_LETTERS or endings <= _ENDINGS
    return is_related and STOPWORDS.isdisjoint((folded, form.folded))


def _ending(word: str, shared: int) -> str:
    """Return what follows the first ``shared`` letters of a word, without a doubled letter: "ing" of "running"."""
    ending = word[shared:]
    return ending[1:] if shared and ending[:1] == word[shared - 1] else ending


@lru_cache(maxsize=64)
def _word_forms(query_tokens: tuple[Token, ...]) -> tuple[tuple[_WordForm, ...], ...]:
    """Return the single words of a query, each as a group with its aliases; phrases and exclusions are left out."""
    groups: list[list[_WordForm]] = []
    is_excluded = False
    for token in query_tokens:
        if token.alternative <= 1:  # not a further alias of the previous token
            groups.append([])
            is_excluded = token.operator == "NOT"
        # The source of an alias is the word that the alias replaces, so an alias is read from its text.
        words = _WORD.findall(token.text if token.alternative else token.source or token.text)
        if token.kind == "term" and not is_excluded and len(words) == 1 and groups:
            word = words[0].casefold()
            symbolic = "" if token.alternative else symbolic_name(token.source)
            written = symbolic or word
            no_symbol = "(?![+#])" if symbolic or len(word) == 1 else ""  # C is neither C++ nor C#
            # Both patterns begin where a word begins; the first also ends where a word ends.
            pattern = re.compile(rf"(?<![^\W_]){re.escape(written)}(?![^\W_]){no_symbol}")
            stem = tokens.stem(word)
            stem_prefix = re.compile(rf"(?<![^\W_]){re.escape(stem[:-1])}")
            groups[-1].append(_WordForm(written, symbolic or tokens.fold(word), stem, pattern, stem_prefix))
    unique_groups = {tuple(form.written for form in group): tuple(group) for group in groups if group}
    return tuple(unique_groups.values())


def by_score(candidate: Candidate) -> tuple[float, str, str]:
    """Return the key that sorts candidates by score, best first, then by path and id."""
    return -candidate.score, candidate.path, candidate.id


_POSITION_KINDS = ("previous", "next")  # the kinds of edges between the turns of a session
_DECAY = 0.5  # multiplies a neighbour's weight for each position beyond the first
_Key = TypeVar("_Key")
_HEADER_FIELDS = ("path", "title", "summary")


class RescoredLists(NamedTuple):
    """The result of context rescoring."""

    lexical: list[Candidate]  # the lexical list with new scores, best first
    added: list[Candidate]  # the neighbours that no leg had retrieved
    contexts: dict[str, Context]  # the context of each rescored note, by note id
    max_score: float  # the best score before multiplication by coverage; fusion scales this score to 1


class _TermCounts(NamedTuple):
    """The counts of the query's terms in one text, and the length of the text for BM25."""

    counts: Mapping[int, float]  # by term index; an occurrence in the context counts as a fraction
    length: float  # the word count of a turn; 1 for a chunk, as chunks are about equally long; 0 for a header field


def rescore_with_context(
    lists: Mapping[str, Sequence[Candidate]],
    tree: Query,
    frequencies: TermFrequencies,
    graph: IndexGraph,
    rules: ContextRules,
) -> RescoredLists:
    """Return the lexical results with turns and long notes rescored.

    The rescored turns are the best of each list and their neighbours. The long notes are those of the lexical list.
    """
    scorer = _ContextScorer(tree, rules)
    candidates = {candidate.id: candidate for results in lists.values() for candidate in results}
    best_notes = (candidate for results in lists.values() for candidate in results[: rules.seeds])
    seed_ids = dict.fromkeys(note.id for note in best_notes if note.session and note.position is not None)
    edges = graph.edges(seed_ids, _POSITION_KINDS)
    neighbours = _neighbour_weights(seed_ids, edges, rules) if edges else {}  # for each seed and each note around it
    added = graph.candidates(note_id for note_id in neighbours if note_id not in candidates)
    turns = {note_id: candidates[note_id] for note_id in neighbours if note_id in candidates}
    turns |= {candidate.id: candidate for candidate in added}
    scores = scorer.score_turns(turns, neighbours, [frequencies.bm25_weight(term) for term in positive_terms(tree)])
    lexical = {candidate.id: candidate for candidate in lists["lexical"]}
    scores |= scorer.score_long_notes([candidate for note_id, candidate in lexical.items() if note_id not in turns])
    contexts = {}
    for note_id in scores:
        score_before = lexical[note_id].score if note_id in lexical else None
        contexts[note_id] = Context(score_before, tuple(neighbours.get(note_id, ())))
    # Short notes that are no turns, and notes whose match is in no field that is read here, keep their score.
    unchanged_scores = {note_id: candidate.score for note_id, candidate in lexical.items() if note_id not in scores}
    rescored = []
    for note_id, score in (unchanged_scores | scores).items():
        candidate = (lexical.get(note_id) or turns[note_id]).copy()
        candidate.lexical_score = candidate.score = score
        rescored.append(candidate)
    max_score = max((candidate.score for candidate in rescored), default=0.0)
    if rules.coverage:
        weights = [frequencies.weight(term) for term in positive_terms(tree)]
        for candidate in rescored:
            coverage = scorer.coverage(candidate, turns, neighbours.get(candidate.id, {}), weights)
            candidate.lexical_score = candidate.score = candidate.score * coverage**rules.coverage
    rescored.sort(key=by_score)
    for rank, candidate in enumerate(rescored, start=1):
        candidate.lexical_rank = rank
    return RescoredLists(rescored, added, contexts, max_score)


class _ContextScorer:
    """Scores the candidates of one search by BM25 with their context; counts the terms of each text only once."""

    def __init__(self, tree: Query, rules: ContextRules) -> None:
        self._tree = tree
        self._rules = rules
        self._term_counts: dict[tuple[str, str], Mapping[int, int]] = {}  # by note id and name of the field

    def score_turns(
        self, turns: Mapping[str, Candidate], neighbours: Mapping[str, Mapping[str, float]], weights: Sequence[float]
    ) -> dict[str, float]:
        """Return the scores above 0 of turns in context; ``weights`` are inverse document frequencies by term index."""
        content_counts = {
            note_id: _TermCounts(self._counts(turn, "content"), turn.content.count(" ") + 1)
            for note_id, turn in turns.items()
        }
        in_context = {}  # the term counts of each turn with its neighbours
        for note_id, turn in turns.items():
            own_counts = _add_weighted(content_counts[note_id], *self._header_counts(turn))
            in_context[note_id] = _add_weighted(own_counts, content_counts, neighbours[note_id])
        return {note_id: score for note_id, score in self._scores(in_context, weights).items() if score > 0}

    def score_long_notes(self, notes: Sequence[Candidate]) -> dict[str, float]:
        """Return the weighted mean of the lexical score and of the best chunk's score of each long note, by note id.

        Document frequencies are counted in chunks, not in notes, because a long note contains most terms somewhere. The
        chunk scores are scaled: the best of them becomes equal to the best lexical score of these notes.
        """
        chunk_share = self._rules.passage  # with 0, no long note is rescored
        long_notes = {note.id: note for note in notes if chunk_share and len(note.content) > MAX_UNSPLIT_CHARS}
        chunks_by_note = {note_id: self._chunk_counts(note) for note_id, note in long_notes.items()}
        all_chunks = [chunk for chunks in chunks_by_note.values() for chunk in chunks.values()]
        chunk_frequencies = Counter(term for chunk in all_chunks for term in chunk.counts)
        chunk_count = sum(ceil(len(note.content) / CHUNK_CHARS) for note in long_notes.values())
        frequencies = [chunk_frequencies[term] for term in range(len(positive_terms(self._tree)))]
        weights = [log(1 + (chunk_count - frequency + 0.5) / (frequency + 0.5)) for frequency in frequencies]
        best_scores: dict[str, float] = {}
        for note_id, chunks in chunks_by_note.items():
            headers = self._header_counts(long_notes[note_id])
            in_context = {}
            for index, chunk in chunks.items():
                neighbours = {index - 1: self._rules.previous, index + 1: self._rules.next}
                in_context[index] = _add_weighted(_add_weighted(chunk, *headers), chunks, neighbours)
            score = max(self._scores(in_context, weights).values())
            if score > 0:  # else only a field that is not read here matches, such as a tag
                best_scores[note_id] = score
        if not best_scores:
            return {}
        scale = max(long_notes[note_id].score for note_id in best_scores) / max(best_scores.values())
        return {
            note_id: (1 - chunk_share) * long_notes[note_id].score + chunk_share * scale * score
            for note_id, score in best_scores.items()
        }

    def coverage(
        self,
        candidate: Candidate,
        turns: Mapping[str, Candidate],
        neighbours: Mapping[str, float],
        weights: Sequence[float],
    ) -> float:
        """Return the share of the query's terms that a note contains, weighted by ``weights``, from 0 to 1.

        If only a neighbour contains a term, the term's share is the neighbour's weight. If no term is found, a tag or a
        form that only the index knows matches; then the note is assumed to contain the term of the lowest weight.
        """
        shares = {term: 1.0 for name in (*_HEADER_FIELDS, "content") for term in self._counts(candidate, name)}
        for neighbour_id, weight in neighbours.items():
            if neighbour_id in turns:
                for term in self._counts(turns[neighbour_id], "content"):
                    shares[term] = max(shares.get(term, 0.0), weight)
        covered = sum(weights[term] * share for term, share in shares.items()) if shares else min(weights)
        return covered / sum(weights)

    def _counts(self, candidate: Candidate, name: str) -> Mapping[int, int]:
        """Return how often the field ``name`` of a note contains each term of the query, by term index."""
        key = candidate.id, name
        if key not in self._term_counts:
            text = getattr(candidate, name)
            self._term_counts[key] = count_terms(text, self._tree) if text else {}
        return self._term_counts[key]

    def _chunk_counts(self, candidate: Candidate) -> dict[int, _TermCounts]:
        """Return the term counts of the first chunk, and of all others that contain a term, by the chunk's index."""
        chunk_counts: dict[int, Counter[int]] = {0: Counter()}  # for notes that match only in the title
        content_counts: Counter[int] = Counter()
        for match in match_terms(candidate.content, self._tree):
            chunk_counts.setdefault(match.start // CHUNK_CHARS, Counter())[match.term_index] += 1
            content_counts[match.term_index] += 1
        self._term_counts[candidate.id, "content"] = content_counts  # so that coverage() does not scan it again
        return {index: _TermCounts(counts, 1.0) for index, counts in chunk_counts.items()}

    def _scores(self, texts: Mapping[_Key, _TermCounts], weights: Sequence[float]) -> dict[_Key, float]:
        """Return the BM25 score of each text; ``weights`` has the inverse document frequencies, by term index."""
        k1, b = self._rules.k1, self._rules.b
        average_length = sum(text.length for text in texts.values()) / max(1, len(texts))
        scores = {}
        for key, text in texts.items():
            norm = k1 * (1 - b + b * text.length / average_length)
            scores[key] = sum(weights[term] * count * (k1 + 1) / (count + norm) for term, count in text.counts.items())
        return scores

    def _header_counts(self, candidate: Candidate) -> tuple[dict[str, _TermCounts], Mapping[str, float]]:
        """Return two mappings by field: the term counts of path, title and summary (with length 0), and the weights."""
        counts = {name: self._counts(candidate, name) for name in _HEADER_FIELDS}
        return {name: _TermCounts(terms, 0.0) for name, terms in counts.items() if terms}, FIELD_WEIGHTS


def _neighbour_weights(
    seed_ids: Collection[str], edges: Iterable[Edge], rules: ContextRules
) -> dict[str, dict[str, float]]:
    """Return the weight of each neighbour, by the note's id and then by the neighbour's id.

    A window has the ids of a seed and of the notes around it, by their position relative to the seed. Notes of the same
    window are neighbours of each other if their positions differ by at most ``rules.reach``.
    """
    windows: dict[str, dict[int, str]] = {seed_id: {0: seed_id} for seed_id in seed_ids}
    for edge in edges:
        if edge.source in windows:  # a caller's own index may return edges of other notes
            offset = edge.distance if edge.kind == "next" else -edge.distance
            windows[edge.source].setdefault(offset, edge.target)
    weights: dict[str, dict[str, float]] = {}
    for window in windows.values():
        for offset, note_id in window.items():
            neighbours = weights.setdefault(note_id, {})
            for other_offset, other_id in sorted(window.items()):
                distance = other_offset - offset
                if distance and abs(distance) <= rules.reach and other_id != note_id:
                    weight = rules.next if distance > 0 else rules.previous
                    neighbours[other_id] = weight * _DECAY ** (abs(distance) - 1)
    return weights


def _add_weighted(own: _TermCounts, others: Mapping[_Key, _TermCounts], weights: Mapping[_Key, float]) -> _TermCounts:
    """Return the counts and length of a text, plus the counts and lengths of other texts multiplied by ``weights``."""
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
