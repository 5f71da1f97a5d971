"""What chunks are called: a path that stays when other parts of the file change, and a title that says where it is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from recollect.text import collapse_whitespace

__all__ = ["Paths", "is_one_line", "readable", "slug", "titled"]

LONGEST_TITLE = 200

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NO_SLUG = re.compile(r"[^\w]+")
_JOINTS = re.compile(r"_+|(?<!\d)-+|-+(?!\d)")


class Paths:
    """Hands out the paths of a document's chunks, each once.

    The first chunk has the document's path. The others add the headings that they begin under; a number tells apart
    those that begin under the same ones.

    >>> paths = Paths("ines.md")
    >>> [paths.next(headings) for headings in ([], ["Tea"], ["Tea"], ["Tea", "Green & black"], [])]
    ['ines.md', 'ines.md#tea', 'ines.md#tea-2', 'ines.md#tea/green-black', 'ines.md#2']
    """

    def __init__(self, path: str) -> None:
        """Begin with nothing handed out."""
        self._path = path
        self._used: set[str] = set()
        self._numbers: dict[str, int] = {}

    def next(self, headings: Sequence[str]) -> str:
        """Return a path for the next chunk, which begins under these headings."""
        name = base = _slugs(headings)
        if not self._used:
            # A second piece of the first section is its second, although the first does not bear its name.
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
    r"""Return whether a name holds no line ends or other control characters, so that a note can bear it.

    >>> is_one_line("Ines\u00a0Vega"), is_one_line("Ines\nVega")
    (True, False)
    """
    return not _CONTROL.search(name)


def slug(words: str) -> str:
    """Return ``words`` as they stand in a path: lower-case, with hyphens between.

    >>> slug("Größe & Gewicht")
    'größe-gewicht'
    """
    return _NO_SLUG.sub("-", unicodedata.normalize("NFC", words[:LONGEST_TITLE]).lower()).strip("-")


def readable(name: str) -> str:
    """Return the name of a file as a title.

    >>> readable("people/tea-guide_for_ines.md"), readable("2026-03-14-standup.md")
    ('Tea guide for ines', '2026-03-14 standup')
    """
    stem = name.rpartition("/")[2]
    stem = stem.rpartition(".")[0] or stem
    words = collapse_whitespace(_JOINTS.sub(" ", stem)) or stem
    return words[0].upper() + words[1:] if words.islower() else words


def titled(document: str, headings: Sequence[str] = ()) -> str:
    """Return the title of a chunk: the document's, and the headings that it stands under.

    >>> titled("Ines", ["Birthday", "Presents"])
    'Ines › Birthday › Presents'
    """
    short = document if len(document) <= LONGEST_TITLE else document[: LONGEST_TITLE - 1].rstrip() + "…"
    return " › ".join((short, *filter(None, headings)))


def _slugs(headings: Sequence[str]) -> str:
    return "/".join(filter(None, map(slug, headings)))
