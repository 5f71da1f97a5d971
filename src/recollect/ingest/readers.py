"""The reader of plain text, and the registry of file formats: which reader reads files with which suffix.

A new format is a module with a :class:`~recollect.ingest.source.Reader`, and an entry here.
"""

from __future__ import annotations

from recollect.ingest.chunking import chunk_text
from recollect.ingest.dates import date_in_name
from recollect.ingest.markdown import MARKDOWN_READER
from recollect.ingest.paths import NotePaths, file_title, note_title
from recollect.ingest.records import JSON_LINES_READER, JSON_READER
from recollect.ingest.source import MAX_TEXT_BYTES, Contents, Reader, Source, UnreadableError, text_reader
from recollect.model import draft_of


def parse_plain_text(text: str, source: Source) -> Contents:
    """Return the notes of a plain text, one for each chunk (:func:`chunk_text`)."""
    paths = NotePaths(source.path)
    common = {
        "title": note_title(file_title(source.name)),
        "created_at": date_in_name(source.name) or source.created_at,
        "session": source.path,
    }
    drafts = [
        draft_of({**common, "content": chunk.text, "path": paths.next(()), "position": position})
        for position, chunk in enumerate(chunk_text(text))
    ]
    return Contents(drafts, [])


PLAIN_TEXT_READER = text_reader(parse_plain_text, max_bytes=MAX_TEXT_BYTES)

READERS: dict[str, Reader] = {
    ".md": MARKDOWN_READER,
    ".markdown": MARKDOWN_READER,
    ".mdx": MARKDOWN_READER,
    ".txt": PLAIN_TEXT_READER,
    ".text": PLAIN_TEXT_READER,
    ".rst": PLAIN_TEXT_READER,
    ".org": PLAIN_TEXT_READER,
    ".jsonl": JSON_LINES_READER,
    ".ndjson": JSON_LINES_READER,
    ".json": JSON_READER,
}
"""The reader for each suffix of a file name, in lower case."""


def reader_for(name: str) -> Reader | None:
    """Return the reader of a file by the suffix of its name; ``None`` if the format is not supported."""
    lowered = name.lower()
    return next((reader for suffix, reader in READERS.items() if lowered.endswith(suffix)), None)


def read_file(data: bytes, source: Source) -> Contents:
    """Return the notes of a file, given by its bytes; the suffix of its name selects the reader.

    >>> [note] = read_file(b"# Tea", Source("tea.md")).drafts
    >>> note["title"]
    'Tea'
    """
    reader = reader_for(source.name)
    if reader is None:
        raise UnreadableError(source.name, None, f"has an unsupported format; supported are {', '.join(READERS)}")
    return reader.read(data, source)
