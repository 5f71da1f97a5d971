"""Copy a store into another, whatever their engines.

Notes that the target already has in the same state are skipped. So a repeated call continues after an interruption, and
copies only what changed since the last copy. Notes are copied in the order of the source, each batch in a transaction,
then documents. No text is embedded: vectors are copied.

The source is not read in one snapshot: the copy may or may not contain what others write to the source meanwhile.
Nobody else should write to the target before the copy is complete.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recollect.arguments import with_deep_stack
from recollect.errors import ArgumentError
from recollect.model import Draft, Note
from recollect.progress import Progress
from recollect.stores.base import DocumentRecord, Model, Store, SupportsFinishIndexes

if TYPE_CHECKING:
    from recollect.stores.base import Vector

BATCH_NOTES = 2000
"""How many notes are written in one transaction."""
BATCH_BYTES = 8 * 2**20
"""The maximum size of the texts in a batch; a longer note is a batch by itself."""

_FIELDS = tuple(field.name for field in fields(Note))


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What a copy did."""

    added: int = 0
    updated: int = 0
    """Notes that the target had in another state, or without a vector."""
    unchanged: int = 0
    documents: int = 0
    """Documents that were added or changed."""
    seconds: float = 0.0

    @property
    def nothing_to_do(self) -> bool:
        """Whether the target was already up to date."""
        return not (self.added or self.updated or self.documents)


def copy_store(
    source: Store,
    target: Store,
    *,
    namespaces: Sequence[str] | None = None,
    merge: bool = False,
    report: Progress | None = None,
) -> Copied:
    """Copy the notes of ``source``, or of some namespaces, with their links, vectors and documents; return the counts.

    Unless ``merge``, a target with notes that the source lacks is refused. ``report`` is called with the number done,
    the total and the phase: ``others`` (looking for such notes in the target), then ``notes`` (copying).
    """
    started = time.monotonic()
    progress = report or (lambda *_: None)
    _check_stores(source, target, namespaces, merge=merge)
    if not merge:
        _check_target_notes(source, target, namespaces, progress)
    if source.model is not None and target.model is None:
        target.activate(source.model)  # even if the source has no vectors yet
    counts: Counter[str] = Counter()
    total = count_notes(source, namespaces)
    progress(0, total, "notes")
    for batch in note_batches(notes_in(source, namespaces)):
        model, changed = differing_notes(source, target, batch)
        if changed:
            _write(target, changed, model)
        added = sum(note.problem == "missing" for note in changed)
        counts.update(added=added, updated=len(changed) - added, unchanged=len(batch) - len(changed))
        done = counts.total()
        progress(done, max(done, total), "notes")
    if source.model is not None and target.model != source.model:
        target.activate(source.model)
    stored = documents_in(target, namespaces)
    documents = [record for key, record in documents_in(source, namespaces).items() if stored.get(key) != record]
    for start in range(0, len(documents), BATCH_NOTES):
        target.set_document_notes(documents[start : start + BATCH_NOTES])
    copied = Copied(**counts, documents=len(documents), seconds=time.monotonic() - started)
    # Searches would build missing indexes in the background, but this process only copies.
    if isinstance(target, SupportsFinishIndexes):
        target.finish_indexes()
    return copied


def _check_stores(source: Store, target: Store, namespaces: Sequence[str] | None, *, merge: bool) -> None:
    """Raise an error if the copy cannot succeed."""
    here, there = source.stats(), target.stats()
    if here.location == there.location or (
        Path(here.location).exists() and Path(there.location).exists() and Path(here.location).samefile(there.location)
    ):
        raise ArgumentError("target", f"{there.location} is the source itself; choose another")
    for name in namespaces or ():
        if name not in here.notes:
            raise ArgumentError("namespaces", f"there is no {name!r} in {here.location}")
    models = [model for model in (there.model, here.model) if model]
    # If only some notes are overwritten, the others keep the vectors of the target's model, and the source's model
    # cannot become the active one.
    is_partial = merge or namespaces is not None
    if len(set(models)) > 1 and (is_partial or models[0].name == models[1].name):
        names = [f"{model.name} ({model.dimension} numbers in {model.precision})" for model in models]
        raise ArgumentError(
            "target",
            f"the vectors of {there.location} are of {names[0]}, those of {here.location} of {names[1]}; "
            "reindex one of them, or choose an empty target",
        )


def _check_target_notes(source: Store, target: Store, namespaces: Sequence[str] | None, report: Progress) -> None:
    """Raise an error if the target has notes that the source lacks: one of the two may be the wrong file."""
    total = count_notes(target, namespaces)
    done = 0
    for batch in note_batches(notes_in(target, namespaces)):
        known = notes_by_id(source, batch)
        for note in batch:
            if key_of(note) not in known:
                here, there = source.stats().location, target.stats().location
                raise ArgumentError(
                    "target",
                    f"{there} has the note {note.id!r}, which {here} lacks; choose an empty target, or merge them",
                )
        done += len(batch)
        report(done, max(done, total), "others")


