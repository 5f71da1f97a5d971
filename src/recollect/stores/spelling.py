"""Spelling suggestions: the indexed words that are few edits away from a word that no note contains.

The lexical index has stems, such as ``kubernet``. The word and its stem are compared with them; the suggestions are
full words as the notes spell them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.stores import tokens

MAX_SUGGESTIONS = 3
MIN_LENGTH = 4
"""Shorter words are never corrected."""
TWO_EDITS_FROM = 8
"""Words with at least this many letters may be two edits away, shorter ones one."""
MAX_LENGTH = 64
MAX_STEMS = 12
"""The number of closest stems whose spellings are read from notes."""
SPELLING_NOTES = 8
"""The number of notes from which the spellings of a stem are read."""
SPELLING_CHARACTERS = 20_000
"""The number of characters that are read of each field of a note."""

_BIT_COUNTS = np.array([number.bit_count() for number in range(256)], dtype=np.uint8)
_SIGNATURE_BITS = 32


class _Terms(NamedTuple):
    """The terms of one length."""

    terms: Sequence[str]
    signatures: NDArray[np.uint32]
    """The set of letters of each term, hashed to bits."""
    note_counts: Sequence[int]


Vocabulary = Mapping[int, _Terms]
"""The stems of an index by their length, each with the number of notes that contain it."""


class SpellingIndex(Protocol):
    """The queries on the lexical index of a namespace that suggestions need, in one transaction."""

    def has_word(self, word: str) -> bool:
        """Return whether a note contains a word, given in lower case without accents."""

    def has_match(self, text: str) -> bool:
        """Return whether a search for the text finds a note."""

    def spellings(self, stem: str) -> Counter[str]:
        """Count the spellings of a stem in the first notes that contain it."""


def build_vocabulary(stems: Iterable[tuple[str, int]]) -> Vocabulary:
    """Group stems, each with the number of notes that contain it, by length."""
    by_length: dict[int, tuple[list[str], list[int]]] = {}
    for stem, notes in stems:
        if len(stem) <= MAX_LENGTH:
            terms, counts = by_length.setdefault(len(stem), ([], []))
            terms.append(stem)
            counts.append(notes)
    return {length: _Terms(terms, _signatures(terms), counts) for length, (terms, counts) in by_length.items()}


def _signatures(terms: Sequence[str]) -> NDArray[np.uint32]:
    """Return the set of letters of each term as bits; the terms have equal lengths, and letters may share a bit."""
    letters = np.frombuffer("".join(terms).encode("utf-32-le"), dtype=np.uint32).reshape(len(terms), -1)
    signatures: NDArray[np.uint32] = np.bitwise_or.reduce(np.uint32(1) << letters % np.uint32(_SIGNATURE_BITS), axis=1)
    return signatures


def terms_within(word: str, max_edits: int, vocabulary: Vocabulary) -> dict[str, tuple[int, int]]:
    """Return the terms at most ``max_edits`` from ``word``, each with its distance and the number of its notes."""
    from rapidfuzz.distance import OSA  # noqa: PLC0415 (only misspelt queries need it)

    signature = _signatures([word])
    results = {}
    lengths = range(len(word) - max_edits, len(word) + max_edits + 1)
    for group in (vocabulary[length] for length in lengths if length in vocabulary):
        # An edit changes at most two bits of the signature, so that most terms need no comparison.
        differing = _BIT_COUNTS[(group.signatures ^ signature).view(np.uint8)].reshape(-1, signature.itemsize)
        for row in np.flatnonzero(differing.sum(axis=1) <= 2 * max_edits).tolist():
            edits = OSA.distance(word, group.terms[row], score_cutoff=max_edits)
            if edits <= max_edits:
                results[group.terms[row]] = edits, group.note_counts[row]
    return results


def edit_distance(word: str, other: str) -> int:
    """Return how many edits turn one word into the other: insertions, deletions, substitutions and adjacent swaps.

    It is the optimal string alignment distance (restricted Damerau-Levenshtein): no part is edited twice.
    """
    from rapidfuzz.distance import OSA  # noqa: PLC0415 (only misspelt queries need it)

    return OSA.distance(word, other)


def unknown_words(index: SpellingIndex, words: Sequence[str]) -> list[str]:
    """Return the distinct words that may be misspelt, because no note contains them."""
    folded = {word: tokens.fold(word) for word in words}
    return [
        word
        for word, letters in folded.items()
        if MIN_LENGTH <= len(letters) <= MAX_LENGTH and letters.isalpha() and not index.has_word(letters)
    ]


def similar_words(index: SpellingIndex, vocabulary: Vocabulary, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return, for each word that no note contains, the most similar words that notes contain, best first."""
    suggestions = {word: _suggestions(index, vocabulary, word) for word in unknown_words(index, words)}
    return {word: tuple(similar[:MAX_SUGGESTIONS]) for word, similar in suggestions.items() if similar}


def _suggestions(index: SpellingIndex, vocabulary: Vocabulary, word: str) -> list[str]:
    """Return the suggestions for a word: by edit distance, then the number of notes that contain them."""
    folded, stem = tokens.fold(word), tokens.stem(word)
    max_edits = 1 if len(folded) < TWO_EDITS_FROM else 2
    ranked: dict[str, tuple[int, int]] = {}
    for spelling in {folded, stem}:
        for term, (edits, notes) in terms_within(spelling, max_edits, vocabulary).items():
            ranked[term] = min((edits, -notes), ranked.get(term, (edits, -notes)))
    closest = sorted((edits, negative_count, term) for term, (edits, negative_count) in ranked.items())
    suggestions = []
    for _, negative_count, term in closest[:MAX_STEMS]:
        spellings = index.spellings(term)
        if spellings:
            edits, _, form = min(
                (edit_distance(folded, tokens.fold(form)), -count, form) for form, count in spellings.items()
            )
            if edits <= max_edits:  # similar stems do not suffice: "medicine" is no misspelt "medical"
                suggestions.append((edits, negative_count, form))
    return [form for _, _, form in sorted(suggestions) if index.has_match(form)]
