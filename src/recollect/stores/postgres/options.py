"""What an address says: to the server, to us, and to who reads a message about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

import psycopg
from psycopg.conninfo import conninfo_to_dict

from recollect.errors import ArgumentError

__all__ = ["Options", "location_of", "parts_of", "split_options"]

_LONGEST = 86_400


class Options(TypedDict, total=False):
    """How many connections there may be, and how long is waited for one and for an answer."""

    pool_size: int
    pool_timeout: float
    statement_timeout: float


def split_options(address: str) -> tuple[str, Options]:
    """Return an address as libpq takes it, and the options in it that are ours.

    >>> split_options("postgresql://db/notes?sslmode=require&pool_size=20")
    ('postgresql://db/notes?sslmode=require', {'pool_size': 20})
    """
    place, _, asked = address.partition("?")
    options: Options = {}
    theirs = []
    for each in asked.split("&"):
        name, _, value = each.partition("=")
        if name == "pool_size":
            options["pool_size"] = _whole(name, value)
        elif name == "pool_timeout":
            options["pool_timeout"] = _seconds(name, value)
        elif name == "statement_timeout":
            options["statement_timeout"] = _seconds(name, value)
        else:
            theirs.append(each)
    return f"{place}?{'&'.join(theirs)}" if any(theirs) else place, options


def parts_of(address: str) -> dict[str, str | int | None]:
    """Return what an address says. What is wrong with one is not repeated: it may be the password."""
    try:
        parts = dict(conninfo_to_dict(address))
    except psycopg.Error:
        parts = {"host": "@"}
    ports = str(parts.get("port", "")).replace(",", "")
    # A password with an @ or a slash in it that is not escaped is taken for another part.
    if "@" in f"{parts.get('host', '')}{parts.get('dbname', '')}" or (ports and not ports.isdecimal()):
        raise ArgumentError(
            "target",
            "is no address of a PostgreSQL database; write postgresql://user:password@host:port/database, "
            "with %40 for an @ in the password, %2F for a slash, %3A for a colon; behind a ? stand options of libpq, "
            "pool_size, pool_timeout and statement_timeout",
        ) from None
    return parts


def location_of(parts: Mapping[str, str | int | None]) -> str:
    """Return the address without the password.

    >>> location_of({"user": "ines", "password": "secret", "host": "db", "port": "5433", "dbname": "notes"})
    'postgresql://ines@db:5433/notes'
    """
    host, port = str(parts.get("host", "")), parts.get("port")
    user = f"{parts['user']}@" if parts.get("user") else ""
    place = "" if host.startswith("/") else host
    folder = f"?host={host}" if host.startswith("/") else ""
    return f"postgresql://{user}{place}{f':{port}' if port else ''}/{parts.get('dbname', '')}{folder}"


def _whole(name: str, value: str) -> int:
    if not (value.isascii() and value.isdecimal() and int(value)):
        raise ArgumentError("target", f"has {name}={value}; give a whole number from 1 on")
    return int(value)


def _seconds(name: str, value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1
    if not 0 <= seconds < _LONGEST:
        raise ArgumentError("target", f"has {name}={value}; give seconds, from 0 to {_LONGEST}")
    return seconds