class DifferingNote(NamedTuple):
    """A note of the source that the target lacks, or has in another state."""

    note: Note
    vector: Vector | None
    problem: str
    """``missing``, or the fields that differ, separated by commas."""


def differing_notes(source: Store, target: Store, notes: Sequence[Note]) -> tuple[Model | None, list[DifferingNote]]:
    """Return the model of the source's vectors, and the notes of the source that differ in the target.

    A vector that only the target has is no difference: it was computed from the same text.
    """
    model, vectors = source.vectors_of(notes)
    stored = notes_by_id(target, notes)
    other_model, others = target.vectors_of(list(stored.values()))
    pairs = zip(stored, others, strict=True) if other_model == model else ()
    other_vectors = {key: vector for key, vector in pairs if vector is not None}
    differing = []
    for note, vector in zip(notes, vectors, strict=True):
        other = stored.get(key_of(note))
        if other is None:
            differing.append(DifferingNote(note, vector, "missing"))
            continue
        problems = [name for name in _FIELDS if getattr(note, name) != getattr(other, name)]
        # True == 1 in Python, but they are different JSON values.
        if "metadata" not in problems and _canonical_json(note.metadata) != _canonical_json(other.metadata):
            problems.append("metadata")
        if vector is not None and not np.array_equal(vector, other_vectors.get(key_of(note), ())):
            problems.append("vector")
        if problems:
            differing.append(DifferingNote(note, vector, ", ".join(problems)))
    return model, differing


def _write(target: Store, changed: Sequence[DifferingNote], model: Model | None) -> None:
    """Write notes in one transaction; raise an error if another note of the target has one of their paths."""
    ids = {key_of(entry.note) for entry in changed}
    for namespace, notes in _by_namespace(entry.note for entry in changed if entry.note.path).items():
        for note, other in zip(notes, target.get([note.path for note in notes], namespace=namespace), strict=True):
            if other is not None and other.path == note.path and key_of(other) not in ids:
                raise ArgumentError(
                    "target",
                    f"{note.path!r} is the path of another note there, {other.id!r}; delete that, "
                    "or choose an empty target",
                )
    # All fields, including empty ones, except an empty path: that would keep the path of the stored note.
    drafts: list[Draft] = [
        {name: getattr(note, name) for name in _FIELDS if name != "path" or note.path} | {"vector": vector}
        for note, vector, _ in changed
    ]
    target.write(drafts, model=model)


def key_of(note: Note) -> tuple[str, str]:
    """Return the namespace and id of a note, which identify it in all stores."""
    return note.namespace, note.id


def notes_in(store: Store, namespaces: Iterable[str] | None) -> Iterator[Note]:
    """Iterate over the notes of some namespaces, or of all."""
    for namespace in [None] if namespaces is None else dict.fromkeys(namespaces):
        yield from store.notes(namespace=namespace)


def count_notes(store: Store, namespaces: Sequence[str] | None) -> int:
    """Return how many notes some namespaces have, or all."""
    return sum(count for name, count in store.stats().notes.items() if namespaces is None or name in namespaces)


def note_batches(notes: Iterable[Note]) -> Iterator[list[Note]]:
    """Yield batches of :data:`BATCH_NOTES` notes and :data:`BATCH_BYTES` of text at most."""
    batch: list[Note] = []
    size = 0
    for note in notes:
        length = sum(len(text.encode()) for text in (note.content, note.title, note.summary))
        if batch and (len(batch) == BATCH_NOTES or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(note)
        size += length
    if batch:
        yield batch


def notes_by_id(store: Store, notes: Iterable[Note]) -> dict[tuple[str, str], Note]:
    """Return the notes of ``store`` with the ids of ``notes``; a note that has such an id as its path is left out."""
    return {
        key_of(note): other
        for namespace, group in _by_namespace(notes).items()
        for note, other in zip(group, store.get([note.id for note in group], namespace=namespace), strict=True)
        if other is not None and other.id == note.id
    }


def _by_namespace(notes: Iterable[Note]) -> dict[str, list[Note]]:
    groups: dict[str, list[Note]] = {}
    for note in notes:
        groups.setdefault(note.namespace, []).append(note)
    return groups


def documents_in(store: Store, namespaces: Sequence[str] | None) -> dict[tuple[str, ...], DocumentRecord]:
    """Return the documents of some namespaces, or of all, by namespace, root and name, with their notes sorted."""
    return {
        record[:3]: record._replace(notes=tuple(sorted(record.notes)))
        for record in store.document_records()
        if namespaces is None or record.namespace in namespaces
    }


def _canonical_json(value: Any) -> str:
    """Return JSON that does not depend on the order of keys."""
    return with_deep_stack(lambda: json.dumps(value, sort_keys=True, separators=(",", ":")))
