"""The contract of readers, which convert files (:class:`Source`) to notes (:class:`Contents`), and ``IngestReport``."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from recollect.errors import IngestError
from recollect.model import Draft

MAX_TEXT_BYTES = 10_000_000
"""The maximum size of a Markdown or plain text file; a larger file is probably no text that a person wrote."""

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: this mark begins with the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

Screen = Callable[[str, str], str]
"""Takes the text and the name of a file, and returns the text without secrets; an ``ArgumentError`` skips the file."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read: its name, and what the ingest sets for its notes.

    >>> Source("people/ines.md", prefix="vault/").path
    'vault/people/ines.md'
    """

    name: str
    """The file's path below the root of the ingest, with slashes."""
    prefix: str = ""
    """The prefix of the paths of the file's notes."""
    created_at: datetime | None = None
    """The date of notes without a date in the file or its name."""
    screen: Screen | None = None

    @property
    def path(self) -> str:
        """The path of the file's first note, and the session of all its notes."""
        return self.prefix + self.name


class Problem(NamedTuple):
    """A file, a line of a file or a folder that could not be read as intended.

    >>> print(Problem("people/ines.md", 3, "importance: must be a number", skipped=False))
    people/ines.md, line 3: importance: must be a number
    """

    name: str
    """The file's path below the root."""
    line: int | None
    """The line, from 1; ``None`` if the problem is about the whole file."""
    message: str
    skipped: bool
    """Whether the file or record was skipped; if not, it was read except for the part that the message names."""

    def __str__(self) -> str:
        location = self.name if self.line is None else f"{self.name}, line {self.line}"
        return f"{location}: {self.message}"


class Contents(NamedTuple):
    """The notes in a file, and the problems of reading it.

    >>> Contents([{"content": "Prefers sencha."}], []).problems
    []
    """

    drafts: Sequence[Draft]
    problems: Sequence[Problem]
    failed_records: int = 0
    """How many records could not be read; ``problems`` may list only some of them."""


class Reader(NamedTuple):
    """A reader of one file format.

    >>> Reader(lambda data, source: Contents([{"content": data.decode()}], [])).read(b"Tea.", Source("tea.x")).drafts
    [{'content': 'Tea.'}]
    """

    read: Callable[[bytes, Source], Contents]
    """Returns the notes of a file, given by its bytes, or raises :class:`UnreadableError`."""
    max_bytes: int | None = None
    """The maximum size of a file; larger files are skipped. ``None`` for any size."""


class UnreadableError(IngestError):
    """A file that cannot be read at all.

    >>> print(UnreadableError("people/ines.md", 3, "the front matter is not YAML"))
    people/ines.md, line 3: the front matter is not YAML
    """

    def __init__(self, name: str, line: int | None, message: str) -> None:
        """Pass name, line and message to ``Exception``, so that the error can be pickled."""
        super().__init__(name, line, message)
        self.problem = Problem(name, line, message, skipped=True)

    def __str__(self) -> str:
        return str(self.problem)


def text_reader(
    parse: Callable[[str, Source], Contents], *, max_bytes: int | None = None, if_empty: str = "it contains no notes"
) -> Reader:
    r"""Return a reader that decodes a text file, checks it for secrets, and calls ``parse`` with the text.

    The lines of this text end with ``\n``. If ``parse`` returns no notes for a text that is not empty, ``if_empty``
    is reported as the reason.

    >>> reader = text_reader(lambda text, source: Contents([{"content": text}], []))
    >>> reader.read(b"Tea.\r\n", Source("tea.txt")).drafts
    [{'content': 'Tea.\n'}]
    """

    def read(data: bytes, source: Source) -> Contents:
        text, problems = decode(data, source.name)
        text = source.screen(text, source.name) if source.screen else text
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        contents = parse(text, source)
        if not contents.drafts and not contents.problems:
            reason = if_empty if text.strip() else "it is empty"
            contents = Contents([], [Problem(source.name, None, f"skipped: {reason}", skipped=True)])
        return contents._replace(problems=[*problems, *contents.problems])

    return Reader(read, max_bytes)


def decode(data: bytes, name: str) -> tuple[str, list[Problem]]:
    """Return the text of a file, and a list with a problem if the encoding had to be guessed.

    The encoding is that of the byte-order mark, else UTF-8, else Windows-1252, else Latin-1.
    """
    marked_encoding = next((encoding for mark, encoding in _BYTE_ORDER_MARKS if data.startswith(mark)), "")
    message = ""
    try:
        text = data.decode(marked_encoding or "utf-8-sig")
    except UnicodeDecodeError as error:
        if marked_encoding:
            message = f"starts like {marked_encoding.upper()} but is not: {error.reason}"
            raise UnreadableError(name, None, message) from None
        data = data.removeprefix(codecs.BOM_UTF8)
        try:
            text, message = data.decode("cp1252"), "not UTF-8; read as Windows-1252"
        except UnicodeDecodeError:
            text, message = data.decode("latin-1"), "not UTF-8; read as Latin-1"
    if "\0" in text:
        raise UnreadableError(name, None, "contains NUL characters: it is not a text file")
    return text, [Problem(name, None, message, skipped=False)] if message else []


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """The numbers of files and notes that an ingest read, wrote and removed, and its problems.

    >>> report = IngestReport(files_read=1, notes_added=3)
    >>> report.to_dict()["notes"]
    {'added': 3, 'updated': 0, 'unchanged': 0, 'removed': 0, 'failed': 0}
    """

    files_read: int = 0
    """New and changed files, whose notes were written."""
    files_unchanged: int = 0
    files_removed: int = 0
    files_failed: int = 0
    """Files and folders that could not be read or written; their notes from an earlier ingest stay."""
    notes_added: int = 0
    notes_updated: int = 0
    notes_unchanged: int = 0
    """Unchanged notes of the files that were read."""
    notes_removed: int = 0
    notes_failed: int = 0
    """Records that could not become notes, in the files that were read."""
    problems: tuple[Problem, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    """The number of files of unsupported types by extension, the most frequent first."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        return {
            "files": {name: getattr(self, f"files_{name}") for name in ("read", "unchanged", "removed", "failed")},
            "notes": {
                name: getattr(self, f"notes_{name}") for name in ("added", "updated", "unchanged", "removed", "failed")
            },
            "problems": [problem._asdict() for problem in self.problems],
            "skipped": dict(self.skipped),
        }
