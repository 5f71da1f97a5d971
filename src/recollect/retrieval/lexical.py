"""The lexical leg: the query's words, and the retry ladder where they find nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from recollect import arguments
from recollect.model import DEFAULT_NAMESPACE, Candidate, as_candidates
from recollect.query import Query, compile_fts5, query_tokens
from recollect.query.terms import STOPWORDS
from recollect.retrieval.chunks import NamedChunks
from recollect.retrieval.exact_forms import ONE_WORD_DEPTH, discount_stem_only, is_one_word
from recollect.retrieval.ladder import BY_NAME, GUESSES, climb
from recollect.retrieval.matching import sought
from recollect.retrieval.request import Aliases, Place, Request, excluding, read_tree, shortened, wanted
from recollect.retrieval.trace import Attempt, StemOnly
from recollect.stores import tokens
from recollect.stores.spelling import edit_distance

if TYPE_CHECKING:
    from recollect.retrieval.preset import Preset
    from recollect.stores.base import SearchIndex

__all__ = ["LexicalLeg", "Worded"]


class Worded(NamedTuple):
    """What the lexical leg came to."""

    found: list[Candidate]
    tree: Query
    """The words that found it: the query's own, or a rung's."""
    by_name: bool = False
    """Whether it was found by names that are spelt alike, and not by words at all."""
    guessed: bool = False
    """Whether it was a guess which words, or names, were meant."""
    stem_only: Mapping[str, StemOnly] = MappingProxyType({})
    """The discounts of notes that hold words of the query only in another form, by note id."""


class LexicalLeg:
    """Searches an index by words, as a preset says."""

    def __init__(
        self, index: SearchIndex, preset: Preset, aliases: Aliases | None, trigram_chunks: NamedChunks | None = None
    ) -> None:
        """Keep the parts."""
        self._index = index
        self._preset = preset
        self._aliases = aliases
        self._chunks = trigram_chunks
        self._stem_only: Mapping[str, StemOnly] = {}
        self._guessed: frozenset[str] = frozenset()

    def search(self, request: Request, place: Place, attempts: list[Attempt], *, retry: bool) -> Worded:
        """Return what the words find, the best first, and write down each try."""
        if self._preset.query.match == "all_then_any" and not request.tree.has_operators:
            every = _all_words(request.words)
            found = self._ask(every, place)
            attempts.append(Attempt("initial", compile_fts5(every), len(found)))
            if not found:
                found = self._ask(request.tree, place)
                attempts.append(Attempt("any_word", request.compiled, len(found)))
        else:
            found = self._ask(request.tree, place)
            attempts.append(Attempt("initial", request.compiled, len(found)))
        if found or not retry or not self._preset.ladder.on:
            return Worded(found, request.tree, stem_only=self._stem_only)
        tried = [request.tree]

        def search(text: str) -> list[Candidate]:
            tried.append(self._rung(text, request))
            return self._ask(tried[-1], place)

        found = climb(
            request.query if request.excluding is None else wanted(request.excluding),
            attempts,
            search=search,
            names=lambda words: self._names(words, request, place),
            spelt=(lambda words: self._spelt(words, request, place)) if self._preset.ladder.vocabulary else None,
            discreet=bool(place.filters),
            stopwords=STOPWORDS if self._preset.ladder.skip_stopwords else (),
            guess_numbers=not self._preset.ladder.strict_guesses,
        )
        if not found:
            return Worded(found, request.tree)
        by_name, guessed = attempts[-1].strategy == BY_NAME, attempts[-1].strategy in GUESSES
        stem_only = {} if by_name else self._stem_only
        tree = request.tree if by_name else tried[-1]
        if self._preset.ladder.strict_guesses and not by_name:
            tree = _with_missing_words(tree, request.words, self._guessed)
        return Worded(found, tree, by_name, guessed, stem_only)

    def _ask(self, tree: Query, place: Place) -> list[Candidate]:
        if not tree.tokens:
            return []
        weight = self._preset.query.stem_only_weight
        depth = max(place.depth, ONE_WORD_DEPTH) if weight < 1 and is_one_word(tree) else place.depth
        answer = self._index.search_text(
            tree,
            depth,
            namespace=place.namespace,
            filters=place.filters,
            reading=self._preset.query.reading,
        )
        found, self._stem_only = discount_stem_only(as_candidates("search_text", answer)[:depth], tree, weight)
        return found[: place.depth]

    def score(self, result: Worded, candidates: Sequence[Candidate], place: Place) -> list[Candidate]:
        """Return the results of the lexical leg, followed by those of ``candidates`` that match but are not among them.

        Each has the BM25 score that :meth:`search` would give it. An index without ``text_scores`` adds none.
        """
        known = {candidate.id for candidate in result.found}
        missing = {candidate.id: candidate for candidate in candidates if candidate.id not in known}
        text_scores = getattr(self._index, "text_scores", None)
        if text_scores is None or result.by_name or not missing or not result.tree.tokens:
            return result.found
        scores = text_scores(result.tree, list(missing), namespace=place.namespace, reading=self._preset.query.reading)
        matching = []
        for note, candidate in missing.items():
            if note in scores:
                scored = candidate.copy()
                scored.score = scored.lexical_score = arguments.number("text_scores", scores[note])
                matching.append(scored)
        weight = self._preset.query.stem_only_weight
        exact = [candidate.score for candidate in result.found if candidate.id not in result.stem_only]
        matching, _ = discount_stem_only(
            matching, result.tree, weight, highest=weight * min(exact) if exact and is_one_word(result.tree) else None
        )
        matching.sort(key=lambda candidate: (-candidate.score, candidate.path, candidate.id))
        for rank, candidate in enumerate(matching, start=len(result.found) + 1):
            candidate.lexical_rank = rank
        return [*result.found, *matching]

    def _rung(self, text: str, request: Request) -> Query:
        """Return a rung's words as a query; what the person excluded stays excluded."""
        tree, _ = shortened(read_tree(text, self._preset, self._aliases), self._preset.query.most_words)
        return tree if request.excluding is None else excluding(tree, request.excluding)

    def _names(self, words: Sequence[str], request: Request, place: Place) -> list[Candidate]:
        """Return the notes whose names are spelt like one of the words."""
        sought = words[: self._preset.query.most_words or None]
        if self._chunks is not None:
            return self._allowed(self._chunks.search(sought, place.depth), request, place)
        search_names = getattr(self._index, "search_names", None)
        if search_names is None:
            return []
        found = search_names(
            sought,
            place.depth,
            namespace=place.namespace,
            filters=place.filters,
            titles=self._preset.ladder.titles,
            without=request.excluding,
        )
        return as_candidates("search_names", found)[: place.depth]

    def _allowed(self, found: list[Candidate], request: Request, place: Place) -> list[Candidate]:
        """Return those of the caller's own notes that are in the place, if one is named, and not excluded."""
        excluded = request.excluding is not None and any(token.operator == "NOT" for token in request.excluding.tokens)
        if not found or not (excluded or place.filters or place.namespace != DEFAULT_NAMESPACE):
            return found
        candidates = getattr(self._index, "candidates", None)
        if candidates is None:
            return []  # nobody can tell, and what must not be found is not
        allowed = candidates(
            [each.id for each in found], namespace=place.namespace, filters=place.filters, without=request.excluding
        )
        kept = {each.id for each in as_candidates("candidates", allowed)}
        return [each for each in found if each.id in kept]

    def _spelt(self, asked: Sequence[str], request: Request, place: Place) -> str:
        """Return such words as the index knows in the place of those that it does not; stopwords are never misspelt."""
        own = query_tokens(" ".join(token.source or token.text for token in request.words.tokens))
        words = [word for word in asked if word in own]
        similar_words = getattr(self._index, "similar_words", None)
        similar: Mapping[str, Sequence[str]] = (
            similar_words(words, namespace=place.namespace) if similar_words is not None else {}
        )
        if self._preset.ladder.strict_guesses:
            near = {word: [each for each in guesses if _is_near(word, each)] for word, guesses in similar.items()}
            similar = {word: guesses for word, guesses in near.items() if guesses}
        self._guessed = frozenset(similar)
        known = [alternative for word in words for alternative in similar.get(word, ())]
        return " ".join(dict.fromkeys(known))


