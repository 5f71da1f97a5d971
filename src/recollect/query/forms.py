"""Other written forms of the same number, identifier or name.

Hyphens, spaces and thousands separators vary: 1,240 and 1240, W-118 and W118. So do letters that keyboards lack:
Sørensen and Sorensen. In a lexical index these are different words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import combinations, pairwise, product
from typing import NamedTuple

from recollect.query.parser import PUNCTUATION, Kind, Query, Token, clean_word
from recollect.query.terms import STOPWORDS
from recollect.text import fold_accents

__all__ = ["Form", "JoinedWords", "any_form", "joined_forms", "letter_forms", "number_forms"]

MAX_FORMS = 96
"""The largest number of forms of one word."""
_MAX_PARTS = 7
"""Of a word with more parts, only joining all and splitting all are tried."""
_MAX_CHARS = 40
_MAX_JOINED_WORDS = 6
_THOUSAND_DIGITS = 3
_PHONE_DIGITS = range(7, 16)
"""The lengths of numbers that may be split anywhere, such as telephone numbers."""
_MIN_GROUPED_CHARS = 12
"""Identifiers from this length on may be written in groups of four, such as an IBAN."""
_PART = re.compile(r"\d+|[^\W\d_]+")
_DIGIT = re.compile(r"\d")
_HEXADECIMAL = re.compile(r"(?:0x)?([0-9a-f]{4,16})")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+)")
_LETTER_FORMS = {"i": "ı", "o": "ø", "l": "ł", "d": "đ", "ss": "ß", "ae": "æ", "oe": "œ"}
_REPLACEABLE_LETTERS = re.compile("ss|ae|oe|[iold]")
_MAX_REPLACED = 5

Form = tuple[Kind, str]
"""A term, or a phrase of several words."""


class JoinedWords(NamedTuple):
    """Adjacent words of a query that may be one word in a note."""

    first: int
    """The index of the first token."""
    last: int
    """The index after the last token."""
    written: str
    form: Form
    """The words without the white space between them."""


def number_forms(written: str) -> list[Form]:
    """Return the other forms of a word with a digit: parts joined or split, and digits in groups.

    >>> number_forms("W118")
    [('phrase', 'w 118')]
    >>> number_forms("1240"), number_forms("v15.4")
    ([('phrase', '1 240'), ('term', '0x1240')], [('phrase', 'v 15 4'), ('phrase', '15 4')])
    """
    lowered = written.lower()
    if not _DIGIT.search(lowered) or len(lowered) > _MAX_CHARS:
        return []
    original = {_form(_words(lowered)), _form([clean_word(lowered)])}
    forms = dict.fromkeys(_form(words) for words in _divisions(lowered))
    return [form for form in forms if form[1] and form not in original][:MAX_FORMS]


def letter_forms(word: str) -> list[Form]:
    """Return a word with interchangeable letters replaced: ø for o, ß for ss, and back.

    >>> letter_forms("Weiss")
    [('term', 'weiß'), ('term', 'weıss'), ('term', 'weıß')]
    >>> letter_forms("Straße")
    [('term', 'strasse')]
    """
    lowered = word.lower()
    if not lowered.isalpha() or not 3 <= len(lowered) <= _MAX_CHARS:
        return []
    folded = fold_accents(lowered)
    if folded != lowered:
        return [("term", folded)]
    matches = list(_REPLACEABLE_LETTERS.finditer(lowered))
    count = len(matches)
    choices: Iterable[Iterable[bool]] = product((False, True), repeat=count)
    if count > _MAX_REPLACED:  # one at a time, instead of all combinations
        choices = ([index == replaced for index in range(count)] for replaced in range(count))
    forms = ("".join(_replaced(lowered, matches, choice)) for choice in choices)
    return [("term", form) for form in dict.fromkeys(forms) if form != lowered]


def joined_forms(query: Query) -> list[JoinedWords]:
    """Return runs of adjacent words, one of them with a digit, that may be one word in a note, longest first.

    >>> from recollect.query import parse
    >>> [joined.form for joined in joined_forms(parse("call 0171 5523981"))]
    [('term', 'call01715523981'), ('term', 'call0171'), ('term', '01715523981')]
    """
    if query.has_operators:
        return []
    words = list(_words_as_written(query))
    runs = []
    for size in range(min(_MAX_JOINED_WORDS, len(words)), 1, -1):
        for start in range(len(words) - size + 1):
            run = words[start : start + size]
            tokens = [index for index, _ in run if index is not None]
            parts = [word.strip(PUNCTUATION).lower() for _, word in run]
            with_digit = [_DIGIT.search(part) is not None for part in parts]
            if not tokens or not any(with_digit) or not all(with_digit[1:-1]):
                continue
            joined = "".join(parts)
            if len(joined) <= _MAX_CHARS and STOPWORDS.isdisjoint(parts) and "" not in parts:
                written = " ".join(word for _, word in run)
                runs.append(JoinedWords(tokens[0], tokens[-1] + 1, written, _form(_words(joined))))
    return runs


def any_form(written: str, forms: Iterable[Form]) -> tuple[Token, ...]:
    """Return tokens that are alternatives for one word, as aliases are.

    >>> [token.alternative for token in any_form("W118", [("term", "w118"), ("phrase", "w 118")])]
    [1, 2]
    """
    return tuple(Token(kind, text, None, written, number) for number, (kind, text) in enumerate(forms, 1))


def _divisions(lowered: str) -> Iterator[list[str]]:
    """Yield the lists of words that a number or identifier may be divided into.

    Digits around a point or comma are joined only if it may separate thousands.
    """
    for spelling in _versions(lowered):
        matches = list(_PART.finditer(spelling))
        parts = [match[0] for match in matches]
        gaps = [(spelling[left.end() : right.start()], right[0]) for left, right in pairwise(matches)]
        may_join = [
            gap not in (".", ",") or len(right) == _THOUSAND_DIGITS or not right.isdecimal() for gap, right in gaps
        ]
        many = len(parts) > _MAX_PARTS
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
    """Yield the word, and for a version number also the form with or without v."""
    yield lowered
    if version := _VERSION.fullmatch(lowered):
        yield version[1] if lowered[0] == "v" else f"v{lowered}"


def _groups(letters: str) -> Iterator[list[str]]:
    """Yield the groups in which long numbers and identifiers may be written."""
    if letters.isdecimal() and len(letters) in _PHONE_DIGITS:
        for size in (2, 3, 4):
            yield _split(letters, range(size, len(letters), size))
        for count in (1, 2):
            for ends in combinations(range(2, len(letters) - 1), count):
                if all(second - first > 1 for first, second in pairwise(ends)):
                    yield _split(letters, ends)
    elif len(letters) >= _MIN_GROUPED_CHARS:
        yield _split(letters, range(4, len(letters), 4))


def _thousands(digits: str) -> list[str]:
    return _split(digits, range(len(digits) % _THOUSAND_DIGITS or _THOUSAND_DIGITS, len(digits), _THOUSAND_DIGITS))


def _split(letters: str, ends: Iterable[int]) -> list[str]:
    all_ends = [*ends, len(letters)]
    return [letters[start:end] for start, end in zip([0, *all_ends], all_ends, strict=False)]


def _words(lowered: str) -> list[str]:
    return re.findall(r"[^\W_]+", lowered)


def _form(words: list[str]) -> Form:
    return ("phrase" if len(words) > 1 else "term"), " ".join(words)


def _replaced(word: str, matches: list[re.Match[str]], choice: Iterable[bool]) -> Iterator[str]:
    end = 0
    for match, is_replaced in zip(matches, choice, strict=True):
        yield word[end : match.start()]
        yield _LETTER_FORMS[match[0]] if is_replaced else match[0]
        end = match.end()
    yield word[end:]


def _words_as_written(query: Query) -> Iterator[tuple[int | None, str]]:
    """Yield the words of a query with the index of their token; dropped words have none."""
    sources = [token.source if token.kind == "term" and not token.alternative else None for token in query.tokens]
    index = 0
    for word in query.raw.split(" "):
        if index < len(sources) and word == sources[index]:
            yield index, word
            index += 1
        else:
            yield None, word
