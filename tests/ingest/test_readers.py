from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import IngestError
from recollect.ingest import READERS, Contents, Reader, Source, ingest, read_file
from tests.ingest.test_ingestion import FakeStore


@pytest.mark.parametrize(
    ("name", "text", "content"),
    [
        ("a.md", "---\ntags: u\n---\n# A", "# A"),
        ("A.MARKDOWN", "# A", "# A"),
        ("a.mdx", "# A", "# A"),
        ("a.txt", "A", "A"),
        ("a.text", "A", "A"),
        ("a.rst", "A\n=", "A\n="),
        ("a.org", "* A", "* A"),
        ("a.jsonl", '{"text": "A"}', "A"),
        ("a.ndjson", '{"text": "A"}', "A"),
        ("a.json", '[{"text": "A"}]', "A"),
    ],
)
def test_read_file_by_suffix(name: str, text: str, content: str) -> None:
    [draft] = read_file(text.encode(), Source(name)).drafts
    assert draft["content"] == content


def test_read_file_rejects_unsupported_formats() -> None:
    with pytest.raises(IngestError, match=r"^a\.png: has an unsupported format; supported are \.md, "):
        read_file(b"A", Source("a.png"))


def test_only_text_files_have_a_size_limit() -> None:
    limits = [READERS[suffix].max_bytes for suffix in (".md", ".txt", ".jsonl", ".json")]
    assert limits == [10_000_000, 10_000_000, None, None]


def test_new_reader_needs_only_a_registry_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_hex(data: bytes, source: Source) -> Contents:
        return Contents([{"path": source.path, "content": data.hex()}], [])

    monkeypatch.setitem(READERS, ".bin", Reader(read_hex, max_bytes=3))
    (tmp_path / "a.bin").write_bytes(b"\0\xff")
    (tmp_path / "b.bin").write_bytes(b"long")
    store = FakeStore()
    report = ingest(tmp_path, store)
    assert store.note("a.bin")["content"] == "00ff"
    assert [str(problem) for problem in report.problems] == ["b.bin: has 4 bytes, more than 3; split it"]
