from __future__ import annotations

import copy
import inspect
import json
import pickle
import re
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentError, Candidate, Link, Memory, Note
from recollect.model import DRAFT_FIELDS, NOTE_FIELDS, aliases_of, draft_of, embedding_chunks, embedding_text, is_blank
from recollect.model.note import CHUNK_CHARS, MAX_CHUNKS, MAX_HEADING_CHARS, MAX_UNSPLIT_CHARS, StoredMetadata
from tests.strategies import any_text, nested

line = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=20)
name = line.filter(str.strip)
moment = st.datetimes(timezones=st.just(UTC))
data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | line,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(line, inner, max_size=3),
    max_leaves=5,
)
notes = st.builds(
    Note,
    content=any_text,
    id=line,
    path=line,
    title=any_text,
    summary=any_text,
    tags=st.lists(name, max_size=3),
    created_at=st.none() | moment,
    updated_at=st.none() | moment,
    last_accessed_at=st.none() | moment,
    expires_at=st.none() | moment,
    importance=st.floats(0, 1),
    session=line,
    position=st.none() | st.integers(0, 2**63 - 1),
    links=st.lists(st.tuples(name, name), max_size=3),
    metadata=st.dictionaries(line, data, max_size=3),
    namespace=name,
)


@given(notes)
def test_note_json_round_trip(note: Note) -> None:
    assert Note(**json.loads(json.dumps(note.to_dict()))) == note


@given(notes)
def test_draft_of_note_round_trip(note: Note) -> None:
    assert Note(**draft_of(note)) == note


def test_draft_removes_expiry_with_never() -> None:
    assert Note(content="tea", expires_at="never") == Note(content="tea")  # type: ignore[arg-type]
    assert draft_of({"content": "tea", "expires_at": "never"}) == {"content": "tea", "expires_at": None}
    assert draft_of({"content": "tea", "expires_at": None}) == {"content": "tea"}


