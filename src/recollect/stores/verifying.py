"""Is one store a copy of another: the same notes to the last bit, in the same order, found by the same searches.

Both are walked over side by side. What is not alike is looked at again, by id, before it counts: the source may be
written to meanwhile, and a note may expire between two looks. Of the searches a sample is made, with words and vectors
of notes of the source.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recollect import arguments
from recollect.model import Note
from recollect.progress import Progress
from recollect.stores.base import Model, Store
from recollect.stores.digests import differing_fields, note_digest
from recollect.stores.sampling import Sample, Searches, compare_searches
from recollect.stores.walks import Key, batches, by_id, key_of, notes_in, place_of, records_in, state_of

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["SAMPLE", "Comparison", "Difference", "Side", "compare_stores"]

SAMPLE = 50
"""How many notes lend their words and vectors to searches."""
READ_NOTES = 500
"""How many notes are read at a time."""
MOST_NAMED = 1000
"""How many differences are named; more are only counted."""
ALIKE = 0.9
"""How much of the lists that searches find must be common: an index may be approximate, and scores may tie."""


class Side(NamedTuple):
    """What one of the stores has in a namespace."""

    notes: int
    digest: str
    """Stands for all notes with their vectors, in their order, and for the documents."""


class Difference(NamedTuple):
    """What is not the same of a note, or of a document."""

    part: str
    """``note``, ``document`` or ``store``."""
    namespace: str
    name: str
    """The id of a note, the root and the name of a document."""
    problem: str
    """``missing`` and ``extra`` are seen from the target; else the fields that differ, ``vector`` or ``order``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a comparison found."""

    namespaces: Mapping[str, tuple[Side, Side]]
    """What source and target have in each."""
    models: tuple[Model | None, Model | None]
    differing: int
    """How many differences there are."""
    differences: Sequence[Difference]
    """The first of them."""
    words: Searches
    vectors: Searches
    seconds: float

    @property
    def same(self) -> bool:
        """Whether the target is a copy of the source."""
        return not self.differing and min(self.words.overlap, self.vectors.overlap) >= ALIKE

    def to_dict(self) -> dict[str, Any]:
        """Return what was found as JSON-ready data."""
        sides = ("source", "target")
        return {
            "same": self.same,
            "namespaces": {
                name: {side: held._asdict() for side, held in zip(sides, both, strict=True)}
                for name, both in self.namespaces.items()
            },
            "models": {side: model and model._asdict() for side, model in zip(sides, self.models, strict=True)},
            "differing": self.differing,
            "differences": [each._asdict() for each in self.differences],
            "searches": {"words": self.words._asdict(), "vectors": self.vectors._asdict()},
            "seconds": self.seconds,
        }


def compare_stores(
    source: Store,
    target: Store,
    *,
    namespaces: Sequence[str] | None = None,
    merged: bool = False,
    sample: int = SAMPLE,
    report: Progress | None = None,
) -> Comparison:
    """Compare all notes, vectors and documents of two stores, or of some of their namespaces, and some searches.

    With ``merged`` the target may hold what the source has not; searches are not compared where it does, for they find
    it. ``report`` is called with what is done, what there is to do, and which part that is: ``comparing`` or
    ``searching``.

    >>> from tempfile import TemporaryDirectory
    >>> from recollect.stores import open_store
    >>> with TemporaryDirectory() as folder:
    ...     source, target = open_store(f"{folder}/one.db"), open_store(f"{folder}/two.db")
    ...     _ = source.write([{"id": "n1", "content": "Prefers green tea."}, {"id": "n2", "content": "Hot."}])
    ...     _ = target.write([{"id": "n1", "content": "Prefers black tea."}])
    ...     found = compare_stores(source, target)
    ...     source.close()
    ...     target.close()
    >>> [(each.name, each.problem) for each in found.differences]
    [('n1', 'content, created_at, updated_at'), ('n2', 'missing')]
    """
    begun = time.monotonic()
    told = report or (lambda *_: None)
    comparing = _Comparing(source, target, namespaces, Sample(arguments.count("sample", sample)), merged=merged)
    comparing.compare_models()
    comparing.compare_notes(told)
    comparing.compare_documents()
    asked = [] if merged and comparing.extra else comparing.sample.notes
    words, vectors = compare_searches(source, target, asked, told)
    return Comparison(
        namespaces=comparing.sides(),
        models=(comparing.model, comparing.other_model),
        differing=comparing.differing,
        differences=tuple(comparing.differences),
        words=words,
        vectors=vectors,
        seconds=time.monotonic() - begun,
    )


class _Seen(NamedTuple):
    """A note of the source for which its like in the target is yet to come."""

    place: int
    digest: bytes
    embedded: bool


@dataclass(slots=True)
class _Tally:
    """What has been seen of a namespace on one side."""

    notes: int = 0
    hashed: Any = field(default_factory=lambda: blake2b(digest_size=16))

    def add(self, mark: bytes) -> None:
        self.notes += 1
        self.hashed.update(mark)


class _Comparing:
    """Two walks, the source's ahead of the target's, and what was found so far."""

    def __init__(
        self, source: Store, target: Store, namespaces: Sequence[str] | None, sample: Sample, *, merged: bool
    ) -> None:
        self._source = source
        self._target = target
        self._namespaces = namespaces
        self._merged = merged
        self.sample = sample
        self.model, self.other_model = source.model, target.model
        self.extra = 0
        self.differing = 0
        self.differences: list[Difference] = []
        self._tallies: tuple[dict[str, _Tally], dict[str, _Tally]] = ({}, {})
        self._walked = 0
        self._ours = self._batches(source)
        self._ahead: dict[Key, _Seen] = {}
        self._last: dict[str, int] = {}
        """Which place in the source the note has that the target had last."""

    def compare_models(self) -> None:
        """Find out whether both are searched with the same model; a store without vectors has none."""
        if self.model and self.other_model and self.model != self.other_model:
            self._differ("store", "", self.other_model.name, f"not searched with {self.model.name}")

    def compare_notes(self, report: Progress) -> None:
        """Walk over both stores."""
        walked = 0
        total = sum(
            count
            for name, count in self._source.stats().notes.items()
            if self._namespaces is None or name in self._namespaces
        )
        report(walked, total, "comparing")
        for batch in self._batches(self._target):
            walked += len(batch)
            self._look_ahead(partial(self._has_walked, walked))
            self._hold_against(batch)
            report(walked, max(walked, total), "comparing")
        self._look_ahead(lambda: False)
        missing = list(self._ahead)
        for start in range(0, len(missing), READ_NOTES):
            self._look_again(missing[start : start + READ_NOTES])

    def _batches(self, store: Store) -> Iterator[list[Note]]:
        return batches(notes_in(store, self._namespaces), READ_NOTES)

    def _has_walked(self, notes: int) -> bool:
        return self._walked >= notes

    def _look_ahead(self, enough: Callable[[], bool]) -> None:
        """Take in what the source has next, until that is enough or there is no more."""
        while not enough() and (batch := next(self._ours, None)):
            _, vectors = self._source.vectors_of(batch)
            for note, vector in zip(batch, vectors, strict=True):
                self._walked += 1
                mark = note_digest(note, vector)
                self._tally(0, note, mark)
                self.sample.offer(note, vector)
                self._ahead[key_of(note)] = _Seen(self._walked, mark, vector is not None)

    def _hold_against(self, batch: Sequence[Note]) -> None:
        """Compare what the target has next with what the source had."""
        active, vectors = self._target.vectors_of(batch)
        known = by_id(self._source, (key_of(note) for note in batch if key_of(note) not in self._ahead))
        for key in known:  # the source has them further behind
            self._look_ahead(partial(self._ahead.__contains__, key))
        doubtful = []
        for note, vector in zip(batch, vectors, strict=True):
            key = key_of(note)
            seen = self._ahead.pop(key, None)
            self.extra += seen is None
            if seen is None and self._merged:
                continue
            # A vector that the target made by itself of the same text does no harm.
            counts = active == self.model and (seen is None or seen.embedded)
            mark = note_digest(note, vector if counts else None)
            self._tally(1, note, mark)
            if seen is None or seen.digest != mark:
                doubtful.append(key)
            if seen is not None:
                if seen.place < self._last.get(note.namespace, 0):
                    self._differ("note", *key, "order")
                self._last[note.namespace] = max(seen.place, self._last.get(note.namespace, 0))
        self._look_again(doubtful)

    def _look_again(self, keys: Sequence[Key]) -> None:
        """Name what is still not the same of these notes."""
        here, there = by_id(self._source, keys), by_id(self._target, keys)
        vectors = _vectors(self._source, here.values())
        others = _vectors(self._target, there.values()) if self.other_model == self.model else {}
        for key in keys:
            if key in here and key in there:
                problems = differing_fields(here[key], there[key])
                if key in vectors and not np.array_equal(vectors[key], others.get(key, ())):
                    problems.append("vector")
                if problems:
                    self._differ("note", *key, ", ".join(problems))
            elif key in here:
                self._differ("note", *key, "missing")
            elif key in there:
                self._differ("note", *key, "extra")

    def compare_documents(self) -> None:
        """Find documents that one of the stores has not, or that differ in their state or their notes."""
        ours, theirs = (
            {place_of(record): state_of(record) for record in records_in(store, self._namespaces)}
            for store in (self._source, self._target)
        )
        for side, records in enumerate((ours, theirs)):
            for (namespace, root, name), (fingerprint, notes) in sorted(records.items(), key=lambda each: each[0]):
                if not (self._merged and (namespace, root, name) not in ours):
                    told = "\0".join((root, name, fingerprint, *sorted(notes)))
                    self._tallies[side].setdefault(namespace, _Tally()).hashed.update(told.encode())
        for place in sorted({*ours, *theirs}):
            mine, other = ours.get(place), theirs.get(place)
            if other is None or (mine is None and not self._merged):
                self._differ_in_document(place, "missing" if other is None else "extra")
            elif mine is not None and mine != other:
                differing = zip(("fingerprint", "notes"), mine, other, strict=True)
                self._differ_in_document(place, ", ".join(what for what, one, two in differing if one != two))

    def sides(self) -> dict[str, tuple[Side, Side]]:
        """Return what there is on both sides, namespace by namespace."""
        ours, theirs = self._tallies
        names = sorted({*ours, *theirs})
        return {name: (_side(ours.get(name)), _side(theirs.get(name))) for name in names}

    def _tally(self, side: int, note: Note, mark: bytes) -> None:
        self._tallies[side].setdefault(note.namespace, _Tally()).add(mark)

    def _differ_in_document(self, place: tuple[str, str, str], problem: str) -> None:
        namespace, root, name = place
        self._differ("document", namespace, f"{root}/{name}", problem)

    def _differ(self, part: str, namespace: str, name: str, problem: str) -> None:
        self.differing += 1
        if len(self.differences) < MOST_NAMED:
            self.differences.append(Difference(part, namespace, name, problem))


def _side(tally: _Tally | None) -> Side:
    held = tally or _Tally()
    return Side(held.notes, held.hashed.hexdigest())


def _vectors(store: Store, notes: Iterable[Note]) -> dict[Key, Vector]:
    """Return the vectors of those of a store's notes that have one."""
    held = list(notes)
    _, vectors = store.vectors_of(held)
    return {key_of(note): vector for note, vector in zip(held, vectors, strict=True) if vector is not None}
