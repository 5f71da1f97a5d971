"""The contract of a store: :class:`Store`, and the data that its methods take and return.

Code outside ``stores/`` uses this contract and no engine directly. No store depends on ranking.

A note has one vector, or one for each chunk of its text; its similarity to a query is that of its best chunk.

Namespaces are isolated: no method of one namespace sees notes, links, documents, vectors or term statistics of another.
Each method that writes is one transaction.

From the instant at which a note expires, no method returns, follows or changes the note, even before it is deleted; the
clock is :func:`recollect.arguments.now`. Every write first deletes expired notes; ``expire`` does only this. Term
statistics may include an expired note until it is deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

from recollect.model import Document, Draft, EmbeddingText, Filters, Link, Note, WriteCounts
from recollect.stores.search_index import (
    SearchIndex,
    SupportsGraph,
    SupportsModel,
    SupportsNames,
    SupportsPages,
    SupportsSimilarities,
    SupportsSpelling,
    SupportsSuccessors,
    SupportsTermCounts,
    SupportsTextScores,
)

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    Vector = NDArray[float32]

FIELD_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"path": 3.0, "title": 10.0, "summary": 5.0, "tags": 4.0, "content": 1.0}
)
"""The BM25 weight of each field of a note."""


class Model(NamedTuple):
    """The embedding model of stored vectors: only vectors of the same model are compared."""

    name: str
    dimension: int  # how many numbers a vector has
    precision: str = "float32"  # the numpy type of these numbers


class Neighbour(NamedTuple):
    """A note that an edge connects with the requested note."""

    note: Note
    kind: str
    """``previous``, ``next``, ``mention``, ``entity``, or a link's kind."""
    direction: Literal["out", "in"]
    """Whether the edge leads from the requested note ("out") or to the requested note ("in")."""


class Page(NamedTuple):
    """One page of a list of notes, and the cursor of the next page."""

    notes: list[Note]
    next: int | None  # the cursor of the next page; None if this page is the last


class PendingNote(NamedTuple):
    """A note that has no vector of a model yet: its key in the store, and the text to embed."""

    key: Any
    text: EmbeddingText


class WriteResult(NamedTuple):
    """The notes that a batch wrote."""

    notes: list[Note]  # as they are stored now, in the order of the drafts
    pending: list[PendingNote]  # the notes of the batch that have no vector of the model


class DocumentWriteResult(NamedTuple):
    """The result of writing a batch of documents."""

    counts: WriteCounts
    pending: list[PendingNote]  # the notes of the batch that have no vector of the model


class DocumentRecord(NamedTuple):
    """A stored document: its namespace, the fields of a :class:`Document`, and the ids of its notes."""

    namespace: str
    root: str
    name: str
    fingerprint: str
    notes: tuple[str, ...]  # the ids of the document's notes, in the order of their creation


class Finding(NamedTuple):
    """The result of a check of one part of a store."""

    part: str
    problem: str  # what is wrong, as a message for a person; empty if nothing is wrong
    repairable: bool = True  # whether ``repair`` can fix the problem; it rebuilds only data derived from notes
    warning: str = ""  # a condition that is no error, and what to do about it; empty if there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """The location and the size of a store."""

    location: str
    engine: str
    schema: int  # the version of the schema
    notes: Mapping[str, int] = field(default_factory=dict)  # how many notes each namespace has
    expiring: int = 0  # how many notes of all namespaces have an expiry date
    links: int = 0
    documents: int = 0
    model: Model | None = None  # the active model, with which the store is searched
    vectors: Mapping[str, int] = field(default_factory=dict)  # how many notes have a vector, by the name of its model
    bytes: int = 0  # the size on disk


class ModelChangedError(Exception):
    """The query's vector was computed by another model than ``model``, the active model of the store."""

    def __init__(self, model: Model) -> None:
        super().__init__(model.name)
        self.model = model


@runtime_checkable
class SupportsFinishIndexes(Protocol):
    """A store that builds indexes in background threads."""

    def finish_indexes(self) -> None:
        """Build the indexes that are missing, and return when they are complete."""


