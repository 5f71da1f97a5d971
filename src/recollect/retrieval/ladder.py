"""The fallback ladder: the queries that the lexical leg tries if the user's query finds nothing.

The steps are tried in this order until a step has results:

1. ``strongest_term``: the longest word of the query;
2. ``refreshed_sanitised``: the query without punctuation;
3. ``refreshed_strongest``: the longest word of the query without punctuation;
4. ``did_you_mean``: for each word that no note contains, the index terms with the most similar spelling;
5. ``trigram_fuzzy``: notes whose names are spelt like a word of the query.

The ladder does not continue after an error of the index. All steps but ``did_you_mean`` come from Jeffs Brain, which
calls them the retry ladder. Jeffs Brain refreshes the index before step 2; our index is always up to date.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from recollect.model import DEFAULT_NAMESPACE, Candidate, as_candidates
from recollect.query import Query, Token, TrigramIndex, query_tokens, sanitise
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

Chunks = Iterable[Candidate | Mapping[str, Any]]  # notes, which Jeffs Brain calls chunks

SPELLING_STEP, NAME_STEP = "did_you_mean", "trigram_fuzzy"
GUESSING_STEPS = SPELLING_STEP, NAME_STEP  # they guess which term or which note name the user meant
_MIN_LETTERS_ONE_EDIT, _MIN_LETTERS_TWO_EDITS = 5, 8  # how long a word must be to be corrected by one edit, or by two


class CallerNotes:
    """Notes that the caller passes for the last step of the ladder, because the index cannot search note names."""

    def __init__(self, chunks: Chunks) -> None:
        # In reversed order, so that the first of several notes with the same id is kept.
        self._chunks = {chunk.id: chunk for chunk in reversed(as_candidates("trigram_chunks", list(chunks)))}

    @cached_property
    def _index(self) -> TrigramIndex:
        return TrigramIndex(list(self._chunks.values())[::-1])  # in the caller's order

    def search(self, words: Sequence[str], limit: int) -> list[Candidate]:
        """Return the notes whose names are spelt like one of the words, the most similar first."""
        return [
            replace(self._chunks[match.id], score=match.similarity, lexical_rank=None)
            for match in self._index.search(words, limit)
        ]


class FallbackLadder:
    """Runs the steps of the ladder by the rules of a preset; one object serves one search."""

    def __init__(
        self,
        index: IndexAbilities,
        preset: Preset,
        aliases: Aliases | None,
        scope: SearchScope,
        chunks: CallerNotes | None,
    ) -> None:
        self._index = index
        self._preset = preset
        self._aliases = aliases
        self._scope = scope
        self._chunks = chunks
        self._corrected_words: frozenset[str] = frozenset()  # the words that the step did_you_mean replaces

    def run(
        self, request: SearchRequest, attempts: list[Attempt], search_terms: Callable[[Query], list[Candidate]]
    ) -> tuple[list[Candidate], Query]:
        """Return the results and the query of the first step with results; append each attempt to ``attempts``.

        The query is the user's if no step has results, or only the last step, which compares names. ``search_terms``
        runs a query in the index.
        """
        rules = self._preset.ladder
        stopwords = STOPWORDS if rules.skip_stopwords else ()
        full_query = request.query_with_exclusions  # None if the semantics are literal
        text = request.query if full_query is None else positive_text(full_query)
        content_words = [word for word in query_tokens(text) if word not in stopwords]
        for strategy, fallback in self._term_steps(text, content_words, request):
            tree, _ = truncate_query(parse_query(fallback, self._preset, self._aliases), self._preset.query.max_words)
            if full_query is not None:
                tree = exclude_terms(tree, full_query)
            results = search_terms(tree)
            # With filters, a correction without results is not recorded: it may be a term of a note that they hide.
            if results or strategy != SPELLING_STEP or not self._scope.filters:
                attempts.append(Attempt(strategy, fallback, len(results)))
            if results:
                if rules.strict_guesses:  # notes without the dropped terms get a lower confidence
                    tree = _add_missing_terms(tree, request.terms, self._corrected_words)
                return results, tree
        if rules.strict_guesses:  # a word with a digit is an identifier, and a similar one means something else
            content_words = [word for word in content_words if not any(map(str.isdigit, word))]
        if not content_words:
            return [], request.tree
        results = self._search_names(content_words, request)
        attempts.append(Attempt(NAME_STEP, " ".join(content_words), len(results)))
        return results, request.tree

    def _term_steps(self, text: str, words: Sequence[str], request: SearchRequest) -> Iterator[tuple[str, str]]:
        """Yield the name and the query text of each step that searches for terms: all steps but the last."""
        rules = self._preset.ladder
        yield from fallback_steps(text, STOPWORDS if rules.skip_stopwords else ())
        corrected = self._correct_spelling(words, request) if rules.vocabulary and words else ""
        if corrected:
            yield SPELLING_STEP, corrected

    def _search_names(self, words: Sequence[str], request: SearchRequest) -> list[Candidate]:
        """Return the notes whose names are spelt like one of the words."""
        words = words[: self._preset.query.max_words or None]  # 0 means all
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
            exclusions=request.query_with_exclusions,
        )
        return as_candidates("search_names", results)[: scope.depth]

    def _permitted(self, chunks: list[Candidate], request: SearchRequest) -> list[Candidate]:
        """Return the caller's notes that the index confirms to be in scope and not excluded."""
        scope, query = self._scope, request.query_with_exclusions
        has_exclusions = query is not None and any(token.operator == "NOT" for token in query.tokens)
        is_restricted = has_exclusions or scope.filters or scope.namespace != DEFAULT_NAMESPACE
        if not chunks or not is_restricted:
            return chunks
        if self._index.candidates is None:
            return []  # the index cannot confirm any note
        results = self._index.candidates.candidates(
            [chunk.id for chunk in chunks], namespace=scope.namespace, filters=scope.filters, exclusions=query
        )
        permitted_ids = {candidate.id for candidate in as_candidates("candidates", results)}
        return [chunk for chunk in chunks if chunk.id in permitted_ids]

    def _correct_spelling(self, words: Sequence[str], request: SearchRequest) -> str:
        """Return the index terms most similar to each word that no note contains; set ``_corrected_words``."""
        searched = query_tokens(" ".join(token.source or token.text for token in request.terms.tokens))
        words = [word for word in words if word in searched]  # without words beyond ``max_words``
        index = self._index.spelling
        guesses_by_word: Mapping[str, Sequence[str]] = (
            {} if index is None else index.similar_words(words, namespace=self._scope.namespace)
        )
        if self._preset.ladder.strict_guesses:
            close_guesses = {
                word: [guess for guess in guesses if _is_close(word, guess)]
                for word, guesses in guesses_by_word.items()
            }
            guesses_by_word = {word: guesses for word, guesses in close_guesses.items() if guesses}
        self._corrected_words = frozenset(guesses_by_word)
        return " ".join(dict.fromkeys(guess for word in words for guess in guesses_by_word.get(word, ())))


