from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentTypeError
from recollect.query import AllOf, AnyOf, Except, Match, expression, parse, render
from recollect.query.expressions import MAX_FORMS, Semantics, joined_forms, letter_forms, number_forms
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
    with pytest.raises(ArgumentTypeError, match="^node: must be an expression, got None; for an empty query"):
        render(expression(parse("the")), _Count())  # type: ignore[arg-type]


class _Count:
    """A renderer that counts leaves and brackets."""

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
        assert depth <= 5  # engines limit the nesting depth, whatever the length of the query


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("1240", "1 240"),
        ("62300", "62 300"),
        ("1240.50", "1 240 50"),
        ("PF3KQ7ZX", "pf 3kq7zx"),
        ("PF-3KQ7-ZX", "pf3kq7 zx"),
        ("W118", "w 118"),
        ("R551032", "r 551032"),
        ("14.2kg", "14 2 kg"),
        ("01715523981", "0171 5523981"),
        ("01715523981", "0171 552 3981"),
        ("80070057", "0x80070057"),
        ("0x80070057", "80070057"),
        ("v15.4", "15 4"),
        ("15.4", "v15 4"),
        ("20260405", "2026 04 05"),
        ("DE89370400440532013000", "de89 3704 0044 0532 0130 00"),
        ("a1b2c3d4e5f6", "a1b2 c3d4 e5f6"),
    ],
)
def test_number_forms(written: str, form: str) -> None:
    assert form in [text for _, text in number_forms(written)]
    assert all((kind == "phrase") is (" " in text) for kind, text in number_forms(written))


@pytest.mark.parametrize(
    ("written", "form"),
    [("14.2kg", "142 kg"), ("v15.4", "154"), ("1412", "14 12"), ("W118", "w118"), ("PF-3KQ7ZX", "pf 3kq7zx")],
)
def test_number_forms_keep_decimal_points(written: str, form: str) -> None:
    assert form not in [text for _, text in number_forms(written)]


def test_number_forms_need_a_digit_and_a_short_word() -> None:
    assert number_forms("kettle") == number_forms("1" * 41) == []
    assert all(len(number_forms(written)) <= MAX_FORMS for written in ("1" * 15, "a1" * 20, "1-" * 20))


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("Yilmaz", "yılmaz"),
        ("Sorensen", "sørensen"),
        ("Weiss", "weiß"),
        ("Strasse", "straße"),
        ("Lodz", "łodz"),
        ("Caesar", "cæsar"),
        ("Sørensen", "sorensen"),
        ("Straße", "strasse"),
        ("Colloidoil", "cølloidoil"),
    ],
)
def test_letter_forms(written: str, form: str) -> None:
    assert ("term", form) in letter_forms(written)


def test_letter_forms_of_many_letters() -> None:
    assert [text for _, text in letter_forms("Colloidoil")][:2] == ["cølloidoil", "cołloidoil"]
    assert letter_forms("W118") == letter_forms("ol") == []


@pytest.mark.parametrize(
    ("query", "form"),
    [
        ("276 098 106 234 517", ("term", "276098106234517")),
        ("the R 551032 receipt", ("term", "r551032")),
        ("a bottle of 14.2 kg", ("phrase", "14 2kg")),
        ("(0171) 552-3981", ("phrase", "0171552 3981")),
    ],
)
def test_joined_forms(query: str, form: tuple[str, str]) -> None:
    assert form in [joined.form for joined in joined_forms(parse(query, keep_short=True))]


@pytest.mark.parametrize("query", ["green tea", "flat AND 5", "the 5", "5 - 6", "two cups of 5"])
def test_joined_forms_need_a_digit(query: str) -> None:
    assert joined_forms(parse(query, keep_short=True)) == []


def test_expression_matches_new_capitals_as_written() -> None:
    assert expression(parse("ᲐᲑᲒ")) == AnyOf((Match("term", "აბგ"), Match("term", "ᲐᲑᲒ")))


def test_expression_has_each_date_once() -> None:
    expected = AnyOf((Match("term", "tea"), Match("phrase", "2026 04 04")))
    assert expression(parse("tea 2026/04/04 2026-04-04"), "literal") == expected
