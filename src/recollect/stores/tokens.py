"""Split texts into tokens and stems as the lexical index does, and find the titles of other notes in a text.

The tokenizers of FTS5 are used for PostgreSQL, too; every thread has its own tokenizers. A folded word is in lower case
and without accents. A run is a sequence of consecutive stems, joined by spaces.

A note mentions a title if its text contains the title. Mentions become edges to the notes with this title. Only summary
and content are searched, not the note's title: the title of each section of a document repeats the document's title, so
each section would mention the first section. Mentions are found by stems; only those with the exact words become edges.
A title is ignored if over :data:`MAX_MENTIONS` notes mention it, or if over :data:`MAX_TITLE_NOTES` notes have it.
"""

from __future__ import annotations

import threading
from bisect import bisect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import apsw

from recollect.query import normalise
from recollect.query.terms import DUTCH_STOPWORDS, ENGLISH_STOPWORDS

BREAK = "\ue000"
"""A character between two texts that are tokenized together; the tokenizer returns it as a separate token."""


class _Tokenizers(threading.local):
    """The tokenizers of one thread, created on first use."""

    @cached_property
    def _connection(self) -> apsw.Connection:
        return apsw.Connection(":memory:")

    @cached_property
    def folding(self) -> apsw.FTS5Tokenizer:
        return self._connection.fts5_tokenizer("unicode61")

    @cached_property
    def stemming(self) -> apsw.FTS5Tokenizer:
        return self._connection.fts5_tokenizer("porter", ["unicode61"])


_tokenizers = _Tokenizers()


def indexed(text: Any) -> Any:
    """Return a text as it is indexed, normalised like a query; ``None`` stays ``None``. Also an SQL function."""
    return text if text is None or text.isascii() else normalise(text)


def word_stream(texts: Sequence[str]) -> list[str]:
    """Return the folded words of all texts, with :data:`BREAK` between two texts."""
    return _token_stream(_tokenizers.folding, texts)


def stem_stream(texts: Sequence[str]) -> list[str]:
    """Return the stems of all texts, as in the lexical index, with :data:`BREAK` between two texts."""
    return _token_stream(_tokenizers.stemming, texts)


def stems_of(text: str) -> list[str]:
    """Return the stems of one text, as in the lexical index."""
    return _tokens(_tokenizers.stemming, indexed(text))


def fold(word: str) -> str:
    """Return a word in lower case and without accents; "" if the text is not a single word."""
    return _single_token(_tokenizers.folding, word)


def stem(word: str) -> str:
    """Return the stem of a word; "" if the text is not a single word."""
    return _single_token(_tokenizers.stemming, word)


