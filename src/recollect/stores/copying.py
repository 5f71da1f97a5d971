"""Copy a store into another, whatever their engines.

No progress is recorded but the copy itself: what the target has, and has alike, is skipped. So after an interruption at
any moment the same call continues, and where notes of the source were added or changed since, the next call catches up.
Notes come in the order of the source, each batch in a transaction, then documents. No text is embedded: vectors are
copied.

An iteration is no snapshot: what others write to the source meanwhile may be in the copy or not. Nobody else should
write to the target before the copy is complete.
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
from recollect.stores.base import DocumentRecord, Model, Store, StoreStats, SupportsFinishIndexes
from recollect.stores.iteration import (
    CommonPrefix,
    NoteKey,
    batches,
    document_state,
    document_states,
    group_by_namespace,
    key_of,
    note_batches,
    notes_at_same_paths,
    notes_by_id,
    notes_in,
    records_in,
    same_note,
    vectors_by_key,
)

if TYPE_CHECKING:
    from recollect.stores.base import Vector

BATCH_NOTES = 2000
"""How many notes are written in one transaction."""
Others = Literal["refuse", "merge", "mirror"]
"""What to do about notes that the target has and the source has not: refuse to copy, keep them, or delete them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What a copy did."""

    added: int = 0
    updated: int = 0
    """Notes of which the target had an older state, or no vector."""
    unchanged: int = 0
    removed: int = 0
    """Notes that only the target had, deleted with ``mirror``."""
    kept: int = 0
    """Notes that only the target has, kept with ``merge``."""
    documents: int = 0
    """Documents that were added, changed or removed."""
    seconds: float = 0.0

    @property
    def nothing_to_do(self) -> bool:
        """Whether the target was complete already."""
        return not (self.added or self.updated or self.removed or self.documents)


class _NewNote(NamedTuple):
    """A note that the target lacks, or has in another state."""

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
    """Copy the notes of ``source``, or of some namespaces, with their links, vectors and documents; return the counts.

    ``others`` says what to do where the target has notes or documents that the source has not. ``report`` is called
    with the number done, the total and the phase: ``others``, ``notes`` or ``documents``.

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
    started = time.monotonic()
    batch = arguments.at_least_one("batch", batch)
    run = _CopyRun(source, target, namespaces, others, batch, report or (lambda *_: None))
    run.check_stores()
    run.compare()
    run.copy_notes()
    run.copy_documents()
    copied = Copied(**run.counts, seconds=time.monotonic() - started)
    # Some stores build indexes in the background of searches; a process that only copies would leave that to others.
    if isinstance(target, SupportsFinishIndexes):
        target.finish_indexes()
    return copied


