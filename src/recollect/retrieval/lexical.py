"""The lexical leg: BM25 over the query's terms, and the fallback ladder if they find nothing.

The steps of the ladder are tried in order, and the first with results ends it. It retries an empty result, never an
error. The source documents call it the retry ladder, and the names of the steps are theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect import arguments
from recollect.model import DEFAULT_NAMESPACE, Candidate, as_candidates
from recollect.query import Query, TrigramIndex, compile_fts5, query_tokens, sanitise
from recollect.query.terms import STOPWORDS
from recollect.retrieval.request import (
    Aliases,
    SearchRequest,
    SearchScope,
    exclude_terms,
    parse_query,
    positive_text,
    truncate_query,
)
from recollect.retrieval.terms import positive_terms
from recollect.retrieval.trace import Attempt
from recollect.retrieval.word_forms import ONE_WORD_DEPTH, StemOnly, discount_stem_only, is_one_word
from recollect.stores import tokens
from recollect.stores.spelling import edit_distance
from recollect.text import WHITESPACE

if TYPE_CHECKING:
    from recollect.retrieval.preset import Preset
    from recollect.stores.search_index import IndexAbilities

Chunks = Iterable[Candidate | Mapping[str, Any]]

BY_SPELLING, BY_NAME = GUESSES = "did_you_mean", "trigram_fuzzy"
"""The steps that guess what was meant: terms that are spelt alike, and names that are."""


class LexicalResult(NamedTuple):
    """The result of the lexical leg."""

    candidates: list[Candidate]
    tree: Query
    """The query that found them: the request's or a fallback query."""
    by_name: bool = False
    """Whether they were found by the similarity of names, and not by terms."""
    is_guess: bool = False
    """Whether the fallback ladder guessed which terms or names were meant."""
    stem_only: Mapping[str, StemOnly] = MappingProxyType({})
    """The discounts of notes that contain words of the query only in another form, by note id."""