class Store(
    SearchIndex,
    SupportsModel,
    SupportsGraph,
    SupportsSuccessors,
    SupportsTermCounts,
    SupportsSimilarities,
    SupportsTextScores,
    SupportsNames,
    SupportsSpelling,
    SupportsPages,
    Protocol,
):
    """A database of notes with lexical and vector search."""

    @property
    def read_only(self) -> bool:
        """Whether the store was opened for reading only."""

    def texts_to_embed(self, drafts: Sequence[Draft], *, model: Model) -> list[EmbeddingText]:
        """Return the distinct texts that need a vector of ``model`` before the drafts are written.

        A draft needs no vector if it contains one, or if its note is stored with the same text and a vector of
        ``model``. This method only reads: another writer may change the notes before :meth:`write` is called.
        """

    def write(
        self,
        drafts: Sequence[Draft],
        *,
        model: Model | None = None,
        vectors: Mapping[bytes, Vector] | None = None,
        create: bool = True,
    ) -> WriteResult:
        """Write the drafts in one transaction and return the notes as they are now.

        A draft whose id or path exists changes that note. Any other draft creates a note; if ``create`` is false, it
        raises ``NoteNotFoundError``. If a draft has a vector, its note gets this vector. Otherwise, if ``model`` is not
        ``None``, a note with an unchanged text and a vector of ``model`` keeps this vector, and any other note gets the
        vector that ``vectors`` has for the digest of its text. A note for which ``vectors`` has none is returned as
        pending: embed its text and call :meth:`embed`.
        """

    def write_documents(
        self,
        documents: Sequence[Document],
        *,
        namespace: str,
        model: Model | None = None,
        vectors: Mapping[bytes, Vector] | None = None,
        adopt: bool = False,
    ) -> DocumentWriteResult:
        """Write the drafts of documents like :meth:`write`; delete notes that the documents no longer contain.

        A draft may have the path of a stored note that belongs to another document, or to no document. If draft and
        note have the same content, or if ``adopt`` is true, the document becomes the owner of that note; otherwise
        ``IngestError`` is raised.
        """

    def get(self, keys: Sequence[str], *, namespace: str) -> list[Note | None]:
        """Return, for each key, the note with this id, or else the note with this path, or else ``None``."""

    def delete(self, keys: Sequence[str], *, namespace: str) -> int:
        """Delete notes by id or path, with everything derived from them; return how many existed."""

    def expire(self, now: datetime, *, limit: int | None = None) -> int:
        """Delete the notes that have expired at ``now``, at most ``limit``; return the number of deleted notes.

        If no note has expired, the call takes one index lookup. If another writer is active, it raises
        ``StoreBusyError`` without waiting. A read-only store deletes nothing.
        """

    def touch(self, access_times: Mapping[str, datetime], *, namespace: str) -> int:
        """Set the last access times of notes, by id; return the number of changed notes.

        A note whose stored time is the same or later is skipped, and so are unknown ids. No other field of a note
        changes. The call waits only briefly for other writers before it raises ``StoreBusyError``.
        """

    def notes(self, *, namespace: str | None = None, filters: Filters | None = None) -> Iterator[Note]:
        """Iterate over the notes of a namespace, or of all namespaces, in the order of their creation."""

    def vectors_of(self, notes: Sequence[Note]) -> tuple[Model | None, list[Vector | None]]:
        """Return the active model and its vector of each note's text; ``None`` for a note without such a vector."""

    def link(self, source: str, link: Link, *, namespace: str) -> bool:
        """Add a link from the note ``source``, given by id or path; return whether the link is new."""

    def unlink(self, source: str, link: Link, *, namespace: str) -> bool:
        """Remove a link from the note ``source`` to another; return whether the link existed."""

    def neighbours(self, key: str, *, namespace: str) -> list[Neighbour]:
        """Return the notes that edges connect with a note, given by id or path, in the order of :meth:`edges`."""

    def documents(self, root: str, *, namespace: str) -> dict[str, str]:
        """Return the fingerprints of the documents with this ``root``, by the names of the documents."""

    def remove_documents(self, root: str, names: Sequence[str], *, namespace: str) -> int:
        """Delete documents and their notes; return the number of deleted notes."""

    def document_records(self, *, namespace: str | None = None) -> Iterator[DocumentRecord]:
        """Iterate over the documents of a namespace, or of all namespaces, in any order."""

    def set_document_notes(self, records: Sequence[DocumentRecord]) -> None:
        """Set the fingerprint and the notes of each document; documents that do not exist are created.

        A note of another document moves to the document that lists the note. A note that is no longer listed belongs
        to no document. Unknown ids are skipped. No other field of a note changes.
        """

    def pending(self, model: Model, limit: int, *, after: Any = None) -> list[PendingNote]:
        """Return at most ``limit`` notes of the store with a key above ``after`` that have no vector of ``model``."""

    def embed(self, model: Model, vectors: Sequence[tuple[PendingNote, Vector]]) -> int:
        """Write the vectors of pending notes whose text is still the same; return the number of written vectors."""

    def activate(self, model: Model) -> bool:
        """Make ``model`` the active model, and delete the vectors of other models; return True.

        If a note lacks a vector of ``model``, nothing is changed, and the result is False.
        """

    def stats(self) -> StoreStats:
        """Return the location and the size of the store."""

    def check(self) -> list[Finding]:
        """Check every part of the store; return one finding for each part, even if it has no problem."""

    def repair(self) -> list[Finding]:
        """Rebuild all data that is derived from the notes, and return the findings of a check afterwards."""

    def backup(self, target: Path, *, overwrite: bool = False) -> None:
        """Write a consistent copy of the store to a file; others may read and write the store meanwhile."""

    def close(self) -> None:
        """Close the file or connections; further calls raise ``StoreError``."""
