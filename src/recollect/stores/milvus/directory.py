"""What is known of a namespace without asking the engine: who its notes are, whom they link, how frequent words are.

A directory is read in one walk when it is first asked for, and kept up by the writes of this process.
"""

from __future__ import annotations

import threading
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from recollect.stores.bm25 import Occurrences
from recollect.stores.milvus.rows import Header, Stored, header_in, header_of
from recollect.stores.milvus.schema import NEVER
from recollect.stores.milvus.scoring import unabridged
from recollect.stores.milvus.words import BETWEEN, Words
from recollect.stores.rows import folded_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.stores.milvus.reading import Reader

__all__ = ["Directories", "Directory", "Entry"]

MOST_NOTES = 1_000_000
"""How many notes are known of at once, in all namespaces but the one that was asked for last."""
MOST_NAMESPACES = 1000
"""Of how many at most: one that has no note takes room, too, and anybody can ask for it."""

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class Entry(NamedTuple):
    """A note as a directory takes it."""

    header: Header
    words: str
    """All its words, also where the row has not all."""
    tokens: int
    whole: bool
    """Whether the row has all its words."""


class _Many(Generic[K]):
    """Which notes go by a name of some kind."""

    def __init__(self) -> None:
        self._notes: dict[K, set[int]] = {}

    def add(self, name: K, note: int) -> None:
        self._notes.setdefault(name, set()).add(note)

    def remove(self, name: K, note: int) -> None:
        notes = self._notes[name]
        notes.discard(note)
        if not notes:
            del self._notes[name]

    def __getitem__(self, name: K) -> Collection[int]:
        return self._notes.get(name, ())


