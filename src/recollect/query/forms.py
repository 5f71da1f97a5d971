"""Other ways to write the same number, identifier or name.

Hyphens, spaces and thousands separators come and go: 1,240 and 1240, W-118 and W118. So do letters that keyboards lack:
Sørensen and Sorensen. A word index holds each of these as different words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import combinations, pairwise, product
from typing import NamedTuple

from recollect.query.parser import PUNCTUATION, clean_word
from recollect.query.stopwords import STOPWORDS
from recollect.query.tree import Kind, Query, Token
from recollect.text import fold_accents

__all__ = ["Joined", "any_form", "joined_forms", "letter_forms", "number_forms"]

MOST_FORMS = 96
"""The most forms of one word that are looked for."""
_MOST_PARTS = 7
"""Of a word of more parts, only joining all and splitting all are tried."""
_LONGEST = 40
_LONGEST_RUN = 6
_THOUSAND = 3
_ANY_SPLIT = range(7, 16)
"""The lengths of a number that may be split anywhere, as a telephone number is."""
_GROUPED = 12
"""From how many characters on an identifier may be written in groups of four, as an IBAN is."""
_PART = re.compile(r"\d+|[^\W\d_]+")
_DIGIT = re.compile(r"\d")
_HEXADECIMAL = re.compile(r"(?:0x)?([0-9a-f]{4,16})")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+)")
_LETTERS = {"i": "ı", "o": "ø", "l": "ł", "d": "đ", "ss": "ß", "ae": "æ", "oe": "œ"}
_REPLACEABLE = re.compile("ss|ae|oe|[iold]")
_MOST_LETTERS = 5

Form = tuple[Kind, str]
"""A term, or a phrase of several words."""


class Joined(NamedTuple):
    """Adjacent words of a query that may be one word in a note."""

    first: int
    """Where in the query's tokens they begin."""
    last: int
    """The place behind the last of them."""
    written: str
    form: Form
    """The words without the white space between them."""


def number_forms(written: str) -> list[Form]:
    """Return the other forms of a word with a digit: its parts joined or split, and digits in groups.

    >>> number_forms("W118")
    [('phrase', 'w 118')]
    >>> number_forms("1240"), number_forms("v15.4")
    ([('phrase', '1 240'), ('term', '0x1240')], [('phrase', 'v 15 4'), ('phrase', '15 4')])
    """
    lowered = written.lower()
    if not _DIGIT.search(lowered) or len(lowered) > _LONGEST:
        return []
    own = {_form(_words(lowered)), _form([clean_word(lowered)])}
    forms = dict.fromkeys(_form(words) for words in _divisions(lowered))
    return [form for form in forms if form[1] and form not in own][:MOST_FORMS]


def letter_forms(word: str) -> list[Form]:
    """Return a word with the letters that are often written in another way replaced: ø for o, ß for ss, and back.

    >>> letter_forms("Weiss")
    [('term', 'weiß'), ('term', 'weıss'), ('term', 'weıß')]
    >>> letter_forms("Straße")
    [('term', 'strasse')]
    """
    lowered = word.lower()
    if not lowered.isalpha() or not 3 <= len(lowered) <= _LONGEST:
        return []
    folded = fold_accents(lowered)
    if folded != lowered:
        return [("term", folded)]
    places = list(_REPLACEABLE.finditer(lowered))
    if len(places) > _MOST_LETTERS:
        chosen: Iterable[tuple[bool, ...]] = (
            tuple(place == each for place in range(len(places))) for each in range(len(places))
        )
    else:
        chosen = product((False, True), repeat=len(places))
    spelt = ["".join(_replaced(lowered, places, each)) for each in chosen]
    return [("term", form) for form in dict.fromkeys(spelt) if form != lowered]