class _CopyRun:
    """One copy: two stores, and the counts so far."""

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
        self._remaining: Iterator[Note] = iter(())
        """The notes of the source after those that both have in the same order."""
        self._changed: list[NoteKey] = []
        """Notes before these that differ."""
        self._may_overlap = False
        """Whether the target may have some of the remaining notes."""
        self._written_early: set[NoteKey] = set()
        """Notes that were written before their turn."""
        self.counts: Counter[str] = Counter()

    def check_stores(self) -> None:
        """Refuse what cannot succeed, before anything is written."""
        here, there = self._source.stats(), self._target.stats()
        if self._source is self._target or _is_same_location(here.location, there.location):
            raise ArgumentError("target", f"{there.location} is the source itself; choose another")
        self._from, self._to = here.location, there.location
        for name in self._namespaces or ():
            if name not in {*here.notes, *there.notes}:
                raise ArgumentError("namespaces", f"there is no {name!r} in {self._from}")
        self._total, self._target_total = (_count_notes(stats, self._namespaces) for stats in (here, there))
        model, other = here.model, there.model
        # Where notes stay that have vectors of another model, that of the source could never be activated.
        some_stay = self._others == "merge" or self._namespaces is not None
        if model and other and model != other and (some_stay or model.name == other.name):
            raise ArgumentError(
                "target",
                f"the vectors of {self._to} are of {_describe(other)}, those of {self._from} of {_describe(model)}; "
                "reindex one of them, or choose an empty target",
            )

    def compare(self) -> None:
        """Compare what the target has, before anything is written.

        As long as both have the same notes in the same order, they are compared in parallel: that is all there is to do
        for a copy that was interrupted, or is complete. The target's other notes are looked up in the source.
        """
        done = 0
        self._report(done, self._target_total, "others")
        common = CommonPrefix(*(notes_in(store, self._namespaces) for store in (self._source, self._target)))
        for batch in note_batches(common, self._batch):
            stored = {key_of(note): common.target_notes.pop(key_of(note)) for note in batch}
            self._changed += [key_of(note) for note, _ in self._differing(batch, stored)[0]]
            done += len(batch)
            self._report(done, max(done, self._target_total), "others")
        self._remaining = common.source
        self._handle_others(common.target, done)

    def _handle_others(self, notes: Iterator[Note], done: int) -> None:
        """Find what only the target has of these notes, and its documents; refuse it, keep it or delete it."""
        count, example = 0, ""
        for batch in note_batches(notes, self._batch):
            self._may_overlap = True
            known = notes_by_id(self._source, map(key_of, batch))
            extra = [note for note in batch if key_of(note) not in known]
            if extra:
                example = example or extra[0].id
                count += len(extra)
                self._handle_extra(extra)
            done += len(batch)
            self._report(done, max(done, self._target_total), "others")
        if self._others != "refuse":
            return
        documents = {record[:3] for record in records_in(self._target, self._namespaces)}
        documents.difference_update(record[:3] for record in records_in(self._source, self._namespaces))
        if count or documents:
            extras = f"{_plural(count, 'note')}, such as {example!r}," if count else _plural(len(documents), "document")
            raise ArgumentError(
                "target",
                f"{self._to} holds {extras} that {self._from} has not; choose an empty target, "
                "or merge to keep them, or mirror to delete them",
            )

    def _handle_extra(self, extra: Sequence[Note]) -> None:
        if self._others == "mirror":
            for namespace, notes in group_by_namespace(extra).items():
                self.counts["removed"] += self._target.delete([note.id for note in notes], namespace=namespace)
        elif self._others == "merge":
            for note in notes_at_same_paths(self._source, extra):  # one would replace the other
                raise ArgumentError(
                    "target",
                    f"the path {note.path!r} in {self._to} is that of another note than in {self._from}; "
                    "delete one of them, or mirror to delete what the source has not",
                )
            self.counts["kept"] += len(extra)

    def copy_notes(self) -> None:
        """Write what the target lacks, or has in another state, in the order of the source."""
        model = self._source.model
        if model is not None and self._target.model is None:
            self._target.activate(model)  # also that of a source whose notes have no vectors yet
        done = self.counts["unchanged"]
        self._report(done, max(done, self._total), "notes")
        for start in range(0, len(self._changed), self._batch):
            keys = self._changed[start : start + self._batch]
            self._copy(list(notes_by_id(self._source, keys).values()), notes_by_id(self._target, keys))
            done += len(keys)
            self._report(done, max(done, self._total), "notes")
        for batch in note_batches(self._remaining, self._batch):
            self._copy(batch, notes_by_id(self._target, map(key_of, batch)) if self._may_overlap else {})
            done += len(batch)
            self._report(done, max(done, self._total), "notes")
        if model is not None and self._target.model != model:
            self._target.activate(model)

    def _copy(self, notes: Sequence[Note], stored: dict[NoteKey, Note]) -> None:
        new, model = self._differing(notes, stored)
        if new:
            self._write(new, stored, model)

    def _differing(self, notes: Sequence[Note], stored: Mapping[NoteKey, Note]) -> tuple[list[_NewNote], Model | None]:
        """Return which of the notes the target does not have alike, with their vectors, and the model of these."""
        model, vectors = self._source.vectors_of(notes)
        target_notes = [stored[key_of(note)] for note in notes if key_of(note) in stored]
        target_vectors = vectors_by_key(self._target, target_notes) if self._target.model == model else {}
        new = []
        for note, vector in zip(notes, vectors, strict=True):
            key = key_of(note)
            other = stored.get(key)
            # A vector that the target made of the same text does no harm.
            same_vector = vector is None or np.array_equal(vector, target_vectors.get(key, ()))
            if other is not None and same_vector and same_note(note, other):
                self.counts["unchanged"] += key not in self._written_early
            else:
                new.append(_NewNote(note, vector))
        return new, model

    def _write(self, new: list[_NewNote], stored: dict[NoteKey, Note], model: Model | None) -> None:
        """Write notes with their vectors, or, where some have none or notes exchange paths, one after the other."""
        together = self._with_path_holders(new, stored)
        self.counts["added"] += sum(key_of(note) not in stored for note, _ in together)
        self.counts["updated"] += sum(key_of(note) in stored for note, _ in together)
        # A draft cannot remove a path: such a note is deleted first.
        pathless = [
            note for note, _ in together if not note.path and key_of(note) in stored and stored[key_of(note)].path
        ]
        for namespace, notes in group_by_namespace(pathless).items():
            self._target.delete([note.id for note in notes], namespace=namespace)
        embedded = [entry for entry in together if entry.vector is not None]
        if len(embedded) == len(together) == len(new):
            self._target.write([_draft(note) | {"vector": vector} for note, vector in together], model=model)
            return
        self._target.write([_draft(note) for note, _ in together])
        if embedded:
            drafts = [{"namespace": note.namespace, "id": note.id, "vector": vector} for note, vector in embedded]
            self._target.write(drafts, model=model, create=False)

    def _with_path_holders(self, new: Sequence[_NewNote], stored: dict[NoteKey, Note]) -> list[_NewNote]:
        """Return what is written in one transaction: also the notes that must release a path to a new one.

        They become what they are in the source, which may need the path of yet another.
        """
        together = {key_of(entry.note): entry for entry in new}
        added: Sequence[_NewNote] = new
        while added:
            moving = [note for note, _ in added if key_of(note) not in stored or stored[key_of(note)].path != note.path]
            holders = {key_of(note): note for note in notes_at_same_paths(self._target, moving)}
            holders = {key: note for key, note in holders.items() if key not in together}
            notes = notes_by_id(self._source, holders)
            if lost := holders.keys() - notes.keys():
                path = holders[min(lost)].path
                raise StoreError(f"{path!r} in {self._to} is the path of a note that is no longer in {self._from}")
            stored |= holders
            self._written_early |= holders.keys()
            vectors = vectors_by_key(self._source, notes.values())
            added = [_NewNote(note, vectors.get(key)) for key, note in notes.items()]
            together |= {key_of(entry.note): entry for entry in added}
        return list(together.values())

    def copy_documents(self) -> None:
        """Copy which notes documents have; with ``mirror``, remove those that the source has not."""
        stored = document_states(self._target, self._namespaces)
        total = self._source.stats().documents
        done = 0
        self._report(done, total, "documents")
        records = records_in(self._source, self._namespaces)
        for batch in batches(records, (self._batch,), lambda record: (1 + len(record.notes),)):
            new = [record for record in batch if stored.pop(record[:3], None) != document_state(record)]
            if new:
                self._target.set_document_notes(new)
                self.counts["documents"] += len(new)
            done += len(batch)
            self._report(done, max(done, total), "documents")
        if self._others == "mirror":
            for namespace, root, name in stored:
                # Without notes first: remove_documents would delete those that stay.
                self._target.set_document_notes([DocumentRecord(namespace, root, name, "", ())])
                self._target.remove_documents(root, [name], namespace=namespace)
                self.counts["documents"] += 1


def _draft(note: Note) -> Draft:
    """Return all fields of a note, also that it was never accessed, which a caller's draft cannot say."""
    draft = {name: getattr(note, name) for name in _FIELDS}
    if not note.path:
        del draft["path"]
    return draft


_FIELDS = tuple(field.name for field in fields(Note))


def _count_notes(stats: StoreStats, namespaces: Collection[str] | None) -> int:
    return sum(count for name, count in stats.notes.items() if namespaces is None or name in namespaces)


def _is_same_location(one: str, other: str) -> bool:
    files = Path(one), Path(other)
    return one == other or (all(file.exists() for file in files) and files[0].samefile(files[1]))


def _describe(model: Model) -> str:
    return f"{model.name} ({model.dimension} numbers in {model.precision})"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
