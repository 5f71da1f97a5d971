from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given

from recollect.errors import IngestError
from recollect.ingest import Problem, read_markdown
from recollect.model import Draft, Link
from tests.ingest.generated import markdown_text
from tests.strategies import any_text

LONG = "Ines likes tea very much, and says so to everybody who asks. " * 5


def drafts(text: str, name: str = "people/ines.md", **options: Any) -> list[Draft]:
    contents = read_markdown(text, name, **options)
    assert not contents.problems
    return list(contents.drafts)


def test_a_file_of_two_sections() -> None:
    text = f"""---
title: Ines Vega
tags: [people, "#tea/green", two words]
summary: Someone who
  likes tea.
created: 2026-03-14
updated: 2026-03-15T10:00:00Z
importance: 0.8
aliases: [Inés]
born: 1990-01-02
supersedes: "[[Ines (old)]]"
related:
  - "[[Olaf|him]]"
  - people/max.md
---
# Ines
{LONG} #friend

## Birthday
{LONG} See [[Cake#Chocolate]] and [Olaf](olaf.md).
"""
    first, second = drafts(text, prefix="home/")
    assert first == {
        "content": f"# Ines\n{LONG} #friend\n\naliases: Inés\nborn: 1990-01-02",
        "path": "home/people/ines.md",
        "title": "Ines Vega",
        "summary": "Someone who likes tea.",
        "tags": ("people", "tea/green", "two words", "friend"),
        "created_at": datetime(2026, 3, 14, tzinfo=UTC),
        "updated_at": datetime(2026, 3, 15, 10, tzinfo=UTC),
        "importance": 0.8,
        "session": "home/people/ines.md",
        "position": 0,
        "links": (
            Link("supersedes", "Ines (old)"),
            Link("related", "Olaf"),
            Link("related", "people/max.md"),
        ),
        "metadata": {"aliases": ["Inés"], "born": "1990-01-02"},
    }
    assert second == {
        "content": f"## Birthday\n{LONG} See [[Cake#Chocolate]] and [Olaf](olaf.md).",
        "path": "home/people/ines.md#birthday",
        "title": "Ines Vega › Birthday",
        "tags": ("people", "tea/green", "two words"),
        "created_at": datetime(2026, 3, 14, tzinfo=UTC),
        "updated_at": datetime(2026, 3, 15, 10, tzinfo=UTC),
        "importance": 0.8,
        "session": "home/people/ines.md",
        "position": 1,
        "links": (Link("wikilink", "Cake"), Link("link", "home/people/olaf.md")),
        "metadata": {"aliases": ["Inés"], "born": "1990-01-02"},
    }


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: Front\n---\n# Head", "Front"),
        ("---\ntitle: 7\n---\n# Head", "7"),
        ("---\ntitle:\n---\n# Head", "Head"),
        ("## Two\n# Head", "Head"),
        ("#\n# Head", "Head"),
        ("## Two", "Tea guide"),
        ("Text.", "Tea guide"),
    ],
)
def test_titles(text: str, title: str) -> None:
    assert drafts(text, "tea-guide.md")[0]["title"] == title


def test_headings_above_a_chunk_are_in_its_title_and_path() -> None:
    text = f"# Ines\n{LONG}\n## Tea\n{LONG}\n### Green\n{LONG * 5}\n## Tea\n{LONG}\n# Olaf\n{LONG}\n## Tea\n{LONG}"
    assert [(draft["path"], draft["title"]) for draft in drafts(text, "a.md")] == [
        ("a.md", "Ines"),
        ("a.md#tea", "Ines › Tea"),
        ("a.md#tea/green", "Ines › Tea › Green"),
        ("a.md#tea/green-2", "Ines › Tea › Green"),
        ("a.md#tea-2", "Ines › Tea"),
        ("a.md#olaf", "Ines › Olaf"),
        ("a.md#olaf/tea", "Ines › Olaf › Tea"),
    ]


def test_editing_a_section_leaves_the_paths_of_others() -> None:
    before = drafts(f"# A\n{LONG}\n## B\n{LONG}\n## C\n{LONG}")
    after = drafts(f"# A\n{LONG * 9}\n## New\n{LONG}\n## B\n{LONG}\n## C\n{LONG * 9}")
    assert {draft["path"] for draft in before} < {draft["path"] for draft in after}


@pytest.mark.parametrize(
    ("front", "tags"),
    [
        ("tags: tea, green-tea  #comment", ("tea", "green-tea")),
        ("tags: '#tea #green/tea'", ("tea", "green/tea")),
        ("tag: tea\ntags: [coffee]", ("tea", "coffee")),
        ("Tags:\n- tea\n- [milk]\n- 7\n- ''\n- ~\n- {a: b}", ("tea", "milk", "7")),
        ('tags: ["a\\tb", "a\\x07b", "#", "tea", "tea"]', ("a b", "tea")),
        ("tags:", ()),
        ("tags: 2026", ("2026",)),
    ],
)
def test_tags_in_front_matter(front: str, tags: tuple[str, ...]) -> None:
    assert drafts(f"---\n{front}\n---\nText.")[0]["tags"] == tags


@pytest.mark.parametrize(
    ("front", "links"),
    [
        ("related: Ines", [("related", "Ines")]),
        ("related: [[Ines]]", [("related", "Ines")]),
        ("related: '[[Ines|her]], [[Olaf#Tea]]'", [("related", "Ines"), ("related", "Olaf")]),
        ("resolved-by: [a.md, b.md]", [("resolved-by", "a.md"), ("resolved-by", "b.md")]),
        ("resolved_by: a.md", [("resolved-by", "a.md")]),
        ('supersedes: ["", "#x", "a\\x07"]', []),
        ("related:", []),
    ],
)
def test_typed_links(front: str, links: list[tuple[str, str]]) -> None:
    assert list(drafts(f"---\n{front}\n---\nText.")[0]["links"]) == links


