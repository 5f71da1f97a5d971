"""Bytes become text."""

from __future__ import annotations

import codecs
from typing import NamedTuple

__all__ = ["BinaryError", "Decoded", "decode"]

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class BinaryError(ValueError):
    """Bytes that are no text."""


class Decoded(NamedTuple):
    """A text, and what had to be guessed to read it.

    >>> decode("Tee für Ines".encode()).guess
    ''
    """

    text: str
    guess: str
    """In words for a person; empty if nothing was guessed."""


def decode(data: bytes) -> Decoded:
    r"""Return the text that ``data`` holds: by its byte-order mark, else as UTF-8, else as Windows-1252.

    >>> decode("Tee für Ines".encode("cp1252"))
    Decoded(text='Tee für Ines', guess='not UTF-8; read as Windows-1252')
    """
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "")
    if encoding in ("utf-16", "utf-32"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            raise BinaryError(f"starts like {encoding.upper()} but is not: {error.reason}") from None
        return _without_nul(Decoded(text, ""))
    data = data.removeprefix(codecs.BOM_UTF8)
    for encoding, guess in (("utf-8", ""), ("cp1252", "not UTF-8; read as Windows-1252")):
        try:
            return _without_nul(Decoded(data.decode(encoding), guess))
        except UnicodeDecodeError:
            continue
    return _without_nul(Decoded(data.decode("latin-1"), "not UTF-8; read as Latin-1"))


def _without_nul(decoded: Decoded) -> Decoded:
    if "\0" in decoded.text:
        raise BinaryError("holds NUL characters, so it is no text")
    return decoded
