"""The same said otherwise, by rule: other endings of words, numbers as words, dates in another form.

The rules are of English. They know spelling, not grammar: what they make is meant for an index, not for a reader.
"""

from __future__ import annotations

import re
from datetime import date

__all__ = ["inflected", "reworded_dates", "reworded_number", "root"]

_ENDINGS = ("ingly", "edly", "ies", "ied", "ing", "ed", "es", "ly", "s", "e", "y")
_LEAST_ROOT = 3
_CONSONANT_Y = re.compile(r"[^aeiou]y$")
_HISSING = ("s", "x", "z", "ch", "sh")

_ONES = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
""".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_NUMBERS = [*_ONES, *(f"{ten}-{one}" if one != "zero" else ten for ten in _TENS for one in _ONES[:10])]
_FIGURES = {word: str(number) for number, word in enumerate(_NUMBERS)}

_MONTHS = """
    January February March April May June July August September October November December
""".split()
_MONTH = "|".join(_MONTHS)
_DATE = re.compile(
    r"\b(?P<iso>\d{4}-\d{2}-\d{2})\b"
    rf"|\b(?P<day>\d{{1,2}})\.? (?P<month>{_MONTH}),? (?P<year>\d{{4}})\b"
    rf"|\b(?P<us_month>{_MONTH}) (?P<us_day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<us_year>\d{{4}})\b"
)


def root(word: str) -> str:
    """Return what a lower-case word shares with its other forms; a key to compare by, not always a word.

    >>> root("preferred") == root("prefers") == root("preferring")
    True
    >>> root("tea"), root("bikes") == root("bike")
    ('tea', True)
    """
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_ROOT:
            word = word.removesuffix(ending)
            break
    # What an ending may have put in or left: studying and study, stopped and stop.
    return word[:-1] if len(word) > _LEAST_ROOT and (word[-1] in "ey" or word[-1] == word[-2]) else word


def inflected(word: str) -> str:
    """Return another form of a lower-case word that has the same root, or the word itself where there is none.

    >>> [inflected(word) for word in ("teas", "story", "moved", "brewing", "box", "tea", "42")]
    ['tea', 'stories', 'moving', 'brewed', 'boxes', 'teas', '42']
    """
    if not (word.isascii() and word.isalpha() and word.islower()) or len(word) < _LEAST_ROOT:
        return word
    other = _other_form(word)
    return other if root(other) == root(word) else word


def _other_form(word: str) -> str:
    if word.endswith("ing"):
        return f"{word[:-3]}ed"
    if word.endswith("ed"):
        return f"{word[:-2]}ing"
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith("es") and word[:-2].endswith(_HISSING):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    if _CONSONANT_Y.search(word):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(_HISSING) else f"{word}s"


def reworded_number(word: str) -> str:
    """Return a number below a hundred as a word, such a word as a number, and anything else as it is.

    >>> reworded_number("42"), reworded_number("seven"), reworded_number("1984")
    ('forty-two', '7', '1984')
    """
    if word.isascii() and word.isdecimal() and len(word) < 3:
        return _NUMBERS[int(word)]
    return _FIGURES.get(word, word)


def reworded_dates(text: str) -> str:
    """Return ``text`` with its dates in another form: numbers become words, words numbers.

    >>> reworded_dates("Paid on 2026-04-18, due May 2nd, 2026; not on 2026-02-31.")
    'Paid on 18 April 2026, due 2026-05-02; not on 2026-02-31.'
    """
    return _DATE.sub(_reworded_date, text)


def _reworded_date(found: re.Match[str]) -> str:
    try:
        if found["iso"]:
            day = date.fromisoformat(found["iso"])
            return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
        month = _MONTHS.index(found["month"] or found["us_month"]) + 1
        return date(int(found["year"] or found["us_year"]), month, int(found["day"] or found["us_day"])).isoformat()
    except ValueError:
        return found[0]  # no day of any calendar
