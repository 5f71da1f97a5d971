"""Documents go into a library in batches; one that cannot be written holds up no other."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from recollect.errors import ArgumentError, IngestError
from recollect.ingest.problems import Problem, failure
from recollect.ingest.references import NameIndex, has_references, has_supersessions, names_of, resolve_links
from recollect.model import Document, NoteName, WriteCounts

__all__ = ["METHOD", "UNRESOLVED", "Library", "NoteNames", "Shelving", "SupersessionCycles"]

BATCH_NOTES = 64
BATCH_CHARACTERS = 262_144

UNRESOLVED = "unresolved"
"""Prefix of the fingerprint of a document that supersedes an unknown note, or one of several with the same name.

It is read again at each ingest."""

METHOD = "4"
"""How texts become notes. If one gives other notes than before, this must change; all are then read anew."""


class Library(Protocol):
    """Where the notes of documents are kept."""

    def documents(self, root: str, namespace: str) -> Mapping[str, str]:
        """Return the fingerprints of the documents known below ``root``, by their names."""
        ...

    def write_documents(self, documents: Sequence[Document], namespace: str) -> WriteCounts:
        """Replace the notes of these documents, all or none, and remember their fingerprints.

        Raise ``IngestError`` or ``ArgumentError`` if one of them cannot be written.
        """
        ...

    def remove_documents(self, root: str, names: Sequence[str], namespace: str) -> int:
        """Forget documents and delete their notes; return how many notes there were."""
        ...


@runtime_checkable
class NoteNames(Protocol):
    """A library that lists the names of all of its notes.

    >>> class Names:
    ...     def note_names(self, namespace):
    ...         yield NoteName("1", "people/shivani.md", "Shivani Rao", ("Shiv",))
    >>> isinstance(Names(), NoteNames), isinstance({}, NoteNames)
    (True, False)
    """

    def note_names(self, namespace: str) -> Iterator[NoteName]:
        """Yield the names of the notes of a namespace."""
        ...


@runtime_checkable
class SupersessionCycles(Protocol):
    """A library that finds notes that supersede each other in a circle.

    >>> isinstance({}, SupersessionCycles)
    False
    """

    def supersession_cycles(self, paths: Sequence[str], namespace: str) -> list[tuple[Sequence[str], str]]:
        """Return for each cycle that the notes at ``paths`` are in the paths of its notes, and a message."""
        ...


class Shelving:
    """What is waiting to be written, and what was written so far."""

    def __init__(
        self,
        library: Library,
        namespace: str,
        done: Callable[[str], None] = lambda _: None,
        known: Container[str] = (),
    ) -> None:
        """Begin with nothing; ``done`` is told the name of each document that is dealt with.

        ``known`` are the names of the documents whose notes the library has.
        """
        self._known = known
        self._library = library
        self._namespace = namespace
        self._done = done
        self._waiting: list[Document] = []
        self._referring: list[tuple[Document, str]] = []
        self._names = NameIndex()
        self._written: list[WriteCounts] = []
        self.count = 0
        """How many documents were written."""
        self.failed = 0
        """How many documents could not be written."""
        self.problems: list[Problem] = []
        """Documents that could not be written, and what is wrong with their supersessions."""

    def add(self, document: Document, prefix: str = "") -> None:
        """Queue a document until a batch is full or, if it links to notes by name, until all documents are known.

        The paths of its notes begin with ``prefix``.
        """
        self._names.add(names_of(document.drafts))
        if has_references(document.drafts):
            self._referring.append((document, prefix + document.name))
            return
        self._put(document)

    def finish(self) -> WriteCounts:
        """Write the queued documents, those with links by name last; return the total counts."""
        self.flush()
        waiting, self._referring = self._referring, []
        superseding = [document for document, _ in waiting if has_supersessions(document.drafts)]
        if superseding and isinstance(self._library, NoteNames):
            self._names.add_others(self._library.note_names(self._namespace))
        for document, path in waiting:
            drafts, problems = resolve_links(document.drafts, self._names, path)
            self.problems += [Problem(document.name, None, message, skipped=False) for message in problems]
            fingerprint = f"{UNRESOLVED}:{document.fingerprint}" if problems else document.fingerprint
            self._put(document._replace(drafts=drafts, fingerprint=fingerprint))
        total = self.flush()
        self._report_cycles(superseding)
        return total

    def _report_cycles(self, documents: Sequence[Document]) -> None:
        """Report the notes of these documents that supersede each other in a circle, each circle once."""
        names = {draft["path"]: document.name for document in documents for draft in document.drafts if "path" in draft}
        if names and isinstance(self._library, SupersessionCycles):
            for paths, message in self._library.supersession_cycles(list(names), self._namespace):
                name = next((names[path] for path in paths if path in names), None)
                if name is not None:
                    self.problems.append(Problem(name, None, message, skipped=False))

    def _put(self, document: Document) -> None:
        self._waiting.append(document)
        if _is_large(self._waiting):
            self.flush()

    def flush(self) -> WriteCounts:
        """Write what is waiting, and return what all that was written came to.

        If that fails, each document is written on its own to find the one that is at fault.
        """
        batch, self._waiting = self._waiting, []
        try:
            if batch:
                self._written.append(self._library.write_documents(batch, self._namespace))
                self.count += len(batch)
        except (IngestError, ArgumentError) as error:
            if len(batch) > 1:
                for document in batch:
                    self._waiting = [document]
                    self.flush()
                return self._total()
            self.failed += 1
            name = batch[0].name
            self.problems.append(failure(Problem(name, None, str(error), skipped=True), is_known=name in self._known))
        for document in batch:
            self._done(document.name)
        return self._total()

    def _total(self) -> WriteCounts:
        return WriteCounts(*map(sum, zip(*self._written, strict=True))) if self._written else WriteCounts()


def _is_large(documents: Sequence[Document]) -> bool:
    """Return whether there is enough to be worth a batch."""
    notes = sum(len(document.drafts) for document in documents)
    return notes >= BATCH_NOTES or len(documents) >= BATCH_NOTES or sum(_lengths(documents)) >= BATCH_CHARACTERS


def _lengths(documents: Sequence[Document]) -> Iterator[int]:
    return (len(draft["content"]) for document in documents for draft in document.drafts)