def spellings_of(text: str, stems: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the stem and the word in lower case, for each word of the text whose stem is in ``stems``."""
    encoded = text.encode()
    tokens: Any = _tokenizers.stemming(encoded, apsw.FTS5_TOKENIZE_DOCUMENT, None)
    for start, end, token in tokens:
        if token in stems:
            yield token, encoded[start:end].decode().lower()


def _token_stream(tokenizer: apsw.FTS5Tokenizer, texts: Sequence[str]) -> list[str]:
    joined: str = f" {BREAK} ".join(map(indexed, texts))
    if joined.count(BREAK) >= len(texts):  # a text contains BREAK: double it there, because two are a different token
        joined = f" {BREAK} ".join(indexed(text).replace(BREAK, f"{BREAK}{BREAK}") for text in texts)
    return _tokens(tokenizer, joined)


def _tokens(tokenizer: apsw.FTS5Tokenizer, text: str) -> list[str]:
    tokens: Any = tokenizer(
        text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
    )
    return list(tokens)


def _single_token(tokenizer: apsw.FTS5Tokenizer, word: str) -> str:
    tokens: Any = tokenizer(indexed(word).encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False)
    return str(tokens[0][0]) if len(tokens) == 1 else ""


MAX_TITLE_NOTES = 64
MAX_MENTIONS = 1000
MAX_TITLE_WORDS = 12  # longer titles are ignored
MAX_TITLE_LENGTH = 300  # in characters; longer titles are ignored
MIN_WORD_LENGTH = 4  # the minimum number of characters of a title of one word

_STOPWORDS = ENGLISH_STOPWORDS | DUTCH_STOPWORDS


class Title(NamedTuple):
    """The title of a note, or a variant of the title, as other notes may mention it."""

    words: str  # the folded words, joined by spaces
    stems: str  # the stems of the words, joined by spaces
    text: str  # the title or variant as it is written


class NoteText(NamedTuple):
    """The texts of the note with the key ``note``."""

    note: int
    title: str
    summary: str
    content: str


class Mention(NamedTuple):
    """The mention of a title by a note; both are given by their keys."""

    title: int
    note: int
    exact: bool  # whether the text contains the exact words, not only words with the same stems


TitleLookup = Callable[[set[str]], tuple[dict[str, list[tuple[int, str]]], set[str]]]
"""Looks up runs among the stems of titles, and returns two values.

The first value maps a run to the titles with exactly these stems: each title as its key and its folded words. Titles
that too many notes mention are left out. The second value is the set of the runs with which a longer title starts.
"""


def titles_by_note(texts: Sequence[NoteText]) -> dict[int, list[Title]]:
    """Return the titles of each note that has a title: the title ``Tenet (film)``, and its variant ``Tenet``.

    Titles that match everywhere (a single short word, a number, only stopwords) and very long titles are left out.
    """
    names: list[tuple[int, str]] = []
    for text in texts:
        if text.title and len(text.title) <= MAX_TITLE_LENGTH and BREAK not in text.title:
            names.append((text.note, text.title))
            before, bracket, rest = text.title.rstrip().rpartition("(")
            if bracket and rest.find(")") == len(rest) - 1:  # the title ends with the closing bracket
                names.append((text.note, before))
    words_of_names = " ".join(word_stream([name for _, name in names])).split(BREAK)
    stems_of_names = " ".join(stem_stream([name for _, name in names])).split(BREAK)
    titles: dict[int, list[Title]] = {text.note: [] for text in texts if text.title}
    # If there are no names, the other two lists have one empty text: hence not strict.
    for (note, name), words, stems in zip(names, words_of_names, stems_of_names, strict=False):
        title = Title(words.strip(), stems.strip(), name)
        if _is_distinctive(title.words.split()) and title.words not in [other.words for other in titles[note]]:
            titles[note].append(title)
    return titles


def _is_distinctive(words: Sequence[str]) -> bool:
    """Return whether the words of a title are unlikely to occur in a text that does not mean the title."""
    if len(words) == 1:
        (word,) = words
        return len(word) >= MIN_WORD_LENGTH and not word.isnumeric() and word not in _STOPWORDS
    return 0 < len(words) <= MAX_TITLE_WORDS and not _STOPWORDS.issuperset(words)


def folded_text(text: NoteText) -> str:
    """Return the folded words of a note's summary and content, with a space before and after each."""
    return f" {' '.join(word_stream([text.summary, text.content]))} "


def contains_phrase(words: str, folded: str) -> bool:
    """Return whether ``folded``, a :func:`folded_text`, contains the words of a title."""
    return f" {words} " in folded


def find_mentions(
    lookup: TitleLookup,
    texts: Sequence[NoteText],
    own_titles: Mapping[int, Sequence[Title]],
    term_filter: TermFilter | None = None,
) -> list[Mention]:
    """Return the mentions of titles in texts, except a note's mentions of its own titles (``own_titles``, by note).

    All texts are joined to one list of stems. First, runs of one stem are looked up, then those runs of two stems whose
    first stem starts a longer title, and so on. ``term_filter`` saves lookups; the stems of the texts are added to it.
    """
    parts = [(index, part) for index, text in enumerate(texts) for part in (text.summary, text.content) if part]
    stems = stem_stream([part for _, part in parts])
    distinct_stems = set(stems)
    titles, prefixes = lookup(distinct_stems if term_filter is None else term_filter.add_terms(distinct_stems))
    relevant = titles.keys() | prefixes
    offsets = [offset for offset, stem in enumerate(stems) if stem in relevant] if relevant else []
    matches = [(offset, stems[offset]) for offset in offsets if stems[offset] in titles]
    starts = [offset for offset in offsets if stems[offset] in prefixes]
    for length in range(2, MAX_TITLE_WORDS + 1):
        runs = [
            (offset, " ".join(stems[offset : offset + length])) for offset in starts if offset + length <= len(stems)
        ]
        if not runs:
            break
        distinct_runs = {run for _, run in runs}
        if term_filter is not None:
            distinct_runs = term_filter.may_start_title(distinct_runs)
        new_titles, prefixes = lookup(distinct_runs)
        titles |= new_titles
        matches += [(offset, run) for offset, run in runs if run in new_titles]
        starts = [offset for offset, run in runs if run in prefixes] if prefixes else []
    breaks = [offset for offset, stem in enumerate(stems) if stem == BREAK] if matches else []
    titles_by_text: dict[int, set[tuple[int, str]]] = {}
    for offset, run in matches:
        index, _ = parts[bisect(breaks, offset)]  # the index of a part is the number of breaks before it
        own_words = [title.words for title in own_titles.get(texts[index].note, ())]
        for key, words in titles[run]:
            if words not in own_words:
                titles_by_text.setdefault(index, set()).add((key, words))
    mentions: list[Mention] = []
    for index, keys_and_words in titles_by_text.items():
        folded = folded_text(texts[index])
        mentions += [Mention(key, texts[index].note, contains_phrase(words, folded)) for key, words in keys_and_words]
    return mentions


FILTER_BUCKETS = 2**22  # of one byte each
MIN_TITLES = 256  # a batch with fewer titled notes builds no filter of the namespace

_TERM, _PREFIX, _TITLE = 1, 2, 4
"""Bits of a bucket: the bucket has the hash of a term, of the first stems of a title, or of all stems of a title."""


class TermFilter:
    """A Bloom filter, with one hash function, of the terms and titles of a namespace: false positives are possible.

    It saves lookups. Looking up a title in the index takes as long as writing a short note, and a batch of thousands of
    notes with new titles would do thousands of lookups that find nothing.
    """

    def __init__(self, terms: Iterable[str] = (), titles: Iterable[str] = ()) -> None:
        self._buckets = bytearray(FILTER_BUCKETS)
        self.add_terms(terms)
        self.add_titles(titles)

    def add_titles(self, titles: Iterable[str]) -> None:
        """Add titles, given by their stems. The stems are added as terms, too: the titled notes contain them."""
        buckets = self._buckets
        for title in titles:
            buckets[hash(title) % FILTER_BUCKETS] |= _TITLE | _PREFIX  # a title starts with itself
            stems = title.split(" ")
            for stem in stems:
                buckets[hash(stem) % FILTER_BUCKETS] |= _TERM
            for length in range(1, len(stems)):
                buckets[hash(" ".join(stems[:length])) % FILTER_BUCKETS] |= _PREFIX

    def add_terms(self, terms: Iterable[str]) -> set[str]:
        """Add the terms of notes, and return those terms with which a title may start."""
        buckets, prefixes = self._buckets, set()
        for term in terms:
            bucket = hash(term) % FILTER_BUCKETS
            if buckets[bucket] & _PREFIX:
                prefixes.add(term)
            buckets[bucket] |= _TERM
        return prefixes

    def may_contain(self, titles: Iterable[tuple[int, str]]) -> set[int]:
        """Return the keys of the titles whose stems may all occur in notes; ``titles`` has pairs of a key and stems."""
        buckets, keys = self._buckets, set()
        for key, title in titles:
            # From the end: the last stem is the rarest, as in "chapter 17".
            if all(buckets[hash(stem) % FILTER_BUCKETS] & _TERM for stem in reversed(title.split(" "))):
                keys.add(key)
        return keys

    def may_be_title(self, stems: str) -> bool:
        """Return whether there may be a title with these stems."""
        return bool(self._buckets[hash(stems) % FILTER_BUCKETS] & _TITLE)

    def may_start_title(self, runs: Iterable[str]) -> set[str]:
        """Return the runs of stems with which a title may start."""
        buckets = self._buckets
        return {run for run in runs if buckets[hash(run) % FILTER_BUCKETS] & _PREFIX}


class TermFilterCache:
    """The filters of the namespaces that this process wrote to last, each with the namespace's revision at that time.

    A writer takes the filter of its namespace out of the cache, and puts it back after its transaction is committed.
    """

    def __init__(self, capacity: int) -> None:
        self._lock = threading.Lock()
        self._capacity = capacity
        self._filters: dict[int, tuple[int, TermFilter]] = {}

    def take(self, namespace_id: int, revision: int) -> TermFilter | None:
        """Remove the filter of a namespace, and return it if it describes this revision; else return ``None``."""
        with self._lock:
            cached = self._filters.pop(namespace_id, None)
        return cached[1] if cached and cached[0] == revision else None

    def put(self, filters: Mapping[int, tuple[int, TermFilter]]) -> None:
        """Add the filters of namespaces, each with its revision."""
        with self._lock:
            self._filters |= filters
            for namespace_id in list(self._filters)[: -self._capacity]:  # all except the latest
                del self._filters[namespace_id]
