from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given

from recollect.errors import IngestError
from recollect.ingest import Problem, Source
from recollect.ingest.markdown import MARKDOWN_READER, outline, parse_markdown
from recollect.model import Draft, Link
from recollect.text import well_formed
from tests.ingest.strategies import markdown_text
from tests.strategies import any_text

LONG = "Ines likes tea very much, and says so to everybody who asks. " * 5


def drafts(text: str, name: str = "people/ines.md", **options: Any) -> list[Draft]:
    contents = parse_markdown(text, Source(name, **options))
    assert not contents.problems
    return list(contents.drafts)


def test_parse_markdown_with_two_sections() -> None:
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
def test_markdown_titles(text: str, title: str) -> None:
    assert drafts(text, "tea-guide.md")[0]["title"] == title


def test_markdown_titles_and_paths_contain_headings() -> None:
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


def test_editing_a_section_keeps_other_paths() -> None:
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
def test_front_matter_tags(front: str, tags: tuple[str, ...]) -> None:
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
def test_front_matter_links(front: str, links: list[tuple[str, str]]) -> None:
    assert list(drafts(f"---\n{front}\n---\nText.")[0]["links"]) == links


def test_first_of_two_front_matter_keys_wins() -> None:
    [draft] = drafts("---\ncreated: 2026-03-14\ndate: 2026-03-15\n---\nText.")
    assert draft["created_at"].day == 14
    assert draft["metadata"] == {"date": "2026-03-15"}


def test_markdown_without_text_needs_a_summary() -> None:
    [draft] = drafts("---\ntitle: Tea\nsummary: It is good.\n---\n")
    assert (draft["content"], draft["title"], draft["summary"]) == ("", "Tea", "It is good.")
    assert drafts("") == drafts("---\n---\n") == drafts("\n\n") == []
    assert drafts("---\ntitle: Tea\ntags: [drinks]\naliases: [Cha]\n---\n\n") == []


def test_invalid_front_matter_values_become_metadata() -> None:
    text = "---\nimportance: high\ncreated: some day\nupdated: 2026-03-14\n---\nText."
    [draft], problems, _ = parse_markdown(text, Source("tea.md"))
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
    [problem] = parse_markdown("---\nimportance: 7\n---\nText.", Source("tea.md")).problems
    assert problem.message == "importance: must be at most 1, got 7; it is kept as metadata"


def test_malformed_front_matter_raises() -> None:
    with pytest.raises(IngestError, match=r"^people/ines.md, line 3: the front matter is not YAML"):
        parse_markdown("---\na: b\nc: d: e\n---\n", Source("people/ines.md"))


def test_markdown_created_at() -> None:
    modified = datetime(2026, 5, 1, tzinfo=UTC)
    front = "---\ndate: 2026-03-14\n---\nText."
    assert drafts(front, "2026-04-01.md", created_at=modified)[0]["created_at"] == datetime(2026, 3, 14, tzinfo=UTC)
    assert drafts("Text.", "2026-04-01.md", created_at=modified)[0]["created_at"] == datetime(2026, 4, 1, tzinfo=UTC)
    assert drafts("Text.", created_at=modified)[0]["created_at"] == modified
    assert "created_at" not in drafts("Text.")[0]


def test_tags_and_links_belong_to_their_chunk() -> None:
    third_section = f"## Three\n#three [x](/tea.md) [y](https://example.org/) {LONG}"
    text = f"\n\n#one\n{LONG}\n## Two\n[[two]] {LONG}\n```\n#no [[no]]\n```\n{third_section}"
    assert [(draft["tags"], draft["links"]) for draft in drafts(text)] == [
        (("one",), ()),
        ((), (Link("wikilink", "two"),)),
        (("three",), (Link("link", "tea.md"),)),
    ]


def test_no_tags_in_split_code() -> None:
    text = "```\n" + "#no [[no]] and some more code in this line\n" * 60 + "```\n"
    notes = drafts(text)
    assert len(notes) > 1
    assert not any(draft["tags"] or draft["links"] for draft in notes)


def test_markdown_line_ends_and_byte_order_mark() -> None:
    data = "\ufeff---\r\ntitle: Tea\r\n---\r\n# A\rB\r\n".encode()
    [draft] = MARKDOWN_READER.read(data, Source("tea.md")).drafts
    assert (draft["title"], draft["content"]) == ("Tea", "# A\nB")


