"""Tell random values from words, variable names, numbers and placeholders.

By hand rather than by entropy alone: passwords are short, and camelCase names have as much entropy as keys.
"""

from __future__ import annotations

import re
from operator import ne

MIN_LENGTH = 8
MIN_CHANGES = 3
"""How often the class of characters must change: lower case, upper case, digit, sign."""
CHARACTERS_PER_CHANGE = 8
"""In a long value, one change for so many characters."""
MIN_LETTERS_ONLY = 12
"""The shortest random value of letters only."""
MAX_WORD_SHARE = 0.6
"""The largest share of a random value that may consist of words."""

_PLACEHOLDER = re.compile(
    r"[<\[{]|\$[A-Za-z_{(]|%[A-Z({]|\*\*|~|\.{1,2}+/|/[a-z_.-]{2,32}+/"
    r"|(?:your|my|the|some|test|none|null)[_-]|(?:example|sample|dummy|fake|change|insert|replace|placeholder)",
    re.IGNORECASE,
)
"""A variable, a path, or a word of examples."""
_EXAMPLE_VALUE = re.compile(r"(.)\1{5}|EXAMPLE|12345678|abcdefgh|redacted", re.IGNORECASE | re.DOTALL)
_LETTERS = re.compile(r"[A-Z]?[a-z]{3,64}+|[A-Z]{4,64}+")
_CONSONANTS = re.compile(r"[b-df-hj-np-tv-xz]{4}", re.IGNORECASE)
_VOWEL = re.compile(r"[aeiouy]", re.IGNORECASE)
_DIGEST = re.compile(
    r"(?:0x)?[0-9a-f]{7,128}+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[\w-]{3,12}+:[0-9a-f]{32,128}+",
    re.IGNORECASE,
)


class _CharacterClasses(dict[int, str]):
    """The class of each character: lower case, upper case, digit or sign."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character.isalpha():
            return "A" if character.isupper() else "a"
        return "0" if character.isdigit() else "!"


_CLASSES = _CharacterClasses(dict.fromkeys(map(ord, "_-./+=:~"), ""))
"""Separators have no class."""


def looks_random(value: str, *, min_length: int = MIN_LENGTH) -> bool:
    """Return whether a value looks like a real password or key.

    >>> looks_random("k3J9x2m4Pq71"), looks_random("userPassword2"), looks_random("20260418")
    (True, False, False)
    """
    if len(value) < min_length or is_placeholder(value):
        return False
    classes = value.translate(_CLASSES)
    used = set(classes)
    changes = sum(map(ne, classes, classes[1:]))
    word_share = sum(len(run) for run in _LETTERS.findall(value) if _is_word(run)) / len(value)
    if used == {"a", "A"}:  # variable names are like that, too, but consist of words
        return len(value) >= MIN_LETTERS_ONLY and changes >= len(value) / 3 and word_share < MAX_WORD_SHARE / 2
    if not used & {"a", "A"} or ("0" not in used and len(used) < 3):
        return False
    return changes >= max(MIN_CHANGES, len(value) / CHARACTERS_PER_CHANGE) and word_share < MAX_WORD_SHARE


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder or an example.

    >>> is_placeholder("${API_KEY}"), is_placeholder("your_key_here"), is_placeholder("AKIAIOSFODNN7EXAMPLE")
    (True, True, True)
    """
    return bool(_PLACEHOLDER.match(value) or _EXAMPLE_VALUE.search(value))


def is_digest(value: str) -> bool:
    """Return whether a value may be the hash of a commit or file, or a UUID.

    >>> is_digest("41f4ec1"), is_digest("550e8400-e29b-41d4-a716-446655440000"), is_digest("k3J9x2m4Pq71")
    (True, True, False)
    """
    return _DIGEST.fullmatch(value) is not None


def _is_word(run: str) -> bool:
    """Return whether a run of letters is pronounceable."""
    return not _CONSONANTS.search(run) and len(_VOWEL.findall(run)) * 6 >= len(run)
