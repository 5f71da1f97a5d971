"""Metadata filters match the same notes as in SQLite."""

from __future__ import annotations

import json
from typing import Any

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.model import Filters
from recollect.stores.postgres.filters import comparable_metadata, filter_conditions
from recollect.stores.sqlite import transaction as sqlite
from tests.strategies import nested

_number = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([0.5, 1e16, 10**16, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 2**64 + 1, 1.5e300, 10**400, -(10**400)]),
    st.floats(-3, 3).map(lambda value: round(value, 1)),
)
_scalar = st.one_of(st.none(), st.booleans(), _number, st.sampled_from(["", "1", "true", "tea", "\0", "é", "x" * 300]))
_value = st.recursive(
    _scalar,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "b", "\0", "é"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def connection() -> apsw.Connection:
    made = apsw.Connection(":memory:")
    made.create_scalar_function("same_json", lambda *texts: json.loads(texts[0]) == json.loads(texts[1]), 2)
    return made


def passes_filter(stored: dict[str, Any], queried: dict[str, Any]) -> bool:
    """Return whether metadata passes a filter by the comparison that the server makes."""
    facts = json.loads(comparable_metadata(json.dumps(stored)))
    conditions, values = filter_conditions(Filters(metadata=queried))
    assert conditions == " AND n.facts ->> %s::text = %s" * len(queried)
    return all(
        facts.get(key.replace("\x1a", "\x1aS").replace("\0", "\x1aN")) == fact
        for key, fact in zip(values[::2], values[1::2], strict=True)
    )


@given(_value, _value)
@example(True, 1)
@example([True], [1.0])
@example({"a": 10**400}, {"a": 10**400})
@example(2**64, 2**64 + 1)
@example(10**400, 10**401)
def test_values_are_equal_as_in_sqlite(connection: apsw.Connection, stored: Any, queried: Any) -> None:
    conditions, values = sqlite.filter_conditions(Filters(metadata={"key": queried}))
    statement = f"SELECT 1 FROM (SELECT ? AS metadata) AS n WHERE true {conditions}"  # noqa: S608 (our own)
    for value in (stored, queried):
        expected = connection.execute(statement, (json.dumps({"key": value}), *values)).get is not None
        assert passes_filter({"key": value}, {"key": queried}) == expected


def test_deep_and_long_values_are_compared() -> None:
    deep = nested(60)
    assert passes_filter({"key": deep}, {"key": deep})
    assert not passes_filter({"key": deep}, {"key": nested(59)})
    long = "a" * 10_000
    assert passes_filter({"key": long}, {"key": long})
    assert not passes_filter({"key": long}, {"key": long + "b"})
    assert max(map(len, json.loads(comparable_metadata(json.dumps({"key": long}))).values())) < 100


def test_metadata_keys_may_have_any_characters() -> None:
    assert passes_filter({"a\0b": 1, "a\x1aNb": 2}, {"a\0b": 1})
    assert not passes_filter({"a\0b": 1, "a\x1aNb": 2}, {"a\x1aNb": 1})


def test_note_without_metadata_is_filtered_out() -> None:
    assert comparable_metadata("{}") == "{}"
    assert not passes_filter({}, {"key": None})