def joined_forms(query: Query) -> list[Joined]:
    """Return the runs of adjacent words, one of them with a digit, that may be one word in a note, longest first.

    >>> from recollect.query import parse
    >>> [each.form for each in joined_forms(parse("call 0171 5523981"))]
    [('term', 'call01715523981'), ('term', 'call0171'), ('term', '01715523981')]
    """
    if query.has_operators:
        return []
    placed = list(_placed(query))
    runs = []
    for size in range(min(_LONGEST_RUN, len(placed)), 1, -1):
        for start in range(len(placed) - size + 1):
            run = placed[start : start + size]
            tokens = [place for place, _ in run if place is not None]
            pieces = [piece.strip(PUNCTUATION).lower() for _, piece in run]
            with_digit = [_DIGIT.search(piece) is not None for piece in pieces]
            if not tokens or not any(with_digit) or not all(with_digit[1:-1]):
                continue
            joined = "".join(pieces)
            if len(joined) <= _LONGEST and STOPWORDS.isdisjoint(pieces) and "" not in pieces:
                written = " ".join(piece for _, piece in run)
                runs.append(Joined(tokens[0], tokens[-1] + 1, written, _form(_words(joined))))
    return runs


def any_form(written: str, forms: Iterable[Form]) -> tuple[Token, ...]:
    """Return tokens that stand together in the place of one word, as aliases do.

    >>> [token.alternative for token in any_form("W118", [("term", "w118"), ("phrase", "w 118")])]
    [1, 2]
    """
    return tuple(Token(kind, text, None, written, number) for number, (kind, text) in enumerate(forms, 1))


def _divisions(lowered: str) -> Iterator[list[str]]:
    """Yield the words that a number or identifier may be divided into.

    Digits on both sides of a point or comma are joined only where it may separate thousands.
    """
    for spelling in _versions(lowered):
        found = list(_PART.finditer(spelling))
        parts = [part[0] for part in found]
        gaps = [(spelling[left.end() : right.start()], right[0]) for left, right in pairwise(found)]
        may_join = [gap not in (".", ",") or len(right) == _THOUSAND or not right.isdecimal() for gap, right in gaps]
        many = len(parts) > _MOST_PARTS
        for joined in [tuple(may_join)] if many else product(*((False, True) if may else (False,) for may in may_join)):
            words = parts[:1]
            for part, is_joined in zip(parts[1:], joined, strict=True):
                words = [*words[:-1], words[-1] + part] if is_joined else [*words, part]
            yield words
            yield [group for word in words for group in (_thousands(word) if word.isdecimal() else [word])]
        if all(may_join):
            yield from _groups("".join(parts))
    if (number := _HEXADECIMAL.fullmatch(lowered)) and _DIGIT.search(number[1]):
        yield [number[1] if lowered.startswith("0x") else f"0x{lowered}"]


def _versions(lowered: str) -> Iterator[str]:
    """Yield a word as it is, and a version without its v, or with one."""
    yield lowered
    if version := _VERSION.fullmatch(lowered):
        yield version[1] if lowered[0] == "v" else f"v{lowered}"


def _groups(letters: str) -> Iterator[list[str]]:
    """Yield the groups in which long numbers and identifiers are written."""
    if letters.isdecimal() and len(letters) in _ANY_SPLIT:
        for size in (2, 3, 4):
            yield _split(letters, range(size, len(letters), size))
        for count in (1, 2):
            for places in combinations(range(2, len(letters) - 1), count):
                if all(second - first > 1 for first, second in pairwise(places)):
                    yield _split(letters, places)
    elif len(letters) >= _GROUPED:
        yield _split(letters, range(4, len(letters), 4))


def _thousands(digits: str) -> list[str]:
    return _split(digits, range(len(digits) % _THOUSAND or _THOUSAND, len(digits), _THOUSAND))


def _split(letters: str, places: Iterable[int]) -> list[str]:
    ends = [*places, len(letters)]
    return [letters[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _words(lowered: str) -> list[str]:
    return re.findall(r"[^\W_]+", lowered)


def _form(words: list[str]) -> Form:
    return ("phrase" if len(words) > 1 else "term"), " ".join(words)


def _replaced(word: str, places: list[re.Match[str]], chosen: Iterable[bool]) -> Iterator[str]:
    at = 0
    for place, is_chosen in zip(places, chosen, strict=True):
        yield word[at : place.start()]
        yield _LETTERS[place[0]] if is_chosen else place[0]
        at = place.end()
    yield word[at:]


def _placed(query: Query) -> Iterator[tuple[int | None, str]]:
    """Yield the words of a query as they were written, each with the place of its token; dropped words have none."""
    sources = [token.source if token.kind == "term" and not token.alternative else None for token in query.tokens]
    place = 0
    for piece in query.raw.split(" "):
        if place < len(sources) and piece == sources[place]:
            yield place, piece
            place += 1
        else:
            yield None, piece
