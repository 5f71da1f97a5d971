"""A folder becomes notes in a library, and stays in step with it.

Only what changed is read. A file's notes are replaced as a whole, those of a file that is gone go too, and what cannot
be read is reported and left as it was.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from hashlib import blake2b
from itertools import count

from recollect import arguments
from recollect.characters import well_formed
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.ingest.decoding import BinaryError, decode
from recollect.ingest.expired import without_expired
from recollect.ingest.formats import largest_size, read_file_text
from recollect.ingest.moments import moment_of_timestamp
from recollect.ingest.problems import Contents, Problem, UnreadableError, failure
from recollect.ingest.report import IngestReport
from recollect.ingest.shelving import METHOD, UNRESOLVED, Library, Shelving
from recollect.ingest.walk import FoundFile, walk
from recollect.model import DEFAULT_NAMESPACE, Document
from recollect.progress import Progress

__all__ = ["Library", "ingest"]


def ingest(
    source: str | os.PathLike[str],
    library: Library,
    *,
    prefix: str = "",
    namespace: str = DEFAULT_NAMESPACE,
    progress: Progress | None = None,
    screen: Callable[[str, str], str] | None = None,
) -> IngestReport:
    """Bring a library in step with a file or a folder, and return what that took.

    The paths of the notes are ``prefix`` and the file's path below the folder. Files that are as they were are not
    read; notes of files that are gone from the folder are removed. A file that cannot be read is reported and skipped,
    and the notes that it had stay. Files of types that are not read are counted by extension. What is written is kept
    if the ingest is interrupted; the next goes on from there. ``screen`` gets the text and the name of each file before
    it is read, and returns the text that is to be; an ``ArgumentError`` of its own skips the file.

    >>> from recollect.model import WriteCounts
    >>> class Shelf:
    ...     def documents(self, root, namespace):
    ...         return {}
    ...     def write_documents(self, documents, namespace):
    ...         return WriteCounts(added=sum(len(document.drafts) for document in documents))
    ...     def remove_documents(self, root, names, namespace):
    ...         return 0
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "tea.md").write_text("Ines likes tea.")
    ...     report = ingest(folder, Shelf())
    >>> report.files_read, report.notes_added
    (1, 1)
    """
    return _Ingestion(source, library, prefix, namespace, progress, screen).run()


class _Ingestion:
    """One run: what was found, what is waiting to be written, and what was done so far."""

    def __init__(
        self,
        source: str | os.PathLike[str],
        library: Library,
        prefix: str,
        namespace: str,
        progress: Progress | None,
        screen: Callable[[str, str], str] | None,
    ) -> None:
        if not isinstance(source, (str, os.PathLike)):
            raise ArgumentTypeError("source", f"must be the path of a file or a folder, got {type(source).__name__}")
        self._library = library
        self._prefix = arguments.line("prefix", prefix)
        self._namespace = arguments.name("namespace", namespace)
        self._progress = progress or (lambda _done, _total, _name: None)
        self._screen = screen or (lambda text, _: text)
        self._walk = walk(source)
        self._root = well_formed(str(self._walk.root))
        self._place = blake2b(self._prefix.encode(), digest_size=4).hexdigest()
        self._settings = f"{METHOD}-{self._place}"
        self._problems = list(self._walk.problems)
        self._done = count(1)
        self._known = library.documents(self._root, self._namespace)
        self._shelving = Shelving(library, self._namespace, self._tick, self._known)
        self._unchanged = 0
        self._failed = self._walk.failed
        self._failed_records = 0

    def run(self) -> IngestReport:
        known = self._known
        # What is gone makes room first: a record with a path of its own may have moved to another file.
        gone = self._gone(known)
        removed = self._library.remove_documents(self._root, gone, self._namespace) if gone else 0
        for file in self._walk.files:
            document = self._document(file, known.get(file.name, ""))
            if document is None:
                self._tick(file.name)
                continue
            self._shelving.add(document, self._prefix)
        total = self._shelving.finish()
        return IngestReport(
            files_read=self._shelving.count,
            files_unchanged=self._unchanged,
            files_removed=len(gone),
            files_failed=self._failed + self._shelving.failed,
            notes_added=total.added,
            notes_updated=total.updated,
            notes_unchanged=total.unchanged,
            notes_removed=total.removed + removed,
            notes_failed=self._failed_records,
            problems=(*self._problems, *self._shelving.problems),
            skipped=dict(self._walk.skipped.most_common()),
        )

    def _document(self, file: FoundFile, known: str) -> Document | None:
        """Return what a file holds, or ``None`` if it is as it was or cannot be read."""
        unresolved = known.startswith(f"{UNRESOLVED}:")
        size, changed, digest, settings = (*known.removeprefix(f"{UNRESOLVED}:").split(":"), "", "", "", "")[:4]
        same_settings = settings == self._settings
        if not unresolved and same_settings and (size, changed) == (str(file.size), str(file.changed)):
            self._unchanged += 1
            return None
        try:
            data = _bytes_of(file)
            now = blake2b(data, digest_size=16).hexdigest()
            contents = self._contents(file, data, is_new=not settings.endswith(f"-{self._place}"))
        except UnreadableError as error:
            self._fail(error.problem)
            return None
        except ArgumentError as error:
            self._fail(Problem(file.name, None, str(error), skipped=True))
            return None
        drafts, expired = without_expired(file.name, contents.drafts)
        if not (same_settings and now == digest):
            self._problems += (*contents.problems, *expired)
            self._failed_records += contents.failed_records
        fingerprint = f"{file.size}:{file.changed}:{now}:{self._settings}"
        return Document(self._root, file.name, fingerprint, drafts)

    def _fail(self, problem: Problem) -> None:
        self._failed += 1
        self._problems.append(failure(problem, is_known=problem.name in self._known))

    def _contents(self, file: FoundFile, data: bytes, *, is_new: bool) -> Contents:
        try:
            text, guess = decode(data)
        except BinaryError as error:
            raise UnreadableError(file.name, None, str(error)) from None
        # When a file was changed says when its notes were made only the first time: a note that is there already keeps
        # its date, and one that is added later was made now.
        created_at = moment_of_timestamp(file.changed / 1e9) if is_new else None
        contents = read_file_text(self._screen(text, file.name), file.name, prefix=self._prefix, created_at=created_at)
        if not guess:
            return contents
        problems = [Problem(file.name, None, guess, skipped=False), *contents.problems]
        return contents._replace(problems=problems)

    def _tick(self, name: str) -> None:
        self._progress(next(self._done), len(self._walk.files), name)

    def _gone(self, known: Mapping[str, str]) -> list[str]:
        """Return the documents whose files are no more; those that merely could not be looked at are not among them."""
        if not self._walk.whole:
            return []
        found = {file.name for file in self._walk.files}
        return sorted(name for name in known if name not in found and not self._walk.might_hold(name))


def _bytes_of(file: FoundFile) -> bytes:
    largest = largest_size(file.name)
    try:
        if largest is not None and file.size > largest:
            raise UnreadableError(file.name, None, f"has {file.size:,} bytes, more than {largest:,}; split it")
        return file.path.read_bytes()
    except OSError as error:
        raise UnreadableError(file.name, None, f"cannot be read: {error.strerror}") from None
