"""Which notes name which titles, in memory: found in one walk over the texts when first asked, and kept up by changes.

A title that too many notes name is common, and its mentions are let go of. It stays so until the last note that bears
it goes, or all is read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from recollect.stores.mentions import MOST_BEARERS, MOST_NAMERS, Parts, Text, named_titles, of_one_document
from recollect.stores.milvus.directory import Directory
from recollect.stores.milvus.filtering import holding, within
from recollect.stores.milvus.rows import Stored, stored_of
from recollect.stores.milvus.schema import NOTE_FIELDS
from recollect.stores.milvus.scoring import Leaf
from recollect.stores.milvus.words import encoded
from recollect.stores.steps import Step
from recollect.stores.titles import Title, read_titles

if TYPE_CHECKING:
    from recollect.stores.milvus.reading import Reader

__all__ = ["Mentions", "mentions_at"]

T = TypeVar("T")

READ_NOTES = 500
MOST_SOUGHT = 32
"""For how many new titles the notes that may name them are looked up; for more, all texts are read again."""


def mentions_at(reader: Reader, directory: Directory) -> Mentions:
    """Return who names whom in a namespace as it is."""

    def derive(before: Mentions | None) -> Mentions:
        known = before or Mentions(directory)
        known.update(reader)
        return known

    return directory.kept("mentions", derive)


class Mentions:
    """The titles of a namespace, who bears them and who names them. Who uses it holds the directory's lock."""

    def __init__(self, directory: Directory) -> None:
        """Know nothing yet."""
        self._directory = directory
        self._changed = directory.told_of_changes()
        self._read = False
        self._clear()

    def steps(self, notes: Iterable[int]) -> Iterator[Step]:
        """Yield what the notes name, and what names them, but for titles that say nothing and sections of one file."""
        for note in notes:
            named = (words for words in self._named.get(note, ()) if self._namers[words].get(note))
            bearers = {bearer for words in named if self._tells(words) for bearer in self._bearers[words]}
            for other in sorted(bearers):
                if self._in_different_documents(note, other):
                    yield Step(note, other, "mention", "out")
            borne = (title.words for title in self._borne.get(note, ()) if self._tells(title.words))
            namers = {namer for words in borne for namer, exact in self._namers[words].items() if exact}
            for other in sorted(namers):
                if self._in_different_documents(note, other):
                    yield Step(note, other, "mention", "in")

    def _in_different_documents(self, note: int, other: int) -> bool:
        """Return whether two notes are not sections of the same document."""
        one, two = self._directory.notes[note], self._directory.notes[other]
        return not of_one_document(one.path, one.session, two.path, two.session)

    def update(self, reader: Reader) -> None:
        """Take in what changed since the last time."""
        known, self._read = self._read, False  # where an error comes in between, all is read again
        if known:
            self._take_in(reader)
        else:
            self._rebuild(reader)
        self._read = True

    def _take_in(self, reader: Reader) -> None:
        changed = sorted(self._changed.intersection(self._directory.notes))
        for note in self._changed:
            self._forget_named(note)
        self._bear(self._changed.difference(changed), {})
        before = set(self._bearers)
        given = self._given(changed)
        new = {title.words: title for each in given.values() for title in each if title.words not in before}
        # Only who holds each of its stems can name a title.
        besides = self._directory.holding_besides(changed)
        sought = [title for title in new.values() if all(map(besides, _words(title)))]
        if len(sought) > MOST_SOUGHT:
            self._rebuild(reader)
            return
        self._bear(changed, given)
        self._changed.clear()
        self._name(_texts(reader.notes(changed)), given)
        if sought:
            self._seek(reader, sought, changed)

    def _clear(self) -> None:
        self._bearers: dict[str, set[int]] = {}
        self._borne: dict[int, list[Title]] = {}
        self._namers: dict[str, dict[int, int]] = {}
        """For each title who names it, with whether its very words stand there."""
        self._named: dict[int, set[str]] = {}
        self._common: set[str] = set()
        self._numbers: dict[str, int] = {}
        self._titles: dict[str, set[str]] = {}
        """By their stems."""
        self._beginnings: Counter[str] = Counter()
        """The runs of stems with which longer titles begin."""

    def _rebuild(self, reader: Reader) -> None:
        self._clear()
        self._changed.clear()
        for notes in _some(sorted(self._directory.notes), READ_NOTES):
            self._bear((), self._given(notes))
        if self._bearers:
            for rows in _some(_walk(reader, self._directory.namespace), READ_NOTES):
                self._name(rows, {text.note: self._borne.get(text.note, []) for text in rows})

    def _given(self, notes: Sequence[int]) -> dict[int, list[Title]]:
        """Return the titles that notes bear."""
        titled = [note for note in notes if self._directory.notes[note].title]
        read = read_titles([self._directory.notes[note].title for note in titled])
        return dict(zip(titled, read, strict=True))

    def _bear(self, known: Collection[int], given: Mapping[int, Sequence[Title]]) -> None:
        """Give notes their titles, and take from those that are known what they bore."""
        before = {note: self._borne.pop(note) for note in known if note in self._borne}
        for note, titles in given.items():
            self._borne[note] = list(titles)
            for title in titles:
                if title.words not in self._bearers:
                    self._begin(title)
                self._bearers[title.words].add(note)
        # Afterwards, so that a title which goes from one note to another is never without one and stays.
        for note, titles in before.items():
            kept = {title.words for title in self._borne.get(note, ())}
            for title in titles:
                if title.words not in kept:
                    self._bearers[title.words].discard(note)
                    if not self._bearers[title.words]:
                        self._end(title)

    def _begin(self, title: Title) -> None:
        self._bearers[title.words] = set()
        self._namers[title.words] = {}
        self._numbers.setdefault(title.words, len(self._numbers))
        self._titles.setdefault(title.stems, set()).add(title.words)
        self._beginnings.update(_beginnings(title))

    def _end(self, title: Title) -> None:
        del self._bearers[title.words]
        for note in self._namers.pop(title.words):
            self._named[note].discard(title.words)
        self._common.discard(title.words)
        self._titles[title.stems].discard(title.words)
        self._beginnings.subtract(_beginnings(title))

    def _forget_named(self, note: int) -> None:
        for words in self._named.pop(note, ()):
            del self._namers[words][note]

    def _name(
        self, texts: Sequence[Text], given: Mapping[int, Sequence[Title]], only: Collection[str] | None = None
    ) -> None:
        """Find the titles that texts name, or those of some."""
        spelt: dict[int, str] = {}

        def titles_at(runs: set[str]) -> tuple[dict[str, list[tuple[int, str]]], set[str]]:
            found: dict[str, list[tuple[int, str]]] = {}
            for run in runs:
                telling = self._titles.get(run, set()) - self._common
                for words in telling if only is None else telling.intersection(only):
                    spelt[self._numbers[words]] = words
                    found.setdefault(run, []).append((self._numbers[words], words))
            return found, {run for run in runs if self._beginnings[run] > 0}

        for number, note, exact in named_titles(titles_at, texts, given, Parts.of(texts)):
            words = spelt[number]
            if words not in self._common:
                self._namers[words][note] = exact
                self._named.setdefault(note, set()).add(words)
                if len(self._namers[words]) > MOST_NAMERS:
                    self._let_go(words)

    def _let_go(self, words: str) -> None:
        """Mark a title as common."""
        self._common.add(words)
        for note in self._namers[words]:
            self._named[note].discard(words)
        self._namers[words] = {}

    def _seek(self, reader: Reader, titles: Sequence[Title], changed: Collection[int]) -> None:
        """Find the notes that name new titles among those that did not change."""
        leaves = [Leaf(words[:-1], words[-1:], prefix=False) for words in map(_words, titles)]
        phrases = [holding(leaf, lite=reader.lite) for leaf in leaves]
        expression = within(self._directory.namespace, "part == 0", f"({' or '.join(phrases)})")
        found = {row["key"] for row in reader.query(expression, ["key"])} | self._directory.abridged
        unchanged = sorted(found.intersection(self._directory.notes).difference(changed))
        only = {title.words for title in titles}
        for notes in _some(unchanged, READ_NOTES):
            texts = _texts(reader.notes(notes))
            self._name(texts, {note: self._borne.get(note, []) for note in notes}, only)

    def _tells(self, words: str) -> bool:
        return words not in self._common and len(self._bearers[words]) <= MOST_BEARERS


def _words(title: Title) -> tuple[str, ...]:
    return tuple(map(encoded, title.stems.split(" ")))


def _beginnings(title: Title) -> list[str]:
    """Return the runs of stems that a title goes on behind."""
    stems = title.stems.split(" ")
    return [" ".join(stems[:depth]) for depth in range(1, len(stems))]


def _some(values: Iterable[T], count: int) -> Iterator[list[T]]:
    """Yield values so many at a time."""
    waiting = iter(values)
    while some := list(islice(waiting, count)):
        yield some


def _walk(reader: Reader, namespace: int) -> Iterator[Text]:
    """Yield all texts of a namespace."""
    for row in reader.walk(namespace, NOTE_FIELDS):
        yield from _texts({0: stored_of([row])} if row["parts"] == 1 else reader.notes([row["note"]]))


def _texts(notes: Mapping[int, Stored]) -> list[Text]:
    rows = [stored.row for stored in notes.values()]
    return [Text(row.key, row.title, row.summary, row.content) for row in rows]
