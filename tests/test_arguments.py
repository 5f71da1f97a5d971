from __future__ import annotations

from datetime import UTC, date, datetime
from fractions import Fraction

import pytest

from recollect import ArgumentError, ArgumentTypeError, arguments


def test_count_check() -> None:
    class Three:
        def __index__(self) -> int:
            return 3

    assert arguments.count("n", Three()) == 3
    assert arguments.optional_count("n", None) is None


def test_at_least_one_check() -> None:
    assert arguments.at_least_one("n", 1) == 1
    with pytest.raises(ArgumentError, match="^n: must be at least 1, got 0$"):
        arguments.at_least_one("n", 0)
    with pytest.raises(ArgumentTypeError, match="^n: must be a whole number, got True"):
        arguments.at_least_one("n", True)


def test_number_check() -> None:
    assert arguments.number("n", Fraction(1, 2)) == 0.5
    with pytest.raises(ArgumentTypeError, match="^n: must be a number, got True"):
        arguments.number("n", True)
    with pytest.raises(ArgumentTypeError, match="^n: must be a number"):
        arguments.number("n", 10**400)


def test_sequence_accepts_iterables() -> None:
    assert arguments.sequence("s", (number for number in (1, 2))) == [1, 2]
    for value in ("text", b"bytes", {"a": 1}, {1, 2}, 5, None, list):
        with pytest.raises(ArgumentTypeError, match="^s: must be a list"):
            arguments.sequence("s", value)


def test_instant_check() -> None:
    for value in ("2026-04-18", date(2026, 4, 18), datetime(2026, 4, 18, tzinfo=UTC)):
        assert arguments.instant("t", value) == datetime(2026, 4, 18, tzinfo=UTC)


def test_message_truncates_and_escapes_value() -> None:
    with pytest.raises(ArgumentError) as caught:
        arguments.choice("c", "\n\ud800" * 100, ["a"])
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 120
    assert message.encode()


def test_message_for_value_without_repr() -> None:
    class WithoutRepr:
        def __repr__(self) -> str:
            raise RuntimeError("not today")

    with pytest.raises(ArgumentTypeError, match=r"something that cannot be shown \(WithoutRepr\)"):
        arguments.text("content", WithoutRepr())
