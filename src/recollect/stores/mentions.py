"""Titles and mentions: how a note can be named in the text of another, and which titles texts name.

A mention leads from a note to a title, and from there to the notes that have it. Only a note's summary and content can
mention a title. Its own title cannot: every section of a document repeats the title of the document in its own, so
that each would mention the first one. Mentions are found by stems, with the tokenizer of the lexical index, so that
looking for titles in new text and for text with a new title agree; only those of the exact words count. A title that
more than :data:`MAX_MENTIONS` notes mention says nothing, nor does one that more than :data:`MAX_TITLE_NOTES` have.

The titles of a namespace, sorted by their stems, are read as a tree: which stems start a title, which two stems start
one that starts with the first, and so on. Texts are looked up with one query for each depth.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from recollect.query.terms import DUTCH, ENGLISH
from recollect.stores import tokens
from recollect.stores.tokens import BREAK

__all__ = [
    "MAX_MENTIONS",
    "MAX_TITLE_NOTES",
    "Mention",
    "NoteText",
    "RunFilter",
    "StemStream",
    "Title",
    "TitleLookup",
    "contains_phrase",
    "find_mentions",
    "folded_text",
    "read_titles",
    "titles_by_note",
]

MAX_TITLE_NOTES = 64
MAX_MENTIONS = 1000
MAX_TITLE_WORDS = 12
MAX_TITLE_LENGTH = 300
MIN_WORD_LENGTH = 4
"""How long a title of one word is at least."""

_STOPWORDS = ENGLISH | DUTCH


class Title(NamedTuple):
    """One way to name a note."""

    words: str
    """The folded words, joined by spaces."""
    stems: str
    """Their stems, as the lexical index has them."""
    text: str


class NoteText(NamedTuple):
    """The texts of a note in which it may mention titles, summary and content, and its own title."""

    note: int
    title: str
    summary: str
    content: str


class Mention(NamedTuple):
    """A title that a note mentions."""

    title: int
    note: int
    exact: bool
    """Whether its very words stand there, or others of the same stems."""


class TitleLookup(Protocol):
    """Looks runs of stems up among the titles of a namespace."""

    def __call__(self, runs: set[str], /) -> tuple[dict[str, list[tuple[int, str]]], set[str]]:
        """Return the keys and words of the titles that are such a run, and the runs that start a longer title.

        Titles that too many notes mention are left out, but not the longer ones.
        """


class RunFilter(Protocol):
    """Knows which runs of stems no title starts with."""

    def add_terms(self, terms: set[str], /) -> set[str]:
        """Add the terms of new notes, and return those that a title may start with."""

    def may_start_title(self, runs: set[str], /) -> set[str]:
        """Return the runs of stems that a title may start with."""


def read_titles(titles: Sequence[str]) -> list[list[Title]]:
    """Return the ways in which notes with these titles may be named: ``Tenet (film)`` also as ``Tenet``.

    Those that would be found everywhere are left out: a word that is short, a number or a stopword, and stopwords
    alone. So are those that are too long to be mentioned.

    >>> [[title.words for title in titles] for titles in read_titles(["Tenet (film)", "The"])]
    [['tenet film', 'tenet'], []]
    """
    texts = [title if len(title) <= MAX_TITLE_LENGTH and BREAK not in title else "" for title in titles]
    names = _titles(texts)
    shorter = {
        index: before
        for index, text in enumerate(texts)
        if ")" in text and (before := _before_brackets(text)) is not None
    }
    for index, added in zip(shorter, _titles(list(shorter.values())), strict=True):
        names[index] += [title for title in added if title.words not in [name.words for name in names[index]]]
    return names


def _titles(texts: Sequence[str]) -> list[list[Title]]:
    if not texts:
        return []
    words = " ".join(tokens.words(texts)).split(BREAK)
    stems = " ".join(tokens.stems(texts)).split(BREAK)
    titles = map(Title, map(str.strip, words), map(str.strip, stems), texts)
    return [[title] if _is_distinctive(title.words.split()) else [] for title in titles]


def _before_brackets(text: str) -> str | None:
    before, bracket, within = text.rstrip().rpartition("(")
    return before if bracket and within.find(")") == len(within) - 1 else None


def _is_distinctive(words: Sequence[str]) -> bool:
    if len(words) == 1:
        (word,) = words
        return len(word) >= MIN_WORD_LENGTH and not word.isnumeric() and word not in _STOPWORDS
    return 0 < len(words) <= MAX_TITLE_WORDS and not _STOPWORDS.issuperset(words)


def titles_by_note(texts: Sequence[NoteText]) -> dict[int, list[Title]]:
    """Return the titles of the notes that have one.

    >>> [title.words for title in titles_by_note([NoteText(7, "Tenet (film)", "", "By Nolan.")])[7]]
    ['tenet film', 'tenet']
    """
    titled = [text for text in texts if text.title]
    return dict(zip((text.note for text in titled), read_titles([text.title for text in titled]), strict=True))


class StemStream(NamedTuple):
    """The stems of the summaries and contents of notes, with a break between one and the next."""

    stems: list[str]
    owners: list[int]
    """The index of the note that each part belongs to."""

    @classmethod
    def of(cls, texts: Sequence[NoteText]) -> StemStream:
        """Read what may mention a title.

        >>> StemStream.of([NoteText(7, "Plan", "", "To Kyoto.")]).stems
        ['to', 'kyoto']
        """
        parts, owners = [], []
        for index, (_, _, summary, content) in enumerate(texts):
            if summary:
                parts.append(summary)
                owners.append(index)
            parts.append(content)
            owners.append(index)
        return cls(tokens.stems(parts), owners)


def folded_text(text: NoteText) -> str:
    """Return the folded words of a note's summary and content, with a space on both sides of each.

    >>> folded_text(NoteText(7, "Kyoto", "", "Our trips.")).split(BREAK)
    [' ', ' our trips ']
    """
    return f" {' '.join(tokens.words([text.summary, text.content]))} "


def contains_phrase(words: str, folded: str) -> bool:
    """Return whether the words of a title stand in such a text.

    >>> contains_phrase("our trip", " to kyoto on our trip "), contains_phrase("our trip", " our trips ")
    (True, False)
    """
    return f" {words} " in folded


def find_mentions(
    lookup: TitleLookup,
    texts: Sequence[NoteText],
    own: Mapping[int, Sequence[Title]],
    stream: StemStream,
    run_filter: RunFilter | None = None,
) -> list[Mention]:
    """Find the titles that texts mention and that are not among the notes' own.

    >>> texts = [NoteText(7, "Plan", "", "To Kyoto in spring.")]
    >>> kyoto = {"kyoto": [(1, "kyoto")]}
    >>> lookup = lambda runs: (kyoto if "kyoto" in runs else {}, set())
    >>> find_mentions(lookup, texts, titles_by_note(texts), StemStream.of(texts))
    [Mention(title=1, note=7, exact=True)]
    """
    stems = stream.stems
    distinct = set(stems)
    titles, longer = lookup(distinct if run_filter is None else run_filter.add_terms(distinct))
    relevant = titles.keys() | longer
    offsets = [offset for offset, stem in enumerate(stems) if stem in relevant] if relevant else []
    matches = [(offset, stems[offset]) for offset in offsets if stems[offset] in titles]
    starts = [offset for offset in offsets if stems[offset] in longer]
    for length in range(2, MAX_TITLE_WORDS + 1):
        runs = [
            (offset, " ".join(stems[offset : offset + length])) for offset in starts if offset + length <= len(stems)
        ]
        if not runs:
            break
        distinct = {run for _, run in runs}
        matching, longer = lookup(distinct if run_filter is None else run_filter.may_start_title(distinct))
        titles |= matching
        matches += [match for match in runs if match[1] in matching]
        starts = [offset for offset, run in runs if run in longer] if longer else []
    breaks = [offset for offset, stem in enumerate(stems) if stem == BREAK] if matches else []
    mentioned: dict[int, set[tuple[int, str]]] = {}
    for offset, run in matches:
        index = stream.owners[bisect(breaks, offset)]
        own_words = [title.words for title in own.get(texts[index].note, ())]
        for title in titles[run]:
            if title[1] not in own_words:
                mentioned.setdefault(index, set()).add(title)
    mentions: list[Mention] = []
    for index, keys_and_words in mentioned.items():
        folded = folded_text(texts[index])
        mentions += [Mention(key, texts[index].note, contains_phrase(words, folded)) for key, words in keys_and_words]
    return mentions
