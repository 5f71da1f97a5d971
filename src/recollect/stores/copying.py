"""All that a store holds goes into another, whatever their engines.

Nothing is written down about a copy but the copy itself: what the target holds, and holds alike, is passed over. So
whoever was interrupted, at whatever moment, begins again and goes on where it was; and where notes of the source came
or changed since, the next run catches up. Notes come in the order in which the source has them, each batch in a
transaction, then documents with what is theirs. No text is embedded: vectors travel as they are.

A walk is no snapshot: what others write to the source meanwhile may be in the copy or not. Nobody else should write to
the target before it is complete.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from recollect import arguments
from recollect.errors import ArgumentError, StoreError
from recollect.model import Draft, Note
from recollect.progress import Progress
from recollect.stores.base import DocumentRecord, Model, Store, StoreStats
from recollect.stores.digests import same_note
from recollect.stores.walks import (
    Key,
    SideBySide,
    at_paths,
    batches,
    by_id,
    by_namespace,
    key_of,
    notes_in,
    place_of,
    record_batches,
    records_in,
    state_of,
)

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["BATCH_NOTES", "Copied", "Others", "copy_store"]

BATCH_NOTES = 2000
"""How many notes are written in one transaction."""
Others = Literal["refuse", "merge", "mirror"]
"""What to do about notes that the target has and the source has not: nothing at all, keep them, or delete them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What a copy did."""

    added: int = 0
    updated: int = 0
    """Notes of which the target had an older state, or no vector."""
    unchanged: int = 0
    removed: int = 0
    """Notes that the source has not, deleted because that was wanted."""
    kept: int = 0
    """Notes that the source has not, kept because that was wanted."""
    documents: int = 0
    """Documents that began, changed or went."""
    seconds: float = 0.0

    @property
    def nothing_to_do(self) -> bool:
        """Whether the target was complete already."""
        return not (self.added or self.updated or self.removed or self.documents)


class _Fresh(NamedTuple):
    """A note that the target lacks, or has otherwise."""

    note: Note
    vector: Vector | None


def copy_store(
    source: Store,
    target: Store,
    *,
    namespaces: Sequence[str] | None = None,
    others: Others = "refuse",
    batch: int = BATCH_NOTES,
    report: Progress | None = None,
) -> Copied:
    """Copy the notes of ``source``, or of some of its namespaces, with all that belongs to them; return what was done.

    ``others`` says what to do where the target holds notes or documents that the source has not. ``report`` is called
    with what is done, what there is to do, and which part that is: ``others``, ``notes`` or ``documents``.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from recollect.stores import open_store
    >>> with TemporaryDirectory() as folder:
    ...     source, target = open_store(f"{folder}/one.db"), open_store(f"{folder}/two.db")
    ...     _ = source.write([{"content": "Prefers green tea.", "path": "tea.md"}])
    ...     first, second = copy_store(source, target), copy_store(source, target)
    ...     same = list(source.notes()) == list(target.notes())
    ...     source.close()
    ...     target.close()
    >>> first.added, second.nothing_to_do, same
    (1, True, True)
    """
    arguments.choice("others", others, ("refuse", "merge", "mirror"))
    begun = time.monotonic()
    copying = _Copying(
        source, target, namespaces, others, arguments.at_least_one("batch", batch), report or (lambda *_: None)
    )
    copying.look_around()
    copying.survey()
    copying.copy_notes()
    copying.copy_documents()
    copied = Copied(**copying.counts, seconds=time.monotonic() - begun)
    # Some stores make indexes behind the back of searches; who only copies and ends would leave them to others.
    finish = getattr(target, "finish_indexes", None)
    if finish is not None:
        finish()
    return copied


class _Copying:
    """One run: two stores, and what was done so far."""

    def __init__(
        self,
        source: Store,
        target: Store,
        namespaces: Sequence[str] | None,
        others: Others,
        batch: int,
        report: Progress,
    ) -> None:
        self._source = source
        self._target = target
        self._namespaces = namespaces
        self._others = others
        self._batch = batch
        self._report = report
        self._ahead: Iterator[Note] = iter(())
        """What the source has from where on the target is not the same."""
        self._late: list[Key] = []
        """Notes before that which are to be written all the same: they changed."""
        self._others_there = False
        """Whether the target may hold notes that the source has there."""
        self._early: set[Key] = set()
        """Notes that were written before it was their turn."""
        self.counts: Counter[str] = Counter()

    def look_around(self) -> None:
        """Refuse what cannot come to a good end, before anything is written."""
        here, there = self._source.stats(), self._target.stats()
        if self._source is self._target or _same_place(here.location, there.location):
            raise ArgumentError("target", f"{there.location} is the source itself; choose another")
        self._from, self._to = here.location, there.location
        for name in self._namespaces or ():
            if name not in {*here.notes, *there.notes}:
                raise ArgumentError("namespaces", f"there is no {name!r} in {self._from}")
        self._total, self._held = (_total(stats, self._namespaces) for stats in (here, there))
        ours, theirs = here.model, there.model
        # Where notes stay that have vectors of another model, that of the source could never take over.
        some_stay = self._others == "merge" or self._namespaces is not None
        if ours and theirs and ours != theirs and (some_stay or ours.name == theirs.name):
            raise ArgumentError(
                "target",
                f"the vectors of {self._to} are of {_described(theirs)}, those of {self._from} of {_described(ours)}; "
                "reindex one of them, or choose an empty target",
            )

    def survey(self) -> None:
        """Look at what the target holds, before anything is written.

        As far as both have the same notes in the same order, they are compared side by side: that is all there is to do
        for a copy that was interrupted, or is complete. What the target holds behind that is looked for in the source.
        """
        done = 0
        self._report(done, self._held, "others")
        walks = SideBySide(*(notes_in(store, self._namespaces) for store in (self._source, self._target)))
        for batch in batches(walks, self._batch):
            held = {key_of(note): walks.held.pop(key_of(note)) for note in batch}
            self._late += [key_of(note) for note, _ in self._unlike(batch, held)[0]]
            done += len(batch)
            self._report(done, max(done, self._held), "others")
        self._ahead = walks.ours
        self._see_to_others(walks.theirs, done)

    def _see_to_others(self, notes: Iterator[Note], done: int) -> None:
        """Find what of these notes the source has not, or which documents; refuse it, keep it or delete it."""
        found, example = 0, ""
        for batch in batches(notes, self._batch):
            self._others_there = True
            known = by_id(self._source, map(key_of, batch))
            foreign = [note for note in batch if key_of(note) not in known]
            if foreign:
                example = example or foreign[0].id
                found += len(foreign)
                self._see_to(foreign)
            done += len(batch)
            self._report(done, max(done, self._held), "others")
        documents = 0
        if self._others == "refuse":
            ours = {place_of(record) for record in records_in(self._source, self._namespaces)}
            documents = sum(place_of(record) not in ours for record in records_in(self._target, self._namespaces))
        if self._others == "refuse" and (found or documents):
            what = f"{_counted(found, 'note')}, such as {example!r}," if found else _counted(documents, "document")
            raise ArgumentError(
                "target",
                f"{self._to} holds {what} that {self._from} has not; choose an empty target, "
                "or merge to keep them, or mirror to delete them",
            )

    def _see_to(self, foreign: Sequence[Note]) -> None:
        if self._others == "mirror":
            for namespace, notes in by_namespace(foreign).items():
                self.counts["removed"] += self._target.delete([note.id for note in notes], namespace=namespace)
        elif self._others == "merge":
            self._refuse_shared_paths(foreign)
            self.counts["kept"] += len(foreign)

    def _refuse_shared_paths(self, foreign: Sequence[Note]) -> None:
        """Refuse to merge where a note of the target lies at the path of another note: one would replace the other."""
        for holder in at_paths(self._source, foreign).values():
            raise ArgumentError(
                "target",
                f"the path {holder.path!r} in {self._to} is that of another note than in {self._from}; "
                "delete one of them, or mirror to delete what the source has not",
            )

    def copy_notes(self) -> None:
        """Write what the target lacks, or has otherwise, in the order in which the source has it."""
        model = self._source.model
        if model is not None and self._target.model is None:
            self._target.activate(model)  # that of a source whose notes have no vectors yet travels, too
        done = self.counts["unchanged"]
        self._report(done, max(done, self._total), "notes")
        for start in range(0, len(self._late), self._batch):
            keys = self._late[start : start + self._batch]
            self._copy(list(by_id(self._source, keys).values()), by_id(self._target, keys))
            done += len(keys)
            self._report(done, max(done, self._total), "notes")
        for batch in batches(self._ahead, self._batch):
            self._copy(batch, by_id(self._target, map(key_of, batch)) if self._others_there else {})
            done += len(batch)
            self._report(done, max(done, self._total), "notes")
        if model is not None and self._target.model != model:
            self._target.activate(model)

    def _copy(self, notes: Sequence[Note], held: dict[Key, Note]) -> None:
        fresh, model = self._unlike(notes, held)
        if fresh:
            self._write(fresh, held, model)

    def _unlike(self, notes: Sequence[Note], held: Mapping[Key, Note]) -> tuple[list[_Fresh], Model | None]:
        """Return which of the notes the target does not hold alike, with their vectors, and whose these are."""
        model, vectors = self._source.vectors_of(notes)
        theirs = self._vectors_there([held[key_of(note)] for note in notes if key_of(note) in held], model)
        fresh = []
        for note, vector in zip(notes, vectors, strict=True):
            key = key_of(note)
            there = held.get(key)
            # A vector that the target made by itself of the same text does no harm.
            embedded = vector is None or np.array_equal(vector, theirs.get(key, ()))
            if there is not None and embedded and same_note(note, there):
                self.counts["unchanged"] += key not in self._early
            else:
                fresh.append(_Fresh(note, vector))
        return fresh, model

    def _vectors_there(self, notes: Sequence[Note], model: Model | None) -> dict[Key, Vector]:
        """Return the vectors that the target has of its notes, if they are of the model in question."""
        active, vectors = self._target.vectors_of(notes)
        if active != model:
            return {}
        return {key_of(note): vector for note, vector in zip(notes, vectors, strict=True) if vector is not None}

    def _write(self, fresh: list[_Fresh], held: dict[Key, Note], model: Model | None) -> None:
        """Write notes and vectors together, or, where some have none or notes exchange paths, one after the other."""
        wanted = self._with_holders(fresh, held)
        self.counts["added"] += sum(key_of(note) not in held for note, _ in wanted)
        self.counts["updated"] += sum(key_of(note) in held for note, _ in wanted)
        # What no draft can take away goes with the note itself.
        bare = [note for note, _ in wanted if not note.path and key_of(note) in held and held[key_of(note)].path]
        for namespace, notes in by_namespace(bare).items():
            self._target.delete([note.id for note in notes], namespace=namespace)
        embedded = [each for each in wanted if each.vector is not None]
        if len(embedded) == len(wanted) == len(fresh):
            self._target.write([_draft(note) | {"vector": vector} for note, vector in wanted], model=model)
            return
        self._target.write([_draft(note) for note, _ in wanted])
        if embedded:
            named = [{"namespace": note.namespace, "id": note.id, "vector": vector} for note, vector in embedded]
            self._target.write(named, model=model, create=False)

    def _with_holders(self, fresh: Sequence[_Fresh], held: dict[Key, Note]) -> list[_Fresh]:
        """Return what is to be written in one transaction: also notes that must let go of a path in the same moment.

        They become what they are in the source, which may need the path of yet another.
        """
        together = {key_of(each.note): each for each in fresh}
        asked: Sequence[_Fresh] = fresh
        while asked:
            moving = [note for note, _ in asked if key_of(note) not in held or held[key_of(note)].path != note.path]
            holders = {key_of(each): each for each in at_paths(self._target, moving).values()}
            holders = {key: each for key, each in holders.items() if key not in together}
            notes = by_id(self._source, holders)
            if lost := holders.keys() - notes.keys():
                path = holders[min(lost)].path
                raise StoreError(f"{path!r} in {self._to} is the path of a note that is no longer in {self._from}")
            held |= holders
            self._early |= holders.keys()
            _, vectors = self._source.vectors_of(list(notes.values()))
            asked = [_Fresh(note, vector) for note, vector in zip(notes.values(), vectors, strict=True)]
            together |= {key_of(each.note): each for each in asked}
        return list(together.values())

    def copy_documents(self) -> None:
        """Let documents have the notes that are theirs, and forget those that the source has not, if that is wanted."""
        held = {place_of(record): state_of(record) for record in records_in(self._target, self._namespaces)}
        total = self._source.stats().documents
        done = 0
        self._report(done, total, "documents")
        for batch in record_batches(records_in(self._source, self._namespaces), self._batch):
            fresh = [record for record in batch if held.pop(place_of(record), None) != state_of(record)]
            if fresh:
                self._target.set_document_notes(fresh)
                self.counts["documents"] += len(fresh)
            done += len(batch)
            self._report(done, max(done, total), "documents")
        if self._others == "mirror":
            for namespace, root, name in held:
                self._target.set_document_notes(
                    [DocumentRecord(namespace, root, name, "", ())]
                )  # lest notes that stay go with it
                self._target.remove_documents(root, [name], namespace=namespace)
                self.counts["documents"] += 1


def _draft(note: Note) -> Draft:
    """Return all that is to be said of a note: also that it was never read, which a caller's draft cannot say."""
    said = {name: getattr(note, name) for name in _FIELDS}
    if not note.path:
        del said["path"]
    return said


_FIELDS = tuple(field.name for field in fields(Note))


def _total(stats: StoreStats, namespaces: Collection[str] | None) -> int:
    return sum(count for name, count in stats.notes.items() if namespaces is None or name in namespaces)


def _same_place(one: str, other: str) -> bool:
    """Return whether two stores are one: they go by the same name, or by two names of the same file."""
    files = Path(one), Path(other)
    return one == other or (all(file.exists() for file in files) and files[0].samefile(files[1]))


def _described(model: Model) -> str:
    return f"{model.name} ({model.dimension} numbers in {model.precision})"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
