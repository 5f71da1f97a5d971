from __future__ import annotations

import pytest

from recollect.errors import IngestError
from recollect.ingest import SUFFIXES, read_file_text
from recollect.ingest.formats import largest_size


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
def test_a_file_is_read_by_the_end_of_its_name(name: str, text: str, content: str) -> None:
    [draft] = read_file_text(text, name).drafts
    assert draft["content"] == content
    assert name.lower().endswith(SUFFIXES)


def test_other_files_are_refused() -> None:
    with pytest.raises(IngestError, match=r"^a\.png: is of no known format; known are \.md, "):
        read_file_text("A", "a.png")


def test_only_texts_may_be_too_large() -> None:
    assert [largest_size(name) for name in ("a.md", "a.txt", "a.jsonl", "a.json")] == [10_000_000] * 2 + [None] * 2
