from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given

from recollect.ingest import read_text
from tests.strategies import any_text


def test_a_text_becomes_notes() -> None:
    paragraph = "Ines likes #tea and [[Olaf]]. " * 30
    first, second = read_text(f"# no heading\r\n{paragraph}\r\n\r\n{paragraph}", "log/2026-03-14 tea.txt").drafts
    assert first == {
        "content": f"# no heading\n{paragraph}".strip(),
        "path": "log/2026-03-14 tea.txt",
        "title": "2026-03-14 tea",
        "created_at": datetime(2026, 3, 14, tzinfo=UTC),
        "session": "log/2026-03-14 tea.txt",
        "position": 0,
    }
    assert (second["path"], second["position"]) == ("log/2026-03-14 tea.txt#2", 1)


def test_when_a_text_was_made() -> None:
    changed = datetime(2026, 5, 1, tzinfo=UTC)
    assert read_text("Tea.", "tea.txt", created_at=changed).drafts[0]["created_at"] == changed
    assert read_text("", "tea.txt") == ([], [])


@given(any_text)
def test_any_text_becomes_notes(text: str) -> None:
    found = read_text(text, "a.txt", size=30).drafts
    assert len({draft["path"] for draft in found}) == len(found)
