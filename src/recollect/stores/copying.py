"""Copy the notes and documents of one store, the source, to another store, the target, of the same or another engine.

Notes that are equal in both stores are skipped. So a repeated call continues after an interruption, and a later call
copies only what changed since. Notes are copied in the order of the source, one transaction for each batch, then
documents. No text is embedded: vectors are copied.

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

BATCH_NOTES = 2000  # how many notes are written in one transaction
BATCH_BYTES = 8 * 2**20  # the maximum size of the texts in one batch; a note with more is a batch of its own

_FIELDS = tuple(field.name for field in fields(Note))


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyCounts:
    """The number of notes and documents that were copied, and the duration of the copy."""

    added: int = 0
    updated: int = 0  # notes whose fields or vectors differed in the target
    unchanged: int = 0
    documents: int = 0  # documents that were added to the target or changed there
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
) -> CopyCounts:
    """Copy the notes of ``source`` with their links, vectors and documents to ``target``, and return the counts.

    ``namespaces`` are the namespaces to copy, by default all. If ``merge`` is false, a target with notes that the
    source lacks is an error. ``report`` is called with the number of notes done, their total and the phase: ``others``
    (looking for notes of the target that the source lacks), then ``notes`` (copying).
    """
    started = time.monotonic()
    progress = report or (lambda *_: None)
    _check_stores(source, target, namespaces, merge=merge)
    if not merge:
        _check_target_notes(source, target, namespaces, progress)
    if source.model is not None and target.model is None:
        target.activate(source.model)  # writing vectors would do that, but a source with a model may have no vectors
    counts: Counter[str] = Counter()
    total = count_notes(source, namespaces)
    progress(0, total, "notes")
    for batch in note_batches(notes_in(source, namespaces)):
        model, changed = differing_notes(source, target, batch)
        if changed:
            _write_notes(target, changed, model)
        added = sum(note.problem == "missing" for note in changed)
        counts.update(added=added, updated=len(changed) - added, unchanged=len(batch) - len(changed))
        done = counts.total()
        progress(done, max(done, total), "notes")
    if source.model is not None and target.model != source.model:
        target.activate(source.model)  # has no effect if a note of the target still lacks a vector of this model
    target_documents = documents_in(target, namespaces)
    source_documents = documents_in(source, namespaces)
    documents = [record for key, record in source_documents.items() if target_documents.get(key) != record]
    for start in range(0, len(documents), BATCH_NOTES):
        target.set_document_notes(documents[start : start + BATCH_NOTES])
    copied = CopyCounts(**counts, documents=len(documents), seconds=time.monotonic() - started)
    # Missing indexes are otherwise built in the background by searches, and this process may end without a search.
    if isinstance(target, SupportsFinishIndexes):
        target.finish_indexes()
    return copied


def _check_stores(source: Store, target: Store, namespaces: Sequence[str] | None, *, merge: bool) -> None:
    """Raise an error if the stores are the same, a namespace does not exist, or the models are incompatible."""
    source_stats, target_stats = source.stats(), target.stats()
    location, target_location = source_stats.location, target_stats.location
    are_files = Path(location).exists() and Path(target_location).exists()
    if location == target_location or (are_files and Path(location).samefile(target_location)):
        raise ArgumentError("target", f"{target_location} is the source itself; choose another")
    for name in namespaces or ():
        if name not in source_stats.notes:
            raise ArgumentError("namespaces", f"there is no {name!r} in {location}")
    model, target_model = source_stats.model, target_stats.model
    if model is None or target_model is None or model == target_model:
        return
    # If only some notes are overwritten, the others keep the vectors of the target's model, and the source's model
    # cannot become active. Nor can it if the models have the same name, but another dimension or precision.
    is_partial = merge or namespaces is not None
    if is_partial or model.name == target_model.name:
        models = (target_model, model)
        descriptions = [f"{name} ({dimension} numbers in {precision})" for name, dimension, precision in models]
        raise ArgumentError(
            "target",
            f"the vectors of {target_location} are of {descriptions[0]}, those of {location} of {descriptions[1]}; "
            "reindex one of them, or choose an empty target",
        )


def _check_target_notes(source: Store, target: Store, namespaces: Sequence[str] | None, report: Progress) -> None:
    """Raise an error if the target has a note that the source lacks: the caller may have named a wrong store."""
    total = count_notes(target, namespaces)
    done = 0
    for batch in note_batches(notes_in(target, namespaces)):
        source_notes = notes_by_id(source, batch)
        for note in batch:
            if key_of(note) not in source_notes:
                raise ArgumentError(
                    "target",
                    f"{target.stats().location} has the note {note.id!r}, which {source.stats().location} lacks; "
                    "choose an empty target, or merge them",
                )
        done += len(batch)
        report(done, max(done, total), "others")


class DifferingNote(NamedTuple):
    """A note of the source that the target lacks, or that differs there, with its vector in the source."""

    note: Note
    vector: Vector | None
    problem: str  # "missing", or what differs: names of fields of the note, or "vector", separated by commas


def differing_notes(source: Store, target: Store, notes: Sequence[Note]) -> tuple[Model | None, list[DifferingNote]]:
    """Compare notes of the source with the target; return the model of the source's vectors, and the differing notes.

    A vector that only the target has is no difference: it was computed from the same text.
    """
    model, vectors = source.vectors_of(notes)
    target_notes = notes_by_id(target, notes)
    target_model, stored_vectors = target.vectors_of(list(target_notes.values()))
    target_vectors = dict(zip(target_notes, stored_vectors, strict=True)) if target_model == model else {}
    differing = []
    for note, vector in zip(notes, vectors, strict=True):
        key = key_of(note)
        target_note = target_notes.get(key)
        if target_note is None:
            differing.append(DifferingNote(note, vector, "missing"))
            continue
        problems = [name for name in _FIELDS if getattr(note, name) != getattr(target_note, name)]
        # True == 1 in Python, but they are different JSON values.
        if "metadata" not in problems and _canonical_json(note.metadata) != _canonical_json(target_note.metadata):
            problems.append("metadata")
        target_vector = target_vectors.get(key)
        if vector is not None and (target_vector is None or not np.array_equal(vector, target_vector)):
            problems.append("vector")
        if problems:
            differing.append(DifferingNote(note, vector, ", ".join(problems)))
    return model, differing


def _write_notes(target: Store, changed: Sequence[DifferingNote], model: Model | None) -> None:
    """Write notes in one transaction; raise an error if another note of the target has one of their paths."""
    changed_keys = {key_of(entry.note) for entry in changed}
    for namespace, notes in _by_namespace(entry.note for entry in changed if entry.note.path).items():
        for note, stored in zip(notes, target.get([note.path for note in notes], namespace=namespace), strict=True):
            # ``get`` also finds a note whose id is equal to the path. A stored note that this batch also writes is no
            # conflict, because its path is overwritten.
            if stored is not None and stored.path == note.path and key_of(stored) not in changed_keys:
                raise ArgumentError(
                    "target",
                    f"{note.path!r} is the path of another note there, {stored.id!r}; delete that, "
                    "or choose an empty target",
                )
    # Even an empty field replaces the stored value. Only an empty path is left out: a draft cannot remove a path.
    drafts: list[Draft] = [
        {name: getattr(note, name) for name in _FIELDS if name != "path" or note.path} | {"vector": vector}
        for note, vector, _ in changed
    ]
    target.write(drafts, model=model)


def key_of(note: Note) -> tuple[str, str]:
    """Return the namespace and id of a note, which identify it in all stores."""
    return note.namespace, note.id


def notes_in(store: Store, namespaces: Iterable[str] | None) -> Iterator[Note]:
    """Iterate over the notes of some namespaces, or of all if ``namespaces`` is ``None``."""
    for namespace in [None] if namespaces is None else dict.fromkeys(namespaces):
        yield from store.notes(namespace=namespace)


def count_notes(store: Store, namespaces: Sequence[str] | None) -> int:
    """Return the number of notes in some namespaces, or in all if ``namespaces`` is ``None``."""
    return sum(count for name, count in store.stats().notes.items() if namespaces is None or name in namespaces)


def note_batches(notes: Iterable[Note]) -> Iterator[list[Note]]:
    """Yield batches of at most :data:`BATCH_NOTES` notes with at most :data:`BATCH_BYTES` of text."""
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
    """Return the notes of ``store`` with the ids and namespaces of ``notes``, by :func:`key_of`."""
    return {
        key_of(stored): stored
        for namespace, group in _by_namespace(notes).items()
        for note, stored in zip(group, store.get([note.id for note in group], namespace=namespace), strict=True)
        if stored is not None and stored.id == note.id  # ``get`` also finds a note whose path is equal to the id
    }


def _by_namespace(notes: Iterable[Note]) -> dict[str, list[Note]]:
    groups: dict[str, list[Note]] = {}
    for note in notes:
        groups.setdefault(note.namespace, []).append(note)
    return groups


def documents_in(store: Store, namespaces: Sequence[str] | None) -> dict[tuple[str, ...], DocumentRecord]:
    """Return the documents of some namespaces, or of all, by namespace, root and name; the ids of notes are sorted."""
    return {
        record[:3]: record._replace(notes=tuple(sorted(record.notes)))
        for record in store.document_records()
        if namespaces is None or record.namespace in namespaces
    }


def _canonical_json(value: Any) -> str:
    """Return JSON that does not depend on the order of keys."""
    return with_deep_stack(lambda: json.dumps(value, sort_keys=True, separators=(",", ":")))