def fallback_steps(text: str, stopwords: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield the name and the query text of each of the first three steps.

    A step is left out if it has no words, or only words of ``stopwords``.
    """
    strongest = _strongest_term(text, stopwords)
    if strongest is not None and strongest != text.strip(WHITESPACE).lower():  # else it is the user's query
        yield "strongest_term", strongest
    sanitised = sanitise(text)
    if sanitised and not all(word in stopwords for word in sanitised.lower().split(" ")):
        yield "refreshed_sanitised", sanitised
    strongest = _strongest_term(sanitised, stopwords)
    if strongest is not None:
        yield "refreshed_strongest", strongest


def _strongest_term(text: str, stopwords: Collection[str]) -> str | None:
    """Return the longest word of a text that is no stopword, the first if several are equally long, or ``None``."""
    return max((word for word in query_tokens(text) if word not in stopwords), key=len, default=None)


def _is_close(word: str, guess: str) -> bool:
    """Return whether a guess has few enough edits for the length of the word, and a similar beginning.

    The beginning is similar if the first letters are equal, or if the first two letters are swapped.
    """
    folded_word, folded_guess = tokens.fold(word), tokens.fold(guess)
    is_swapped = folded_word[:2] == folded_guess[:2][::-1]
    min_letters = _MIN_LETTERS_ONE_EDIT if edit_distance(folded_word, folded_guess) <= 1 else _MIN_LETTERS_TWO_EDITS
    return (folded_word[:1] == folded_guess[:1] or is_swapped) and len(folded_word) >= min_letters


def _add_missing_terms(tree: Query, terms: Query, corrected: frozenset[str]) -> Query:
    """Return ``tree``, the query of a step, with the terms of the user's query that it neither has nor corrects.

    The purpose: a note that lacks these terms gets a lower coverage, and so a lower confidence.
    """
    present = {token.text for token in tree.tokens}
    missing: list[Token] = []
    for written, term in positive_terms(terms).items():
        is_corrected = not corrected.isdisjoint(query_tokens(written))
        if not is_corrected and present.isdisjoint(token.text for token in term.tokens):
            missing += term.tokens
    return replace(tree, tokens=(*tree.tokens, *missing))
