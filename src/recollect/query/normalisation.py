"""The first step of every query: one spelling for what looks the same."""

from __future__ import annotations

from recollect import arguments
from recollect.text import collapse_whitespace, compose, well_formed

__all__ = ["normalise"]

_INVISIBLE = {ord(character): None for character in "\u200b\u200c\u200d\ufeff"}


def normalise(text: str) -> str:
    r"""Return ``text`` in Unicode NFC, without zero-width characters, each run of white space one space, trimmed.

    Lone surrogates become U+FFFD. Normalising twice changes nothing more: taking out a zero-width character can
    bring a letter and its accent together, so that NFC is applied after it as well.

    >>> normalise("  cafe\u0301\u00a0 \u200bmenu\n")
    'café menu'
    """
    arguments.text("text", text)
    if text.isascii():
        return collapse_whitespace(text)
    composed = compose(well_formed(text))
    visible = composed.translate(_INVISIBLE)
    if visible != composed:
        visible = compose(visible)
    return collapse_whitespace(visible)
