"""Synchronise a store with files or texts: only what changed is read and written.

The notes of a changed file are replaced, and those of a deleted file are removed. A file that cannot be read is
reported, and its notes from an earlier ingest stay.

Each file or text is a document. Its fingerprint tells whether it changed: ``SIZE:MODIFIED:DIGEST:SETTINGS`` for a file
(bytes, nanoseconds since 1970, BLAKE2b of the content), ``DIGEST:SETTINGS`` for a text. SETTINGS are
:data:`READERS_VERSION` and a hash of the prefix of note paths. A file of unchanged size, time and settings is not read.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Protocol

from recollect import arguments
from recollect.errors import ArgumentError, ArgumentTypeError, IngestError
from recollect.ingest.dates import datetime_from_timestamp
from recollect.ingest.files import FileEntry, FileScan, scan_files
from recollect.ingest.links import RESOLVED_KINDS, SUPERSESSION_KINDS, LinkResolver, has_links, resolve_links
from recollect.ingest.readers import read_file, reader_for
from recollect.ingest.source import IngestReport, Problem, Screen, Source, UnreadableError
from recollect.model import DEFAULT_NAMESPACE, Document, NoteName, WriteCounts, is_expired
from recollect.progress import Progress
from recollect.text import well_formed

READERS_VERSION = "4"
"""A part of every fingerprint. Change it when a reader begins to return other notes: then all files are read again."""

TEXT_ROOT = "text:"  # the root of documents without files; no folder has this path

UNRESOLVED = "unresolved:"
"""Prefix of the fingerprint of a document that supersedes an unknown or ambiguous note: each ingest reads it again."""

BATCH_NOTES = 64  # a batch is written, in one transaction, when it has this many notes or this many documents
BATCH_CHARACTERS = 262_144  # a batch is also written when the contents of its notes have this many characters


class DocumentStore(Protocol):
    """The methods of a store that an ingest calls.

    >>> [name for name in vars(DocumentStore) if "_" not in name[:1]]
    ['documents', 'write_documents', 'remove_documents', 'note_names', 'supersession_cycles']
    """

    def documents(self, root: str, namespace: str) -> Mapping[str, str]:
        """Return the fingerprints of the stored documents below ``root``, by their names."""

    def write_documents(self, documents: Sequence[Document], namespace: str) -> WriteCounts:
        """Replace the notes of these documents, all or none, and store their fingerprints.

        Raise :class:`IngestError` or :class:`ArgumentError` if one of the documents cannot be written.
        """

    def remove_documents(self, root: str, names: Sequence[str], namespace: str) -> int:
        """Remove documents and their notes; return the number of removed notes."""

    def note_names(self, namespace: str) -> Iterator[NoteName]:
        """Yield the id, path, title and aliases of each note of a namespace."""

    def supersession_cycles(self, paths: Sequence[str], namespace: str) -> list[tuple[Sequence[str], str]]:
        """Return (paths of the notes, message) for each cycle of supersessions that has a note at one of ``paths``."""


def ingest(
    source: str | os.PathLike[str],
    store: DocumentStore,
    *,
    prefix: str = "",
    namespace: str = DEFAULT_NAMESPACE,
    progress: Progress | None = None,
    screen: Screen | None = None,
) -> IngestReport:
    """Synchronise a store with a file or a folder, and return a report.

    The paths of the notes are ``prefix`` and the file's path below the folder. Unchanged files are not read. Notes of
    files that no longer exist are removed. A file that cannot be read is reported and skipped, and its earlier notes
    stay. After an interruption, written notes stay and the next ingest continues. ``screen`` gets the text and the name
    of each text file before it is parsed, and returns the text to parse.

    >>> from tempfile import TemporaryDirectory
    >>> from types import SimpleNamespace
    >>> with TemporaryDirectory() as folder:
    ...     ingest(folder, SimpleNamespace(documents=lambda *_: {})).files_read
    0
    """
    if not isinstance(source, (str, os.PathLike)):
        raise ArgumentTypeError("source", f"must be the path of a file or a folder, got {type(source).__name__}")
    scan = scan_files(source)
    run = _Ingestion(well_formed(str(scan.root)), store, prefix, namespace, screen, progress, len(scan.files))
    return run.synchronise(scan)


def ingest_texts(
    texts: Mapping[str, str],
    store: DocumentStore,
    *,
    prefix: str = "",
    namespace: str = DEFAULT_NAMESPACE,
    screen: Screen | None = None,
) -> IngestReport:
    """Synchronise a store with texts, and return a report. Each text is read like a file with its name.

    A text replaces the notes of the earlier text with the same name. Unchanged texts are not read. A text that cannot
    be read is reported and skipped, and its earlier notes stay. ``screen`` is the same as in :func:`ingest`.

    >>> from types import SimpleNamespace
    >>> store = SimpleNamespace(documents=lambda *_: {})
    >>> [problem.name for problem in ingest_texts({"tea.png": "?"}, store).problems]
    ['tea.png']
    """
    if not isinstance(texts, Mapping):
        raise ArgumentTypeError("texts", f"must map names to texts, got {type(texts).__name__}")
    checked = {arguments.name("texts", name): arguments.text(f"texts[{name!r}]", text) for name, text in texts.items()}
    return _Ingestion(TEXT_ROOT, store, prefix, namespace, screen).add_texts(checked)


class _Ingestion:
    """The state of one ingest: reads documents, queues them, and writes them in batches."""

    def __init__(
        self,
        root: str,
        store: DocumentStore,
        prefix: str,
        namespace: str,
        screen: Screen | None,
        progress: Progress | None = None,
        total: int = 0,
    ) -> None:
        self._root = root
        self._store = store
        self._prefix = arguments.line("prefix", prefix)
        self._namespace = arguments.name("namespace", namespace)
        self._screen = screen
        self._progress = progress
        self._total = total
        self._done = 0
        self._prefix_hash = blake2b(self._prefix.encode(), digest_size=4).hexdigest()
        self._settings = f"{READERS_VERSION}-{self._prefix_hash}"
        self._fingerprints = store.documents(root, self._namespace)  # by the names of the stored documents
        self._queue: list[Document] = []
        self._unresolved: list[Document] = []
        """Documents with links of :data:`RESOLVED_KINDS`. These are resolved when all documents are known."""
        self._resolver = LinkResolver()
        self._counts: Counter[str] = Counter()  # by the names of the fields of IngestReport
        self._problems: list[Problem] = []

    def synchronise(self, scan: FileScan) -> IngestReport:
        """Write new and changed files, and remove the notes of files that no longer exist."""
        self._problems += scan.problems
        self._counts["files_failed"] = len(scan.unreadable)
        # Notes of deleted files are removed first: a record with its own path may have moved to another file, and then
        # this path must be free. Files in a folder that cannot be read do not count as deleted.
        names = {file.name for file in scan.files}
        deleted = [name for name in self._fingerprints if name not in names and not scan.may_contain(name)]
        if scan.complete and deleted:
            self._counts["files_removed"] = len(deleted)
            self._counts["notes_removed"] = self._store.remove_documents(self._root, sorted(deleted), self._namespace)
        for file in scan.files:
            self._add_file(file)
        return self._finish(dict(scan.skipped.most_common()))

    def add_texts(self, texts: Mapping[str, str]) -> IngestReport:
        """Write new and changed texts."""
        for name, text in texts.items():
            data = well_formed(text).encode()
            fingerprint = f"{blake2b(data, digest_size=16).hexdigest()}:{self._settings}"
            if self._fingerprints.get(name) == fingerprint:
                self._counts["files_unchanged"] += 1
            else:
                self._add(Source(name, self._prefix, screen=self._screen), data, fingerprint)
        return self._finish({})

    def _add_file(self, file: FileEntry) -> None:
        stored = self._fingerprints.get(file.name, "")
        # The parts of the stored fingerprint; empty if the file is new.
        size, modified, digest, settings = (*stored.removeprefix(UNRESOLVED).split(":"), "", "", "", "")[:4]
        has_same_settings = settings == self._settings
        has_same_status = (size, modified) == (str(file.size), str(file.modified))
        if has_same_status and has_same_settings and not stored.startswith(UNRESOLVED):
            self._counts["files_unchanged"] += 1
            self._report_progress(file.name)
            return
        try:
            reader = reader_for(file.name)
            if reader and reader.max_bytes and file.size > reader.max_bytes:
                message = f"has {file.size:,} bytes, more than {reader.max_bytes:,}; split it"
                raise UnreadableError(file.name, None, message)
            data = file.path.read_bytes()
        except (OSError, UnreadableError) as error:
            self._fail(file.name, error)
            return
        new_digest = blake2b(data, digest_size=16).hexdigest()
        # At the first ingest with this prefix, the notes get the modification time of the file as their date. Later,
        # stored notes keep their date, and notes that are added get the current time.
        is_first_ingest = not settings.endswith(f"-{self._prefix_hash}")
        created_at = datetime_from_timestamp(file.modified / 1e9) if is_first_ingest else None
        fingerprint = f"{file.size}:{file.modified}:{new_digest}:{self._settings}"
        has_same_text = has_same_settings and new_digest == digest  # if true, an earlier ingest reported its problems
        source = Source(file.name, self._prefix, created_at, screen=self._screen)
        self._add(source, data, fingerprint, report_problems=not has_same_text)

    def _add(self, source: Source, data: bytes, fingerprint: str, *, report_problems: bool = True) -> None:
        """Read a document and queue it for writing."""
        try:
            contents = read_file(data, source)
        except (UnreadableError, ArgumentError) as error:
            self._fail(source.name, error)
            return
        drafts = [draft for draft in contents.drafts if not is_expired(draft)]
        if report_problems:
            self._problems += contents.problems
            self._counts["notes_failed"] += contents.failed_records
            if expired := len(contents.drafts) - len(drafts):
                message = f"{expired} of its notes expired and {'was' if expired == 1 else 'were'} left out"
                self._problems.append(Problem(source.name, None, message, skipped=False))
        self._resolver.add_drafts(drafts)
        document = Document(self._root, source.name, fingerprint, drafts)
        if has_links(drafts, RESOLVED_KINDS):
            self._unresolved.append(document)
        else:
            self._enqueue(document)

    def _enqueue(self, document: Document) -> None:
        """Add a document to the queue, and write the queue if it is a full batch."""
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
            counts = self._store.write_documents(batch, self._namespace)
        except (IngestError, ArgumentError) as error:
            if len(batch) == 1:
                self._fail(batch[0].name, error)
                return
            for document in batch:
                self._queue = [document]
                self._flush()
            return
        self._counts["files_read"] += len(batch)
        for name, count in counts._asdict().items():
            self._counts[f"notes_{name}"] += count
        for document in batch:
            self._report_progress(document.name)

    def _write_linked_documents(self) -> None:
        """Resolve the links of the unresolved documents, write these documents, and report cycles of supersessions."""
        superseding = [document for document in self._unresolved if has_links(document.drafts, SUPERSESSION_KINDS)]
        if superseding:
            self._resolver.add_stored(self._store.note_names(self._namespace))
        for document in self._unresolved:
            drafts, messages = resolve_links(document.drafts, self._resolver, self._prefix + document.name)
            self._problems += [Problem(document.name, None, message, skipped=False) for message in messages]
            fingerprint = UNRESOLVED + document.fingerprint if messages else document.fingerprint
            self._enqueue(document._replace(drafts=drafts, fingerprint=fingerprint))
        self._flush()
        document_names = {  # by the path of a note
            draft["path"]: document.name for document in superseding for draft in document.drafts if "path" in draft
        }
        if not document_names:
            return
        for paths, message in self._store.supersession_cycles(list(document_names), self._namespace):
            name = next((document_names[path] for path in paths if path in document_names), None)
            if name is not None:
                self._problems.append(Problem(name, None, message, skipped=False))

    def _fail(self, name: str, error: Exception) -> None:
        """Report a document that cannot be read or written."""
        message = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
        problem = error.problem if isinstance(error, UnreadableError) else Problem(name, None, message, skipped=True)
        if name in self._fingerprints:
            problem = problem._replace(message=f"{problem.message}; the earlier version stays")
        self._problems.append(problem)
        self._counts["files_failed"] += 1
        self._report_progress(name)

    def _report_progress(self, name: str) -> None:
        """Report the progress after a document was written, skipped or left unchanged."""
        self._done += 1
        if self._progress:
            self._progress(self._done, self._total, name)

    def _finish(self, skipped: Mapping[str, int]) -> IngestReport:
        """Write the documents that are left, and return the report."""
        self._flush()
        self._write_linked_documents()
        return IngestReport(**self._counts, problems=tuple(self._problems), skipped=skipped)
