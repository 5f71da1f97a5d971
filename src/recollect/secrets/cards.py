"""Numbers of payment cards: as long as an issuer makes them, with its first digits, and with the right last one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.secrets.secret import Secret

__all__ = ["find_cards", "luhn"]

_SPACE = r"(  |[ \-\t\n\u00a0\u2009\u202f])"
_SPACE_OR_DOT = r"(  |[ \-\t\n.\u00a0\u2009\u202f])"
_ALONE = r"(?<![\w.,+/-])(?<![0-9]{4}[ -])"
_OVER = r"(?![\w/]|[.,-][0-9]|[ -][0-9]{4}(?![0-9]))"
_NO_MORE = rf"(?!\1[0-9]{{4}}(?![0-9])){_OVER}"
_NUMBERS = (
    re.compile(rf"{_ALONE}()[0-9]{{13,19}}+(?!-){_OVER}"),
    re.compile(rf"{_ALONE}[0-9]{{4}}{_SPACE_OR_DOT}[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{4}}{_NO_MORE}"),
    re.compile(rf"{_ALONE}[0-9]{{4}}{_SPACE}[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{3}}{_NO_MORE}"),
    re.compile(rf"{_ALONE}[0-9]{{4}}{_SPACE_OR_DOT}[0-9]{{6}}\1[0-9]{{5}}{_NO_MORE}"),
    re.compile(rf"{_ALONE}[0-9]{{4}}{_SPACE}[0-9]{{6}}\1[0-9]{{4}}{_NO_MORE}"),
)
"""In one piece, or in the groups in which cards write them; other groups are other numbers."""

_ISSUERS: tuple[tuple[range, int, frozenset[int]], ...] = (
    (range(4, 5), 1, frozenset((13, 16, 19))),  # Visa
    (range(51, 56), 2, frozenset((16,))),  # Mastercard
    (range(2221, 2721), 4, frozenset((16,))),
    (range(34, 35), 2, frozenset((15,))),  # American Express
    (range(37, 38), 2, frozenset((15,))),
    (range(6011, 6012), 4, frozenset((16, 19))),  # Discover
    (range(644, 660), 3, frozenset((16, 19))),
    (range(3528, 3590), 4, frozenset((16, 19))),  # JCB
    (range(300, 306), 3, frozenset((14,))),  # Diners Club
    (range(36, 37), 2, frozenset((14,))),
    (range(38, 40), 2, frozenset((14,))),
    (range(62, 63), 2, frozenset((16, 17, 18, 19))),  # UnionPay
)


def find_cards(text: str) -> Iterator[Secret]:
    """Yield the numbers of cards in a text."""
    for pattern in _NUMBERS:
        for found in pattern.finditer(text):
            digits = re.sub("[^0-9]", "", found[0])
            if not _goes_on(text, found) and _is_issued(digits) and luhn(digits):
                yield Secret(*found.span(), "card number")


def luhn(digits: str) -> bool:
    """Return whether the last digit is the one that the others ask for (Luhn, US patent 2,950,048, 1960).

    >>> luhn("4111111111111111"), luhn("4111111111111112")
    (True, False)
    """
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def _goes_on(text: str, found: re.Match[str]) -> bool:
    """Return whether the groups go on from others before them, as in the column of a table."""
    between = found[1]
    before = text[max(0, found.start() - len(between) - 4) : found.start()]
    return bool(between) and before.endswith(between) and before[:4].isdecimal() and len(before) == len(between) + 4


def _is_issued(digits: str) -> bool:
    return any(int(digits[:width]) in prefixes and len(digits) in lengths for prefixes, width, lengths in _ISSUERS)