def test_note_normalises_values() -> None:
    note = Note(
        content="lone \udc00",
        tags=["b", "a", "b"],  # type: ignore[arg-type]
        created_at="2026-04-18T02:00:00+02:00",  # type: ignore[arg-type]
        importance=1,
        links=["x", {"target": "y"}, {"kind": "supersedes", "target": "z"}, ("k", "t"), "x"],  # type: ignore[arg-type]
        metadata={"t": (1, 2)},
    )
    assert note.content == "lone \ufffd"
    assert note.tags == ("b", "a")
    assert note.created_at == datetime(2026, 4, 18, tzinfo=UTC)
    assert note.links == (Link("related", "x"), Link("related", "y"), Link("supersedes", "z"), Link("k", "t"))
    assert note.metadata == {"t": [1, 2]}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"content": None}, "content: must be a string, got None"),
        ({"id": "a\nb"}, "id: must be one line without control characters"),
        ({"path": 7}, "path: must be a string"),
        ({"tags": "tea"}, "tags: must be a list, got 'tea'"),
        ({"tags": ["ok", " "]}, r"tags\[1\]: must not be empty"),
        ({"created_at": "yesterday"}, "created_at: must be an ISO-8601 date or time"),
        ({"importance": 1.5}, "importance: must be at most 1, got 1.5"),
        ({"position": -1}, "position: must not be negative"),
        ({"position": 2**63}, "position: must be at most 9223372036854775807"),
        ({"links": [7]}, r"links\[0\]: must be a kind and a target"),
        ({"links": [("a", "b", "c")]}, r"links\[0\]: must be a kind and a target"),
        ({"links": [{"kind": "x"}]}, r"links\[0\].target: must be a string, got None"),
        ({"metadata": [1]}, "metadata: must be a mapping"),
        ({"metadata": {"x": object()}}, "metadata: must be JSON data"),
        ({"metadata": {"x": float("nan")}}, "metadata: must be JSON data"),
        ({"metadata": {"a": nested(64)}}, "metadata: must not be nested deeper than 64 levels; make it flatter$"),
        ({"metadata": {"a": nested(100_000)}}, "metadata: must not be nested deeper than 64 levels"),
        ({"metadata": {1: "x"}}, "metadata: must have strings as keys"),
        ({"namespace": ""}, "namespace: must not be empty"),
    ],
)
def test_note_rejects_invalid_values(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{problem}"):
        Note(**{"content": "x", **fields})


def test_draft_has_only_given_fields() -> None:
    assert draft_of("tea") == {"content": "tea"}
    assert draft_of({"content": "tea", "title": None, "tags": []}) == {"content": "tea", "tags": ()}
    assert draft_of({"vector": [1, 2]})["vector"].tolist() == [1, 2]
    draft = draft_of(Note(content="tea"))
    assert {"id", "path", "created_at"}.isdisjoint(draft)
    assert draft["position"] is None
    with pytest.raises(ArgumentError, match="^note: has no field 'text'; the fields are id, path, title"):
        draft_of({"text": "tea"})
    with pytest.raises(ArgumentError, match="^note: must be a Note, a mapping or a string, got int"):
        draft_of(7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("vector", "problem"),
    [
        ("abc", "must be a list of numbers"),
        ([[[1, 2]]], r"must be a list of numbers, or a list of such lists, got an array of shape \(1, 1, 2\)"),
        (1.5, r"must be a list of numbers, or a list of such lists, got an array of shape \(\)"),
        ([], "must be a list of numbers, or a list of such lists"),
        ([[], []], "must be a list of numbers, or a list of such lists"),
        ([[1, 2], [3]], "must be a list of numbers"),
        ([1, float("nan")], "must contain finite numbers only"),
        ([object()], "must be a list of numbers"),
    ],
)
def test_draft_checks_vector(vector: Any, problem: str) -> None:
    with pytest.raises(ArgumentError, match=f"^vector: {problem}"):
        draft_of({"vector": vector})


def test_embedding_text_joins_non_empty_fields() -> None:
    assert embedding_text("", "", "content") == "content"
    assert embedding_text("Title", "summary", "content") == "Title\nsummary\ncontent"


def test_note_fields_table_lists_every_field_once() -> None:
    assert list(NOTE_FIELDS) == [field.name for field in fields(Note)] == list(Note(content="tea").to_dict())
    assert list(DRAFT_FIELDS) == [*NOTE_FIELDS, "vector"]
    assert all(field.name == name and field.description.endswith(".") for name, field in DRAFT_FIELDS.items())


def test_note_fields_table_has_the_defaults_of_a_note() -> None:
    note = Note(content="tea")
    assert {name: field.default for name, field in NOTE_FIELDS.items() if name != "content"} == {
        name: getattr(note, name) for name in NOTE_FIELDS if name != "content"
    }
    assert Candidate("n").importance == NOTE_FIELDS["importance"].default


def test_memory_add_has_a_keyword_for_every_draft_field() -> None:
    parameters = inspect.signature(Memory.add).parameters
    assert set(parameters) - {"self", "supersedes"} == set(DRAFT_FIELDS)
    assert all(parameters[name].default is None for name in DRAFT_FIELDS)


SENTENCE = "Green tea, mostly sencha."


def test_embedding_text_has_heading() -> None:
    text = embedding_text("Tea", "Green, early", "Prefers sencha.")
    assert (text, text.heading) == ("Tea\nGreen, early\nPrefers sencha.", "Tea")
    assert embedding_text("", "", "Prefers sencha.").heading == ""
    assert embedding_text("T" * MAX_HEADING_CHARS, "", "").heading == "T" * MAX_HEADING_CHARS
    assert embedding_text("T" * (MAX_HEADING_CHARS + 1), "", "").heading == ""


@pytest.mark.parametrize("text", ["", " ", "tea", "t" * MAX_UNSPLIT_CHARS, " \n" * (MAX_UNSPLIT_CHARS // 2)])
def test_short_text_is_one_chunk(text: str) -> None:
    assert embedding_chunks(text) == [text]
    (chunk,) = embedding_chunks(embedding_text("", "", text))
    assert (chunk, type(chunk)) == (text, str)


def test_chunks_end_at_sentences() -> None:
    # A sentence has 25 characters and a space: eleven fit into 300 characters, and no twelfth.
    chunks = embedding_chunks(f"{SENTENCE} " * 40)
    assert chunks == [" ".join([SENTENCE] * count) for count in (11, 11, 11, 7)]


def test_chunks_keep_line_breaks() -> None:
    chunks = embedding_chunks("\n\n".join([SENTENCE] * 40))
    assert chunks == ["\n".join([SENTENCE] * count) for count in (11, 11, 11, 7)]


def test_short_lines_are_not_split() -> None:
    line = "One. Two! Three? Four… " + "x" * 200  # 223 characters: two do not fit together
    assert embedding_chunks("\n".join([line] * 5)) == [line] * 5


def test_each_chunk_begins_with_heading() -> None:
    chunks = embedding_chunks(embedding_text("Tea", "", "\n".join([SENTENCE] * 40)))
    assert [chunk.split("\n")[0] for chunk in chunks] == ["Tea"] * 4
    assert [chunk.count(SENTENCE) for chunk in chunks] == [11, 11, 11, 7]


def test_long_heading_is_not_repeated() -> None:
    chunks = embedding_chunks(embedding_text("T" * 250, "", "\n".join([SENTENCE] * 40)))
    assert chunks[0] == "T" * 250 + "\n" + SENTENCE
    assert not any(chunk.startswith("T") for chunk in chunks[1:])


def test_long_sentence_is_split_between_words() -> None:
    chunks = embedding_chunks(("w" * 149 + " ") * 10)
    assert chunks == [" ".join(["w" * 149] * 2)] * 5


def test_long_word_is_split() -> None:
    assert [len(chunk) for chunk in embedding_chunks("日" * 1000)] == [300, 300, 300, 100]


def test_no_split_in_the_first_half_of_a_chunk() -> None:
    chunks = embedding_chunks(f"a {'w' * 1000}")
    assert [len(chunk) for chunk in chunks] == [300, 300, 300, 102]


def test_number_of_chunks_is_limited() -> None:
    chunks = embedding_chunks("\n".join(f"{number} {'x' * 290}" for number in range(100)))
    assert len(chunks) == MAX_CHUNKS
    assert chunks[-1].startswith("63 ")


@pytest.mark.parametrize("blank", [" ", "\n", "\t \r\n", "\u3000"])
def test_white_space_is_one_chunk(blank: str) -> None:
    assert embedding_chunks(blank * 2000) == [(blank * 2000)[:MAX_UNSPLIT_CHARS]]
    assert embedding_chunks(embedding_text("Tea", "", blank * 2000)) == [("Tea\n" + blank * 2000)[:MAX_UNSPLIT_CHARS]]


@pytest.mark.parametrize("text", ["a" + " " * 300_000 + "b", "\n \n" * 100_000 + "b", ". " * 200_000, "a.\t" * 100_000])
def test_splitting_takes_linear_time(text: str) -> None:
    """A quadratic algorithm would take many minutes."""
    assert 1 <= len(embedding_chunks(text)) <= MAX_CHUNKS


_paragraphs = st.lists(st.text("ab .!?…\n日", max_size=500), max_size=12).map("\n".join)


@given(st.text("Tea ", max_size=220), _paragraphs | any_text.map(lambda text: text * 40))
def test_chunks_cover_the_text_within_limits(title: str, content: str) -> None:
    text = embedding_text(title, "", content)
    chunks = embedding_chunks(text)
    assert 1 <= len(chunks) <= MAX_CHUNKS
    if len(text) <= MAX_UNSPLIT_CHARS or not text[len(text.heading) :].strip():
        assert chunks == [text[:MAX_UNSPLIT_CHARS]]
        return
    heading = f"{text.heading}\n" if text.heading else ""
    assert all(chunk.startswith(heading) for chunk in chunks)
    bodies = [chunk.removeprefix(heading) for chunk in chunks]
    assert all(0 < len(body) <= CHUNK_CHARS for body in bodies)
    joined, expected = _without_spaces("".join(bodies)), _without_spaces(text[len(text.heading) :])
    assert joined == expected if len(chunks) < MAX_CHUNKS else expected.startswith(joined)


@given(st.lists(st.text("abc日é.", min_size=1, max_size=40), max_size=200))
def test_words_are_not_split(words: list[str]) -> None:
    chunks = embedding_chunks(" ".join(words))
    assert [word for chunk in chunks for word in chunk.split()] == words


def _without_spaces(text: str) -> str:
    return re.sub(r"\s", "", text)


def test_stored_metadata_decodes_on_first_read() -> None:
    broken = StoredMetadata("{no JSON")
    assert broken  # not decoded yet
    metadata = StoredMetadata('{"a": [1, {"b": null}], "c": "d"}')
    assert metadata._values is None
    assert metadata["a"] == [1, {"b": None}]
    assert metadata._values is not None
    assert (list(metadata), len(metadata)) == (["a", "c"], 2)


def test_stored_metadata_equals_dict() -> None:
    metadata = StoredMetadata('{"a": 1}')
    assert metadata == {"a": 1}
    assert metadata != {"a": 2}
    assert repr(metadata) == "{'a': 1}"


def test_stored_metadata_can_be_copied_and_pickled() -> None:
    for read_before in (False, True):
        metadata = StoredMetadata('{"a": [1]}')
        assert not read_before or metadata["a"]
        assert copy.deepcopy(metadata) == {"a": [1]}
        assert pickle.loads(pickle.dumps(metadata)) == {"a": [1]}  # noqa: S301 (written here)


def test_stored_metadata_reads_deep_nesting() -> None:
    metadata = StoredMetadata('{"a": ' + "[" * 900 + "]" * 900 + "}")
    assert list(metadata) == ["a"]


def test_is_blank_ignores_punctuation_and_white_space() -> None:
    assert is_blank({"content": " \n", "tags": ("tea",)})
    assert is_blank({"content": "---", "summary": "?!"})
    assert not is_blank({"content": "", "title": "Tea"})
    assert not is_blank({"content": "🎻"})


def test_aliases_of_metadata() -> None:
    assert aliases_of({"aliases": ["Shiv", "S. Rao", 7]}) == ("Shiv", "S. Rao")
    assert aliases_of({"Alias": "Shiv, Shivi", "author": "Ines"}) == ("Shiv", "Shivi")
    assert aliases_of({"alias": 7}) == ()
