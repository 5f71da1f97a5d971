"""Synchronise a store with files: only what changed is read and written.

The notes of a file are replaced as a whole, and those of a deleted file are removed. A file that cannot be read is
reported, and its notes from an earlier ingest stay.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from hashlib import blake2b
from itertools import count

from recollect import arguments
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.ingest.dates import datetime_from_timestamp
from recollect.ingest.documents import UNRESOLVED, DocumentBatchWriter, DocumentStore, keeps_earlier_version
from recollect.ingest.files import FileEntry, FileScan, scan_files
from recollect.ingest.readers import read_file, reader_for
from recollect.ingest.report import IngestReport, Problem
from recollect.ingest.source import Contents, Screen, Source, UnreadableError
from recollect.model import DEFAULT_NAMESPACE, Document, is_expired
from recollect.progress import Progress
from recollect.text import well_formed

READERS_VERSION = "4"
"""Part of every fingerprint. Change it when a reader returns other notes than before: all files are then read again."""

TEXT_ROOT = "text:"
"""The root of documents without files; no folder has this path."""


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

    The paths of the notes are ``prefix`` and the file's path below the folder. Unchanged files are not read; notes of
    files that no longer exist are removed. A file that cannot be read is reported and skipped, and the notes that it
    had stay. If an ingest is interrupted, what was written stays, and the next one continues. ``screen`` gets the text
    and the name of each text file before it is parsed and returns the text to parse.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from types import SimpleNamespace
    >>> from recollect.model import WriteCounts
    >>> store = SimpleNamespace(documents=lambda *_: {}, write_documents=lambda *_: WriteCounts(added=1))
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "tea.md").write_text("Ines likes tea.")
    ...     ingest(folder, store).notes_added
    1
    """
    if not isinstance(source, (str, os.PathLike)):
        raise ArgumentTypeError("source", f"must be the path of a file or a folder, got {type(source).__name__}")
    scan = scan_files(source)
    done = count(1)

    def tick(name: str) -> None:
        if progress:
            progress(next(done), len(scan.files), name)

    run = _Ingestion(well_formed(str(scan.root)), store, prefix, namespace, screen, tick)
    return run.synchronise(scan)


def ingest_texts(
    texts: Mapping[str, str],
    store: DocumentStore,
    *,
    prefix: str = "",
    namespace: str = DEFAULT_NAMESPACE,
    screen: Screen | None = None,
) -> IngestReport:
    """Synchronise a store with texts by file name, read as files of these names are; return a report.

    A text replaces the notes of the earlier text with its name. Unchanged texts are not read; a text that cannot be
    read is reported and skipped, and the notes that it had stay. ``screen`` is as in :func:`ingest`.

    >>> from types import SimpleNamespace
    >>> store = SimpleNamespace(documents=lambda *_: {})
    >>> [problem.name for problem in ingest_texts({"tea.png": "?"}, store).problems]
    ['tea.png']
    """
    if not isinstance(texts, Mapping):
        raise ArgumentTypeError("texts", f"must map names to texts, got {type(texts).__name__}")
    checked = {arguments.name("texts", name): arguments.text(f"texts[{name!r}]", text) for name, text in texts.items()}
    run = _Ingestion(TEXT_ROOT, store, prefix, namespace, screen, lambda _: None)
    return run.add_texts(checked)


