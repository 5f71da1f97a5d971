r"""Text primitives: white space, words, Unicode normalisation, well-formedness.

The source systems run on JavaScript, whose ``\s`` and ``trim`` differ from Python's: U+FEFF is white space there and
U+001C to U+001F and U+0085 are not. Every comparison with the sources goes through this module.
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
"""JavaScript's white space, every character of it; it can stand in a regular expression's class as it is."""

_WHITESPACE_RUN = re.compile(f"[{WHITESPACE}]+")
_MANY_MARKS = regex.compile(r"\p{M}{32,}")
_ACCENTED = re.compile("[\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff]")
_WITHOUT_BASE = {"ı": "i", "ø": "o", "ł": "l", "đ": "d", "ß": "ss", "æ": "ae", "œ": "oe"}
_NEITHER_LETTER_NOR_NUMBER = regex.compile(r"[^\p{L}\p{N}]+")  # Python's own re does not know Unicode's classes


def collapse_whitespace(text: str) -> str:
    r"""Turn each run of white space into one space, and trim both ends.

    >>> collapse_whitespace("  green\t\u3000tea\ufeff\n")
    'green tea'
    """
    if text.isascii() and text.isprintable():
        # Here the space is the only white space, so that Python's quicker split agrees with JavaScript.
        return " ".join(text.split()) if "  " in text or text[:1] == " " or text[-1:] == " " else text
    return _WHITESPACE_RUN.sub(" ", text).strip(" ")


def compose(text: str) -> str:
    r"""Return ``text`` in Unicode NFC, in linear time.

    NFC sorts the marks on a letter, and Python's sorts by insertion: a hundred thousand marks on one letter would take
    it minutes. Sorting long runs beforehand changes nothing in the result.

    >>> compose("e\u0301")
    'é'
    """
    return unicodedata.normalize("NFC", _MANY_MARKS.sub(_sorted_marks, text))


def _sorted_marks(run: regex.Match[str]) -> str:
    """Sort each stretch of marks by combining class; one of class 0 stays where it is and ends a stretch."""
    marks = "".join(unicodedata.normalize("NFD", mark) for mark in run[0])  # a mark of class 0 may be made of others
    stretches = [[marks[0]]]
    for mark in marks[1:]:
        if unicodedata.combining(mark) and unicodedata.combining(stretches[-1][0]):
            stretches[-1].append(mark)
        else:
            stretches.append([mark])
    return "".join(mark for stretch in stretches for mark in sorted(stretch, key=unicodedata.combining))


def fold_accents(text: str) -> str:
    """Return ``text``, which is in lower case, with plain Latin letters in the place of accented ones.

    Letters that Unicode does not decompose are folded, too: ı, ø, ł, đ, and ß, æ, œ, which become two letters each.

    >>> fold_accents("sørensen, łódź, straße, kovářová")
    'sorensen, lodz, strasse, kovarova'
    """
    return text if text.isascii() else _ACCENTED.sub(_without_accent, text)


def _without_accent(letter: re.Match[str]) -> str:
    base = _WITHOUT_BASE.get(letter[0]) or unicodedata.normalize("NFD", letter[0])[0]
    return "" if unicodedata.combining(base[0]) else base


def has_new_capitals(text: str) -> bool:
    """Return whether ``text`` holds capitals that Unicode has known as such only since its version 4.

    Python lowers them; an engine with older tables, such as SQLite, leaves them as they are.

    >>> has_new_capitals("ÉLAN"), has_new_capitals("ᲐᲑᲒ")
    (False, True)
    """
    if text.isascii():
        return False
    return any(letter.isupper() and unicodedata.ucd_3_2_0.category(letter) != "Lu" for letter in text)


def javascript_pattern(source: str) -> re.Pattern[str]:
    r"""Compile a JavaScript pattern with the flag ``i`` alone, so that it means here what it means there.

    ``\b``, ``\d`` and case fold over ASCII only; ``\s`` is JavaScript's white space.

    >>> bool(javascript_pattern(r"\bwe\s+went\b").search("WE\u3000went"))
    True
    """
    return re.compile(source.replace(r"\s", f"[{WHITESPACE}]"), re.ASCII | re.IGNORECASE)


def split_words(text: str) -> list[str]:
    """Return the runs of letters and digits in ``text``, lower-cased.

    >>> split_words("Robert-Bosch GmbH")
    ['robert', 'bosch', 'gmbh']
    """
    return [word for word in _NEITHER_LETTER_NOR_NUMBER.split(well_formed(text).lower()) if word]


def well_formed(text: str) -> str:
    r"""Join surrogate pairs and put U+FFFD for each lone surrogate, so that the text can be stored and sent.

    >>> well_formed("tea \ud83c\udf75, lone \udc00")
    'tea 🍵, lone \ufffd'
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
