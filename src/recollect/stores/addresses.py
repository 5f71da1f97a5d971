"""Addresses of stores as they may be shown: whoever reads a message or a log learns no password from them."""

from __future__ import annotations

import re

__all__ = ["is_address", "without_secrets"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SECRET_OPTIONS = ("password", "sslpassword", "token")


def is_address(target: str) -> bool:
    """Return whether a target names a server, or a store by its kind, rather than a file.

    >>> is_address("postgresql://db/notes"), is_address("notes/memory.db")
    (True, False)
    """
    return _SCHEME.match(target) is not None


def without_secrets(target: str) -> str:
    """Return a target without the password or token in it; a user's name stays.

    >>> without_secrets("postgresql://ines:pa/s@s@db:5433/notes?password=pass&sslmode=require")
    'postgresql://ines@db:5433/notes?sslmode=require'
    """
    scheme = _SCHEME.match(target)
    if scheme is None:
        return target
    # A password may hold what should have been escaped: all before the last @ is taken for it.
    user, at, rest = target[scheme.end() :].rpartition("@")
    if user.startswith("/"):  # no server, so no user either: the @ is a part of the path
        user, at, rest = "", "", target[scheme.end() :]
    name = user.partition(":")[0]
    place, _, options = rest.partition("?")
    kept = [each for each in options.split("&") if each.partition("=")[0].lower() not in _SECRET_OPTIONS]
    asked = f"?{'&'.join(kept)}" if any(kept) else ""
    return f"{scheme[0]}{name}{at if name else ''}{place}{asked}"
