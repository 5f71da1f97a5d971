"""Generate the paths and titles of the notes of a file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from recollect.text import collapse_whitespace

MAX_TITLE = 200  # in characters

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NOT_IN_SLUG = re.compile(r"[^\w]+")
_WORD_SEPARATORS = re.compile(r"_+|(?<!\d)-+|-+(?!\d)")  # underscores and hyphens, but not hyphens between digits


class NotePaths:
    """Generates unique paths for the notes of a file; a path stays the same if other parts of the file change.

    The path of the first note is the path of the file. The path of any other note also has the headings above its
    beginning, and a number if an earlier note has the same headings: ``ines.md``, ``ines.md#tea``, ``ines.md#tea-2``,
    ``ines.md#tea/green``.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._used_anchors: set[str] = set()
        self._next_numbers: dict[str, int] = {}  # the next number to try, by the slug of the headings

    def next(self, headings: Sequence[str]) -> str:
        """Return the path of the next note, which begins under these headings."""
        anchor = headings_slug = "/".join(filter(None, map(slug, headings)))
        if not self._used_anchors:
            # The first note has no anchor. Still, the next note under the same headings gets the number 2.
            self._used_anchors.update(("", headings_slug))
            return self._path
        if not headings_slug or headings_slug in self._used_anchors:
            number = self._next_numbers.get(headings_slug, 2)
            while (anchor := f"{headings_slug}-{number}" if headings_slug else str(number)) in self._used_anchors:
                number += 1
            self._next_numbers[headings_slug] = number + 1
        self._used_anchors.add(anchor)
        return f"{self._path}#{anchor}"


def is_one_line(name: str) -> bool:
    """Return whether a name has no line ends and no other control characters."""
    return not _CONTROL.search(name)


def slug(text: str) -> str:
    """Return a heading as it appears in a path: in lower case, with hyphens between words."""
    return _NOT_IN_SLUG.sub("-", unicodedata.normalize("NFC", text[:MAX_TITLE]).lower()).strip("-")


def file_title(name: str) -> str:
    """Return a title for a file from its name: without suffix, with spaces between words."""
    file_name = name.rpartition("/")[2]
    stem = file_name.rpartition(".")[0] or file_name
    title = collapse_whitespace(_WORD_SEPARATORS.sub(" ", stem)) or stem
    return title[0].upper() + title[1:] if title.islower() else title


def note_title(title: str, headings: Sequence[str] = ()) -> str:
    """Return the title of a note: the title of its file, and the headings above the note."""
    short = title if len(title) <= MAX_TITLE else title[: MAX_TITLE - 1].rstrip() + "…"
    return " › ".join((short, *filter(None, headings)))