@given(markdown_text | any_text)
def test_any_markdown_is_read_completely(text: str) -> None:
    try:
        notes = MARKDOWN_READER.read(well_formed(text).encode(), Source("a.md")).drafts
    except IngestError:
        assert "\0" in text or text.removeprefix("\ufeff").startswith("---")
        return
    assert len({draft["path"] for draft in notes}) == len(notes)
    assert [draft["position"] for draft in notes] == list(range(len(notes)))
    characters = "".join("".join(draft["content"].split()) for draft in notes)
    body = "".join(well_formed(text).split())
    assert characters in body
    if not text.removeprefix("\ufeff").startswith("---"):
        assert characters == body.removeprefix("\ufeff")


def test_first_note_contains_front_matter() -> None:
    front = "aliases: [Shiv, S. Rao]\nphone: 555 0199\nage: 41\npublish: true\ncssclasses: [wide]\nimportance: high\n"
    long = "x" * 201
    text = f"---\n{front}bio: {long}\nnested: {{a: b}}\nnone: ~\n---\n# Shivani\n\n{LONG}\n\n## More\n\n{LONG}"
    first, second = parse_markdown(text, Source("rao.md")).drafts
    assert (
        first["content"] == f"# Shivani\n\n{LONG.rstrip()}\n\naliases: Shiv\naliases: S. Rao\nphone: 555 0199\nage: 41"
    )
    assert "Shiv\n" not in second["content"]
    assert first["metadata"] == second["metadata"]
    assert first["metadata"]["aliases"] == ["Shiv", "S. Rao"]


def test_front_matter_in_text_is_limited() -> None:
    front = "".join(f"field{number}: {'y' * 190}\n" for number in range(9))
    [draft] = drafts(f"---\n{front}---\nText.")
    assert draft["content"].split("\n")[2:] == [f"field{number}: {'y' * 190}" for number in range(3)]
    assert len(draft["content"]) <= len("Text.") + 2 + 600


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end].strip("\n")) for block in outline(text)[0]]


def labels(text: str) -> list[tuple[int, str]]:
    return [(block.level, block.label) for block in outline(text)[0] if block.kind == "heading"]


def prose(text: str) -> list[str]:
    return [text[start:end] for start, end in outline(text)[1]]


def test_outline_headings() -> None:
    assert labels("# One\n\nTwo\n===\n\nThree\n---\n\n###### Six ######\n#no\n####### seven\n") == [
        (1, "One"),
        (1, "Two"),
        (2, "Three"),
        (6, "Six"),
    ]


def test_outline_ignores_headings_in_code() -> None:
    assert labels("```\n# no\n```\n\n    # no\n\n~~~\n# no\n") == []


def test_outline_ignores_nested_headings() -> None:
    assert labels("> # no\n\n- # no\n") == []


def test_outline_labels_have_no_markup() -> None:
    assert labels(r"# **Bold** `code` [link](x.md) [[a|b]] ![[c]] snake_case _it_ \*") == [
        (1, "Bold code link b c snake_case it *")
    ]
    assert labels("#\n# " + "x" * 200) == [(1, ""), (1, "x" * 119 + "…")]


def test_outline_blocks() -> None:
    text = "\nA\nB\n\n- C\n\n  D\n- E\n\n1. F\n\n```\nG\n\nH\n```\n> I\n\n***\n<p>\nJ\n\nK\n\n| L |\n|---|\n"
    assert kinds(text) == [
        ("prose", "A\nB"),
        ("list", "- C\n\n  D\n- E"),
        ("list", "1. F"),
        ("code", "```\nG\n\nH\n```"),
        ("prose", "> I"),
        ("prose", "***"),
        ("code", "<p>\nJ"),
        ("prose", "K"),
        ("table", "| L |\n|---|"),
    ]


def test_outline_of_empty_text() -> None:
    assert outline("") == ([], [])
    assert kinds("\n \n") == [("prose", " ")]


def test_outline_prose_excludes_code() -> None:
    text = "A\n```\nB\n```\nC\n\n- D\n\n      E\n- ```\n  F\n  ```\n\n<p>G</p>\n\n<pre>\nH\n</pre>\n\n[i]: j.md"
    joined = "".join(prose(text))
    assert [letter for letter in "ABCDEFGHij" if letter in joined] == ["A", "C", "D", "G", "i", "j"]


def test_outline_prose_includes_deep_nesting() -> None:
    assert "tea" in "".join(prose("> " * 50 + "tea\n" + "- " * 50 + "tea"))


@given(markdown_text)
def test_outline_blocks_have_no_gaps(text: str) -> None:
    text = text.replace("\r", "\n")
    blocks, spans = outline(text)
    assert "".join(text[block.start : block.end] for block in blocks) == text
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