def _all_words(tree: Query) -> Query:
    """Return the query with all its words required."""
    required = [token._replace(operator="AND") if token.alternative <= 1 else token for token in tree.tokens]
    return replace(tree, tokens=tuple(required))


_ONE_EDIT, _TWO_EDITS = 5, 8
"""The fewest letters of a word that may be one edit away from what was meant, and two."""


def _is_near(word: str, guess: str) -> bool:
    """Return whether a word is long enough to be misspelt so, and begins like the guess, or with letters swapped."""
    plain, other = tokens.plain(word), tokens.plain(guess)
    begins_alike = plain[:1] == other[:1] or plain[:2] == other[1::-1]
    return begins_alike and len(plain) >= (_ONE_EDIT if edit_distance(plain, other) <= 1 else _TWO_EDITS)


def _with_missing_words(tree: Query, words: Query, guessed: frozenset[str]) -> Query:
    """Return a fallback query with the words that nothing took the place of: no note holds them, but they count."""
    found = {token.text for token in tree.tokens}
    missing = [
        token
        for written, word in sought(words).items()
        if guessed.isdisjoint(query_tokens(written)) and found.isdisjoint(token.text for token in word.tokens)
        for token in word.tokens
    ]
    return replace(tree, tokens=(*tree.tokens, *missing))
