"""The contract that every store keeps. Nothing outside ``stores/`` knows an engine; nothing inside knows ranking.

A note has a vector for each piece of its text: one, or a row for each piece. It is as near to a query as the nearest.

A namespace is a wall: notes, links, documents, vectors and word statistics of one are never seen from another. Each
method that writes is one transaction: it happens as a whole, or not at all.

A note that expires is there until that instant. From then on no method returns, finds, follows or changes it, whether
it was removed yet or not; the clock is :func:`recollect.arguments.now`. Every write removes what is due, and ``expire``
does nothing else. Word statistics may count it until it is removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

from recollect.model import Document, Draft, Edge, EmbeddingText, Filters, Link, Note, WriteCounts
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

__all__ = [
    "FIELD_WEIGHTS",
    "DocumentRecord",
    "DocumentWriteResult",
    "Edge",
    "Finding",
    "Model",
    "ModelChangedError",
    "Neighbour",
    "Page",
    "Pending",
    "Store",
    "StoreStats",
    "SupportsFinishIndexes",
    "WriteResult",
]


FIELD_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"path": 3.0, "title": 10.0, "summary": 5.0, "tags": 4.0, "content": 1.0}
)
"""What a word counts in each field of a note."""


class Model(NamedTuple):
    """What is stored with vectors, so that only such as can be compared are compared."""

    name: str
    dimension: int
    precision: str = "float32"


class Neighbour(NamedTuple):
    """A note one step away: how it is connected, seen from the note that was asked about."""

    note: Note
    kind: str
    """``previous``, ``next``, ``mention``, ``entity``, or a link's kind."""
    direction: Literal["out", "in"]
    """Whether the connection leads from the note that was asked about, or to it."""


class Page(NamedTuple):
    """Some notes of a longer list, and where the rest begins."""

    notes: list[Note]
    next: int | None
    """The place to go on behind; ``None`` at the end of the list."""


class Pending(NamedTuple):
    """A note that has no vector of a model yet: the store's own key of it, and the text to embed."""

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
    """A document as a store knows it: where it lies, what stands for its state, and which notes are its own.

    >>> DocumentRecord("default", "/notes", "tea.md", "20:1:af", ("n1",)).notes
    ('n1',)
    """

    namespace: str
    root: str
    name: str
    fingerprint: str
    notes: tuple[str, ...]
    """The ids of its notes, in the order in which they came."""


class Finding(NamedTuple):
    """What a check found in one part of a store."""

    part: str
    problem: str
    """In words for a person; empty where all is well."""
    repairable: bool = True
    """Whether ``repair`` can put it right: it can rebuild what is derived from the notes."""
    warning: str = ""
    """A condition that is no error, and what to do about it; empty if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """What a store holds."""

    location: str
    engine: str
    schema: int
    notes: Mapping[str, int] = field(default_factory=dict)
    """How many notes each namespace has."""
    expiring: int = 0
    """How many of them expire some day."""
    links: int = 0
    documents: int = 0
    model: Model | None = None
    """The model that the store's vectors are searched with."""
    vectors: Mapping[str, int] = field(default_factory=dict)
    """How many vectors there are of each model."""
    bytes: int = 0


class ModelChangedError(Exception):
    """The store is searched with another model than the one that made a query's vector."""

    def __init__(self, model: Model) -> None:
        """Keep the model."""
        super().__init__(model.name)
        self.model = model


