"""Documents go into a library in batches; one that cannot be written holds up no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from recollect.errors import ArgumentError, IngestError
from recollect.ingest.problems import Problem
from recollect.model import Document, Written

__all__ = ["METHOD", "Library", "Shelving"]

BATCH_NOTES = 64
BATCH_CHARACTERS = 262_144

METHOD = "2"
"""How texts become notes. If one gives other notes than before, this must change; all are then read anew."""


class Library(Protocol):
    """Where the notes of documents are kept."""

    def documents(self, root: str, namespace: str) -> Mapping[str, str]:
        """Return the fingerprints of the documents known below ``root``, by their names."""
        ...

    def write_documents(self, documents: Sequence[Document], namespace: str) -> Written:
        """Replace the notes of these documents, all or none, and remember their fingerprints.

        Raise ``IngestError`` or ``ArgumentError`` if one of them cannot be written.
        """
        ...

    def remove_documents(self, root: str, names: Sequence[str], namespace: str) -> int:
        """Forget documents and delete their notes; return how many notes there were."""
        ...


class Shelving:
    """What is waiting to be written, and what was written so far."""

    def __init__(self, library: Library, namespace: str, done: Callable[[str], None] = lambda _: None) -> None:
        """Begin with nothing; ``done`` is told the name of each document that is dealt with."""
        self._library = library
        self._namespace = namespace
        self._done = done
        self._waiting: list[Document] = []
        self._written: list[Written] = []
        self.count = 0
        """How many documents were written."""
        self.problems: list[Problem] = []
        """Those that could not be."""

    def add(self, document: Document) -> None:
        """Let a document wait, until there is enough to be worth a batch."""
        self._waiting.append(document)
        if _is_large(self._waiting):
            self.flush()

    def flush(self) -> Written:
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
            self.problems.append(Problem(batch[0].name, None, str(error), skipped=True))
        for document in batch:
            self._done(document.name)
        return self._total()

    def _total(self) -> Written:
        return Written(*map(sum, zip(*self._written, strict=True))) if self._written else Written()


def _is_large(documents: Sequence[Document]) -> bool:
    """Return whether there is enough to be worth a batch."""
    notes = sum(len(document.drafts) for document in documents)
    return notes >= BATCH_NOTES or len(documents) >= BATCH_NOTES or sum(_lengths(documents)) >= BATCH_CHARACTERS


def _lengths(documents: Sequence[Document]) -> Iterator[int]:
    return (len(draft["content"]) for document in documents for draft in document.drafts)
