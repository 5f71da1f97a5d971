"""The contract of a store. Code outside ``stores/`` depends on no engine, and no store depends on ranking.

A note has one vector, or one for each chunk of its text; its similarity to a query is that of its best chunk.

Namespaces are isolated: notes, links, documents, vectors and term statistics of one are invisible to the others. Each
method that writes is one transaction.

From the instant at which a note expires, no method returns, follows or changes it, even before it is deleted; the clock
is :func:`recollect.arguments.now`. Every write deletes expired notes first, and ``expire`` does only that. Term
statistics may include expired notes until they are deleted.
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
    dimension: int
    precision: str = "float32"


class Neighbour(NamedTuple):
    """A note at the other end of an edge."""

    note: Note
    kind: str
    """``previous``, ``next``, ``mention``, ``entity``, or a link's kind."""
    direction: Literal["out", "in"]
    """Whether the edge leads from the note in question, or to it."""


class Page(NamedTuple):
    """Some notes of a longer list, and the cursor to the rest."""

    notes: list[Note]
    next: int | None
    """The cursor for the next page; ``None`` at the end of the list."""


class Pending(NamedTuple):
    """A note that has no vector of a model yet: its key in the store, and the text to embed."""

    key: Any
    text: EmbeddingText


class WriteResult(NamedTuple):
    """The notes of a batch as they are stored now, and those among them that still lack a vector of the model."""

    notes: list[Note]
    pending: list[Pending]


class DocumentWriteResult(NamedTuple):
    """How many notes the documents of a batch changed, and those that still lack a vector of the model."""

    counts: WriteCounts
    pending: list[Pending]


class DocumentRecord(NamedTuple):
    """A document: its root and name, the fingerprint of its state, and the notes that were created from it."""

    namespace: str
    root: str
    name: str
    fingerprint: str
    notes: tuple[str, ...]
    """The ids of its notes, in the order of their creation."""


class Finding(NamedTuple):
    """The result of a check of one part of a store."""

    part: str
    problem: str
    """A message for a person; empty if there is none."""
    repairable: bool = True
    """Whether ``repair`` can fix it: it rebuilds what is derived from the notes."""
    warning: str = ""
    """A condition that is no error, and what to do about it; empty if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """How much a store contains."""

    location: str
    engine: str
    schema: int
    notes: Mapping[str, int] = field(default_factory=dict)
    """How many notes each namespace has."""
    expiring: int = 0
    """How many of them have an expiry date."""
    links: int = 0
    documents: int = 0
    model: Model | None = None
    """The model that the store's vectors are searched with."""
    vectors: Mapping[str, int] = field(default_factory=dict)
    """How many vectors there are of each model."""
    bytes: int = 0


class ModelChangedError(Exception):
    """The query's vector is not of the store's active model."""

    def __init__(self, model: Model) -> None:
        super().__init__(model.name)
        self.model = model


@runtime_checkable
class SupportsFinishIndexes(Protocol):
    """A store that builds indexes in background threads."""

    def finish_indexes(self) -> None:
        """Build the indexes that are missing, however long that takes."""


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
        """Whether nothing can be written here."""

    def texts_to_embed(self, drafts: Sequence[Draft], *, model: Model) -> list[EmbeddingText]:
        """Return the distinct texts that need a vector of ``model`` before the drafts are written.

        A draft needs none if it has one of its own, or if it leaves the text of a stored note with a vector of
        ``model`` unchanged. This only reads; another writer may change the notes before :meth:`write` does.
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

        A draft whose id or path exists changes that note. Any other creates one, or, unless ``create``, raises
        ``NoteNotFoundError``. With a ``model``, a note gets the draft's own vector, or the one that ``vectors``
        has for the digest of its text, or keeps its vector if its text did not change. A note with none of these is
        stored without a vector and returned as pending: embed its text and call :meth:`embed`.
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
        """Write documents as ``write`` writes drafts, and delete the notes that they had and no longer have.

        A note at one of their paths that belongs to no or another document raises ``IngestError``, unless its content
        is the same or ``adopt`` is true: then it is assigned to the document.
        """

    def get(self, keys: Sequence[str], *, namespace: str) -> list[Note | None]:
        """Return the note for each key, which is an id or else a path; ``None`` if there is no such note."""

    def delete(self, keys: Sequence[str], *, namespace: str) -> int:
        """Delete notes by id or path, with everything derived from them; return how many existed."""

    def expire(self, now: datetime, *, most: int | None = None) -> int:
        """Delete the notes that have expired at ``now``, at most ``most`` of them; return how many.

        It takes one index lookup if there are none. It does not wait for other writers, but raises ``StoreBusyError``
        at once. A read-only store deletes nothing.
        """

    def touch(self, accessed: Mapping[str, datetime], *, namespace: str) -> int:
        """Set the last access times of notes, by id, where they are later than the stored ones; return the number.

        Nothing else of a note changes, and unknown ids are skipped. It waits for other writers only briefly before it
        raises ``StoreBusyError``.
        """

    def notes(self, *, namespace: str | None = None, filters: Filters | None = None) -> Iterator[Note]:
        """Iterate over the notes of a namespace, or of all, in the order of their creation."""

    def vectors_of(self, notes: Sequence[Note]) -> tuple[Model | None, list[Vector | None]]:
        """Return the active model, and each note's vector, or ``None`` if its vector was computed from another text."""

    def link(self, source: str, link: Link, *, namespace: str) -> bool:
        """Add a link to a note; return whether it is new."""

    def unlink(self, source: str, link: Link, *, namespace: str) -> bool:
        """Remove a link of a note; return whether it existed."""

    def neighbours(self, key: str, *, namespace: str) -> list[Neighbour]:
        """Return the notes at the other ends of a note's edges, in the order of ``edges``."""

    def documents(self, root: str, *, namespace: str) -> dict[str, str]:
        """Return the fingerprints of the documents below ``root`` by their names."""

    def remove_documents(self, root: str, names: Sequence[str], *, namespace: str) -> int:
        """Delete documents and their notes; return the number of deleted notes."""

    def document_records(self, *, namespace: str | None = None) -> Iterator[DocumentRecord]:
        """Iterate over the documents of a namespace, or of all, in any order."""

    def set_document_notes(self, records: Sequence[DocumentRecord]) -> None:
        """Set the fingerprints of documents and the list of notes of each; nothing else of a note changes.

        New documents are created. A note that is in no list any more belongs to no document, a note of another document
        moves, and unknown ids are skipped.
        """

    def pending(self, model: Model, limit: int, *, after: Any = None) -> list[Pending]:
        """Return the next notes after a key, of any namespace, that have no vector of ``model``."""

    def embed(self, model: Model, vectors: Sequence[tuple[Pending, Vector]]) -> int:
        """Write vectors of notes whose text is still the one that was embedded; return how many."""

    def activate(self, model: Model) -> bool:
        """Make ``model`` the active model and delete all other vectors; return False if a note has no vector of it."""

    def stats(self) -> StoreStats:
        """Return how much the store contains."""

    def check(self) -> list[Finding]:
        """Check every part and return the findings, good ones too."""

    def repair(self) -> list[Finding]:
        """Rebuild all data that is derived from the notes, and return the findings of a check afterwards."""

    def backup(self, target: Path, *, overwrite: bool = False) -> None:
        """Write a consistent copy; others may read and write meanwhile."""

    def close(self) -> None:
        """Close the file or connections; further calls raise ``StoreError``."""
