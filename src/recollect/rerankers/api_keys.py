"""Which key goes to which server: that of a vendor to the vendor alone."""

from __future__ import annotations

from urllib.parse import urlsplit

from recollect.inference.keys import ApiKey

__all__ = ["AUTOMATIC", "api_key"]

AUTOMATIC = "auto"
"""Stands for the variable that the address decides on."""

_ELSEWHERE = "RECOLLECT_RERANKER_KEY"
"""The variable that holds the key for a server that is not the vendor's own."""


def api_key(url: str, key: str | None, variable: str | None, *, home: str | None, home_variable: str | None) -> ApiKey:
    """Return the key for ``url``; ``home`` is the vendor's own address, and ``home_variable`` holds its key.

    >>> home = {"home": "https://api.cohere.com", "home_variable": "COHERE_API_KEY"}
    >>> api_key("https://api.cohere.com/v1/rerank", None, "auto", **home)
    ApiKey('COHERE_API_KEY')
    >>> api_key("http://localhost:8000", None, "auto", **home)
    ApiKey('RECOLLECT_RERANKER_KEY')
    """
    if variable == AUTOMATIC:
        at_home = home is not None and _server(url) == _server(home)
        variable = home_variable if at_home else _ELSEWHERE
    return ApiKey(variable, given=key)


def _server(url: str) -> tuple[str, str]:
    """Return the scheme and the host, which together decide who reads what is sent."""
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()
