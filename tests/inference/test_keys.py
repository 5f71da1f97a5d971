from __future__ import annotations

from typing import Any

import pytest

from recollect.errors import ArgumentError, ArgumentTypeError, EmbedderError
from recollect.inference.keys import ApiKey

SECRET = "sk-very-secret-123"  # noqa: S105 (of nobody)


def test_a_key_that_is_given_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_KEY", "from outside")
    assert ApiKey("TOY_KEY").value(EmbedderError) == "from outside"
    assert ApiKey("TOY_KEY", given=" given\n").value(EmbedderError) == "given"
    assert ApiKey(None, given="given").value(EmbedderError) == "given"
    assert ApiKey(None).value(EmbedderError) is None
    monkeypatch.setenv("TOY_KEY", " ")
    assert ApiKey("TOY_KEY").value(EmbedderError) is None
    monkeypatch.delenv("TOY_KEY")
    assert ApiKey("TOY_KEY").value(EmbedderError) is None


def test_where_a_key_comes_from() -> None:
    assert ApiKey("TOY_KEY").source == "the key in the environment variable TOY_KEY"
    assert ApiKey("TOY_KEY", given=SECRET).source == "the key that was given"
    assert ApiKey(None).source == "key_variable: none is sent"


def test_a_key_is_not_shown() -> None:
    key = ApiKey(None, given=SECRET)
    assert SECRET not in f"{key} {key!r} {vars(key)}"
    assert repr(ApiKey("TOY_KEY")) == "ApiKey('TOY_KEY')"


@pytest.mark.parametrize("key", [f"{SECRET}\nX-Other: 1", f"{SECRET}é"])
def test_a_key_that_no_header_can_hold_is_not_shown(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_KEY", key)
    for source in (ApiKey("TOY_KEY"), ApiKey(None, given=key)):
        with pytest.raises(EmbedderError, match=f"^{source.source} holds characters that no key has$") as caught:
            source.value(EmbedderError)
        assert SECRET not in str(caught.value)


def test_what_is_no_key_is_refused_unseen() -> None:
    given: Any = SECRET.encode()
    with pytest.raises(ArgumentTypeError, match="key: must be a string, got bytes") as caught:
        ApiKey(None, given=given)
    assert SECRET not in str(caught.value)
    with pytest.raises(ArgumentError, match="key_variable: must not be empty"):
        ApiKey("")
