r"""Text primitives: white space, words, Unicode normalisation, well-formedness.

The published systems that some presets reproduce run on JavaScript, whose ``\s`` and ``trim`` differ from Python's:
in JavaScript, U+FEFF is white space, and U+001C to U+001F and U+0085 are not. Use this module in code that must treat
text in the same way as those systems.
"""

from __future__ import annotations

import re
import unicodedata

import regex

WHITESPACE = (
    "\t\n\x0b\x0c\r \xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""All white space of JavaScript. A character class ``[…]`` of a regular expression can contain it without escaping."""

_WHITESPACE_RUN = re.compile(f"[{WHITESPACE}]+")
_MANY_MARKS = regex.compile(r"\p{M}{32,}")  # so many combining marks that ``compose`` sorts them itself; see there
_ACCENTED_OR_MARK = re.compile("[\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff]")  # accented Latin letters, combining marks
_BASE_LETTERS = {"ı": "i", "ø": "o", "ł": "l", "đ": "d", "ß": "ss", "æ": "ae", "œ": "oe"}
_WORD_SEPARATORS = regex.compile(r"[^\p{L}\p{N}]+")  # regex, because re has no Unicode classes


def collapse_whitespace(text: str) -> str:
    r"""Replace each run of white space by one space, and trim both ends.

    >>> collapse_whitespace("  green\t\u3000tea\ufeff\n")
    'green tea'
    """
    if text.isascii() and text.isprintable():
        # The space is the only white space here, so the faster str.split gives the same result.
        return " ".join(text.split()) if "  " in text or text[:1] == " " or text[-1:] == " " else text
    return _WHITESPACE_RUN.sub(" ", text).strip(" ")


def compose(text: str) -> str:
    r"""Return ``text`` in Unicode NFC, in linear time.

    NFC sorts the combining marks after a letter, and Python uses insertion sort: a hundred thousand marks after one
    letter take minutes. So long runs of marks are first sorted here, which does not change the result.
    """
    return unicodedata.normalize("NFC", _MANY_MARKS.sub(_sorted_marks, text))


def _sorted_marks(match: regex.Match[str]) -> str:
    """Sort each run of marks by Unicode combining class; a mark of class 0 keeps its position and ends a run."""
    marks = "".join(unicodedata.normalize("NFD", mark) for mark in match[0])  # some marks decompose into two
    runs = [[marks[0]]]
    for mark in marks[1:]:
        if unicodedata.combining(mark) and unicodedata.combining(runs[-1][0]):
            runs[-1].append(mark)
        else:
            runs.append([mark])
    return "".join(mark for run in runs for mark in sorted(run, key=unicodedata.combining))


def fold_accents(text: str) -> str:
    """Return ``text``, which must be in lower case, with plain Latin letters instead of accented letters.

    The letters ı, ø, ł, đ, ß, æ and œ are also replaced, although Unicode does not decompose them.

    >>> fold_accents("sørensen, łódź, straße, kovářová")
    'sorensen, lodz, strasse, kovarova'
    """
    return text if text.isascii() else _ACCENTED_OR_MARK.sub(_without_accent, text)


def _without_accent(match: re.Match[str]) -> str:
    base = _BASE_LETTERS.get(match[0]) or unicodedata.normalize("NFD", match[0])[0]
    return "" if unicodedata.combining(base[0]) else base  # a combining mark is removed


def has_new_capitals(text: str) -> bool:
    """Return whether ``text`` contains capital letters that are newer than Unicode 3.2.

    Python converts them to lower case; an engine with older Unicode tables, such as SQLite, does not.
    """
    if text.isascii():
        return False
    return any(letter.isupper() and unicodedata.ucd_3_2_0.category(letter) != "Lu" for letter in text)


def javascript_pattern(source: str) -> re.Pattern[str]:
    r"""Compile a regular expression so that it matches the same texts as in JavaScript with the flag ``i``.

    ``\b``, ``\d`` and case-insensitivity are limited to ASCII; ``\s`` is JavaScript's white space.
    """
    return re.compile(source.replace(r"\s", f"[{WHITESPACE}]"), re.ASCII | re.IGNORECASE)


def split_words(text: str) -> list[str]:
    """Return the runs of letters and digits in ``text``, in lower case.

    >>> split_words("Robert-Bosch GmbH")
    ['robert', 'bosch', 'gmbh']
    """
    return [word for word in _WORD_SEPARATORS.split(well_formed(text).lower()) if word]


def well_formed(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates by U+FFFD, so that the text can be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
