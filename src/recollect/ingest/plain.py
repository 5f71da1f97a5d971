"""Plain text becomes notes."""

from __future__ import annotations

from datetime import datetime

from recollect.ingest.chunking import CHUNK_SIZE, chunk_text
from recollect.ingest.moments import moment_in_name
from recollect.ingest.naming import Paths, readable, titled
from recollect.ingest.problems import Contents
from recollect.model import draft_of

__all__ = ["read_text", "tidy_lines"]


def read_text(
    text: str,
    name: str,
    *,
    prefix: str = "",
    created_at: datetime | None = None,
    size: int = CHUNK_SIZE,
) -> Contents:
    r"""Return the notes of a plain text: as many paragraphs as fit into one, and sentences of those that do not.

    ``name`` is the file's path below the root, ``prefix`` what its notes' paths begin with. ``created_at`` counts where
    the file's name holds no date. ``size`` is how long a note should be.

    >>> [note] = read_text("Ines likes tea.\r\n", "people/ines.txt", prefix="home/").drafts
    >>> note["path"], note["title"], note["content"]
    ('home/people/ines.txt', 'Ines', 'Ines likes tea.')
    """
    paths = Paths(prefix + name)
    return Contents(
        [
            draft_of(
                {
                    "content": chunk.text,
                    "path": paths.next(()),
                    "title": titled(readable(name)),
                    "created_at": moment_in_name(name) or created_at,
                    "session": prefix + name,
                    "position": position,
                }
            )
            for position, chunk in enumerate(chunk_text(tidy_lines(text), size=size))
        ],
        [],
    )


def tidy_lines(text: str) -> str:
    r"""Return ``text`` with ``\n`` at the end of each line and without a byte-order mark.

    >>> tidy_lines("\ufefftea\r\ncoffee\rmilk")
    'tea\ncoffee\nmilk'
    """
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
