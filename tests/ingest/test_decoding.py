from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ingest.decoding import BinaryError, decode


@pytest.mark.parametrize(
    ("data", "text", "guess"),
    [
        ("Tee für 🍵".encode(), "Tee für 🍵", ""),
        (codecs.BOM_UTF8 + "für".encode(), "für", ""),
        ("für".encode("utf-16"), "für", ""),
        (codecs.BOM_UTF16_BE + "für".encode("utf-16-be"), "für", ""),
        ("für".encode("utf-32"), "für", ""),
        ("für “Ines”".encode("cp1252"), "für “Ines”", "not UTF-8; read as Windows-1252"),
        (b"f\xfcr \x81", "für \x81", "not UTF-8; read as Latin-1"),
        (b"", "", ""),
    ],
)
def test_encodings(data: bytes, text: str, guess: str) -> None:
    assert decode(data) == (text, guess)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0", "holds NUL characters"),
        (b"tea\0", "holds NUL characters"),
        ("tea\0".encode("utf-16"), "holds NUL characters"),
        (codecs.BOM_UTF16_LE + b"x", "starts like UTF-16 but is not"),
    ],
)
def test_binary(data: bytes, message: str) -> None:
    with pytest.raises(BinaryError, match=message):
        decode(data)


@given(st.binary())
def test_any_bytes_are_text_or_refused(data: bytes) -> None:
    try:
        text = decode(data).text
    except BinaryError:
        return
    text.encode()
