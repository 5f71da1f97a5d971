"""Texts that come without files become notes, read as files of their names would be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import blake2b

from recollect import arguments
from recollect.characters import well_formed
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.ingest.expired import without_expired
from recollect.ingest.formats import read_file_text
from recollect.ingest.problems import Problem, UnreadableError, failure
from recollect.ingest.report import IngestReport
from recollect.ingest.shelving import METHOD, Library, Shelving
from recollect.model import DEFAULT_NAMESPACE, Document

__all__ = ["ingest_texts"]

ROOT = "text:"
"""Where documents lie that lie in no folder; no folder is called so."""


def ingest_texts(
    texts: Mapping[str, str],
    library: Library,
    *,
    prefix: str = "",
    namespace: str = DEFAULT_NAMESPACE,
    screen: Callable[[str, str], str] | None = None,
) -> IngestReport:
    """Bring a library in step with texts, each by the name of the file that it might be in; return what that took.

    A text replaces the notes of the one that came before under its name. One that is as it was is not read; one that
    cannot be read is reported and skipped, and the notes that it had stay. ``screen`` is as in :func:`ingest`.

    >>> class Shelf:
    ...     def documents(self, root, namespace):
    ...         return {}
    ...     def write_documents(self, documents, namespace):
    ...         return WriteCounts(added=sum(len(document.drafts) for document in documents))
    >>> from recollect.model import WriteCounts
    >>> report = ingest_texts({"tea.md": "Ines likes tea.", "tea.png": "?"}, Shelf())
    >>> report.notes_added, [problem.name for problem in report.problems]
    (1, ['tea.png'])
    """
    if not isinstance(texts, Mapping):
        raise ArgumentTypeError("texts", f"must map names to texts, got {type(texts).__name__}")
    checked = {arguments.name("texts", name): arguments.text(f"texts[{name!r}]", text) for name, text in texts.items()}
    begun = arguments.line("prefix", prefix)
    home = arguments.name("namespace", namespace)
    settings = f"{METHOD}-{blake2b(begun.encode(), digest_size=4).hexdigest()}"
    known = library.documents(ROOT, home)
    shelving = Shelving(library, home, known=known)
    problems: list[Problem] = []
    unchanged = failed = failed_records = 0
    for name, text in checked.items():
        clean = well_formed(text)
        fingerprint = f"{blake2b(clean.encode(), digest_size=16).hexdigest()}:{settings}"
        if known.get(name) == fingerprint:
            unchanged += 1
            continue
        try:
            if "\0" in clean:
                raise UnreadableError(name, None, "holds NUL characters, so it is no text")
            contents = read_file_text(screen(clean, name) if screen else clean, name, prefix=begun)
        except UnreadableError as error:
            problems.append(failure(error.problem, is_known=name in known))
            failed += 1
            continue
        except ArgumentError as error:
            problems.append(failure(Problem(name, None, str(error), skipped=True), is_known=name in known))
            failed += 1
            continue
        drafts, expired = without_expired(name, contents.drafts)
        problems += (*contents.problems, *expired)
        failed_records += contents.failed_records
        shelving.add(Document(ROOT, name, fingerprint, drafts), begun)
    total = shelving.finish()
    return IngestReport(
        files_read=shelving.count,
        files_unchanged=unchanged,
        files_failed=failed + shelving.failed,
        notes_added=total.added,
        notes_updated=total.updated,
        notes_unchanged=total.unchanged,
        notes_removed=total.removed,
        notes_failed=failed_records,
        problems=(*problems, *shelving.problems),
    )
