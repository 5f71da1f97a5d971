"""Write documents to a store in batches; a document that cannot be written does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Protocol

from recollect.errors import ArgumentError, IngestError
from recollect.ingest.links import RESOLVED_KINDS, SUPERSESSION_KINDS, NameIndex, has_links, names_of, resolve_links
from recollect.ingest.report import Problem
from recollect.model import Document, NoteName, WriteCounts

BATCH_NOTES = 64
BATCH_CHARACTERS = 262_144

UNRESOLVED = "unresolved"
"""Prefix of the fingerprint of a document that supersedes an unknown or ambiguous note.

Such a document is read again at each ingest."""


class DocumentStore(Protocol):
    """The methods of a store that an ingest calls.

    >>> [name for name in vars(DocumentStore) if "_" not in name[:1]]
    ['documents', 'write_documents', 'remove_documents', 'note_names', 'supersession_cycles']
    """

    def documents(self, root: str, namespace: str) -> Mapping[str, str]:
        """Return the fingerprints of the stored documents below ``root``, by their names."""
        ...

    def write_documents(self, documents: Sequence[Document], namespace: str) -> WriteCounts:
        """Replace the notes of these documents, all or none, and store their fingerprints.

        Raise :class:`IngestError` or :class:`ArgumentError` if one of them cannot be written.
        """
        ...

    def remove_documents(self, root: str, names: Sequence[str], namespace: str) -> int:
        """Remove documents and their notes; return the number of removed notes."""
        ...

    def note_names(self, namespace: str) -> Iterator[NoteName]:
        """Yield the names of all notes of a namespace."""
        ...

    def supersession_cycles(self, paths: Sequence[str], namespace: str) -> list[tuple[Sequence[str], str]]:
        """Return the paths of each supersession cycle that contains a note at one of ``paths``, and a message."""
        ...


class DocumentBatchWriter:
    """Queues documents and writes them in batches."""

    def __init__(
        self,
        store: DocumentStore,
        namespace: str,
        done: Callable[[str], None] = lambda _: None,
        stored: Container[str] = (),
    ) -> None:
        """Call ``done`` with the name of each document that was written or failed.

        ``stored`` are the names of the documents that have notes in the store.
        """
        self._store = store
        self._namespace = namespace
        self._done = done
        self._stored = stored
        self._queue: list[Document] = []
        self._linking: list[tuple[Document, str]] = []
        self._names = NameIndex()
        self._counts: list[WriteCounts] = []
        self.written = 0
        """How many documents were written."""
        self.failed = 0
        """How many documents could not be written."""
        self.problems: list[Problem] = []
        """Documents that could not be written, and supersessions that could not be resolved."""

    def add(self, document: Document, prefix: str = "") -> None:
        """Queue a document until a batch is full or, if it links to notes by name, until all documents are known.

        The paths of its notes begin with ``prefix``.
        """
        self._names.add(names_of(document.drafts))
        if has_links(document.drafts, RESOLVED_KINDS):
            self._linking.append((document, prefix + document.name))
        else:
            self._enqueue(document)

    def finish(self) -> WriteCounts:
        """Write the queued documents, those with links by name last; return the total counts."""
        self._flush()
        superseding = [document for document, _ in self._linking if has_links(document.drafts, SUPERSESSION_KINDS)]
        if superseding:
            self._names.add_stored(self._store.note_names(self._namespace))
        for document, path in self._linking:
            drafts, messages = resolve_links(document.drafts, self._names, path)
            self.problems += [Problem(document.name, None, message, skipped=False) for message in messages]
            fingerprint = f"{UNRESOLVED}:{document.fingerprint}" if messages else document.fingerprint
            self._enqueue(document._replace(drafts=drafts, fingerprint=fingerprint))
        self._flush()
        names = {
            draft["path"]: document.name for document in superseding for draft in document.drafts if "path" in draft
        }
        for paths, message in self._store.supersession_cycles(list(names), self._namespace) if names else ():
            if documents := [names[path] for path in paths if path in names]:
                self.problems.append(Problem(documents[0], None, message, skipped=False))
        return WriteCounts(*map(sum, zip(*self._counts, strict=True))) if self._counts else WriteCounts()

    def _enqueue(self, document: Document) -> None:
        self._queue.append(document)
        drafts = [draft for queued in self._queue for draft in queued.drafts]
        characters = sum(len(draft["content"]) for draft in drafts)
        if max(len(drafts), len(self._queue)) >= BATCH_NOTES or characters >= BATCH_CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        """Write the queue; if that fails, write each document on its own to find the one that fails."""
        batch, self._queue = self._queue, []
        if not batch:
            return
        try:
            self._counts.append(self._store.write_documents(batch, self._namespace))
            self.written += len(batch)
        except (IngestError, ArgumentError) as error:
            if len(batch) > 1:
                for document in batch:
                    self._queue = [document]
                    self._flush()
                return
            self.failed += 1
            name = batch[0].name
            problem = Problem(name, None, str(error), skipped=True)
            self.problems.append(keeps_earlier_version(problem) if name in self._stored else problem)
        for document in batch:
            self._done(document.name)


def keeps_earlier_version(problem: Problem) -> Problem:
    """Return the problem of a file that failed, with a note that the version ingested before stays."""
    return problem._replace(message=f"{problem.message}; the earlier version stays")
