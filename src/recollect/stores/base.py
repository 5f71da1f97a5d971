"""The contract that every store keeps. Nothing outside ``stores/`` knows an engine; nothing inside knows ranking.

A note has a vector for each piece of its text: one, or a row for each piece. It is as near to a query as the nearest.

A namespace is a wall: notes, links, documents, vectors and word statistics of one are never seen from another. Each
method that writes is one transaction: it happens as a whole, or not at all.

A note that expires is there until that instant. From then on no method returns, finds, follows or changes it, whether
it was removed yet or not; the clock is :func:`recollect.arguments.now`. Every write removes what is due, and ``expire``
does nothing else. Word statistics may count it until it is removed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

from recollect.model import Candidate, Document, Draft, Edge, EmbeddingText, Filters, Link, Note, WriteCounts
from recollect.query import Query
from recollect.query.expressions import Semantics

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
    "SearchIndex",
    "Store",
    "StoreStats",
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


class SearchIndex(Protocol):
    """The part of a store that searching needs."""

    @property
    def model(self) -> Model | None:
        """The model that the stored vectors are searched with; ``None`` while there are none."""
        ...

    def search_text(
        self, query: Query, limit: int, *, namespace: str, filters: Filters, reading: Semantics = "strict"
    ) -> list[Candidate]:
        """Return the best notes by BM25 with ``lexical_rank`` and ``lexical_score``; ties by path, then id."""
        ...

    def search_vectors(
        self,
        vector: Vector,
        limit: int,
        *,
        namespace: str,
        filters: Filters,
        without: Query | None = None,
        model: Model | None = None,
    ) -> list[Candidate]:
        """Return the nearest notes with ``vector_rank`` and ``vector_similarity``; ties by path, then id.

        Notes that hold what the query ``without`` excludes are not among them. ``model`` is what made the vector, if
        that is known; where the store is searched with another by now, ``ModelChangedError`` says so.
        """
        ...

    def edges(
        self, ids: Sequence[str], *, namespace: str, reach: int = 1, kinds: Collection[str] | None = None
    ) -> list[Edge]:
        """Return every connection of the notes with these ids, or those of some ``kinds``, each once.

        They come in the order of ``ids``; those of one note by kind: its place first, then the links from it and to it,
        the mentions from it and to it, the entities that it shares. ``reach`` is how many places before and behind
        count as beside it. Unknown ids have none, and none leads from a note to itself.
        """
        ...

    def successors(
        self, ids: Sequence[str], *, namespace: str, created_before: datetime | None = None
    ) -> dict[str, tuple[str, ...]]:
        """Return for each superseded note of these notes' chains the notes that supersede it directly.

        A note supersedes another by a link ``supersedes`` to it, or by the other's link ``superseded-by``. Chains are
        followed to their end in a constant number of queries where the engine can: the keys of the result are the
        superseded notes among ``ids`` and among all that supersedes them, the values sorted ids. Notes of a
        cycle do not supersede each other; a note outside it that supersedes one of them does. Notes created at
        ``created_before`` or later do not count. At most :data:`~recollect.stores.supersession.MAX_SUPERSESSIONS` are
        followed. Unknown ids have none.
        """
        ...

    def candidates(
        self, ids: Sequence[str], *, namespace: str, filters: Filters, without: Query | None = None
    ) -> list[Candidate]:
        """Return the notes with these ids that pass the filters, in the order of ``ids``; unknown ids are left out.

        Notes that hold what the query ``without`` excludes are not among them.
        """
        ...

    def note_counts(self, queries: Sequence[Query], *, namespace: str) -> tuple[int, list[int]]:
        """Return how many notes the namespace has, and how many of them each query finds by its words."""
        ...

    def similarities(
        self, vector: Vector, ids: Sequence[str], *, namespace: str, model: Model | None = None
    ) -> dict[str, float]:
        """Return how near the notes with these ids are to a vector, as ``search_vectors`` would say it.

        Unknown ids, and notes without a vector, are left out.
        """
        ...

    def text_scores(
        self, query: Query, notes: Sequence[str], *, namespace: str, reading: Semantics = "strict"
    ) -> dict[str, float]:
        """Return the BM25 scores of the notes with these ids: exactly those of ``search_text``, whatever their rank.

        Notes that do not match the query, and unknown ids, are left out. No filters apply: pass only ids that the
        caller may see.
        """
        ...

    def search_names(
        self,
        words: Sequence[str],
        limit: int,
        *,
        namespace: str,
        filters: Filters,
        titles: bool = False,
        without: Query | None = None,
    ) -> list[Candidate]:
        """Return the notes whose name is spelt like one of the words, the most alike first, then by path, then id.

        A note's name is the slug of its path, and how alike it is, :func:`recollect.query.trigram_search` says. With
        ``titles`` its title is a name too, and so is each word of four letters and more of a longer name, if it is at
        least 0.5 alike; the best counts. It is the ``score`` and ``lexical_score``. Notes that hold what the query
        ``without`` excludes are not among them.
        """
        ...

    def similar_words(self, words: Sequence[str], *, namespace: str) -> dict[str, tuple[str, ...]]:
        """Return for each word that no note holds the words that notes hold and that are spelt most like it.

        Best first, three at most; what is held, or like nothing that is, is left out. A word of four to seven letters
        may be one edit away, a longer one two; where several are as near, those that more notes hold come first.
        :meth:`search_text` finds every word that is returned.
        """
        ...


@runtime_checkable
class SupportsFinishIndexes(Protocol):
    """A store that builds indexes in the background of searches."""

    def finish_indexes(self) -> None:
        """Build the indexes that are missing, however long that takes."""
        ...


class Store(SearchIndex, Protocol):
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

    def page(self, limit: int, *, namespace: str, filters: Filters, after: int = 0) -> Page:
        """Return the next notes of such a walk from behind a place on, which stays valid when its note is deleted."""
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
