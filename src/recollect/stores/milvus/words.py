"""The words of a note as one text: stems with spaces between, which is all that expressions and functions see of it.

Each field stands there as often as its weight says, so that how often a stem occurs is its weighted frequency. A lone
point stands between one and the next, so that no phrase crosses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from recollect.stores.base import FIELD_WEIGHTS
from recollect.stores.changes import words_of
from recollect.stores.milvus.schema import LONGEST_TEXT
from recollect.stores.rows import NoteRow
from recollect.stores.tokens import BREAK, stems

__all__ = ["BETWEEN", "Words", "encoded", "stems_of", "words_in", "words_text"]

BETWEEN = "."
"""Stands between fields: no stem is encoded like this."""
WEIGHTS = tuple(int(weight) for weight in FIELD_WEIGHTS.values())

_PLAIN = re.compile("[a-z0-9]+")


class Words(NamedTuple):
    """What a row says about the words of its note."""

    text: str
    tokens: int
    """How many words the fields have, each counted once."""
    whole: bool
    """Whether the text has every field as often as it weighs; otherwise it has each stem once, as far as they fit."""


def encoded(stem: str) -> str:
    """Return a stem in letters that need no quoting anywhere.

    >>> encoded("tea"), encoded("straße")
    ('tea', 'X73747261c39f65')
    """
    return stem if _PLAIN.fullmatch(stem) else "X" + stem.encode().hex()


def stems_of(texts: Sequence[str]) -> list[list[str]]:
    """Return the encoded stems of each text.

    >>> stems_of(["Green teas", "", "Straße"])
    [['green', 'tea'], [], ['X73747261c39f']]
    """
    found: list[list[str]] = [[]]
    for stem in stems(texts):
        if stem == BREAK:
            found.append([])
        else:
            found[-1].append(encoded(stem.replace(BREAK * 2, BREAK) if BREAK in stem else stem))
    return found


def words_in(row: NoteRow) -> list[list[str]]:
    """Return the encoded stems of each field of a note, in the order of their weights."""
    return stems_of([text or "" for text in words_of(row)])


def words_text(fields: Sequence[Sequence[str]]) -> Words:
    """Return the fields of a note, given in the order of their weights, as one text.

    >>> words_text([[], ["tea"], [], [], ["green", "tea"]]).text.replace(" . tea", "", 8)
    ' tea . tea . green tea '
    """
    tokens = sum(map(len, fields))
    repeated = [" ".join(field) for field, weight in zip(fields, WEIGHTS, strict=True) if field for _ in range(weight)]
    text = f" {f' {BETWEEN} '.join(repeated)} "
    if len(text) <= LONGEST_TEXT:
        return Words(text, tokens, whole=True)
    once = f" {BETWEEN} ".join(dict.fromkeys(stem for field in fields for stem in field))
    # Cut between two stems, with a space at either end: half a stem would be another.
    cut = once if len(once) <= LONGEST_TEXT - 2 else once[: LONGEST_TEXT - 1].rpartition(f" {BETWEEN} ")[0]
    return Words(f" {cut} ", tokens, whole=False)
