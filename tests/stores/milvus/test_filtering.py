"""Filters and queries become expressions in which nothing stands that a person wrote."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model import Filters
from recollect.query import Query, expression, parse
from recollect.query.expressions import Expression
from recollect.stores.milvus.filtering import among, conditions, in_words, within
from recollect.stores.milvus.rows import hashed, metadata_mark, tag_mark
from tests.generated import any_text
from tests.stores.postgres.beside import expressions, queries

AT = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)

_TEXT = r'"(?:%|% (?:[a-z0-9X]+ )*[a-z0-9X]+ ?%|[a-z0-9X]+(?: [a-z0-9X]+)*|[0-9a-f]*%)"'
SAFE = re.compile(
    rf"(?:[()\[\], ]|words|path|like|and|or|not|session|created|updated|marks|array_contains_all|key|TEXT_MATCH|"
    rf"PHRASE_MATCH|==|>=|<|-?[0-9]+|{_TEXT})*"
)


def words(query: str, *, lite: bool = True) -> str:
    node = expression(parse(query))
    assert node is not None
    return in_words(node, lite=lite)


@pytest.mark.parametrize(
    ("given_filters", "expected"),
    [
        ({}, []),
        ({"path_prefix": "a/ü"}, ['path like "612fc3bc%"']),
        ({"tags": ["tea", "hot"]}, [f"array_contains_all(marks, [{tag_mark('tea')}, {tag_mark('hot')}])"]),
        ({"metadata": {"n": 1}}, [f"array_contains_all(marks, [{metadata_mark('n', 1.0)}])"]),
        ({"session": "chat"}, [f"session == {hashed('session', 'chat')}"]),
        ({"session": ""}, ["session == 0"]),
        ({"created_after": AT, "updated_before": AT}, ["created >= 1000000", "updated < 1000000"]),
        ({"created_before": AT, "updated_after": AT}, ["created < 1000000", "updated >= 1000000"]),
    ],
)
def test_each_filter_is_an_expression(given_filters: dict[str, Any], expected: list[str]) -> None:
    assert conditions(Filters.of(given_filters)) == expected


@pytest.mark.parametrize(
    ("query", "lite", "cluster"),
    [
        ("teas", 'words like "% tea %"', 'TEXT_MATCH(words, "tea")'),
        ('"green tea"', 'words like "% green tea %"', 'PHRASE_MATCH(words, "green tea")'),
        ("bre*", '(words like "% bre%" or words like "% X627265%")', None),
        ("groß*", 'words like "% X67726fc39f%"', None),
        (
            "green AND tea",
            '(words like "% green %" and words like "% tea %")',
            '(TEXT_MATCH(words, "green") and TEXT_MATCH(words, "tea"))',
        ),
        (
            "tea NOT sugar",
            '(words like "% tea %" and not (words like "% sugar %"))',
            '(TEXT_MATCH(words, "tea") and not (TEXT_MATCH(words, "sugar")))',
        ),
    ],
)
def test_each_engine_has_its_spelling(query: str, lite: str, cluster: str | None) -> None:
    assert words(query) == lite
    assert words(query, lite=False) == (lite if cluster is None else cluster)


def test_what_holds_no_word_is_in_no_row() -> None:
    assert words('"?!"') == "key < 0"


def test_parts_hold_within_a_namespace() -> None:
    assert within(7, "part == 0", "", among([3, 5], "note")) == "namespace == 7 and part == 0 and note in [3, 5]"


@given(expressions, st.booleans())
def test_any_tree_is_safe(node: Expression, lite: bool) -> None:
    assert SAFE.fullmatch(in_words(node, lite=lite))


@given(queries, st.booleans())
def test_any_query_is_safe(query: Query, lite: bool) -> None:
    node = expression(query)
    assert node is None or SAFE.fullmatch(in_words(node, lite=lite))


@given(any_text, any_text)
def test_any_filter_is_safe(text: str, other: str) -> None:
    line = re.sub(r"[\ud800-\udfff\x00-\x1f\x7f-\x9f\u2028\u2029]", "", text).strip() or "x"
    filters = Filters(
        path_prefix=line, tags=(line,), session=line, metadata={other.encode("utf-8", "ignore").decode(): line}
    )
    assert SAFE.fullmatch(" ".join(conditions(filters)))
