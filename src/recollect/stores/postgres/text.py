"""Text as PostgreSQL takes it: without NUL, and words as lexemes that carry their namespace.

Words are those of FTS5's own tokenizer, so that both engines find the same notes.
"""

from __future__ import annotations

from hashlib import blake2b, sha256

__all__ = ["LONGEST_TERM", "escaped", "lexeme", "mark", "quoted", "term", "unescaped"]

LONGEST_TERM = 1000
"""Bytes of a word that are kept as they are; a lexeme may have 2,046, and an index's row 2,700."""

_MARK_BYTES = 16
_READ_BY_FTS5 = 32_768  # bytes of a word: what comes behind them counts for nothing

_WALL = "\x1f"  # stands in no word: for the tokenizer it is white space
_CUT = "\x7f"


def term(stem: str) -> str:
    """Return a word as indexes keep it: as it is, or its beginning and a digest of the whole.

    >>> term("tea"), len(term("a" * 5000))
    ('tea', 1017)
    """
    encoded = stem.encode()[:_READ_BY_FTS5]
    if len(encoded) <= LONGEST_TERM:
        return stem
    beginning = encoded[:LONGEST_TERM].decode(errors="ignore")
    return f"{beginning}{_CUT}{blake2b(encoded, digest_size=8).hexdigest()}"


def lexeme(namespace: int, word: str) -> str:
    r"""Return a term behind its namespace, quoted for a ``tsvector`` or ``tsquery``.

    >>> lexeme(7, "tea")
    "'7\x1ftea'"
    """
    return quoted(f"{namespace}{_WALL}{word}")


def quoted(text: str) -> str:
    r"""Return ``text`` as a literal within a ``tsvector`` or ``tsquery``.

    >>> print(quoted(r"o'neil\x"))
    'o''neil\\x'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def escaped(text: str) -> str:
    r"""Return ``text`` without NUL, which PostgreSQL's text cannot hold; :func:`unescaped` brings it back.

    >>> escaped("a\0b"), escaped("tea")
    ('a\x1aNb', 'tea')
    """
    if "\0" not in text and "\x1a" not in text:
        return text
    return text.replace("\x1a", "\x1aS").replace("\0", "\x1aN")


def unescaped(text: str) -> str:
    r"""Return the text that was :func:`escaped`.

    >>> unescaped("a\x1aNb")
    'a\x00b'
    """
    return text if "\x1a" not in text else text.replace("\x1aN", "\0").replace("\x1aS", "\x1a")


def mark(text: str) -> bytes:
    """Return what a text is looked up by, however long it is; the tables make the same of theirs.

    >>> mark("tea.md").hex()
    '314722604493f56132061819bae3f2fe'
    """
    return sha256(escaped(text).encode()).digest()[:_MARK_BYTES]
