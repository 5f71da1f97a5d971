"""The store in Milvus: it keeps the contract of :mod:`recollect.stores.base`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import NoteNotFoundError
from recollect.model import Candidate, Document, Draft, Filters, Link, Note, WriteCounts
from recollect.query import Query
from recollect.query.expressions import Reading
from recollect.stores.backups import appearing
from recollect.stores.base import Edge, Finding, Model, Neighbour, Page, Pending, Shelf, StoreStats
from recollect.stores.batches import Batch, Plan
from recollect.stores.copying import copy_store
from recollect.stores.milvus import (
    checking,
    embedding,
    expiry,
    names,
    nearest,
    neighbourhood,
    searching,
    shelving,
    tables,
    vocabulary,
)
from recollect.stores.milvus.address import read_address
from recollect.stores.milvus.directory import Directory
from recollect.stores.milvus.filtering import conditions
from recollect.stores.milvus.reading import Reader
from recollect.stores.milvus.rows import Stored, namespace_key
from recollect.stores.milvus.session import Session
from recollect.stores.milvus.writing import Writer, write_plan
from recollect.stores.rows import note_of, to_microseconds
from recollect.stores.sqlite.store import SQLiteStore

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["MilvusStore"]

WALK_ROWS = 1000
TOUCH_PATIENCE = 1.0
"""Seconds to wait for other writers where that is all there is to write."""
LARGEST = 2**62
"""More than any key, and still a number that Milvus can hold."""


class MilvusStore:
    """Notes, their words, vectors and links in a Milvus, which is a cluster or a folder of one's own.

    Threads may share it: one writes at a time. Processes may share a cluster, not a folder.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     store = MilvusStore(f"milvus://{folder}/memory.db")
    ...     note, = store.write([{"content": "Prefers green tea.", "path": "tea.md"}])
    ...     found, = store.get(["tea.md"], namespace="default")
    ...     store.close()
    >>> found == note
    True
    """

    def __init__(self, address: str, *, read_only: bool = False) -> None:
        """Open what an address such as ``milvus://host:port/db`` or ``milvus:///path/name.db`` names."""
        self._session = Session(read_address(address), read_only=read_only)

    @property
    def read_only(self) -> bool:
        """Whether it was opened for reading alone."""
        return self._session.client.read_only

    @property
    def model(self) -> Model | None:
        """The model that the stored vectors are searched with."""
        with self._session.reading() as reader:
            return reader.model

    def write(
        self,
        drafts: Sequence[Draft],
        *,
        model: Model | None = None,
        vectors: Mapping[bytes, Vector] | None = None,
        create: bool = True,
    ) -> list[Note]:
        """Store what the drafts say and return the notes as they are now."""
        with self._session.writing() as writer:
            batch = Batch(tables.Transaction(writer), create=create)
            batch.add(drafts)
            _write(writer, batch.plan(model, vectors or {}))
            return batch.notes()

    def write_documents(
        self,
        documents: Sequence[Document],
        *,
        namespace: str,
        model: Model | None = None,
        vectors: Mapping[bytes, Vector] | None = None,
        adopt: bool = False,
    ) -> WriteCounts:
        """Store documents, and delete the notes that they had and no longer have."""
        with self._session.writing() as writer:
            batch = Batch(tables.Transaction(writer), adopt=adopt)
            written = batch.add_documents(documents, namespace)
            _write(writer, batch.plan(model, vectors or {}))
        return written

    def get(self, keys: Sequence[str], *, namespace: str) -> list[Note | None]:
        """Return for each id or path its note."""
        with self._session.reading() as reader:
            found = reader.named(namespace_key(namespace), keys, keys)
        meant = tables.meant([stored for stored in found if reader.sees(stored)], keys)
        return [stored and note_of(stored.row, namespace, stored.links) for stored in meant]

    def delete(self, keys: Sequence[str], *, namespace: str) -> int:
        """Delete notes by id or path, with all that was derived from them."""
        home = namespace_key(namespace)
        with self._session.writing() as writer:
            meant = tables.meant(writer.named(home, keys, keys), keys)
            gone = {stored.row.key for stored in meant if stored is not None}
            writer.delete({home: sorted(gone)})
        return len(gone)

    def expire(self, now: datetime, *, most: int | None = None) -> int:
        """Delete the notes that are due, if others do not keep the store busy."""
        moment = to_microseconds(now)
        if self.read_only or not self._session.may_be_due(moment):
            return 0
        with self._session.reading() as reader:
            if not expiry.is_due(reader, moment):
                return 0
        with self._session.writing(0, removing=False) as writer:
            return expiry.remove(writer, moment, most)

    def touch(self, accessed: Mapping[str, datetime], *, namespace: str) -> int:
        """Set when notes were last accessed, where that is later than what is known."""
        home = namespace_key(namespace)
        with self._session.writing(TOUCH_PATIENCE) as writer:
            return tables.touch_notes(writer, home, accessed)

    def notes(self, *, namespace: str | None = None, filters: Filters | None = None) -> Iterator[Note]:
        """Walk over the notes in the order in which they came; what is written meanwhile may or may not be seen."""
        last = -1
        while found := self._behind(last, WALK_ROWS, namespace, filters or Filters()):
            yield from found.values()
            last = max(found)

    def page(self, limit: int, *, namespace: str, filters: Filters, after: int = 0) -> Page:
        """Return the next notes of a walk from behind a place on."""
        deepest = min(limit, LARGEST - 1)
        found = self._behind(min(after, LARGEST), deepest + 1, namespace, filters)
        shown = list(found)[:deepest]
        return Page([found[key] for key in shown], shown[-1] if len(found) > deepest and shown else None)

    def vectors_of(self, notes: Sequence[Note]) -> tuple[Model | None, list[Vector | None]]:
        """Return the model that the store is searched with, and its vectors of these notes as they are here."""
        with self._session.reading() as reader:
            return nearest.vectors_of(reader, notes)

    def search_text(
        self, query: Query, limit: int, *, namespace: str, filters: Filters, reading: Reading = "strict"
    ) -> list[Candidate]:
        """Return the best notes by BM25."""
        with self._looking(namespace) as (reader, directory):
            return searching.search_text(reader, directory, query, min(limit, LARGEST), filters, reading)

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
        """Return the nearest notes by exact search."""
        with self._looking(namespace) as (reader, directory):
            deepest = min(limit, LARGEST)
            return nearest.search_vectors(reader, directory, vector, deepest, filters, without, model)

    def edges(
        self, ids: Sequence[str], *, namespace: str, reach: int = 1, kinds: Collection[str] | None = None
    ) -> list[Edge]:
        """Return every connection of the notes with these ids, or those of some kinds, each once."""
        with self._looking(namespace) as (reader, directory):
            return neighbourhood.edges(reader, directory, ids, min(reach, LARGEST), kinds)

    def successors(
        self, ids: Sequence[str], *, namespace: str, created_before: datetime | None = None
    ) -> dict[str, tuple[str, ...]]:
        """Return what supersedes these notes, directly and along their chains."""
        with self._looking(namespace) as (reader, directory):
            return neighbourhood.successors(reader, directory, ids, created_before)

    def candidates(
        self, ids: Sequence[str], *, namespace: str, filters: Filters, without: Query | None = None
    ) -> list[Candidate]:
        """Return the notes with these ids that pass the filters."""
        with self._looking(namespace) as (reader, directory):
            return searching.candidates(reader, directory, ids, filters, without)

    def note_counts(self, queries: Sequence[Query], *, namespace: str) -> tuple[int, list[int]]:
        """Return how many notes the namespace has, and how many of them each query finds by its words."""
        with self._looking(namespace) as (reader, directory):
            return searching.note_counts(reader, directory, queries)

    def similarities(
        self, vector: Vector, ids: Sequence[str], *, namespace: str, model: Model | None = None
    ) -> dict[str, float]:
        """Return how near the notes with these ids are to a vector."""
        with self._looking(namespace) as (reader, directory):
            return nearest.similarities(reader, directory, vector, ids, model)

    def text_scores(
        self, query: Query, notes: Sequence[str], *, namespace: str, reading: Reading = "strict"
    ) -> dict[str, float]:
        """Return the BM25 scores of the notes with these ids that match the query."""
        with self._looking(namespace) as (reader, directory):
            return searching.text_scores(reader, directory, query, notes, reading)

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
        """Return the notes whose name is spelt like one of the words."""
        with self._looking(namespace) as (reader, directory):
            deepest = min(limit, LARGEST)
            return names.search_names(reader, directory, words, deepest, filters, titles=titles, without=without)

    def similar_words(self, words: Sequence[str], *, namespace: str) -> dict[str, tuple[str, ...]]:
        """Return for each word that no note holds the words that notes hold and that are spelt most like it."""
        with self._looking(namespace) as (reader, directory):
            return vocabulary.similar_words(reader, directory, words)

    def link(self, source: str, link: Link, *, namespace: str) -> bool:
        """Add a link to a note."""
        with self._session.writing() as writer:
            stored = tables.one_note(writer, source, namespace)
            if link in stored.links:
                return False
            _relink(writer, stored, (*stored.links, link))
            return True

    def unlink(self, source: str, link: Link, *, namespace: str) -> bool:
        """Take a link from a note."""
        with self._session.writing() as writer:
            stored = tables.one_note(writer, source, namespace)
            if link not in stored.links:
                return False
            _relink(writer, stored, tuple(each for each in stored.links if each != link))
            return True

    def neighbours(self, key: str, *, namespace: str) -> list[Neighbour]:
        """Return the notes at the other ends of its edges."""
        with self._looking(namespace) as (reader, directory):
            hidden = directory.hidden(reader.now)
            named = (directory.ids.get(key), directory.paths.get(key))
            places = [place for place in named if place is not None and place not in hidden]
            if not places:
                raise NoteNotFoundError(f"there is no note {key!r} in namespace {namespace!r}")
            steps = neighbourhood.steps(reader, directory, places[:1])
            found = reader.notes(step.target for step in steps)
        others = {place: note_of(stored.row, namespace, stored.links) for place, stored in found.items()}
        return [Neighbour(others[step.target], step.kind, step.direction) for step in steps]

    def documents(self, root: str, *, namespace: str) -> dict[str, str]:
        """Return the fingerprints of the documents below ``root`` by their names."""
        with self._session.reading() as reader:
            return tables.documents_of(reader, namespace_key(namespace), root)

    def remove_documents(self, root: str, names: Sequence[str], *, namespace: str) -> int:
        """Forget documents and delete their notes."""
        with self._session.writing() as writer:
            return tables.remove_documents(writer, namespace_key(namespace), root, names)

    def shelves(self, *, namespace: str | None = None) -> Iterator[Shelf]:
        """Walk over the documents."""
        with self._session.reading() as reader:
            places = shelving.places(reader, namespace)
        for start in range(0, len(places), shelving.SHELVES_AT_ONCE):
            with self._session.reading() as reader:
                some = shelving.shelves_at(reader, places[start : start + shelving.SHELVES_AT_ONCE])
            yield from some

    def shelve(self, shelves: Sequence[Shelf]) -> None:
        """Let documents have these fingerprints and just these notes."""
        with self._session.writing() as writer:
            shelving.write_shelves(writer, shelves)

    def pending(self, model: Model, limit: int, *, after: Any = None) -> list[Pending]:
        """Return notes of any namespace that have no vector of ``model``."""
        with self._session.reading() as reader:
            return embedding.pending(reader, model, limit, after)

    def embed(self, model: Model, vectors: Sequence[tuple[Pending, Vector]]) -> int:
        """Store vectors of notes whose text is still the one that was embedded."""
        with self._session.writing() as writer:
            return embedding.embed(writer, model, vectors)

    def activate(self, model: Model) -> bool:
        """Search with ``model`` from now on and drop all other vectors, if no note lacks one."""
        with self._session.writing() as writer:
            return embedding.activate(writer, model)

    def stats(self) -> StoreStats:
        """Return what the store holds."""
        with self._session.reading() as reader:
            return checking.stats(reader)

    def check(self) -> list[Finding]:
        """Look at every part and return what was found, the good news too."""
        with self._session.reading() as reader:
            return checking.check(reader)

    def repair(self) -> list[Finding]:
        """Rebuild what is derived from the notes, and return what a check finds afterwards."""
        with self._session.writing() as writer:
            checking.rebuild(writer)
        self._session.directories.forget()
        return self.check()

    def backup(self, target: Path, *, overwrite: bool = False) -> None:
        """Write a copy into an SQLite file, which any Recollect opens."""
        with appearing(target, overwrite=overwrite) as unfinished, closing(SQLiteStore(unfinished)) as copy:
            copy_store(self, copy)

    def close(self) -> None:
        """Let go of the folder or server."""
        self._session.close()

    @contextmanager
    def _looking(self, namespace: str) -> Iterator[tuple[Reader, Directory]]:
        """Give what reads for one call, and the directory of a namespace as it is then."""
        with self._session.reading() as reader:
            yield reader, self._session.directories.at(reader, namespace_key(namespace))

    def _behind(self, place: int, limit: int, namespace: str | None, filters: Filters) -> dict[int, Note]:
        """Return the next notes behind a key, by their keys."""
        with self._session.reading() as reader:
            home = None if namespace is None else namespace_key(namespace)
            wall = [] if home is None else [f"namespace == {home}"]
            parts = [*wall, f"key > {place}", f"expires > {reader.now}", *conditions(filters)]
            found = reader.found(" and ".join(parts), limit)
            spelt = tables.namespace_names(reader) if namespace is None and found else {}
        return {
            key: note_of(stored.row, namespace if namespace is not None else spelt[stored.row.namespace], stored.links)
            for key, stored in found.items()
        }


def _write(writer: Writer, plan: Plan) -> None:
    """Write what a batch decided, with its vectors in the generation of their model."""
    model, pieces = embedding.unit_pieces(writer.state, plan.model, plan.vectors)
    target = embedding.generation_for(writer, model) if model is not None and pieces else None
    write_plan(writer, plan, target, pieces)


def _relink(writer: Writer, stored: Stored, links: tuple[Link, ...]) -> None:
    writer.put({stored.row.key: Stored(stored.row, links)}, known=[stored.row.key])
