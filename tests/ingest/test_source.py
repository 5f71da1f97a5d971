from __future__ import annotations

import codecs
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ingest import IngestReport, Problem, UnreadableError
from recollect.ingest.source import decode


@pytest.mark.parametrize(
    ("data", "text", "guess"),
    [
        ("Tee für 🍵".encode(), "Tee für 🍵", ""),
        (codecs.BOM_UTF8 + "für".encode(), "für", ""),
        (codecs.BOM_UTF8 + b"f\xfcr", "für", "not UTF-8; read as Windows-1252"),
        ("für".encode("utf-16"), "für", ""),
        (codecs.BOM_UTF16_BE + "für".encode("utf-16-be"), "für", ""),
        ("für".encode("utf-32"), "für", ""),
        ("für “Ines”".encode("cp1252"), "für “Ines”", "not UTF-8; read as Windows-1252"),
        (b"f\xfcr \x81", "für \x81", "not UTF-8; read as Latin-1"),
        (b"", "", ""),
    ],
)
def test_decode(data: bytes, text: str, guess: str) -> None:
    problems = [Problem("a.txt", None, guess, skipped=False)] if guess else []
    assert decode(data, "a.txt") == (text, problems)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0", "contains NUL characters"),
        (b"tea\0", "contains NUL characters"),
        ("tea\0".encode("utf-16"), "contains NUL characters"),
        (codecs.BOM_UTF16_LE + b"x", "starts like UTF-16 but is not"),
    ],
)
def test_decode_rejects_binary_data(data: bytes, message: str) -> None:
    with pytest.raises(UnreadableError, match=message):
        decode(data, "a.txt")


@given(st.binary())
def test_decode_any_bytes(data: bytes) -> None:
    try:
        text, _ = decode(data, "a.txt")
    except UnreadableError:
        return
    text.encode()


def test_unreadable_error_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(UnreadableError("a.md", 3, "is bad")))  # noqa: S301 (our own bytes)
    assert str(error) == "a.md, line 3: is bad"
    assert error.problem == Problem("a.md", 3, "is bad", skipped=True)


def test_problem_str_has_name_and_line() -> None:
    assert str(Problem("a.md", 3, "is bad", skipped=True)) == "a.md, line 3: is bad"
    assert str(Problem("a.md", None, "is bad", skipped=True)) == "a.md: is bad"


def test_report_to_dict() -> None:
    report = IngestReport(
        files_read=1,
        files_unchanged=2,
        files_removed=3,
        files_failed=9,
        notes_added=4,
        notes_updated=5,
        notes_unchanged=6,
        notes_removed=7,
        notes_failed=10,
        problems=(Problem("a.md", 3, "is bad", skipped=True),),
        skipped={".pdf": 8},
    )
    assert report.to_dict() == {
        "files": {"read": 1, "unchanged": 2, "removed": 3, "failed": 9},
        "notes": {"added": 4, "updated": 5, "unchanged": 6, "removed": 7, "failed": 10},
        "problems": [{"name": "a.md", "line": 3, "message": "is bad", "skipped": True}],
        "skipped": {".pdf": 8},
    }
