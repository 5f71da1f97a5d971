"""The reader of plain text."""

from __future__ import annotations

from recollect.ingest.chunking import chunk_text
from recollect.ingest.dates import date_in_name
from recollect.ingest.paths import NotePaths, file_title, note_title
from recollect.ingest.source import MAX_TEXT_BYTES, Contents, Source, text_reader
from recollect.model import draft_of


def parse_plain_text(text: str, source: Source) -> Contents:
    r"""Return the notes of a plain text: as many paragraphs, else sentences, as fit into one.

    >>> [note] = parse_plain_text("Ines likes tea.\n", Source("people/ines.txt", prefix="vault/")).drafts
    >>> note["path"], note["title"], note["content"]
    ('vault/people/ines.txt', 'Ines', 'Ines likes tea.')
    """
    paths = NotePaths(source.path)
    drafts = [
        draft_of(
            {
                "content": chunk.text,
                "path": paths.next(()),
                "title": note_title(file_title(source.name)),
                "created_at": date_in_name(source.name) or source.created_at,
                "session": source.path,
                "position": position,
            }
        )
        for position, chunk in enumerate(chunk_text(text, size=source.chunk_size))
    ]
    return Contents(drafts, [])


PLAIN_TEXT_READER = text_reader(parse_plain_text, max_bytes=MAX_TEXT_BYTES)
