from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given

from recollect.errors import IngestError
from recollect.ingest import UnreadableError
from recollect.ingest.front_matter import MAX_CHARS, split_front_matter
from tests.strategies import any_text


def front_matter_values(text: str) -> dict[str, Any]:
    return {key: value for key, (value, _) in split_front_matter(text, "tea.md")[0].items()}


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("a: b", {"a": "b"}),
        ("# a comment\n\na: b", {"a": "b"}),
        ("'a b': 1\n\"c\": -2.5\nd: +.5e1", {"a b": 1, "c": -2.5, "d": 5.0}),
        ("a: true\nb: False\nc: ~\nd:\ne: null", {"a": True, "b": False, "c": None, "d": None, "e": None}),
        (
            "a: no\nb: on\nc: 12:30\nd: 007\ne: 1_000\nf: .inf",
            {"a": "no", "b": "on", "c": "12:30", "d": "007", "e": "1_000", "f": ".inf"},
        ),
        ("a: 2026-03-14\nb: 2026-03-14T10:00:00Z", {"a": "2026-03-14", "b": "2026-03-14T10:00:00Z"}),
        (
            "a: !!timestamp 2026-13-14\nb: !!python/name:os.system x\nc: 1.0e999",
            {"a": "2026-13-14", "b": "x", "c": "1.0e999"},
        ),
        ("a:\n  - b\n  - c: [1, {2: d}]", {"a": ["b", {"c": [1, {"2": "d"}]}]}),
        ("a: !!pairs [b: '3']\n? [d, 4]\n: |\n  5", {"a": [{"b": "3"}], "['d', 4]": "5\n"}),
        ("<<: x\n1: y", {"<<": "x", "1": "y"}),
        ("a: 99999999999999999999", {"a": "99999999999999999999"}),
        ("", {}),
        ("# a comment", {}),
    ],
)
def test_front_matter_values_are_json(yaml: str, expected: dict[str, Any]) -> None:
    assert front_matter_values(f"---\n{yaml}\n---\n") == expected


def test_front_matter_lines() -> None:
    entries, _ = split_front_matter("---\n\na: b\n# c\nd: |\n  e\nf: g\n---\ntext", "tea.md")
    assert {key: line for key, (_, line) in entries.items()} == {"a": 3, "d": 5, "f": 7}


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("---\na: b\n---\nTea.", "Tea."),
        ("---  \na: b\n...\t\n\nTea.", "\nTea."),
        ("---\na: b\n---", ""),
        ("---\n---\nTea.", "Tea."),
        ("Tea.\n---\na: b\n---\n", None),
        (" ---\na: b\n---\n", None),
        ("----\na: b\n---\n", None),
        ("---\n\nTea is good.\n\n---\nTea.", None),
        ("---\n# Tea\n\nTea is good.\n\n---\n", None),
        ("---\nTea is good.", None),
        ("---", None),
        ("", None),
    ],
)
def test_text_below_front_matter(text: str, rest: str | None) -> None:
    _, end = split_front_matter(text, "tea.md")
    assert text[end:] == (text if rest is None else rest)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("---\na: b\nTea.", 1, "has no end; close it with a line of ---"),
        ("---\na: b\nc: [d\n---\n", 4, "is not YAML: expected ',' or ']'"),
        ("---\na: b\nc: d: e\n---\n", 3, "is not YAML: mapping values are not allowed here"),
        ("---\na: b\n\tc: d\n---\n", 3, "is not YAML: found character '\\t'"),
        ("---\na: b\nc: \x07\n---\n", 3, "is not YAML: special characters are not allowed"),
        ("---\na: &b [c]\nd: *b\n---\n", 3, "has references (*), which are not read"),
        ("---\na: " + "[" * 5_000 + "\n---\n", 1, "is nested too deep"),
        ("---\nTea is good.\n---\n", 2, "must be lines of 'key: value'"),
        ("---\na: " + "b" * MAX_CHARS + "\n---\n", 1, "has more than 65,536 characters"),
    ],
)
def test_malformed_front_matter_raises_with_line(text: str, line: int, message: str) -> None:
    with pytest.raises(IngestError) as caught:
        split_front_matter(text, "tea.md")
    assert str(caught.value).startswith(f"tea.md, line {line}: the front matter")
    assert message in str(caught.value)


@given(any_text)
def test_any_front_matter_is_read_or_rejected(text: str) -> None:
    for source in (text, f"---\n{text}\n---\n", f"---\na: {text}\n---\n"):
        with suppress(UnreadableError):
            assert 0 <= split_front_matter(source, "tea.md")[1] <= len(source)