class _Ingestion:
    """The state of one ingest."""

    def __init__(
        self,
        root: str,
        store: DocumentStore,
        prefix: str,
        namespace: str,
        screen: Screen | None,
        done: Callable[[str], None],
    ) -> None:
        self._root = root
        self._store = store
        self._prefix = arguments.line("prefix", prefix)
        self._namespace = arguments.name("namespace", namespace)
        self._screen = screen
        self._done = done
        self._prefix_hash = blake2b(self._prefix.encode(), digest_size=4).hexdigest()
        self._settings = f"{READERS_VERSION}-{self._prefix_hash}"
        self._fingerprints = store.documents(root, self._namespace)
        self._writer = DocumentBatchWriter(store, self._namespace, done, self._fingerprints)
        self._problems: list[Problem] = []
        self._unchanged = 0
        self._failed = 0
        self._failed_records = 0

    def synchronise(self, scan: FileScan) -> IngestReport:
        """Write new and changed files, and remove the notes of files that no longer exist."""
        self._problems += scan.problems
        # Removed first: a record with a path of its own may have moved to another file.
        names = {file.name for file in scan.files}
        gone = [name for name in self._fingerprints if name not in names and not scan.may_contain(name)]
        gone = sorted(gone) if scan.complete else []
        removed = self._store.remove_documents(self._root, gone, self._namespace) if gone else 0
        for file in scan.files:
            self._add_file(file)
        return self._report(scan, files_removed=len(gone), notes_removed=removed)

    def _add_file(self, file: FileEntry) -> None:
        stored = self._fingerprints.get(file.name, "")
        is_unresolved = stored.startswith(f"{UNRESOLVED}:")
        size, modified, digest, settings = (*stored.removeprefix(f"{UNRESOLVED}:").split(":"), "", "", "", "")[:4]
        same_settings = settings == self._settings
        if not is_unresolved and same_settings and (size, modified) == (str(file.size), str(file.modified)):
            self._unchanged += 1
            self._done(file.name)
            return
        try:
            data = _read_bytes(file)
        except UnreadableError as error:
            self._fail(file.name, error)
            return
        new_digest = blake2b(data, digest_size=16).hexdigest()
        # The modification time is the date of the notes only at the first ingest: later, stored notes keep their date,
        # and notes that are added get the current time.
        is_new = not settings.endswith(f"-{self._prefix_hash}")
        created_at = datetime_from_timestamp(file.modified / 1e9) if is_new else None
        fingerprint = f"{file.size}:{file.modified}:{new_digest}:{self._settings}"
        was_reported = same_settings and new_digest == digest
        source = Source(file.name, self._prefix, created_at, screen=self._screen)
        self._add(source, data, fingerprint, report_problems=not was_reported)

    def add_texts(self, texts: Mapping[str, str]) -> IngestReport:
        """Write new and changed texts."""
        for name, text in texts.items():
            data = well_formed(text).encode()
            fingerprint = f"{blake2b(data, digest_size=16).hexdigest()}:{self._settings}"
            if self._fingerprints.get(name) == fingerprint:
                self._unchanged += 1
            else:
                self._add(Source(name, self._prefix, screen=self._screen), data, fingerprint)
        return self._report()

    def _add(self, source: Source, data: bytes, fingerprint: str, *, report_problems: bool = True) -> None:
        """Read a document and queue it for writing."""
        try:
            contents = _without_expired(read_file(data, source), source.name)
        except (UnreadableError, ArgumentError) as error:
            self._fail(source.name, error)
            return
        if report_problems:
            self._problems += contents.problems
            self._failed_records += contents.failed_records
        self._writer.add(Document(self._root, source.name, fingerprint, contents.drafts), self._prefix)

    def _fail(self, name: str, error: UnreadableError | ArgumentError) -> None:
        problem = error.problem if isinstance(error, UnreadableError) else Problem(name, None, str(error), skipped=True)
        self._problems.append(keeps_earlier_version(problem) if name in self._fingerprints else problem)
        self._failed += 1
        self._done(name)

    def _report(self, scan: FileScan | None = None, *, files_removed: int = 0, notes_removed: int = 0) -> IngestReport:
        total = self._writer.finish()
        return IngestReport(
            files_read=self._writer.written,
            files_unchanged=self._unchanged,
            files_removed=files_removed,
            files_failed=self._failed + self._writer.failed + (scan.failed if scan else 0),
            notes_added=total.added,
            notes_updated=total.updated,
            notes_unchanged=total.unchanged,
            notes_removed=total.removed + notes_removed,
            notes_failed=self._failed_records,
            problems=(*self._problems, *self._writer.problems),
            skipped=dict(scan.skipped.most_common()) if scan else {},
        )


def _read_bytes(file: FileEntry) -> bytes:
    reader = reader_for(file.name)
    if reader is not None and reader.max_bytes is not None and file.size > reader.max_bytes:
        message = f"has {file.size:,} bytes, more than {reader.max_bytes:,}; split it"
        raise UnreadableError(file.name, None, message)
    try:
        return file.path.read_bytes()
    except OSError as error:
        raise UnreadableError(file.name, None, f"cannot be read: {error.strerror}") from None


def _without_expired(contents: Contents, name: str) -> Contents:
    """Return the contents without notes that have expired, and with a problem that says how many there were."""
    drafts = [draft for draft in contents.drafts if not is_expired(draft)]
    expired = len(contents.drafts) - len(drafts)
    if not expired:
        return contents
    message = f"{expired} of its notes expired and {'was' if expired == 1 else 'were'} left out"
    return Contents(drafts, [*contents.problems, Problem(name, None, message, skipped=False)])
