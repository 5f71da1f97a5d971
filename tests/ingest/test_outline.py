from __future__ import annotations

from itertools import pairwise

from hypothesis import given

from recollect.ingest.outline import outline
from tests.ingest.generated import markdown_text


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end].strip("\n")) for block in outline(text).blocks]


def labels(text: str) -> list[tuple[int, str]]:
    return [(block.level, block.label) for block in outline(text).blocks if block.kind == "heading"]


def prose(text: str) -> list[str]:
    return [text[start:end] for start, end in outline(text).prose]


def test_headings_of_both_styles() -> None:
    assert labels("# One\n\nTwo\n===\n\nThree\n---\n\n###### Six ######\n#no\n####### seven\n") == [
        (1, "One"),
        (1, "Two"),
        (2, "Three"),
        (6, "Six"),
    ]


def test_what_looks_like_a_heading_in_code_is_none() -> None:
    assert labels("```\n# no\n```\n\n    # no\n\n~~~\n# no\n") == []


def test_a_heading_in_a_quote_or_list_begins_no_section() -> None:
    assert labels("> # no\n\n- # no\n") == []


def test_labels_are_without_markup() -> None:
    assert labels(r"# **Bold** `code` [link](x.md) [[a|b]] ![[c]] snake_case _it_ \*") == [
        (1, "Bold code link b c snake_case it *")
    ]
    assert labels("#\n# " + "x" * 200) == [(1, ""), (1, "x" * 119 + "…")]


def test_blocks() -> None:
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


def test_a_text_without_blocks() -> None:
    assert outline("") == ([], [])
    assert kinds("\n \n") == [("prose", " ")]


def test_prose_is_all_but_code() -> None:
    text = "A\n```\nB\n```\nC\n\n- D\n\n      E\n- ```\n  F\n  ```\n\n<p>G</p>\n\n<pre>\nH\n</pre>\n\n[i]: j.md"
    joined = "".join(prose(text))
    assert [letter for letter in "ABCDEFGHij" if letter in joined] == ["A", "C", "D", "G", "i", "j"]


def test_prose_nested_too_deep_to_be_parsed_is_prose() -> None:
    assert "tea" in "".join(prose("> " * 50 + "tea\n" + "- " * 50 + "tea"))


@given(markdown_text)
def test_blocks_follow_each_other_without_gap(text: str) -> None:
    text = text.replace("\r", "\n")
    blocks, spans = outline(text)
    assert "".join(text[block.start : block.end] for block in blocks) == text
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
