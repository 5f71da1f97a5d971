from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ingest.naming import Paths, readable, slug, titled


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
def test_readable(name: str, title: str) -> None:
    assert readable(name) == title


def test_slugs() -> None:
    assert [slug(words) for words in ("Green Tea!", "  a -- b ", "お茶 と 水", "🍵", "e\u0301")] == [
        "green-tea",
        "a-b",
        "お茶-と-水",
        "",
        "é",
    ]


def test_titles_are_cut_and_empty_headings_left_out() -> None:
    assert titled("Ines", ("", "Tea")) == "Ines › Tea"
    assert titled("x" * 300) == "x" * 199 + "…"


def test_paths_of_pieces_of_the_first_section_count_on_from_it() -> None:
    paths = Paths("a.md")
    assert [paths.next(["Tea"]), paths.next(["Tea"]), paths.next(["Tea 2"]), paths.next([]), paths.next(["2"])] == [
        "a.md",
        "a.md#tea-2",
        "a.md#tea-2-2",
        "a.md#2",
        "a.md#2-2",
    ]


def test_a_number_that_a_heading_bears_already_is_passed_over() -> None:
    paths = Paths("a.md")
    assert [paths.next([each]) for each in ("x", "Tea", "Tea 2", "Tea", "Tea")] == [
        "a.md",
        "a.md#tea",
        "a.md#tea-2",
        "a.md#tea-3",
        "a.md#tea-4",
    ]


@given(st.lists(st.lists(st.sampled_from(["a", "a-2", "a 2", "2", "", "🍵", "b"]), max_size=2)))
def test_paths_are_unique(headings: list[list[str]]) -> None:
    paths = Paths("a.md")
    handed = [paths.next(each) for each in headings]
    assert len(set(handed)) == len(handed)
