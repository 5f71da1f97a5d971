from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from recollect.errors import ArgumentError
from recollect.model import Link
from recollect.stores.changes import blank_row
from recollect.stores.milvus.rows import (
    Stored,
    hashed,
    header_in,
    header_of,
    metadata_mark,
    path_prefix,
    rows_of,
    stored_of,
    tag_mark,
)
from recollect.stores.milvus.schema import LONGEST_TEXT, MOST_MARKS, NEVER, PARTS, UNKNOWN, WHOLE_ROW

ROW = blank_row(5)._replace(key=7 * PARTS, namespace=3, id="n1", content="tea")


def test_a_note_comes_back_from_its_rows() -> None:
    row = ROW._replace(
        path="a/é.md",
        name="é",
        session="s",
        position=3,
        last_accessed_at=-1,
        expires_at=9,
        document=4,
        tags="one\ntwo",
        metadata='{"entities": ["Ines"], "n": 1}',
        title="Tea \0",
    )
    stored = Stored(row, (Link("related", "b"),))
    (first,) = rows_of(stored, None, "ff", 2)
    assert set(first) == set(WHOLE_ROW)
    assert stored_of([first]) == stored
    header = header_in(first)
    assert header == header_of(stored)
    assert header is not None
    assert (header.entities, header.expires, header.links) == (("ines",), 9, stored.links)
    assert (first["piece"], first["vector"], first["digest"], first["links"]) == (-1, [0.0, 0.0], "", 1)
    assert first["marks"] == sorted(
        [tag_mark("one"), tag_mark("two"), metadata_mark("n", 1), metadata_mark("entities", ["Ines"])]
    )


def test_what_is_not_said() -> None:
    (first,) = rows_of(Stored(ROW), None, "", 2)
    asked = [first[name] for name in ("path_hash", "path", "session", "document", "accessed", "expires", "marks")]
    assert asked == [0, "", 0, 0, UNKNOWN, NEVER, []]
    assert stored_of([first]) == Stored(ROW)
    assert header_of(Stored(ROW)).expires == NEVER


def test_long_texts_and_pieces_share_rows() -> None:
    stored = Stored(ROW._replace(content="🍵" * LONGEST_TEXT))
    vectors = np.arange(12, dtype=np.float32).reshape(6, 2)
    rows = rows_of(stored, vectors, "ff", 2)
    assert len(rows) > 6 - 1
    assert all(len(row["body"].encode()) <= LONGEST_TEXT for row in rows)
    assert [row["key"] for row in rows] == [ROW.key + part for part in range(len(rows))]
    assert [row["piece"] for row in rows] == [part if part < 6 else -1 for part in range(len(rows))]
    assert [row["words"] != "" for row in rows] == [True, *[False] * (len(rows) - 1)]
    assert stored_of(rows) == stored
    (short,) = rows_of(Stored(ROW), vectors[:1], "ff", 2)
    assert (short["piece"], short["vector"], short["digest"]) == (0, [0.0, 1.0], "ff")
    more = rows_of(Stored(ROW), vectors, "ff", 2)
    assert [row["body"] != "" for row in more] == [True, *[False] * 5]
    assert stored_of(more) == Stored(ROW)


def test_a_header_that_is_too_long_is_left_out() -> None:
    stored = Stored(ROW._replace(title="é" * LONGEST_TEXT))
    assert header_in(rows_of(stored, None, "", 2)[0]) is None


def test_what_milvus_cannot_hold_is_refused() -> None:
    with pytest.raises(
        ArgumentError, match=f"^tags: note '{ROW.id}' has 4,097 together with .*, and Milvus takes 4,096"
    ):
        rows_of(Stored(ROW._replace(tags="\n".join(map(str, range(MOST_MARKS + 1))))), None, "", 2)
    with pytest.raises(ArgumentError, match=f"^content: note '{ROW.id}' has 3 characters in 1,025 pieces, and"):
        rows_of(Stored(ROW), np.ones((PARTS + 1, 2), dtype=np.float32), "ff", 2)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, None, False),
        ("1", 1, False),
        (10**30, 1e30, True),
        (10**400, 10**401, True),
        (-(10**400), 10**400, False),
        (2**53 + 1, float(2**53), False),
        (0.1, 0.1, True),
        ([1, {"a": 2}], [1.0, {"a": 2.0}], True),
        ([True], [1], True),
        ([None], [0], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"": "1"}, 1, False),
        ([{"": "1"}], [1], False),
        ("tea", "tea", True),
    ],
)
def test_values_of_metadata_are_compared_as_everywhere(one: Any, other: Any, same: bool) -> None:
    assert (metadata_mark("key", one) == metadata_mark("key", other)) is same


@given(some.text(), some.text())
def test_paths_are_in_order(one: str, other: str) -> None:
    assert (path_prefix(one) < path_prefix(other)) is (one < other)


def test_a_path_is_cut_where_the_field_ends() -> None:
    assert len(path_prefix("x" * LONGEST_TEXT)) < LONGEST_TEXT


@given(some.lists(some.text(), min_size=1, max_size=3), some.lists(some.text(), min_size=1, max_size=3))
def test_a_number_stands_for_texts(one: list[str], other: list[str]) -> None:
    assert (hashed(*one) == hashed(*other)) is (one == other)
    assert 0 < hashed(*one) < 2**63
    assert json.loads(json.dumps(hashed(*one))) == hashed(*one)
