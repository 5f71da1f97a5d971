"""Which files can be read, and how."""

from __future__ import annotations

from datetime import datetime

from recollect.ingest.chunking import CHUNK_SIZE
from recollect.ingest.markdown import read_markdown
from recollect.ingest.plain import read_text
from recollect.ingest.problems import Contents, Problem, UnreadableError
from recollect.ingest.records import read_json, read_json_lines

__all__ = ["SUFFIXES", "largest_size", "read_file_text", "suffix_of"]

_MARKDOWN = (".md", ".markdown", ".mdx")
_PLAIN = (".txt", ".text", ".rst", ".org")
_LINES = (".jsonl", ".ndjson")
_LIST = (".json",)

SUFFIXES = (*_MARKDOWN, *_PLAIN, *_LINES, *_LIST)
"""The ends of the names of files that can be read."""

LARGEST_TEXT = 10_000_000
"""A text that is larger, in bytes, is no note that someone wrote."""


def suffix_of(name: str) -> str:
    """Return the end of a file's name, by which its format is known, or nothing if it is not.

    >>> suffix_of("people/Ines.MD"), suffix_of("ines.png")
    ('.md', '')
    """
    lowered = name.lower()
    return next((suffix for suffix in SUFFIXES if lowered.endswith(suffix)), "")


def largest_size(name: str) -> int | None:
    """Return how many bytes a file may have; records are read however many there are.

    >>> largest_size("ines.md"), largest_size("chat.jsonl")
    (10000000, None)
    """
    return LARGEST_TEXT if suffix_of(name) in (*_MARKDOWN, *_PLAIN) else None


def read_file_text(
    text: str,
    name: str,
    *,
    prefix: str = "",
    created_at: datetime | None = None,
    size: int = CHUNK_SIZE,
) -> Contents:
    r"""Return the notes that a file's text holds, read as the end of its name says.

    ``name`` is the file's path below the root, ``prefix`` what its notes' paths begin with, ``created_at`` when the
    notes of a text were made that says nothing about it, ``size`` how long a note should be that is part of a text.

    A text that holds no note is reported, whether it is empty or has nothing but front matter without a summary.

    >>> [note] = read_file_text("# Tea", "tea.md").drafts
    >>> note["title"]
    'Tea'
    >>> print(*read_file_text("---\ntags: tea\n---\n", "tea.md").problems)
    tea.md: is skipped: it has front matter and no text; write something below the front matter
    """
    contents = _read(text, name, prefix, created_at, size)
    if contents.drafts or contents.problems:
        return contents
    return Contents([], [Problem(name, None, f"is skipped: {_why_empty(text, name)}", skipped=True)])


def _why_empty(text: str, name: str) -> str:
    """Return why a text holds no notes."""
    if not text.strip():
        return "it is empty"
    if suffix_of(name) in _MARKDOWN:
        return "it has front matter and no text; write something below the front matter"
    return "it holds no notes"


def _read(text: str, name: str, prefix: str, created_at: datetime | None, size: int) -> Contents:
    """Return the notes of a text as its reader gives them."""
    suffix = suffix_of(name)
    if suffix in _MARKDOWN:
        return read_markdown(text, name, prefix=prefix, created_at=created_at, size=size)
    if suffix in _PLAIN:
        return read_text(text, name, prefix=prefix, created_at=created_at, size=size)
    if suffix in _LINES:
        return read_json_lines(text, name, prefix=prefix)
    if suffix in _LIST:
        return read_json(text, name, prefix=prefix)
    raise UnreadableError(name, None, f"is of no known format; known are {', '.join(SUFFIXES)}")
