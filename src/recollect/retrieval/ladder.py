"""The fallback ladder: which queries the lexical leg tries if its first finds nothing.

The steps are tried in order, and the first with results ends the ladder. It retries an empty result, never an error.
The source documents call it the retry ladder, and the names of the steps are theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from recollect.model import DEFAULT_NAMESPACE, Candidate, as_candidates
from recollect.query import Query, TrigramIndex, query_tokens, sanitise
from recollect.query.terms import STOPWORDS
from recollect.retrieval.request import (
    Aliases,
    SearchRequest,
    SearchScope,
    exclude_terms,
    parse_query,
    positive_terms,
    positive_text,
    truncate_query,
)
from recollect.retrieval.trace import Attempt
from recollect.stores import tokens
from recollect.stores.spelling import edit_distance
from recollect.text import WHITESPACE

if TYPE_CHECKING:
    from recollect.retrieval.preset import Preset
    from recollect.stores.search_index import IndexAbilities

Chunks = Iterable[Candidate | Mapping[str, Any]]

BY_SPELLING, BY_NAME = "did_you_mean", "trigram_fuzzy"
GUESSES = BY_SPELLING, BY_NAME
"""The steps that search for similar spellings: of terms in the index, and of note names."""
_MIN_LETTERS_ONE_EDIT, _MIN_LETTERS_TWO_EDITS = 5, 8
"""The minimum length of a word that is corrected by one edit, and by two."""


class CallerChunks:
    """Notes that the caller passes for the last step of the ladder, if the index cannot search note names."""

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


class FallbackLadder:
    """Runs the ladder by the rules of a preset; one object serves one search."""

    def __init__(
        self,
        index: IndexAbilities,
        preset: Preset,
        aliases: Aliases | None,
        scope: SearchScope,
        trigram_chunks: CallerChunks | None,
    ) -> None:
        self._index = index
        self._preset = preset
        self._aliases = aliases
        self._scope = scope
        self._chunks = trigram_chunks
        self._corrected_words: frozenset[str] = frozenset()

    def run(
        self, request: SearchRequest, attempts: list[Attempt], search_terms: Callable[[Query], list[Candidate]]
    ) -> tuple[list[Candidate], Query]:
        """Return the results of the first step that has any, and its query; append each attempt to ``attempts``."""
        rules = self._preset.ladder
        stopwords = STOPWORDS if rules.skip_stopwords else ()
        text = request.query if request.exclusions is None else positive_text(request.exclusions)
        content_words = [word for word in query_tokens(text) if word not in stopwords]
        for strategy, words in self._steps(text, content_words, request):
            tree, _ = truncate_query(parse_query(words, self._preset, self._aliases), self._preset.query.max_words)
            # What the user excluded stays excluded.
            tree = tree if request.exclusions is None else exclude_terms(tree, request.exclusions)
            results = search_terms(tree)
            # With filters, a correction without results is not recorded: it could be a term of a hidden note.
            if results or strategy != BY_SPELLING or not self._scope.filters:
                attempts.append(Attempt(strategy, words, len(results)))
            if results:
                tree = _with_missing_terms(tree, request.terms, self._corrected_words) if rules.strict_guesses else tree
                return results, tree
        if rules.strict_guesses:
            content_words = [word for word in content_words if not any(map(str.isdigit, word))]
        if not content_words:
            return [], request.tree
        results = self._search_names(content_words, request)
        attempts.append(Attempt(BY_NAME, " ".join(content_words), len(results)))
        return results, request.tree

    def _steps(self, text: str, words: Sequence[str], request: SearchRequest) -> Iterator[tuple[str, str]]:
        """Yield the name and the text of each step that searches for terms."""
        rules = self._preset.ladder
        yield from fallback_steps(text, STOPWORDS if rules.skip_stopwords else ())
        corrected = self._correct_spelling(words, request) if rules.vocabulary and words else ""
        if corrected:
            yield BY_SPELLING, corrected

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
            without=request.exclusions,
        )
        return as_candidates("search_names", results)[: scope.depth]

    def _permitted(self, chunks: list[Candidate], request: SearchRequest) -> list[Candidate]:
        """Return the caller's notes that the scope includes and NOT does not exclude; none if the index cannot tell."""
        scope, exclusions = self._scope, request.exclusions
        excludes = exclusions is not None and any(token.operator == "NOT" for token in exclusions.tokens)
        if not chunks or not (excludes or scope.filters or scope.namespace != DEFAULT_NAMESPACE):
            return chunks
        if self._index.candidates is None:
            return []
        answer = self._index.candidates.candidates(
            [chunk.id for chunk in chunks], namespace=scope.namespace, filters=scope.filters, without=exclusions
        )
        permitted = {candidate.id for candidate in as_candidates("candidates", answer)}
        return [chunk for chunk in chunks if chunk.id in permitted]

    def _correct_spelling(self, words: Sequence[str], request: SearchRequest) -> str:
        """Return the index terms most similar to the words that the index lacks; set ``_corrected_words`` to these."""
        searched = query_tokens(" ".join(token.source or token.text for token in request.terms.tokens))
        words = [word for word in words if word in searched]
        index = self._index.spelling
        similar: Mapping[str, Sequence[str]] = (
            {} if index is None else index.similar_words(words, namespace=self._scope.namespace)
        )
        if self._preset.ladder.strict_guesses:
            close = {word: [guess for guess in guesses if _is_close(word, guess)] for word, guesses in similar.items()}
            similar = {word: guesses for word, guesses in close.items() if guesses}
        self._corrected_words = frozenset(similar)
        return " ".join(dict.fromkeys(guess for word in words for guess in similar.get(word, ())))


def fallback_steps(text: str, stopwords: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each step that searches for other terms.

    A step without words, or with ``stopwords`` alone, is left out.
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


def _is_close(word: str, guess: str) -> bool:
    """Return whether a word is long enough for its edit distance, and its first letters are equal or swapped."""
    folded, other = tokens.fold(word), tokens.fold(guess)
    begins_alike = folded[:1] == other[:1] or folded[:2] == other[1::-1]
    min_letters = _MIN_LETTERS_ONE_EDIT if edit_distance(folded, other) <= 1 else _MIN_LETTERS_TWO_EDITS
    return begins_alike and len(folded) >= min_letters


def _with_missing_terms(tree: Query, terms: Query, corrected: frozenset[str]) -> Query:
    """Add the terms that a fallback query dropped without replacing them: they match no note, but lower coverage."""
    present = {token.text for token in tree.tokens}
    missing = [
        token
        for written, term in positive_terms(terms).items()
        if corrected.isdisjoint(query_tokens(written)) and present.isdisjoint(token.text for token in term.tokens)
        for token in term.tokens
    ]
    return replace(tree, tokens=(*tree.tokens, *missing))