class _Postings(NamedTuple):
    """The words of all notes, note by note."""

    notes: NDArray[np.int64]
    places: NDArray[np.intp]
    """For each word the place of its note."""
    numbers: NDArray[np.uintc]
    weights: NDArray[np.uintc]

    def of(self, numbers: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the notes that hold one of some words, by rising keys, and what these count there."""
        if len(numbers) == 1:
            at = np.flatnonzero(self.numbers == numbers[0])
            return self.notes[self.places[at]], self.weights[at].astype(np.float64)
        at = np.flatnonzero(np.isin(self.numbers, numbers))
        counts = np.bincount(self.places[at], self.weights[at], minlength=len(self.notes))
        weights = counts.astype(np.float64, copy=False)
        held = np.flatnonzero(weights)
        return self.notes[held], weights[held]


class Directory:
    """The notes of one namespace. Who reads several things that must agree holds its ``lock``."""

    def __init__(self, namespace: int, entries: Iterable[Entry] = (), revision: int = 0) -> None:
        """Begin with what a walk found."""
        self.namespace = namespace
        self.revision = revision
        """As the store has it."""
        self.changes = 0
        """Grows with every change."""
        self.lock = threading.RLock()
        self.notes: dict[int, Header] = {}
        self.tokens: dict[int, int] = {}
        self.total = 0
        """How many words there are in all notes."""
        self.abridged: set[int] = set()
        """The notes whose rows have not all their words."""
        self.expiring: dict[int, int] = {}
        self.ids: dict[str, int] = {}
        self.paths: dict[str, int] = {}
        self.names: _Many[str] = _Many()
        """By the last part of a path, as wikilinks call notes."""
        self.sessions: _Many[str] = _Many()
        self.entities: _Many[str] = _Many()
        self.linking: _Many[str] = _Many()
        """Who links a target."""
        self.linking_name: _Many[str] = _Many()
        """Who links a target that a wikilink would call so."""
        self.linking_as: _Many[str] = _Many()
        """Who has links of a kind."""
        self._numbers: dict[str, int] = {}
        self._counts: list[int] = []
        self._stems: dict[int, array[int]] = {}
        self._weights: dict[int, array[int]] = {}
        """What each of them counts."""
        self._kept: dict[Hashable, tuple[int, Any]] = {}
        self._changed: list[set[int]] = []
        self.apply((), entries)

    def apply(self, gone: Iterable[int], changed: Iterable[Entry]) -> None:
        """Let go of notes, and take in those that are new or changed."""
        with self.lock:
            touched = set()
            for note in gone:
                if note in self.notes:
                    self._remove(note)
                    touched.add(note)
            new = {entry.header.key: entry for entry in changed}
            for note in new:
                if note in self.notes:
                    self._remove(note)
            for entry in new.values():
                self._add(entry)
            touched.update(new)
            if touched:
                self.changes += 1
                for told in self._changed:
                    told.update(touched)

    def hidden(self, now: int) -> set[int]:
        """Return the notes that are due at an instant, in microseconds since 1970, and not yet removed."""
        with self.lock:
            return {note for note, expires in self.expiring.items() if expires <= now}

    def holding(self, word: str) -> int:
        """Return how many notes hold an encoded stem."""
        number = self._numbers.get(word)
        return 0 if number is None else self._counts[number]

    def words(self) -> Iterator[tuple[str, int]]:
        """Yield the encoded stems that notes hold, each with how many do."""
        return ((word, self._counts[number]) for word, number in self._numbers.items() if self._counts[number])

    def occurrences(self, words: Iterable[str]) -> Occurrences:
        """Return the notes that hold one of some encoded stems, and what these count there."""
        postings: _Postings = self.kept("postings", self._postings)
        numbers = [self._numbers[word] for word in words if word in self._numbers]
        notes, weights = postings.of(numbers)
        return Occurrences(notes, weights, self.tokens_of(notes), len(notes))

    def tokens_of(self, notes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how many words notes have."""
        return np.fromiter(map(self.tokens.__getitem__, notes.tolist()), np.float64, len(notes))

    def begun(self, beginnings: tuple[str, ...]) -> list[str]:
        """Return the encoded stems that begin so and that notes hold, those that most hold first."""
        found = [(-count, word) for word, count in self.words() if word.startswith(beginnings)]
        return [word for _, word in sorted(found)]

    def holds(self, note: int, words: Iterable[str]) -> bool:
        """Return whether a note holds all of some encoded stems."""
        return all(self._numbers.get(word, -1) in self._stems[note] for word in words)

    def holding_besides(self, notes: Iterable[int]) -> Callable[[str], int]:
        """Return what tells how many other notes than some hold an encoded stem."""
        counts = Counter(number for note in notes for number in self._stems[note])

        def besides(word: str) -> int:
            return self.holding(word) - counts[self._numbers.get(word, -1)]

        return besides

    def kept(self, name: Hashable, derive: Callable[[T | None], T]) -> T:
        """Return what ``derive`` makes of the notes as they are, from what it made before; made anew after a change."""
        with self.lock:
            changes, value = self._kept.get(name, (-1, None))
            if changes != self.changes:
                value = derive(value)
                self._kept[name] = self.changes, value
            made: T = value
            return made

    def told_of_changes(self) -> set[int]:
        """Return a set that grows by the notes that change from now on, until who asked empties it."""
        told: set[int] = set()
        with self.lock:
            self._changed.append(told)
        return told

    def _postings(self, _: object) -> _Postings:
        notes = sorted(self.notes)
        return _Postings(
            np.array(notes, np.int64),
            np.repeat(np.arange(len(notes)), [len(self._stems[note]) for note in notes]),
            np.frombuffer(b"".join(self._stems[note] for note in notes), np.uintc),
            np.frombuffer(b"".join(self._weights[note] for note in notes), np.uintc),
        )

    def _add(self, entry: Entry) -> None:
        header, words, tokens, whole = entry
        key = header.key
        self.notes[key] = header
        self.tokens[key] = tokens
        self.total += tokens
        self.ids[header.id] = key
        if header.path:
            self.paths[header.path] = key
        if header.expires != NEVER:
            self.expiring[key] = header.expires
        if not whole:
            self.abridged.add(key)
        for many, name in self._listed(header):
            many.add(name, key)
        numbers = self._numbers
        weights = Counter(words.split())
        del weights[BETWEEN]
        held = array("I", (numbers.setdefault(word, len(numbers)) for word in weights))
        self._counts.extend([0] * (len(numbers) - len(self._counts)))
        for number in held:
            self._counts[number] += 1
        self._stems[key] = held
        self._weights[key] = array("I", weights.values())

    def _remove(self, key: int) -> None:
        header = self.notes.pop(key)
        self.total -= self.tokens.pop(key)
        # Two processes that write at once may call two notes the same.
        if self.ids.get(header.id) == key:
            del self.ids[header.id]
        if self.paths.get(header.path) == key:
            del self.paths[header.path]
        self.expiring.pop(key, None)
        self.abridged.discard(key)
        for many, name in self._listed(header):
            many.remove(name, key)
        del self._weights[key]
        for number in self._stems.pop(key):
            self._counts[number] -= 1

    def _listed(self, header: Header) -> Iterator[tuple[_Many[str], str]]:
        """Yield by which names a note is found where."""
        if header.path and "#" not in header.path:
            yield self.names, folded_name(header.path)
        if header.session:
            yield self.sessions, header.session
        for entity in header.entities:
            yield self.entities, entity
        for target in {link.target for link in header.links}:
            yield self.linking, target
        for name in {folded_name(link.target) for link in header.links}:
            yield self.linking_name, name
        for kind in {link.kind for link in header.links}:
            yield self.linking_as, kind


class Directories:
    """The directories of a store that were asked for: as many as there is room for, those that were asked for last."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._known: dict[int, Directory] = {}
        self._walking: dict[int, threading.Lock] = {}

    def at(self, reader: Reader, namespace: int) -> Directory:
        """Return the directory of a namespace as a reader sees it: read in a walk, unless it is known already."""
        with self._lock:
            walking = self._walking.setdefault(namespace, threading.Lock())
        with walking:  # one reads it, others wait for it
            known = self.known(reader, namespace)
            if known is None:
                revision = reader.revision(namespace)
                known = Directory(namespace, _entries(reader, namespace), revision)
                with self._lock:
                    self._known[namespace] = known
                    self._make_room()
        return known

    def known(self, reader: Reader, namespace: int) -> Directory | None:
        """Return the directory of a namespace, if it is at hand as a reader sees it."""
        with self._lock:
            known = self._known.get(namespace)
        if known is None or known.revision != reader.revision(namespace):
            return None
        with self._lock:
            if self._known.pop(namespace, None) is not None:
                self._known[namespace] = known
        return known

    def _make_room(self) -> None:
        """Let go of those that were not asked for the longest."""
        notes = sum(len(directory.notes) for directory in self._known.values())
        for namespace in list(self._known)[:-1]:
            if notes > MOST_NOTES or len(self._known) > MOST_NAMESPACES:
                notes -= len(self._known.pop(namespace).notes)
                self._walking.pop(namespace, None)

    def apply(
        self,
        namespace: int,
        gone: Collection[int],
        changed: Sequence[Stored],
        words: Sequence[Words],
        *,
        before: int = 0,
        revision: int = 0,
    ) -> None:
        """Tell a directory, if it is known, what a batch did that led from one revision to another."""
        with self._lock:
            known = self._known.get(namespace)
            if known is None:
                return
            if known.revision != before:  # others wrote: it must be read anew
                del self._known[namespace]
                return
            known.apply(gone, map(_entry, changed, words))
            known.revision = revision

    def forget(self) -> None:
        """Let go of all."""
        with self._lock:
            self._known.clear()


def _entry(stored: Stored, words: Words) -> Entry:
    text = words.text if words.whole else unabridged(stored.row)
    return Entry(header_of(stored), text, words.tokens, words.whole)


def _entries(reader: Reader, namespace: int) -> Iterator[Entry]:
    """Walk over the notes of a namespace; few have more to say than their first row holds."""
    for row in reader.walk(namespace, _FIELDS):
        header = header_in(row)
        if header is not None and row["whole"]:
            yield Entry(header, row["words"], row["tokens"], whole=True)
        else:
            for stored in reader.notes([row["key"]]).values():
                yield _entry(stored, Words(row["words"], row["tokens"], row["whole"]))


_FIELDS = ("key", "header", "words", "tokens", "whole")
