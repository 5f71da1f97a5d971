from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import IngestError
from recollect.evaluation.datasets.files import get_field, get_text, read_lines, read_object_list, read_objects


def write_rows(folder: Path, content: bytes) -> Path:
    path = folder / "rows.jsonl"
    path.write_bytes(content)
    return path


def test_blank_lines_and_byte_order_mark_are_skipped(tmp_path: Path) -> None:
    path = write_rows(tmp_path, b'\xef\xbb\xbf{"a": 1}\n\n  \n{"a": 2}')
    assert [row for _, row in read_objects(path)] == [{"a": 1}, {"a": 2}]
    assert [number for number, _ in read_lines(path)] == [1, 4]
    assert read_object_list(write_rows(tmp_path, b"\xef\xbb\xbf[]")) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a": 1}\n{"a": ', "rows.jsonl, line 2: is not JSON: "),
        (b"[1]", "rows.jsonl, line 1: must be an object in braces, got list"),
        (b"[" * 100_000, "rows.jsonl, line 1: is not JSON: "),
        (b'{"a": "\xff"}', "rows.jsonl: is not UTF-8: invalid start byte at byte 7"),
    ],
)
def test_read_objects_errors_name_the_line(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(IngestError) as raised:
        list(read_objects(write_rows(tmp_path, content)))
    assert message in str(raised.value)


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000])
def test_invalid_json_file(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(IngestError, match="rows.jsonl: is not "):
        read_object_list(write_rows(tmp_path, content))


def test_get_field_errors() -> None:
    assert get_text({"_id": 7}, "_id", "here") == "7"
    with pytest.raises(IngestError, match="here: 'text' is missing"):
        get_text({}, "text", "here")
    with pytest.raises(IngestError, match="here: 'text' cannot be list"):
        get_text({"text": []}, "text", "here")
    with pytest.raises(IngestError, match="here: must be an object in braces, got int"):
        get_field(3, "text", str, "here")
