from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import IngestError
from recollect.ingest import Contents, Problem, Source
from recollect.ingest.records import JSON_LINES_READER, parse_json, parse_json_lines
from recollect.model import Draft, Link
from tests.strategies import any_text


def lines(*records: Any) -> str:
    return "\n".join(record if isinstance(record, str) else json.dumps(record) for record in records)


def drafts(*records: Any, name: str = "chat.jsonl", prefix: str = "") -> list[Draft]:
    contents = parse_json_lines(lines(*records), Source(name, prefix))
    assert not contents.problems
    return list(contents.drafts)


def test_parse_notes() -> None:
    whole = {
        "id": "n1",
        "path": "tea.md",
        "title": "Tea",
        "content": "Sencha.",
        "tags": ["tea"],
        "created_at": 1_700_000_000,
        "importance": 1,
        "session": "s",
        "position": 3,
        "links": [{"kind": "related", "target": "milk.md"}],
        "metadata": {"cups": 3},
        "namespace": "other",
        "summary": None,
        "colour": "green",
    }
    assert drafts(whole, {"text": "Milk."}, {"id": "n3", "content": "Sugar."}, prefix="home/") == [
        {
            "id": "n1",
            "path": "tea.md",
            "title": "Tea",
            "content": "Sencha.",
            "tags": ("tea",),
            "created_at": datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
            "importance": 1.0,
            "session": "s",
            "position": 3,
            "links": (Link("related", "milk.md"),),
            "metadata": {"colour": "green", "cups": 3},
        },
        {"content": "Milk.", "path": "home/chat.jsonl#line-2"},
        {"id": "n3", "content": "Sugar."},
    ]


def test_deeply_nested_record_is_reported() -> None:
    deep = "[" * 500 + "]" * 500
    text = lines({"text": "Tea."}, f'{{"text": "x", "metadata": {{"a": {deep}}}}}', f'{{"text": "x", "y": {deep}}}')
    contents = parse_json_lines(text, Source("a.jsonl"))
    message = "metadata: must not be nested deeper than 64 levels; make it flatter"
    assert [draft["content"] for draft in contents.drafts] == ["Tea."]
    assert [(problem.line, problem.message) for problem in contents.problems] == [(2, message), (3, message)]


def test_parse_turns() -> None:
    notes = drafts(
        {"speaker": "Ines", "text": "Tea?", "time": "2026-03-14T10:00"},
        {"role": "assistant", "content": [{"type": "text", "text": "Yes."}, "Sencha.", {"image": 1}]},
        {"author": "Ines", "message": "More", "timestamp": 1_700_000_000, "thread": 7, "mood": "good"},
        {"name": "Olaf", "text": "No", "date": "2026-03-14", "conversation": "x", "position": 5, "tags": ["tea"]},
        {"speaker": 3, "text": "So", "created_at": "2026-03-14", "conversation": "x", "metadata": {"speaker": "Max"}},
        {"speaker": "Ines", "text": "With id", "id": "t1"},
        {"speaker": "Ines", "text": "With path", "path": "log/1"},
        prefix="home/",
    )
    assert notes == [
        {
            "content": "Ines: Tea?",
            "session": "home/chat.jsonl",
            "position": 0,
            "created_at": datetime(2026, 3, 14, 10, tzinfo=UTC),
            "metadata": {"speaker": "Ines"},
            "path": "home/chat.jsonl#0",
        },
        {
            "content": "assistant: Yes.\nSencha.",
            "session": "home/chat.jsonl",
            "position": 1,
            "metadata": {"speaker": "assistant"},
            "path": "home/chat.jsonl#1",
        },
        {
            "content": "Ines: More",
            "session": "7",
            "position": 0,
            "created_at": datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
            "metadata": {"speaker": "Ines", "mood": "good"},
            "path": "home/chat.jsonl#7/0",
        },
        {
            "content": "Olaf: No",
            "tags": ("tea",),
            "session": "x",
            "position": 5,
            "created_at": datetime(2026, 3, 14, tzinfo=UTC),
            "metadata": {"speaker": "Olaf"},
            "path": "home/chat.jsonl#x/5",
        },
        {
            "content": "3: So",
            "session": "x",
            "position": 6,
            "created_at": datetime(2026, 3, 14, tzinfo=UTC),
            "metadata": {"speaker": "Max"},
            "path": "home/chat.jsonl#x/6",
        },
        {
            "content": "Ines: With id",
            "id": "t1",
            "session": "home/chat.jsonl",
            "position": 2,
            "metadata": {"speaker": "Ines"},
        },
        {
            "content": "Ines: With path",
            "path": "log/1",
            "session": "home/chat.jsonl",
            "position": 3,
            "metadata": {"speaker": "Ines"},
        },
    ]


def test_turns_with_equal_positions_have_distinct_paths() -> None:
    turn = {"speaker": "Ines", "text": "Tea?", "position": 0}
    assert [draft["path"] for draft in drafts(turn, turn, turn)] == [
        "chat.jsonl#0",
        "chat.jsonl#0-2",
        "chat.jsonl#0-3",
    ]


def test_date_in_file_name_is_default() -> None:
    note, turn, dated = drafts(
        {"text": "Tea."},
        {"speaker": "Ines", "text": "Tea."},
        {"text": "Tea.", "created_at": "2020-01-01"},
        name="2026-03-14.jsonl",
    )
    assert [draft["created_at"].year for draft in (note, turn, dated)] == [2026, 2026, 2020]


