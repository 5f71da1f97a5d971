from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import IngestError
from recollect.evaluation.formats.files import field_of, lines_of, objects_in, read_json_file, text_of


def written(folder: Path, content: bytes) -> Path:
    path = folder / "rows.jsonl"
    path.write_bytes(content)
    return path


def test_blank_lines_and_a_byte_order_mark_are_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path, b'\xef\xbb\xbf{"a": 1}\n\n  \n{"a": 2}')
    assert [row for _, row in objects_in(path)] == [{"a": 1}, {"a": 2}]
    assert [number for number, _ in lines_of(path)] == [1, 4]
    assert read_json_file(written(tmp_path, b"\xef\xbb\xbf[]")) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a": 1}\n{"a": ', "rows.jsonl, line 2: is not JSON: "),
        (b"[1]", "rows.jsonl, line 1: must be an object in braces, got list"),
        (b"[" * 100_000, "rows.jsonl, line 1: is not JSON: "),
        (b'{"a": "\xff"}', "rows.jsonl: is not UTF-8: invalid start byte at byte 7"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(IngestError) as raised:
        list(objects_in(written(tmp_path, content)))
    assert said in str(raised.value)


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000])
def test_a_file_that_is_not_json(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(IngestError, match="rows.jsonl: is not "):
        read_json_file(written(tmp_path, content))


def test_a_field_must_be_there_and_of_its_kind() -> None:
    assert text_of({"_id": 7}, "_id", "here") == "7"
    with pytest.raises(IngestError, match="here: 'text' is missing"):
        text_of({}, "text", "here")
    with pytest.raises(IngestError, match="here: 'text' cannot be list"):
        text_of({"text": []}, "text", "here")
    with pytest.raises(IngestError, match="here: must be an object in braces, got int"):
        field_of(3, "text", str, "here")