def test_of_two_keys_for_one_field_the_first_counts() -> None:
    [draft] = drafts("---\ncreated: 2026-03-14\ndate: 2026-03-15\n---\nText.")
    assert draft["created_at"].day == 14
    assert draft["metadata"] == {"date": "2026-03-15"}


def test_a_file_without_text_holds_a_note_only_if_it_has_a_summary() -> None:
    [draft] = drafts("---\ntitle: Tea\nsummary: It is good.\n---\n")
    assert (draft["content"], draft["title"], draft["summary"]) == ("", "Tea", "It is good.")
    assert drafts("") == drafts("---\n---\n") == drafts("\n\n") == []
    assert drafts("---\ntitle: Tea\ntags: [drinks]\naliases: [Cha]\n---\n\n") == []


def test_values_that_cannot_be_used_are_reported_and_kept() -> None:
    text = "---\nimportance: high\ncreated: some day\nupdated: 2026-03-14\n---\nText."
    [draft], problems = read_markdown(text, "tea.md")
    assert draft["metadata"] == {"importance": "high", "created": "some day"}
    assert "importance" not in draft
    assert problems == [
        Problem("tea.md", 2, "importance: must be a number, got 'high' (str); it is kept as metadata", skipped=False),
        Problem(
            "tea.md",
            3,
            "created: must be an ISO-8601 date or time, got 'some day' (str); it is kept as metadata",
            skipped=False,
        ),
    ]
    [problem] = read_markdown("---\nimportance: 7\n---\nText.", "tea.md").problems
    assert problem.message == "importance: must lie between 0 and 1, got 7; it is kept as metadata"


def test_broken_front_matter_is_an_error() -> None:
    with pytest.raises(IngestError, match=r"^people/ines.md, line 3: the front matter is not YAML"):
        read_markdown("---\na: b\nc: d: e\n---\n", "people/ines.md")


def test_when_a_note_was_made() -> None:
    changed = datetime(2026, 5, 1, tzinfo=UTC)
    front = "---\ndate: 2026-03-14\n---\nText."
    assert drafts(front, "2026-04-01.md", created_at=changed)[0]["created_at"] == datetime(2026, 3, 14, tzinfo=UTC)
    assert drafts("Text.", "2026-04-01.md", created_at=changed)[0]["created_at"] == datetime(2026, 4, 1, tzinfo=UTC)
    assert drafts("Text.", created_at=changed)[0]["created_at"] == changed
    assert "created_at" not in drafts("Text.")[0]


def test_tags_and_links_belong_to_the_chunk_in_which_they_stand() -> None:
    three = f"## Three\n#three [x](/tea.md) [y](https://example.org/) {LONG}"
    text = f"\n\n#one\n{LONG}\n## Two\n[[two]] {LONG}\n```\n#no [[no]]\n```\n{three}"
    assert [(draft["tags"], draft["links"]) for draft in drafts(text)] == [
        (("one",), ()),
        ((), (Link("wikilink", "two"),)),
        (("three",), (Link("link", "tea.md"),)),
    ]


def test_code_that_is_cut_is_still_code() -> None:
    text = "```\n" + "#no [[no]] and some more code in this line\n" * 60 + "```\n"
    found = drafts(text)
    assert len(found) > 1
    assert not any(draft["tags"] or draft["links"] for draft in found)


def test_line_ends_and_byte_order_marks() -> None:
    [draft] = drafts("\ufeff---\r\ntitle: Tea\r\n---\r\n# A\rB\r\n")
    assert (draft["title"], draft["content"]) == ("Tea", "# A\nB")


@given(markdown_text | any_text)
def test_any_text_becomes_notes_and_nothing_is_lost(text: str) -> None:
    try:
        found, _ = read_markdown(text, "a.md", size=100)
    except IngestError:
        assert text.removeprefix("\ufeff").startswith("---")
        return
    assert len({draft["path"] for draft in found}) == len(found)
    assert [draft["position"] for draft in found] == list(range(len(found)))
    ink = "".join("".join(draft["content"].split()) for draft in found)
    body = "".join(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").split())
    assert ink in body
    if not text.removeprefix("\ufeff").startswith("---"):
        assert ink == body.removeprefix("\ufeff")


def test_fields_of_the_front_matter_are_part_of_the_first_notes_text() -> None:
    front = "aliases: [Shiv, S. Rao]\nphone: 555 0199\nage: 41\npublish: true\ncssclasses: [wide]\nimportance: high\n"
    long = "x" * 201
    text = f"---\n{front}bio: {long}\nnested: {{a: b}}\nnone: ~\n---\n# Shivani\n\n{LONG}\n\n## More\n\n{LONG}"
    first, second = read_markdown(text, "rao.md").drafts
    assert (
        first["content"] == f"# Shivani\n\n{LONG.rstrip()}\n\naliases: Shiv\naliases: S. Rao\nphone: 555 0199\nage: 41"
    )
    assert "Shiv\n" not in second["content"]
    assert first["metadata"] == second["metadata"]
    assert first["metadata"]["aliases"] == ["Shiv", "S. Rao"]


def test_the_fields_in_a_notes_text_are_limited() -> None:
    front = "".join(f"field{number}: {'y' * 190}\n" for number in range(9))
    [draft] = drafts(f"---\n{front}---\nText.")
    assert draft["content"].split("\n")[2:] == [f"field{number}: {'y' * 190}" for number in range(3)]
    assert len(draft["content"]) <= len("Text.") + 2 + 600
