"""For a misspelt word that no note contains, suggest similar words that notes contain.

The lexical index has stems, such as ``kubernet``. First, the stems are found that are few edits away from the
misspelt word or from its stem. Then the words with these stems, their spellings, are read from some notes, and compared
with the misspelt word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.stores import tokens

MAX_SUGGESTIONS = 3
MIN_LENGTH = 4  # the minimum number of letters of a word that is corrected
TWO_EDITS_FROM = 8  # words of at least this many letters may be corrected by two edits, shorter words by one edit
MAX_LENGTH = 64  # the maximum number of letters of a word that is corrected, and of a stem of the vocabulary
MAX_STEMS = 12  # the spellings of at most this many stems, the closest, are read from notes
SPELLING_NOTES = 8  # the maximum number of notes from which the spellings of a stem are read
SPELLING_CHARACTERS = 20_000  # the maximum number of characters that are read of each field of a note

_BIT_COUNTS = np.array([number.bit_count() for number in range(256)], dtype=np.uint8)  # the 1 bits of each byte value
_SIGNATURE_BITS = 32


class _StemGroup(NamedTuple):
    """The stems of one length."""

    stems: Sequence[str]
    signatures: NDArray[np.uint32]  # the set of letters of each stem: each letter is hashed to one of 32 bits
    note_counts: Sequence[int]  # how many notes contain each stem


Vocabulary = Mapping[int, _StemGroup]  # the stems of a lexical index by their length


class SpellingIndex(Protocol):
    """The queries on the lexical index of a namespace, in one transaction."""

    def has_word(self, word: str) -> bool:
        """Return whether a note contains a word, given in lower case without accents."""

    def has_match(self, text: str) -> bool:
        """Return whether the text, parsed as a query, finds a visible note; false for a stopword, for example."""

    def spellings(self, stem: str) -> Counter[str]:
        """Count the words with this stem in the first :data:`SPELLING_NOTES` notes that contain the stem."""


def build_vocabulary(stems: Iterable[tuple[str, int]]) -> Vocabulary:
    """Group stems by length; ``stems`` has pairs of a stem and the number of notes that contain the stem."""
    by_length: dict[int, tuple[list[str], list[int]]] = {}
    for stem, note_count in stems:
        if len(stem) <= MAX_LENGTH:
            group, counts = by_length.setdefault(len(stem), ([], []))
            group.append(stem)
            counts.append(note_count)
    return {length: _StemGroup(group, _signatures(group), counts) for length, (group, counts) in by_length.items()}


def _signatures(words: Sequence[str]) -> NDArray[np.uint32]:
    """Return the set of letters of each word as 32 bits; the words have equal lengths, and letters may share a bit."""
    letters = np.frombuffer("".join(words).encode("utf-32-le"), dtype=np.uint32).reshape(len(words), -1)
    signatures: NDArray[np.uint32] = np.bitwise_or.reduce(np.uint32(1) << letters % np.uint32(_SIGNATURE_BITS), axis=1)
    return signatures


def stems_within(word: str, max_edits: int, vocabulary: Vocabulary) -> dict[str, tuple[int, int]]:
    """Return the stems at most ``max_edits`` from ``word``, each with its edit distance and its number of notes."""
    from rapidfuzz.distance import OSA  # noqa: PLC0415 (only misspelt queries need it)

    signature = _signatures([word])
    results = {}
    lengths = range(len(word) - max_edits, len(word) + max_edits + 1)
    for group in (vocabulary[length] for length in lengths if length in vocabulary):
        # An edit changes at most two bits of the signature: a stem that differs in more bits is too distant.
        bits_of_bytes = _BIT_COUNTS[(group.signatures ^ signature).view(np.uint8)].reshape(-1, signature.itemsize)
        differing_bits = bits_of_bytes.sum(axis=1)
        for row in np.flatnonzero(differing_bits <= 2 * max_edits).tolist():
            edits = OSA.distance(word, group.stems[row], score_cutoff=max_edits)
            if edits <= max_edits:
                results[group.stems[row]] = edits, group.note_counts[row]
    return results


def edit_distance(word: str, other: str) -> int:
    """Return how many edits turn one word into the other: insertions, deletions, substitutions and adjacent swaps.

    This is the optimal string alignment distance (restricted Damerau-Levenshtein): no substring is edited twice.
    """
    from rapidfuzz.distance import OSA  # noqa: PLC0415 (only misspelt queries need it)

    return OSA.distance(word, other)


def unknown_words(index: SpellingIndex, words: Sequence[str]) -> list[str]:
    """Return the distinct words that may be misspelt: words of letters that no note contains."""
    folded_words = {word: tokens.fold(word) for word in words}
    return [
        word
        for word, folded in folded_words.items()
        if MIN_LENGTH <= len(folded) <= MAX_LENGTH and folded.isalpha() and not index.has_word(folded)
    ]


def similar_words(index: SpellingIndex, vocabulary: Vocabulary, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the suggestions, best first, for each word that no note contains and that has a suggestion."""
    suggestions = {word: _suggestions(index, vocabulary, word) for word in unknown_words(index, words)}
    return {word: tuple(similar[:MAX_SUGGESTIONS]) for word, similar in suggestions.items() if similar}


def _suggestions(index: SpellingIndex, vocabulary: Vocabulary, word: str) -> list[str]:
    """Return the suggestions for a word, sorted by edit distance, then by the number of notes with the same stem."""
    folded = tokens.fold(word)
    max_edits = 1 if len(folded) < TWO_EDITS_FROM else 2
    sort_keys: dict[str, tuple[int, int]] = {}  # for each stem: (edit distance, -number of notes)
    for misspelling in {folded, tokens.stem(word)}:
        for stem, (edits, note_count) in stems_within(misspelling, max_edits, vocabulary).items():
            sort_keys[stem] = min((edits, -note_count), sort_keys.get(stem, (edits, -note_count)))
    closest_stems = sorted(sort_keys, key=lambda stem: (sort_keys[stem], stem))[:MAX_STEMS]
    suggestions = []
    for stem in closest_stems:
        spellings = index.spellings(stem)
        if spellings:
            edits, _, spelling = min(
                (edit_distance(folded, tokens.fold(spelling)), -count, spelling)
                for spelling, count in spellings.items()
            )
            if edits <= max_edits:  # similar stems are not enough: "medicine" is no misspelt "medical"
                suggestions.append((edits, sort_keys[stem][1], spelling))
    return [spelling for _, _, spelling in sorted(suggestions) if index.has_match(spelling)]
