"""Every kind of secret is found, and similar texts are left alone."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import secrets
from recollect.secrets import Secret, find_secrets, redact
from recollect.secrets.patterns import TOKEN_FORMATS, has_valid_check_digit, kind_of_value
from tests.secrets.samples import HARMLESS, SECRETS, random_text
from tests.strategies import any_text

_PARSER: Any = importlib.import_module("re._parser")
"""How Python itself reads a pattern."""


@pytest.mark.parametrize(("kind", "around", "secret"), SECRETS, ids=[kind for kind, *_ in SECRETS])
def test_find_secrets_and_redact(kind: str, around: str, secret: str) -> None:
    text = around.format(secret)
    start = text.index(secret)
    assert find_secrets(text) == [Secret(start, start + len(secret), kind)]
    assert redact(text)[0] == around.format(f"«redacted: {kind}»")


@pytest.mark.parametrize("text", HARMLESS)
def test_similar_texts_are_no_secrets(text: str) -> None:
    assert find_secrets(text) == []


def test_add_many_in_one_batch() -> None:
    text = "\n\n".join(around.format(secret) for _, around, secret in SECRETS)
    results = find_secrets(text)
    assert [secret.kind for secret in results] == [kind for kind, *_ in SECRETS]
    assert find_secrets("\n".join(HARMLESS)) == []


def test_most_specific_kind_wins() -> None:
    token = "gh" + "p_" + random_text(36)
    for text in (f"password = {token}", f"https://x:{token}@github.com", f"token: {token}/{random_text(20)}"):
        (results,) = find_secrets(text)
        assert results.kind == "GitHub token"
        assert token not in redact(text)[0]


def test_kind_of_value() -> None:
    value = random_text(12, "aB3$xY7%kL9")
    for name in ("password", "dbPassword", "DB_PWD", "wifi passphrase"):
        assert kind_of_value(name, value) == "password"
    for name in ("api_key", "openaiApiKey", "client-secret", "signing key"):
        assert kind_of_value(name, value) == "key or token"
    assert kind_of_value("token", value * 2) == "key or token"
    assert kind_of_value("token", "9f86d081884c7d659a2feaa0c55ad015") == ""
    assert (
        kind_of_value("password", "teapot") == kind_of_value("password_hint", value) == kind_of_value("", value) == ""
    )


@given(st.integers(0, 10**18), st.integers(1, 9))
def test_luhn_detects_wrong_digit(number: int, wrong: int) -> None:
    last = next(digit for digit in "0123456789" if has_valid_check_digit(f"{number}{digit}"))
    assert not has_valid_check_digit(f"{number}{(int(last) + wrong) % 10}")


_pieces = st.sampled_from(
    [around.format(secret) for _, around, secret in SECRETS]
    + [secret for *_, secret in SECRETS]
    + HARMLESS
    + ["password", " = ", ": ", '"', "-----", "4111", " ", "-", "://", "@", "eyJ", "\n", "\\n"]
)


@given(st.lists(_pieces | any_text, max_size=6).map("".join))
def test_redacted_text_has_no_secrets(text: str) -> None:
    results = find_secrets(text)
    assert all(0 <= secret.start < secret.end <= len(text) for secret in results)
    assert all(one.end <= other.start for one, other in pairwise(results))
    clean, kinds = redact(text)
    assert find_secrets(clean) == []
    assert len(kinds) >= len(results)
    assert bool(results) == bool(kinds) == (clean != text)


class TestHostileTexts:
    """A pattern that gives nothing back, and is bounded, looks at no character more often than it is long."""

    PATTERNS = {
        f"{module.name}.{name}": pattern
        for module in pkgutil.iter_modules(secrets.__path__)
        for name, stored in vars(importlib.import_module(f"recollect.secrets.{module.name}")).items()
        for pattern in ([stored] if isinstance(stored, re.Pattern) else [])
    } | {f"tokens.{token.kind}": token.pattern for token in TOKEN_FORMATS}

    def test_patterns_are_collected(self) -> None:
        assert len(self.PATTERNS) > 25

    @pytest.mark.parametrize("name", PATTERNS)
    def test_every_pattern_is_bounded(self, name: str) -> None:
        pattern = self.PATTERNS[name]
        tree = _PARSER.parse(pattern.pattern, pattern.flags)
        assert tree.getwidth()[1] < 200_000
        for kind, most in repeats(tree):
            assert kind == "POSSESSIVE_REPEAT" or most == 1, f"{name} may try a piece again"

    @pytest.mark.parametrize(
        "piece",
        [
            "-----BEGIN PRIVATE KEY-----",
            "eyJ.",
            "sk-",
            "password=",
            "password = a",
            "password:\n",
            "password | ",
            "4111\n",
            "ghp_",
            "://a:",
            "4 ",
            "4111-",
            "A",
            "Basic ",
            "x@",
        ],
    )
    def test_long_texts_of_prefixes_are_linear(self, piece: str) -> None:
        assert find_secrets(piece * 20_000) == []


def repeats(tree: Iterable[Any]) -> Iterator[tuple[str, int]]:
    """Yield the kind and the upper bound of every repetition whose count is not fixed."""
    for operation, value in tree:
        if "REPEAT" in str(operation) and value[0] != value[1]:
            yield str(operation), value[1]
        for inner in value if isinstance(value, (tuple, list)) else ():
            for item in inner if isinstance(inner, list) else [inner]:
                if isinstance(item, _PARSER.SubPattern):
                    yield from repeats(item)
