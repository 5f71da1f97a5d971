from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given

from recollect.errors import IngestError
from recollect.ingest import READERS, Contents, Reader, Source, ingest, read_file
from recollect.ingest.readers import PLAIN_TEXT_READER, parse_plain_text
from tests.ingest.test_ingestion import FakeStore
from tests.strategies import any_text


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


def test_read_plain_text() -> None:
    paragraph = "Ines likes #tea and [[Olaf]]. " * 30
    data = f"# no heading\r\n{paragraph}\r\n\r\n{paragraph}".encode()
    first, second = PLAIN_TEXT_READER.read(data, Source("log/2026-03-14 tea.txt")).drafts
    assert first == {
        "content": f"# no heading\n{paragraph}".strip(),
        "path": "log/2026-03-14 tea.txt",
        "title": "2026-03-14 tea",
        "created_at": datetime(2026, 3, 14, tzinfo=UTC),
        "session": "log/2026-03-14 tea.txt",
        "position": 0,
    }
    assert (second["path"], second["position"]) == ("log/2026-03-14 tea.txt#2", 1)


def test_plain_text_created_at() -> None:
    modified = datetime(2026, 5, 1, tzinfo=UTC)
    assert parse_plain_text("Tea.", Source("tea.txt", created_at=modified)).drafts[0]["created_at"] == modified
    assert parse_plain_text("", Source("tea.txt")) == ([], [], 0)


@given(any_text)
def test_any_plain_text_yields_unique_paths(text: str) -> None:
    drafts = parse_plain_text(text * 20, Source("a.txt")).drafts
    assert len({draft["path"] for draft in drafts}) == len(drafts)
