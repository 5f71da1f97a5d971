"""Credentials that say so: a password in a URL, and what follows the words Bearer and Basic."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator

from recollect.secrets.randomness import is_placeholder, looks_random
from recollect.secrets.secret import Secret

__all__ = ["find_credentials"]

_IN_URL = re.compile(
    r"://(?:[^\s/:@\"'<>]{0,100}+:(?P<password>[^\s/@\"'<>]{3,200}+)|(?P<token>[^\s/:@\"'<>]{16,200}+))@"
)
_IN_HEADER = re.compile(
    r"\b(?:bearer[ \t]{1,4}+(?P<bearer>[A-Za-z0-9._~+/-]{16,4000}+)"
    r"|basic[ \t]{1,4}+(?P<basic>[A-Za-z0-9+/]{8,1000}+={0,2}+))",
    re.IGNORECASE,
)
_NAMES = frozenset(("pass", "passwd", "password", "pw", "pwd", "secret", "token", "key", "user", "username"))
"""What stands in examples where a password would."""


def find_credentials(text: str) -> Iterator[Secret]:
    """Yield the credentials in a text."""
    if "://" in text and "@" in text:
        for found in _IN_URL.finditer(text):
            password = found["password"]
            if password is not None and not is_placeholder(password) and password.lower() not in _NAMES:
                yield Secret(*found.span("password"), "password in a URL")
            elif password is None and looks_random(found["token"]):
                yield Secret(*found.span("token"), "token in a URL")
    for found in _IN_HEADER.finditer(text):
        if found["bearer"] is not None and looks_random(found["bearer"], shortest=16):
            yield Secret(*found.span("bearer"), "bearer token")
        elif found["basic"] is not None and _is_pair(found["basic"]):
            yield Secret(*found.span("basic"), "basic credentials")


def _is_pair(value: str) -> bool:
    """Return whether a value is a user and a password in base 64, and not the next word of a sentence."""
    try:
        user, colon, password = b64decode(value, validate=True).decode().partition(":")
    except (Base64Error, UnicodeDecodeError):
        return False
    return bool(user and colon and password) and (user + password).isprintable()