def test_bad_lines_are_reported() -> None:
    text = lines(
        {"text": "One."},
        "{broken",
        "",
        "[1]",
        {"title": "No text"},
        {"speaker": "Ines", "text": " "},
        {"speaker": "Ines", "mood": "good"},
        {"speaker": "Ines", "text": "Tea", "time": "some day"},
        {"text": "Tea", "importance": 7},
        {"text": "Tea", "metadata": "x", "colour": 1},
        {"id": "a", "text": "Tea"},
        {"id": "a", "text": "Milk"},
        {"speaker": "Ines", "text": "a", "path": "chat.jsonl#line-1"},
        {"text": {"no": "text"}},
        '{"text": "x", "metadata": {"a": NaN}}',
        "[" * 100_000,
        '{"text": ' + "9" * 5_000 + "}",
        {"text": "Two."},
    )
    notes, problems, _ = parse_json_lines(text, Source("a.jsonl"))
    assert [draft["content"] for draft in notes] == ["One.", "Tea", "Ines: a", "Two."]
    assert all(problem.skipped and problem.name == "a.jsonl" for problem in problems)
    shown = [(problem.line, problem.message.partition(" (")[0][:70]) for problem in problems]
    assert shown == [
        (2, "is not JSON: Expecting property name enclosed in double quotes at char"),
        (4, "record: must be an object in braces, got list"),
        (5, "record: has neither 'content' nor 'text'"),
        (6, "record: has a speaker but no text; its key must be one of text, conten"),
        (7, "record: has a speaker but no text; its key must be one of text, conten"),
        (8, "time: must be an ISO-8601 date or time, got 'some day'"),
        (9, "importance: must be at most 1, got 7"),
        (10, "metadata: must be a mapping, got 'x'"),
        (12, "record: has the same id 'a' as line 11"),
        (14, "text: must be a string, got {'no': 'text'}"),
        (15, "metadata: must be JSON data: Out of range float values are not JSON co"),
        (16, "nested too deep"),
        (17, "Exceeds the limit"),
    ]


def test_duplicate_path_is_rejected() -> None:
    turn = {"speaker": "Ines", "text": "a", "path": "p"}
    [problem] = parse_json_lines(lines(turn, turn), Source("a.jsonl")).problems
    assert str(problem) == "a.jsonl, line 2: record: has the same path 'p' as line 1"


def test_number_of_problems_is_limited() -> None:
    notes, problems, failed = parse_json_lines(lines({"text": "One."}, *["[]"] * 1_025), Source("a.jsonl"))
    assert (len(notes), failed) == (1, 1_025)
    assert [problem.line for problem in problems] == [*range(2, 22), None]
    assert problems[-1] == Problem("a.jsonl", None, "and 1,005 more like these", skipped=True)


def test_file_without_notes_raises() -> None:
    with pytest.raises(IngestError, match=r"^a.jsonl, line 2: contains no notes; the first problem: is not JSON"):
        parse_json_lines("\nTea.\nMilk.", Source("a.jsonl"))
    with pytest.raises(IngestError, match=r"^a.json: contains no notes; the first problem: item 1: record: must be"):
        parse_json("[1, 2]", Source("a.json"))
    assert parse_json_lines("\n \r\n", Source("a.jsonl")) == parse_json("[]", Source("a.json")) == Contents([], [])


def test_json_lines_keeps_other_line_separators() -> None:
    data = '\ufeff{"text": "a\u2028b"}\r\n\r\n{"text": "c\x85d"}\r\n'.encode()
    [first, second] = JSON_LINES_READER.read(data, Source("a.jsonl")).drafts
    assert (first["content"], second["content"], second["path"]) == ("a\u2028b", "c\x85d", "a.jsonl#line-3")


def test_parse_json() -> None:
    notes, problems, _ = parse_json('[{"text": "Tea."}, 7, {"speaker": "Ines", "text": "Tea?"}]', Source("a.json"))
    assert [draft["path"] for draft in notes] == ["a.json#item-1", "a.json#0"]
    assert problems == [Problem("a.json", None, "item 2: record: must be an object in braces, got int", skipped=True)]
    note = {"id": "a", "text": "Tea."}
    [problem] = parse_json(json.dumps([note, note]), Source("a.json")).problems
    assert problem.message == "item 2: record: has the same id 'a' as item 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{\n  a", "a.json, line 2: is not JSON: Expecting property name enclosed in double quotes"),
        ('{"name": "package"}', "a.json: is not a list of notes or of turns of a conversation"),
        ("[" * 100_000, "a.json: cannot be read: nested too deep"),
        ("[" + "9" * 5_000 + "]", "a.json: cannot be read: Exceeds the limit"),
    ],
)
def test_parse_json_rejects_other_data(text: str, message: str) -> None:
    with pytest.raises(IngestError) as caught:
        parse_json(text, Source("a.json"))
    assert str(caught.value).startswith(message)


_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(any_text, children, max_size=3),
    max_leaves=5,
)
_keys = "id path content text title tags created_at time session thread position links metadata vector speaker role x"
_record = st.dictionaries(st.sampled_from(_keys.split()), _value | st.sampled_from(["a", "b", 0, 1]), max_size=6)


@given(st.lists(_record | _value, max_size=8))
def test_any_records_are_read_or_rejected(records: list[Any]) -> None:
    for parse, text in ((parse_json_lines, "\n".join(map(json.dumps, records))), (parse_json, json.dumps(records))):
        with suppress(IngestError):
            drafts = parse(text, Source("a.jsonl")).drafts
            paths = [draft["path"] for draft in drafts if draft.get("path")]
            assert len(set(paths)) == len(paths)


@given(any_text)
def test_any_text_is_read_or_rejected(text: str) -> None:
    for parse in (parse_json_lines, parse_json):
        with suppress(IngestError):
            parse(text, Source("a.jsonl"))
