"""Addresses of stores as they may be shown: whoever reads a message or a log learns no password from them."""

from __future__ import annotations

import re

__all__ = ["is_address", "without_secrets"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|postgres(?:ql)?:")
"""How an address begins; a known kind without its slashes is one that was mistyped, and no file."""
_KEYWORDS = re.compile(r"\s*(?:host|hostaddr|port|dbname|user|password|service)\s*=", re.IGNORECASE)
"""How libpq's other way of naming a server begins."""
_OPTION = re.compile(r"\w+=")
_NO_PORT = re.compile(r":(?!\d+(?:/|$)).*", re.DOTALL)
_SECRET_OPTIONS = ("password", "sslpassword", "token")


def is_address(target: str) -> bool:
    """Return whether a target names a server, or a store by its kind, rather than a file.

    >>> is_address("postgresql://db/notes"), is_address("notes/memory.db")
    (True, False)
    """
    return (_SCHEME.match(target) or _KEYWORDS.match(target)) is not None


def without_secrets(target: str) -> str:
    """Return a target without the password or token in it; a user's name stays.

    A password may hold what should have been escaped: rather too much is left out than too little.

    >>> without_secrets("postgresql://ines:pa/s@s@db:5433/notes?password=pass&sslmode=require")
    'postgresql://ines@db:5433/notes?sslmode=require'
    """
    if _KEYWORDS.match(target):
        return "host=…"
    scheme = _SCHEME.match(target)
    if scheme is None:
        return target
    rest = target[scheme.end() :]
    place, _, options = rest.partition("?")
    if options and not all(map(_OPTION.match, options.split("&"))):  # the ? is a password's
        user, at, rest = rest.rpartition("@")
        place, _, options = rest.partition("?")
    else:
        user, at, place = place.rpartition("@")
    if user.startswith("/"):  # no server, so no user either: the @ is a part of the path
        user, at, place = "", "", f"{user}@{place}"
    if not at and "@" in options:  # what stands behind a colon is a port, or a password that has been cut in two
        place = _NO_PORT.sub("", place)
    name = user.partition(":")[0]
    kept = [each for each in options.split("&") if each and not _is_secret(each)]
    asked = f"?{'&'.join(kept)}" if kept else ""
    return f"{scheme[0]}{name}{at if name else ''}{place}{asked}"


def _is_secret(option: str) -> bool:
    name, _, value = option.partition("=")
    return name.lower() in _SECRET_OPTIONS or "@" in value
