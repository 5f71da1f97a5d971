from __future__ import annotations

import pytest

from recollect.rerankers.api_keys import api_key

HOME = {"home": "https://api.cohere.com", "home_variable": "COHERE_API_KEY"}


@pytest.mark.parametrize(
    ("url", "variable"),
    [
        ("https://api.cohere.com", "COHERE_API_KEY"),
        ("https://API.cohere.com/v1/rerank", "COHERE_API_KEY"),
        ("http://api.cohere.com", "RECOLLECT_RERANKER_KEY"),  # a key does not go out in the clear
        ("https://api.cohere.com.example.org", "RECOLLECT_RERANKER_KEY"),
        ("https://api.cohere.com@example.org", "RECOLLECT_RERANKER_KEY"),
        ("http://localhost:8000", "RECOLLECT_RERANKER_KEY"),
    ],
)
def test_a_vendors_key_goes_to_the_vendor_alone(url: str, variable: str) -> None:
    assert repr(api_key(url, None, "auto", **HOME)) == f"ApiKey({variable!r})"


def test_another_variable_or_key_is_taken_as_it_is() -> None:
    assert repr(api_key("http://localhost", None, "MINE", **HOME)) == "ApiKey('MINE')"
    assert repr(api_key("http://localhost", None, None, **HOME)) == "ApiKey(None)"
    assert repr(api_key("http://localhost", "x", "MINE", **HOME)) == "ApiKey('MINE', given='***')"
    assert repr(api_key("http://localhost", None, "auto", home=None, home_variable=None)) == (
        "ApiKey('RECOLLECT_RERANKER_KEY')"
    )