@runtime_checkable
class SupportsFinishIndexes(Protocol):
    """A store that builds indexes in the background of searches."""

    def finish_indexes(self) -> None:
        """Build the indexes that are missing, however long that takes."""
        ...


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
    """Where notes live and are found."""

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written here."""
        ...

    def texts_to_embed(self, drafts: Sequence[Draft], *, model: Model) -> list[EmbeddingText]:
        """Return the distinct texts that need a vector of ``model`` before the drafts are written.

        A draft needs none if it has one of its own, or if it leaves the text of a stored note with a vector of
        ``model`` unchanged. This only reads; another writer may change the notes before :meth:`write` does.
        """
        ...

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
        ``NoteNotFoundError``. With a ``model``, a note gets the draft's own vector, or that of ``vectors`` with the
        digest of its text, or keeps the one it has if its text did not change. A note that has none of these is
        stored without a vector and returned as pending: embed its text and call :meth:`embed`.
        """
        ...

    def write_documents(
        self,
        documents: Sequence[Document],
        *,
        namespace: str,
        model: Model | None = None,
        vectors: Mapping[bytes, Vector] | None = None,
        adopt: bool = False,
    ) -> DocumentWriteResult:
        """Store documents as ``write`` stores drafts, and delete the notes that they had and no longer have.

        A note at one of their paths that is not theirs raises ``IngestError``, unless it says the same, or ``adopt`` is
        true: then it becomes theirs.
        """
        ...

    def get(self, keys: Sequence[str], *, namespace: str) -> list[Note | None]:
        """Return for each id or path its note; an id goes before a path."""
        ...

    def delete(self, keys: Sequence[str], *, namespace: str) -> int:
        """Delete notes by id or path, with all that was derived from them; return how many there were."""
        ...

    def expire(self, now: datetime, *, most: int | None = None) -> int:
        """Delete the notes that are due at an instant, or ``most`` of them, as ``delete`` does; return how many.

        Where none is, that costs next to nothing. It is not worth waiting for: where others keep the store busy,
        ``StoreBusyError`` comes at once. A store that can only be read deletes nothing.
        """
        ...

    def touch(self, accessed: Mapping[str, datetime], *, namespace: str) -> int:
        """Set when notes, named by id, were last accessed, where that is later than what is known; return how many.

        Nothing else of a note changes, and ids that are not there are passed over. It is not worth waiting for: where
        others keep the store busy, ``StoreBusyError`` comes soon.
        """
        ...

    def notes(self, *, namespace: str | None = None, filters: Filters | None = None) -> Iterator[Note]:
        """Walk over the notes of a namespace, or of all, in the order in which they came."""
        ...

    def vectors_of(self, notes: Sequence[Note]) -> tuple[Model | None, list[Vector | None]]:
        """Return the model that the store is searched with, and its vectors of these notes as they are here."""
        ...

    def link(self, source: str, link: Link, *, namespace: str) -> bool:
        """Add a link to a note; return whether it is new."""
        ...

    def unlink(self, source: str, link: Link, *, namespace: str) -> bool:
        """Take a link from a note; return whether it was there."""
        ...

    def neighbours(self, key: str, *, namespace: str) -> list[Neighbour]:
        """Return the notes at the other ends of its edges, as ``edges`` orders them."""
        ...

    def documents(self, root: str, *, namespace: str) -> dict[str, str]:
        """Return the fingerprints of the documents below ``root`` by their names."""
        ...

    def remove_documents(self, root: str, names: Sequence[str], *, namespace: str) -> int:
        """Forget documents and delete their notes; return how many notes there were."""
        ...

    def document_records(self, *, namespace: str | None = None) -> Iterator[DocumentRecord]:
        """Walk over the documents of a namespace, or of all, in whatever order."""
        ...

    def set_document_notes(self, records: Sequence[DocumentRecord]) -> None:
        """Let documents have these fingerprints and just these notes, by id; no note changes otherwise.

        A document that is not there yet begins. What it had before and has no longer belongs to none, a note that
        another had is that one's no more, and ids that are not there are passed over.
        """
        ...

    def pending(self, model: Model, limit: int, *, after: Any = None) -> list[Pending]:
        """Return notes of any namespace that have no vector of ``model``, from the one behind ``after`` on."""
        ...

    def embed(self, model: Model, vectors: Sequence[tuple[Pending, Vector]]) -> int:
        """Store vectors of notes whose text is still the one that was embedded; return how many."""
        ...

    def activate(self, model: Model) -> bool:
        """Search with ``model`` from now on and drop all other vectors, if no note lacks one; return whether."""
        ...

    def stats(self) -> StoreStats:
        """Return what the store holds."""
        ...

    def check(self) -> list[Finding]:
        """Look at every part and return what was found, the good news too."""
        ...

    def repair(self) -> list[Finding]:
        """Rebuild what is derived from the notes, and return what a check finds afterwards."""
        ...

    def backup(self, target: Path, *, overwrite: bool = False) -> None:
        """Write a consistent copy while others go on reading and writing."""
        ...

    def close(self) -> None:
        """Let go of the file or server; further calls raise ``StoreError``."""
        ...
