"""Which titles texts name, found by asking which runs of words are titles.

A mention leads to a title, and from there to the notes that bear it. Only a note's summary and content can mention a
title. Its own title cannot: every section of a document repeats the title of the document in its own, so that each
would mention the first one. For the same reason sections of one document do not mention each other, whatever their
texts say (:func:`of_one_document`). A mention is found by stems, as the word index reads
text, and remembers whether the very words stand there: only then it counts. A title that more than :data:`MOST_NAMERS`
notes hold by its stems says nothing, nor does one that more than :data:`MOST_BEARERS` bear.

The titles of a namespace, sorted by their stems, are read as a tree: which words begin a title, which two words begin
one that begins with the first, and so on. Texts are looked up with one question for each depth.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from recollect.stores import tokens
from recollect.stores.known_words import KnownWords
from recollect.stores.titles import MOST_WORDS, Title, read_titles
from recollect.stores.tokens import BREAK

__all__ = [
    "MOST_BEARERS",
    "MOST_NAMERS",
    "Mention",
    "Parts",
    "Text",
    "TitlesAt",
    "given_titles",
    "named_titles",
    "of_one_document",
    "spelled",
    "stands_in",
]

MOST_BEARERS = 64
MOST_NAMERS = 1000


class Text(NamedTuple):
    """The texts of a note in which it may name titles, summary and content, and its own title."""

    note: int
    title: str
    summary: str
    content: str


class Mention(NamedTuple):
    """A title that a note names."""

    title: int
    note: int
    exact: int
    """1 if the very words stand there, 0 if others of the same stems do."""


class TitlesAt(Protocol):
    """What is asked of the titles of a namespace."""

    def __call__(self, runs: set[str], /) -> tuple[dict[str, list[tuple[int, str]]], set[str]]:
        """Return for runs of stems that are titles their keys and words, and the runs that longer titles begin with.

        Titles that are common are passed over, but for the longer ones.
        """


def given_titles(texts: Sequence[Text]) -> dict[int, list[Title]]:
    """Return the titles that notes bear by what they say.

    >>> [title.words for title in given_titles([Text(7, "Tenet (film)", "", "By Nolan.")])[7]]
    ['tenet film', 'tenet']
    """
    titled = [text for text in texts if text.title]
    return dict(zip((text.note for text in titled), read_titles([text.title for text in titled]), strict=True))


class Parts(NamedTuple):
    """The summaries and contents of notes in one row, with a break between one and the next."""

    stems: list[str]
    owners: list[int]
    """The place of the note that each part is of."""

    @classmethod
    def of(cls, texts: Sequence[Text]) -> Parts:
        """Read what may name a title.

        >>> Parts.of([Text(7, "Plan", "", "To Kyoto.")]).stems
        ['to', 'kyoto']
        """
        parts, owners = [], []
        for place, (_, _, summary, content) in enumerate(texts):
            if summary:
                parts.append(summary)
                owners.append(place)
            parts.append(content)
            owners.append(place)
        return cls(tokens.stems(parts), owners)


def spelled(text: Text) -> str:
    """Return the words of a note's summary and content as one line, with a space on both sides of each.

    >>> spelled(Text(7, "Kyoto", "", "Our trips.")).split(BREAK)
    [' ', ' our trips ']
    """
    return f" {' '.join(tokens.words([text.summary, text.content]))} "


def of_one_document(path: str, session: str, other_path: str, other_session: str) -> bool:
    """Return whether two notes are sections of one document: its path is their session, and begins their paths.

    >>> of_one_document("page.md", "page.md", "page.md#keys", "page.md")
    True
    >>> of_one_document("tea.md", "shopping", "milk.md", "shopping")
    False
    """
    return bool(session) and session == other_session and path.startswith(session) and other_path.startswith(session)


def stands_in(words: str, line: str) -> int:
    """Return whether the words of a title stand in such a line, as 1 or 0.

    >>> stands_in("our trip", " to kyoto on our trip "), stands_in("our trip", " our trips ")
    (1, 0)
    """
    return int(f" {words} " in line)


def named_titles(
    titles_at: TitlesAt,
    texts: Sequence[Text],
    given: Mapping[int, Sequence[Title]],
    parts: Parts,
    told: KnownWords | None = None,
) -> list[Mention]:
    """Find the titles that texts name and their notes do not bear.

    >>> texts = [Text(7, "Plan", "", "To Kyoto in spring.")]
    >>> given = given_titles(texts)
    >>> kyoto = {"kyoto": [(1, "kyoto")]}
    >>> named_titles(lambda runs: (kyoto if "kyoto" in runs else {}, set()), texts, given, Parts.of(texts))
    [Mention(title=1, note=7, exact=1)]
    """
    stems = parts.stems
    words = set(stems)
    titles, longer = titles_at(words if told is None else told.add_and_tell(words))
    telling = titles.keys() | longer
    spots = [at for at, stem in enumerate(stems) if stem in telling] if telling else []
    found = [(at, stems[at]) for at in spots if stems[at] in titles]
    starts = [at for at in spots if stems[at] in longer]
    for depth in range(2, MOST_WORDS + 1):
        runs = [(at, " ".join(stems[at : at + depth])) for at in starts if at + depth <= len(stems)]
        if not runs:
            break
        spans = {run for _, run in runs}
        there, longer = titles_at(spans if told is None else told.may_begin(spans))
        titles |= there
        found += [each for each in runs if each[1] in there]
        starts = [at for at, run in runs if run in longer] if longer else []
    breaks = [at for at, stem in enumerate(stems) if stem == BREAK] if found else []
    named: dict[int, set[tuple[int, str]]] = {}
    for at, run in found:
        place = parts.owners[bisect(breaks, at)]
        own = [title.words for title in given.get(texts[place].note, ())]
        for title in titles[run]:
            if title[1] not in own:
                named.setdefault(place, set()).add(title)
    rows: list[Mention] = []
    for place, each in named.items():
        line = spelled(texts[place])
        rows += [Mention(key, texts[place].note, stands_in(words, line)) for key, words in each]
    return rows
