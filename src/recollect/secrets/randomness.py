"""Whether a value looks as if a machine had thrown dice for it, or as if a person had meant something.

A person's values are words, names of variables, numbers, and what stands for a value that somebody else fills in.
"""

from __future__ import annotations

import re
from operator import ne

__all__ = ["is_digest", "is_placeholder", "looks_random"]

SHORTEST = 8
FEWEST_CHANGES = 3
"""From a small letter to a digit, from there to a capital: so often at least."""
LETTERS_A_CHANGE = 8
"""In a long value, one change for so many characters."""
LETTERS_ALONE = 12
"""How long a value must be that holds nothing but letters."""
MOST_WORDS = 0.6
"""How much of a value may consist of words."""

_STANDS_FOR_ANOTHER = re.compile(
    r"[<\[{]|\$[A-Za-z_{(]|%[A-Z({]|\*\*|~|\.{1,2}+/|/[a-z_.-]{2,32}+/"
    r"|(?:your|my|the|some|test|none|null)[_-]|(?:example|sample|dummy|fake|change|insert|replace|placeholder)",
    re.IGNORECASE,
)
"""A variable, a path, or what examples say."""
_FILLED_IN = re.compile(r"(.)\1{5}|EXAMPLE|12345678|abcdefgh|redacted", re.IGNORECASE | re.DOTALL)
_LETTERS = re.compile(r"[A-Z]?[a-z]{3,64}+|[A-Z]{4,64}+")
_CONSONANTS = re.compile(r"[b-df-hj-np-tv-xz]{4}", re.IGNORECASE)
_VOWEL = re.compile(r"[aeiouy]", re.IGNORECASE)
_DIGEST = re.compile(
    r"(?:0x)?[0-9a-f]{7,128}+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[\w-]{3,12}+:[0-9a-f]{32,128}+",
    re.IGNORECASE,
)


class _Kinds(dict[int, str]):
    """What kind of character each is: a small letter, a capital, a digit or a sign."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = "0" if character.isdigit() else "!"
        if character.isalpha():
            kind = "A" if character.isupper() else "a"
        return kind


_KINDS = _Kinds(dict.fromkeys(map(ord, "_-./+=:~"), ""))
"""What only stands between is of no kind."""


def looks_random(value: str, *, shortest: int = SHORTEST) -> bool:
    """Return whether a value looks like a password or key that is in use.

    >>> looks_random("k3J9x2m4Pq71"), looks_random("userPassword2"), looks_random("20260418")
    (True, False, False)
    """
    if len(value) < shortest or is_placeholder(value):
        return False
    kinds = value.translate(_KINDS)
    held = set(kinds)
    changes = sum(map(ne, kinds, kinds[1:]))
    words = sum(len(run) for run in _LETTERS.findall(value) if _is_word(run)) / len(value)
    if held == {"a", "A"}:  # the names of variables are like that, too, but consist of words
        return len(value) >= LETTERS_ALONE and changes >= len(value) / 3 and words < MOST_WORDS / 2
    if not held & {"a", "A"} or ("0" not in held and len(held) < 3):
        return False
    return changes >= max(FEWEST_CHANGES, len(value) / LETTERS_A_CHANGE) and words < MOST_WORDS


def is_placeholder(value: str) -> bool:
    """Return whether a value stands for one that somebody else fills in.

    >>> is_placeholder("${API_KEY}"), is_placeholder("your_key_here"), is_placeholder("AKIAIOSFODNN7EXAMPLE")
    (True, True, True)
    """
    return bool(_STANDS_FOR_ANOTHER.match(value) or _FILLED_IN.search(value))


def is_digest(value: str) -> bool:
    """Return whether a value may be the hash of a commit or file, or a UUID.

    >>> is_digest("41f4ec1"), is_digest("550e8400-e29b-41d4-a716-446655440000"), is_digest("k3J9x2m4Pq71")
    (True, True, False)
    """
    return _DIGEST.fullmatch(value) is not None


def _is_word(run: str) -> bool:
    """Return whether letters in a row can be spoken."""
    return not _CONSONANTS.search(run) and len(_VOWEL.findall(run)) * 6 >= len(run)
