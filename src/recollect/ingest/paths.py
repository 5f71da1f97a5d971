"""Paths and titles of the notes of a file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from recollect.text import collapse_whitespace

MAX_TITLE = 200

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NOT_IN_SLUG = re.compile(r"[^\w]+")
_WORD_SEPARATORS = re.compile(r"_+|(?<!\d)-+|-+(?!\d)")


class NotePaths:
    """Generates unique paths for the notes of a file, which stay the same when other parts of the file change.

    The first note has the file's path. The others append the headings that they begin under, and a number if several
    begin under the same headings: ``ines.md``, ``ines.md#tea``, ``ines.md#tea-2``, ``ines.md#tea/green``.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._used: set[str] = set()
        self._numbers: dict[str, int] = {}

    def next(self, headings: Sequence[str]) -> str:
        """Return the path of the next note, which begins under these headings."""
        name = base = "/".join(filter(None, map(slug, headings)))
        if not self._used:
            # The next note under the same headings is the second one, although the first does not have their name.
            self._used.update(("", base))
            return self._path
        if not base or base in self._used:
            number = self._numbers.get(base, 2)
            while (name := f"{base}-{number}" if base else str(number)) in self._used:
                number += 1
            self._numbers[base] = number + 1
        self._used.add(name)
        return f"{self._path}#{name}"


def is_one_line(name: str) -> bool:
    """Return whether a name has no line ends or other control characters."""
    return not _CONTROL.search(name)


def slug(text: str) -> str:
    """Return a heading as it appears in a path: in lower case, with hyphens between words."""
    return _NOT_IN_SLUG.sub("-", unicodedata.normalize("NFC", text[:MAX_TITLE]).lower()).strip("-")


def file_title(name: str) -> str:
    """Return a title for a file from its name."""
    stem = name.rpartition("/")[2]
    stem = stem.rpartition(".")[0] or stem
    title = collapse_whitespace(_WORD_SEPARATORS.sub(" ", stem)) or stem
    return title[0].upper() + title[1:] if title.islower() else title


def note_title(title: str, headings: Sequence[str] = ()) -> str:
    """Return the title of a note: that of the file, and the headings that the note is under."""
    short = title if len(title) <= MAX_TITLE else title[: MAX_TITLE - 1].rstrip() + "…"
    return " › ".join((short, *filter(None, headings)))
