"""Where the key of an HTTP API comes from, without a place where it could be shown."""

from __future__ import annotations

import os
from collections.abc import Callable

from recollect import arguments
from recollect.errors import ArgumentTypeError
from recollect.inference.failure import Failure

__all__ = ["ApiKey"]


class ApiKey:
    """A key that was given, or that an environment variable holds at the time of each request, or none.

    >>> ApiKey("COHERE_API_KEY", given="a secret")
    ApiKey('COHERE_API_KEY', given='***')
    >>> ApiKey("COHERE_API_KEY").source
    'the key in the environment variable COHERE_API_KEY'
    """

    def __init__(self, variable: str | None, given: str | None = None) -> None:
        """Check both; a key that is given wins over the variable, and without either none is sent."""
        self._variable = None if variable is None else arguments.name("key_variable", variable)
        # In a closure nobody sees it who looks at an object's attributes.
        self._given = None if given is None else _sealed(given)

    @property
    def source(self) -> str:
        """Which key it is, in words."""
        if self._given is not None:
            return "the key that was given"
        return (
            f"the key in the environment variable {self._variable}" if self._variable else "key_variable: none is sent"
        )

    def value(self, failure: Failure) -> str | None:
        """Return the key, or ``None`` if there is none."""
        key = os.environ.get(self._variable or "", "") if self._given is None else self._given()
        key = key.strip()
        if not key.isascii() or not key.isprintable():
            # Such a header would be refused with an error that shows the key.
            raise failure(f"{self.source} holds characters that no key has")
        return key or None

    def __repr__(self) -> str:
        """Return how it was made, without the key."""
        given = "" if self._given is None else ", given='***'"
        return f"ApiKey({self._variable!r}{given})"


def _sealed(key: str) -> Callable[[], str]:
    """Return a function that returns ``key``."""
    if not isinstance(key, str):
        raise ArgumentTypeError("key", f"must be a string, got {type(key).__name__}")  # never the value
    return lambda: key
