from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentTypeError
from recollect.query import AllOf, AnyOf, Except, Match, expression, parse, render
from recollect.query.expressions import Semantics
from recollect.query.parser import Kind
from tests.strategies import query_text

A, B, C = (Match("term", letter * 3) for letter in "abc")


@pytest.mark.parametrize(
    ("text", "semantics", "expected"),
    [
        ("aaa bbb", "strict", AnyOf((A, B))),
        ("aaa AND bbb NOT ccc", "strict", Except(AllOf((A, B)), C)),
        ("aaa OR bbb AND ccc", "literal", AnyOf((A, AllOf((B, C))))),
        ("aaa OR bbb NOT ccc", "literal", AnyOf((A, Except(B, C)))),
        ("aaa OR bbb NOT ccc", "strict", Except(AnyOf((A, B)), C)),
        ("NOT aaa", "strict", None),
        ("NOT aaa", "literal", A),
        ("", "strict", None),
    ],
)
def test_expression_nodes(text: str, semantics: Semantics, expected: object) -> None:
    assert expression(parse(text), semantics) == expected


def test_empty_query_cannot_be_rendered() -> None:
    with pytest.raises(ArgumentTypeError, match="^node: must be an expression, which an empty query has not; got None"):
        render(expression(parse("the")), _Count())  # type: ignore[arg-type]


class _Count:
    """Another engine's renderer: counts leaves and brackets."""

    def match(self, kind: Kind, text: str) -> tuple[int, int]:
        assert kind in ("term", "phrase", "prefix")
        assert text
        return 1, 0

    def any_of(self, parts: Sequence[tuple[int, int]]) -> tuple[int, int]:
        assert len(parts) > 1
        return sum(leaves for leaves, _ in parts), 1 + max(depth for _, depth in parts)

    all_of = any_of

    def without(self, included: tuple[int, int], excluded: tuple[int, int]) -> tuple[int, int]:
        return self.any_of([included, excluded])


@given(query_text, st.sampled_from(["strict", "literal"]))
def test_any_query_can_be_rendered(text: str, semantics: Semantics) -> None:
    node = expression(parse(text), semantics)
    if node is not None:
        leaves, depth = render(node, _Count())
        assert leaves >= 1
        assert depth <= 5  # however long the query: engines bound how deep a query may nest
