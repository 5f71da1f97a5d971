from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ingest.paths import NotePaths, file_title, note_title, slug


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("tea.md", "Tea"),
        ("people/Ines Vega.md", "Ines Vega"),
        ("green_tea-guide.md", "Green tea guide"),
        ("2026-03-14.md", "2026-03-14"),
        ("2026-03-14-notes.md", "2026-03-14 notes"),
        ("v1.2.txt", "V1.2"),
        ("README.md", "README"),
        ("---.md", "---"),
        (".md", ".md"),
    ],
)
def test_file_title(name: str, title: str) -> None:
    assert file_title(name) == title


def test_slugs() -> None:
    assert [slug(words) for words in ("Green Tea!", "  a -- b ", "お茶 と 水", "🍵", "e\u0301")] == [
        "green-tea",
        "a-b",
        "お茶-と-水",
        "",
        "é",
    ]


def test_note_title() -> None:
    assert note_title("Ines", ("", "Tea")) == "Ines › Tea"
    assert note_title("x" * 300) == "x" * 199 + "…"


def test_note_paths_of_first_section_start_at_two() -> None:
    paths = NotePaths("a.md")
    assert [paths.next(["Tea"]), paths.next(["Tea"]), paths.next(["Tea 2"]), paths.next([]), paths.next(["2"])] == [
        "a.md",
        "a.md#tea-2",
        "a.md#tea-2-2",
        "a.md#2",
        "a.md#2-2",
    ]


def test_note_paths_append_headings_and_numbers() -> None:
    paths = NotePaths("ines.md")
    assert [paths.next(headings) for headings in ([], ["Tea"], ["Tea"], ["Tea", "Green & black"], [])] == [
        "ines.md",
        "ines.md#tea",
        "ines.md#tea-2",
        "ines.md#tea/green-black",
        "ines.md#2",
    ]


def test_note_paths_skip_numbers_in_use() -> None:
    paths = NotePaths("a.md")
    assert [paths.next([heading]) for heading in ("x", "Tea", "Tea 2", "Tea", "Tea")] == [
        "a.md",
        "a.md#tea",
        "a.md#tea-2",
        "a.md#tea-3",
        "a.md#tea-4",
    ]


@given(st.lists(st.lists(st.sampled_from(["a", "a-2", "a 2", "2", "", "🍵", "b"]), max_size=2)))
def test_note_paths_are_unique(sections: list[list[str]]) -> None:
    paths = NotePaths("a.md")
    generated = [paths.next(headings) for headings in sections]
    assert len(set(generated)) == len(generated)