class NamedChunks:
    """Notes that the caller passes for the last step of the ladder, for an index that cannot compare names."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = {chunk.id: chunk for chunk in reversed(as_candidates("trigram_chunks", list(chunks)))}

    @cached_property
    def _index(self) -> TrigramIndex:
        return TrigramIndex(list(self._chunks.values())[::-1])

    def search(self, words: Sequence[str], limit: int) -> list[Candidate]:
        """Return the notes whose names are spelt like one of the words, the most similar first."""
        return [
            replace(self._chunks[match.id], score=match.similarity, lexical_rank=None)
            for match in self._index.search(words, limit)
        ]


class LexicalLeg:
    """Searches an index by BM25, by the rules of a preset; one object serves one search."""

    def __init__(
        self,
        index: IndexAbilities,
        preset: Preset,
        aliases: Aliases | None,
        scope: SearchScope,
        trigram_chunks: NamedChunks | None = None,
    ) -> None:
        self._index = index
        self._preset = preset
        self._aliases = aliases
        self._scope = scope
        self._chunks = trigram_chunks
        self._stem_only: Mapping[str, StemOnly] = {}
        self._guessed: frozenset[str] = frozenset()

    def search(self, request: SearchRequest, attempts: list[Attempt], *, retry: bool) -> LexicalResult:
        """Return the results, best first, and append each attempt to ``attempts``."""
        if self._preset.query.match == "all_then_any" and not request.tree.has_operators:
            every = _all_terms(request.terms)
            results = self._search(every)
            attempts.append(Attempt("initial", compile_fts5(every), len(results)))
            if not results:
                results = self._search(request.tree)
                attempts.append(Attempt("any_word", request.compiled, len(results)))
        else:
            results = self._search(request.tree)
            attempts.append(Attempt("initial", request.compiled, len(results)))
        if results or not retry or not self._preset.ladder.on:
            return LexicalResult(results, request.tree, stem_only=self._stem_only)
        return self._search_fallbacks(request, attempts)

    def _search_fallbacks(self, request: SearchRequest, attempts: list[Attempt]) -> LexicalResult:
        rules = self._preset.ladder
        trees = [request.tree]

        def search(text: str) -> list[Candidate]:
            trees.append(self._fallback_query(text, request))
            return self._search(trees[-1])

        results = run_ladder(
            request.query if request.excluding is None else positive_text(request.excluding),
            attempts,
            search=search,
            search_names=lambda words: self._search_names(words, request),
            correct_spelling=(lambda words: self._correct_spelling(words, request)) if rules.vocabulary else None,
            hide_empty=bool(self._scope.filters),
            stopwords=STOPWORDS if rules.skip_stopwords else (),
            guess_numbers=not rules.strict_guesses,
        )
        if not results:
            return LexicalResult(results, request.tree)
        by_name, is_guess = attempts[-1].strategy == BY_NAME, attempts[-1].strategy in GUESSES
        tree = request.tree if by_name else trees[-1]
        if rules.strict_guesses and not by_name:
            tree = _with_missing_terms(tree, request.terms, self._guessed)
        return LexicalResult(results, tree, by_name, is_guess, {} if by_name else self._stem_only)

    def _search(self, tree: Query) -> list[Candidate]:
        if not tree.tokens:
            return []
        scope, rules = self._scope, self._preset.query
        depth = max(scope.depth, ONE_WORD_DEPTH) if rules.stem_only_weight < 1 and is_one_word(tree) else scope.depth
        answer = self._index.index.search_text(
            tree, depth, namespace=scope.namespace, filters=scope.filters, semantics=rules.semantics
        )
        results, self._stem_only = discount_stem_only(
            as_candidates("search_text", answer)[:depth], tree, rules.stem_only_weight
        )
        return results[: scope.depth]

    def add_candidates(self, result: LexicalResult, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the results, followed by further candidates that match, with the BM25 score that they would have."""
        present = {candidate.id for candidate in result.candidates}
        missing = {candidate.id: candidate for candidate in candidates if candidate.id not in present}
        index = self._index.text_scores
        if index is None or result.by_name or not missing or not result.tree.tokens:
            return result.candidates
        scores = index.text_scores(
            result.tree, list(missing), namespace=self._scope.namespace, semantics=self._preset.query.semantics
        )
        matching = []
        for note, candidate in missing.items():
            if note in scores:
                scored = candidate.copy()
                scored.score = scored.lexical_score = arguments.number("text_scores", scores[note])
                matching.append(scored)
        weight = self._preset.query.stem_only_weight
        exact = [candidate.score for candidate in result.candidates if candidate.id not in result.stem_only]
        max_score = weight * min(exact) if exact and is_one_word(result.tree) else None
        matching, _ = discount_stem_only(matching, result.tree, weight, max_score=max_score)
        matching.sort(key=lambda candidate: (-candidate.score, candidate.path, candidate.id))
        for rank, candidate in enumerate(matching, start=len(result.candidates) + 1):
            candidate.lexical_rank = rank
        return [*result.candidates, *matching]

    def _fallback_query(self, text: str, request: SearchRequest) -> Query:
        """Return the query of a step; what the user excluded stays excluded."""
        tree, _ = truncate_query(parse_query(text, self._preset, self._aliases), self._preset.query.max_words)
        return tree if request.excluding is None else exclude_terms(tree, request.excluding)

    def _search_names(self, words: Sequence[str], request: SearchRequest) -> list[Candidate]:
        """Return the notes whose names are spelt like one of the words."""
        words = words[: self._preset.query.max_words or None]
        scope = self._scope
        if self._chunks is not None:
            return self._permitted(self._chunks.search(words, scope.depth), request)
        if self._index.names is None:
            return []
        results = self._index.names.search_names(
            words,
            scope.depth,
            namespace=scope.namespace,
            filters=scope.filters,
            titles=self._preset.ladder.titles,
            without=request.excluding,
        )
        return as_candidates("search_names", results)[: scope.depth]

    def _permitted(self, chunks: list[Candidate], request: SearchRequest) -> list[Candidate]:
        """Return those of the caller's notes that are in the scope and not excluded; none if the index cannot tell."""
        scope, excluding = self._scope, request.excluding
        excludes = excluding is not None and any(token.operator == "NOT" for token in excluding.tokens)
        if not chunks or not (excludes or scope.filters or scope.namespace != DEFAULT_NAMESPACE):
            return chunks
        if self._index.candidates is None:
            return []
        answer = self._index.candidates.candidates(
            [chunk.id for chunk in chunks], namespace=scope.namespace, filters=scope.filters, without=excluding
        )
        permitted = {candidate.id for candidate in as_candidates("candidates", answer)}
        return [chunk for chunk in chunks if chunk.id in permitted]

    def _correct_spelling(self, words: Sequence[str], request: SearchRequest) -> str:
        """Return the terms of the index that are most similar to the words that it lacks; never to stopwords."""
        own = query_tokens(" ".join(token.source or token.text for token in request.terms.tokens))
        words = [word for word in words if word in own]
        index = self._index.spelling
        similar: Mapping[str, Sequence[str]] = (
            {} if index is None else index.similar_words(words, namespace=self._scope.namespace)
        )
        if self._preset.ladder.strict_guesses:
            close = {word: [guess for guess in guesses if _is_close(word, guess)] for word, guesses in similar.items()}
            similar = {word: guesses for word, guesses in close.items() if guesses}
        self._guessed = frozenset(similar)
        return " ".join(dict.fromkeys(guess for word in words for guess in similar.get(word, ())))


