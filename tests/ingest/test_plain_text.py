from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given

from recollect.ingest import Source
from recollect.ingest.plain_text import PLAIN_TEXT_READER, parse_plain_text
from tests.strategies import any_text


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
    assert parse_plain_text("", Source("tea.txt")) == ([], [])


@given(any_text)
def test_any_plain_text_yields_unique_paths(text: str) -> None:
    drafts = parse_plain_text(text, Source("a.txt", chunk_size=30)).drafts
    assert len({draft["path"] for draft in drafts}) == len(drafts)