def fallback_steps(text: str, stopwords: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each step that searches for other terms.

    A step without words, or with ``stopwords`` alone, is left out.

    >>> [words for step, words in fallback_steps("What is kubernetes?")]
    ['kubernetes', 'What is kubernetes', 'kubernetes']
    >>> [words for step, words in fallback_steps("this week?", {"this"})]
    ['week', 'this week', 'week']
    """
    strongest = _strongest_term(text, stopwords)
    if strongest is not None and strongest != text.strip(WHITESPACE).lower():
        yield "strongest_term", strongest
    # Between these two the source document refreshes the index, which is always fresh here.
    plain = sanitise(text)
    if plain and not all(word in stopwords for word in plain.lower().split(" ")):
        yield "refreshed_sanitised", plain
    strongest = _strongest_term(plain, stopwords)
    if strongest is not None:
        yield "refreshed_strongest", strongest


def _strongest_term(text: str, stopwords: Collection[str]) -> str | None:
    """Return the longest word of a text that is no stopword, the first of several; see ``strongest_term``."""
    return max((word for word in query_tokens(text) if word not in stopwords), key=len, default=None)


def run_ladder(
    text: str,
    attempts: list[Attempt],
    *,
    search: Callable[[str], list[Candidate]],
    search_names: Callable[[Sequence[str]], list[Candidate]],
    correct_spelling: Callable[[Sequence[str]], str] | None = None,
    hide_empty: bool = False,
    stopwords: Collection[str] = (),
    guess_numbers: bool = True,
) -> list[Candidate]:
    """Return the results of the first step that has any, and append each attempt to ``attempts``.

    ``search`` searches for the terms of a text; ``search_names`` compares words with the names of notes;
    ``correct_spelling`` returns similar terms of the index. With ``hide_empty``, corrections without results are not
    recorded: they could be terms of notes that filters hide. ``stopwords`` alone are never searched for, nor compared
    with names; without ``guess_numbers``, words with a digit are not compared with names either.
    """
    for strategy, words in fallback_steps(text, stopwords):
        results = search(words)
        attempts.append(Attempt(strategy, words, len(results)))
        if results:
            return results
    words_left = [word for word in query_tokens(text) if word not in stopwords]
    corrected = correct_spelling(words_left) if correct_spelling and words_left else ""
    if corrected:
        results = search(corrected)
        if results or not hide_empty:
            attempts.append(Attempt(BY_SPELLING, corrected, len(results)))
        if results:
            return results
    if not guess_numbers:
        words_left = [word for word in words_left if not any(map(str.isdigit, word))]
    if not words_left:
        return []
    results = search_names(words_left)
    attempts.append(Attempt(BY_NAME, " ".join(words_left), len(results)))
    return results


def _all_terms(tree: Query) -> Query:
    """Return the query with all its terms required."""
    required = [token._replace(operator="AND") if token.alternative <= 1 else token for token in tree.tokens]
    return replace(tree, tokens=tuple(required))


_ONE_EDIT, _TWO_EDITS = 5, 8
"""The fewest letters of a word that may be one edit away from what was meant, and two."""


def _is_close(word: str, guess: str) -> bool:
    """Return whether a word is long enough to be misspelt so, and begins like the guess, or with letters swapped."""
    plain, other = tokens.plain(word), tokens.plain(guess)
    begins_alike = plain[:1] == other[:1] or plain[:2] == other[1::-1]
    return begins_alike and len(plain) >= (_ONE_EDIT if edit_distance(plain, other) <= 1 else _TWO_EDITS)


def _with_missing_terms(tree: Query, terms: Query, guessed: frozenset[str]) -> Query:
    """Return a fallback query with the terms that it does not replace: no note contains them, but they count."""
    present = {token.text for token in tree.tokens}
    missing = [
        token
        for written, term in positive_terms(terms).items()
        if guessed.isdisjoint(query_tokens(written)) and present.isdisjoint(token.text for token in term.tokens)
        for token in term.tokens
    ]
    return replace(tree, tokens=(*tree.tokens, *missing))
